//! Whatever an agent reports, readers get tidy blocks.

use std::path::Path;

use agents::permission::Owner;
use agents::{AgentEvent, TextKind};
use proptest::prelude::*;
use serde_json::json;
use store::live::LiveLog;
use wire::{Budget, Spent, ToolError, ToolResult};

use super::super::asking::Asking;
use super::super::stream::Stream;
use super::*;
use crate::budget::Meter;
use crate::inbox::Inbox;

/// What readers get if an agent reports these events in a turn.
async fn turn(events: impl IntoIterator<Item = AgentEvent>) -> Vec<SessionResponse> {
    let shared = LiveShared::new(LiveSettings::default());
    let log = LiveLog::new(shared.clone());
    let inbox = Inbox::new(shared);
    let owner = Owner { session: SessionId::generate(), task: None, work: None };
    let meter = Meter::new(Budget::default(), Spent::default());
    let asking = Asking::new(inbox, owner, Path::new(""), Duration::ZERO);
    let stream = Arc::new(Stream::new(log.clone(), asking, meter.into()));
    let (_, sink) = stream.hear_another();
    let reader = ReaderKey::Token(LiveToken::generate());
    let mut seen = Vec::new();
    for event in events {
        sink.emit(event);
        // In step with the agent, so that deltas are seen.
        if let Ok(delivery) = log.poll(reader.clone()).await {
            let entries = delivery.entries().into_iter();
            seen.extend(entries.map(|json| serde_json::from_str(&json).expect("a response")));
            delivery.commit();
        }
    }
    stream.finish("aborted", None);
    stream.close(false);
    while let Ok(delivery) = log.poll(reader.clone()).await {
        let entries = delivery.entries().into_iter();
        seen.extend(
            entries.map(|json| serde_json::from_str::<SessionResponse>(&json).expect("a response")),
        );
        delivery.commit();
    }
    check_blocks(&seen);
    seen
}

const MESSAGE: TextKind = TextKind::Message;

fn delta(text: &str) -> AgentEvent {
    AgentEvent::TextDelta { kind: MESSAGE, id: "m".to_owned(), delta: text.to_owned() }
}

fn end(content: Option<&str>) -> AgentEvent {
    AgentEvent::TextEnd { kind: MESSAGE, id: "m".to_owned(), content: content.map(str::to_owned) }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_arrives_whole_gets_start_and_end() {
    let seen = turn([end(Some("whole"))]).await;
    assert_eq!(seen.len(), 2);
    assert_eq!(messages(&seen), ["whole"]);
}

#[tokio::test(start_paused = true)]
async fn the_complete_content_is_what_was_streamed() {
    for (content, complete) in [
        (None, "ab"),
        (Some("ab"), "ab"),
        (Some("abc"), "abc"),
        (Some("something else"), "ab"),
        (Some(""), "ab"),
    ] {
        let seen = turn([delta("a"), delta("b"), end(content)]).await;
        assert_eq!(messages(&seen), [complete], "{content:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_the_end_is_ignored() {
    let seen = turn([delta("a"), end(None), delta("b"), end(None)]).await;
    assert_eq!(messages(&seen), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn arguments_are_pretty_or_empty() {
    for (arguments, text) in
        [(json!(null), ""), (json!({ "argument": "x" }), "{\n  \"argument\": \"x\"\n}")]
    {
        let seen = turn([AgentEvent::ToolStart {
            call_id: "c".to_owned(),
            parent_call_id: None,
            name: "n".to_owned(),
            arguments,
        }])
        .await;
        let SessionResponse::StartToolExecution { tool_arguments, .. } = &seen[0] else {
            panic!("{seen:?}");
        };
        assert_eq!(tool_arguments, text);
        let SessionResponse::EndToolExecution { error, .. } = &seen[1] else {
            panic!("{seen:?}");
        };
        assert_eq!(error.as_ref().map(|error| &*error.message), Some("aborted"));
    }
}

fn any_event() -> impl Strategy<Value = AgentEvent> {
    let id = || (0..2_u8).prop_map(|id| id.to_string());
    let kind = || prop_oneof![Just(TextKind::Reasoning), Just(TextKind::Message)];
    let outcome = prop_oneof![
        Just(Ok(ToolResult::default())),
        Just(Err(ToolError { message: "no".to_owned(), code: None }))
    ];
    prop_oneof![
        id().prop_map(|turn_id| AgentEvent::TurnEnd { turn_id }),
        (kind(), id()).prop_map(|(kind, id)| AgentEvent::TextStart { kind, id }),
        (kind(), id(), "[ab]{0,2}").prop_map(|(kind, id, delta)| AgentEvent::TextDelta {
            kind,
            id,
            delta
        }),
        (kind(), id(), proptest::option::of("[ab]{0,4}"))
            .prop_map(|(kind, id, content)| { AgentEvent::TextEnd { kind, id, content } }),
        id().prop_map(|call_id| AgentEvent::ToolStart {
            call_id,
            parent_call_id: None,
            name: "n".to_owned(),
            arguments: json!(null)
        }),
        (id(), "[ab]{0,2}").prop_map(|(call_id, delta)| AgentEvent::ToolOutput { call_id, delta }),
        (id(), outcome).prop_map(|(call_id, outcome)| AgentEvent::ToolEnd { call_id, outcome }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn blocks_are_tidy_whatever_an_agent_reports(events in proptest::collection::vec(any_event(), 0..40)) {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime")
            .block_on(turn(events));
    }
}
