//! Projects as chains of sessions: what is carried on, kept and counted.

use store::journal::HistoryQuery;
use wire::bridge::Role;
use wire::{EntityState, SessionId};

use super::*;

fn texts(history: &SessionHistory) -> Vec<&str> {
    history.messages.iter().map(|message| &*message.text).collect()
}

impl Fixture {
    async fn ask_with(&mut self, text: &str, model: &str) -> String {
        let request = MessageRequest {
            text: Some(text.to_owned()),
            model: Some(model.to_owned()),
            ..MessageRequest::default()
        };
        self.bridge.send(request).await.expect("accepted");
        self.end().await.0
    }

    /// The sessions in the journal, oldest first.
    async fn records(&self) -> Vec<(SessionId, store::journal::Record)> {
        let query = HistoryQuery { limit: 100, ..HistoryQuery::default() };
        let mut found = self.journal.history(query).await.expect("a list").items;
        found.reverse();
        let sessions = found.into_iter().filter_map(|found| match found.entity {
            store::journal::Entity::Session(id) => Some((id, found.record)),
            _ => None,
        });
        sessions.collect()
    }
}

const REPEAT: &str = "repeat the conversation so far";

#[tokio::test(start_paused = true)]
async fn another_model_knows_what_was_said_and_nobody_does_once_it_is_cleared() {
    let mut fixture = Fixture::new().await;
    fixture.ask_with("say \"A plum.\"", "gpt-5.2").await;
    let told = fixture.ask_with(REPEAT, "simulated-quick").await;
    assert!(told.contains("plum"), "{told}");
    assert_eq!(fixture.records().await.len(), 1, "the session goes on");
    fixture.bridge.clear(&fixture.id().await).await.expect("cleared");
    let told = fixture.ask_with(REPEAT, "simulated-quick").await;
    assert!(!told.contains("plum"), "{told}");

    let records = fixture.records().await;
    let states: Vec<_> = records.iter().map(|(_, record)| record.state).collect();
    assert_eq!(states, [EntityState::Closed, EntityState::Idle]);
    let (_, first) = &records[0];
    let folder = fixture.folders[0].path().to_str().expect("text");
    assert_eq!((&*first.title, &*first.folder), ("say \"A plum.\"", folder));
    assert_eq!(first.model.as_deref(), Some("simulated-quick"), "the last one that answered");
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn queued_messages_are_answered_and_shown_in_order() {
    let mut fixture = Fixture::new().await;
    for text in ["wait 1 minute, then say one", "say two", "say three"] {
        fixture.send(text, None).await;
    }
    let waiting = fixture.history().await;
    assert_eq!(
        texts(&waiting),
        ["wait 1 minute, then say one", "", "say two", "", "say three", ""]
    );
    assert!(waiting.messages.iter().all(|message| message.reason.is_none()));
    for _ in 0..3 {
        fixture.end().await;
    }
    assert_eq!(
        texts(&fixture.history().await),
        ["wait 1 minute, then say one", "one", "say two", "two", "say three", "three"]
    );
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn questions_stay_in_the_history_where_they_were_asked() {
    let mut fixture = Fixture::with(|settings| settings.agent.require_approval = true).await;
    let create = act(&json!({ "tool": "createFile", "path": "new.md", "content": "new\n" }));
    fixture.pursue(&[create, finish("ok")]).await;
    let question = fixture.approval_request().await;
    let id = question.approval_id.to_string();
    fixture.bridge.decide(&id, false, false, "tester").await.expect("pending");
    fixture.end().await;
    let history = fixture.history().await;
    let [asked] = &*history.messages[1].approvals else { panic!("{history:?}") };
    assert_eq!(asked.request, question);
    assert_eq!(asked.outcome, Some(wire::PermissionOutcome::Denied));
    let (before, after) = history.messages[1].text.split_at(asked.offset);
    assert!(before.ends_with("`new.md`\n\n"), "{before}");
    assert!(after.trim_start().starts_with("Failed: refused by the user"), "{after}");
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_approved_always_is_not_asked_again_until_it_is_cleared() {
    let mut fixture = Fixture::with(|settings| settings.agent.require_approval = true).await;
    let create =
        |path: &str| act(&json!({ "tool": "createFile", "path": path, "content": "new\n" }));
    fixture.pursue(&[create("a.md"), create("b.md"), finish("ok")]).await;
    let question = fixture.approval_request().await;
    fixture
        .bridge
        .decide(&question.approval_id.to_string(), true, true, "tester")
        .await
        .expect("pending");
    assert_eq!(ended(&fixture.end().await.1), (RunEnd::Done, None));
    fixture.pursue(&[create("c.md"), finish("ok")]).await;
    assert_eq!(ended(&fixture.end().await.1), (RunEnd::Done, None));
    assert!(fixture.exists("a.md") && fixture.exists("b.md") && fixture.exists("c.md"));

    fixture.bridge.clear(&fixture.id().await).await.expect("cleared");
    fixture.pursue(&[create("d.md"), finish("ok")]).await;
    let question = fixture.approval_request().await;
    assert_eq!(question.path, "d.md");
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn usage_is_counted_for_prompts_and_for_steps() {
    let mut fixture = Fixture::new().await;
    fixture.send("count 100 input tokens and 20 output tokens, then say hi", None).await;
    fixture.end().await;
    let list = act(&json!({ "tool": "listFiles" }));
    let count = "count 7 input tokens and 3 output tokens";
    let steps = [
        json!(format!("{count}, then say {}", Value::String(list.to_string()))),
        json!(format!("{count}, then say {}", Value::String(finish("ok").to_string()))),
    ];
    fixture.pursue(&steps).await;
    assert_eq!(ended(&fixture.end().await.1), (RunEnd::Done, None));
    let usage = fixture.records().await[0].1.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (114, 26));
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ended_is_followed_by_another_that_knows_it() {
    let mut fixture = Fixture::new().await;
    fixture.send("say \"A plum.\"", None).await;
    fixture.end().await;
    let [(first, _)] = &*fixture.records().await else { panic!("one session") };
    fixture.sessions.stop(*first).await.expect("open");
    let told = fixture.ask_with(REPEAT, "gpt-5.2").await;
    assert!(told.contains("plum"), "{told}");
    assert_eq!(fixture.history().await.messages.len(), 4);
    assert_eq!(fixture.summary().await.count, 4);
    let detail: Value =
        serde_json::from_str(&fixture.records().await[1].1.detail).expect("an object");
    assert_eq!(detail["continuedFrom"], first.to_string());
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn prompts_to_the_session_are_messages_to_its_project() {
    let mut fixture = Fixture::new().await;
    fixture.send("say one", None).await;
    fixture.end().await;
    let [(session, _)] = &*fixture.records().await else { panic!("one session") };
    let open = fixture.sessions.find(*session).await.expect("open");
    open.query("say two".to_owned()).await.expect("taken");
    let (text, done) = fixture.end().await;
    assert_eq!((&*text, done.reason), ("two", RunEnd::Done));
    assert_eq!(texts(&fixture.history().await), ["say one", "one", "say two", "two"]);
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn histories_of_earlier_versions_are_taken_over_once() {
    let fixture = Fixture::new().await;
    let id = fixture.id().await;
    let folder = fixture.data.path().join("bridge");
    fs::create_dir(&folder).expect("folder");
    let message = |number: u32, role: &str, text: &str, rest: &str| {
        format!(
            r#"{{"id":"message-00000000-0000-4000-8000-{number:012}","role":"{role}","text":"{text}","at":"2026-01-0{number}T00:00:00.000Z","mode":"prompt"{rest}}}"#
        )
    };
    let end = r#","model":"old","reason":"done""#;
    // Earlier versions kept the order of arrival.
    let messages = [
        message(1, "user", "one", ""),
        message(2, "user", "two", ""),
        message(1, "assistant", "first", end),
        message(2, "assistant", "second", end),
        message(3, "user", "cut off", ""),
    ];
    let document = format!(
        r#"{{"path":"/x","created":"2025-12-31T00:00:00.000Z","messages":[{}]}}"#,
        messages.join(",")
    );
    let file = folder.join(format!("{id}.json"));
    fs::write(&file, &document).expect("file");
    fs::write(folder.join("other.json"), "{").expect("file");

    let mut fixture = fixture.restart().await;
    let history = fixture.history().await;
    assert_eq!(texts(&history), ["one", "first", "two", "second", "cut off", ""]);
    assert_eq!(history.messages[3].at, "2026-01-02T00:00:00.000Z");
    assert_eq!(history.messages[1].model.as_deref(), Some("old"));
    assert_eq!(history.messages[5].reason, Some(RunEnd::Cancelled));
    let summary = fixture.summary().await;
    assert_eq!((&*summary.created, summary.count), ("2025-12-31T00:00:00.000Z", 6));
    fixture.send("say new", None).await;
    fixture.end().await;

    let fixture = fixture.restart().await;
    assert_eq!(fixture.history().await.messages.len(), 8);
    let context = fixture.bridge.inner.context(&id).await.expect("a context");
    assert_eq!(context[0], (Role::User, "one".to_owned()));
    assert_eq!(fs::read_to_string(&file).expect("left in place"), document);

    fixture.bridge.clear(&id).await.expect("cleared");
    let fixture = fixture.restart().await;
    assert_eq!(fixture.history().await.messages, []);
    fixture.finish().await;
}
