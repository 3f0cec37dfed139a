//! Tools: called, called concurrently, called wrongly, called without end.

use serde_json::json;
use tokio::sync::Barrier;
use wire::entry::{JOB_BOOLEAN_TRUE, JOB_PREPARE_DOCUMENT};

use super::*;
use crate::{Tool, ToolCall, ToolHandler};

fn calling(calls: &[(&str, &str, &str)]) -> Frames {
    let mut frames = Frames::new();
    for (index, (id, name, arguments)) in calls.iter().enumerate() {
        frames = frames.call(index, id, name, arguments);
    }
    frames.finish("tool_calls").done()
}

#[tokio::test]
async fn a_tool_is_called_and_the_model_goes_on() {
    let harness = Harness::new().await;
    let frames = Frames::new()
        .reasoning("A tool!")
        .text("Let me look.")
        .call(0, "call_abc", JOB_BOOLEAN_TRUE, "")
        .arguments(0, "{\"argu")
        .arguments(0, "ment\": \"because\"}")
        .finish("tool_calls")
        .usage(10, 5)
        .done();
    harness.stub.push(frames.answer());
    harness.stub.push(Frames::saying("It is true."));
    assert_eq!(harness.run("is it true?").await, Ok(()));
    assert_eq!(harness.messages(), ["Let me look.", "It is true."]);
    let arguments = json!({ "argument": "because" });
    let events = harness.events();
    let from = events.iter().position(|event| matches!(event, AgentEvent::ToolStart { .. }));
    let from = from.expect("a tool");
    assert_eq!(
        events[from..from + 4],
        [
            AgentEvent::ToolStart {
                call_id: "call-1-1".to_owned(),
                parent_call_id: None,
                name: JOB_BOOLEAN_TRUE.to_owned(),
                arguments: arguments.clone(),
            },
            AgentEvent::ToolEnd {
                call_id: "call-1-1".to_owned(),
                outcome: Ok(ToolResult { content: "because".to_owned(), detailed_content: None }),
            },
            AgentEvent::TurnEnd { turn_id: "turn-1".to_owned() },
            AgentEvent::TurnStart { turn_id: "turn-2".to_owned() },
        ]
    );
    let messages = &harness.stub.chats()[1]["messages"];
    assert_eq!(messages[2]["content"], "Let me look.");
    assert_eq!(messages[2]["reasoning_content"], "A tool!", "some want it back");
    assert_eq!(messages[2]["tool_calls"][0]["id"], "call_abc");
    let sent = messages[2]["tool_calls"][0]["function"]["arguments"].as_str().expect("text");
    assert_eq!(serde_json::from_str::<Value>(sent).expect("JSON"), arguments);
    assert_eq!(
        messages[3],
        json!({ "role": "tool", "tool_call_id": "call_abc", "content": "because" })
    );
    assert_sound(messages.as_array().expect("a list"));
}

/// Ends once all calls are running; the second call ends first.
struct Together {
    all: Barrier,
    second: Barrier,
}

#[async_trait]
impl ToolHandler for Together {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        self.all.wait().await;
        let content = call.arguments.to_string();
        if !content.contains("second") {
            self.second.wait().await;
            tokio::task::yield_now().await;
        }
        Ok(ToolResult { content, detailed_content: None })
    }
}

#[tokio::test]
async fn calls_of_one_answer_run_together_and_are_answered_in_order() {
    let tools = ToolSet::default();
    tools
        .add(Tool {
            name: "together".to_owned(),
            description: String::new(),
            parameters: json!({ "type": "object" }),
            handler: Arc::new(Together { all: Barrier::new(3), second: Barrier::new(2) }),
        })
        .expect("a new name");
    let harness = Harness::with(|_| {}, tools).await;
    let frames = Frames::new()
        .call(0, "a", "together", "")
        .call(1, "b", "together", "{\"n\":")
        .arguments(0, "{\"n\":")
        .call(2, "c", "together", "{\"n\":\"third\"}")
        .arguments(1, "\"second\"}")
        .arguments(0, "\"first\"}")
        .finish("tool_calls")
        .done();
    harness.stub.push(frames.answer());
    harness.stub.push(Frames::saying("done"));
    assert_eq!(harness.run("go").await, Ok(()));
    let outcomes = harness.outcomes();
    let first = outcomes[0].as_ref().map(|result| &*result.content);
    assert_eq!(first, Ok("{\"n\":\"second\"}"), "as they came to their end");
    let messages = &harness.stub.chats()[1]["messages"];
    let results: Vec<_> = (3..6).map(|place| &messages[place]["content"]).collect();
    assert_eq!(
        results,
        ["{\"n\":\"first\"}", "{\"n\":\"second\"}", "{\"n\":\"third\"}"],
        "as they were called"
    );
}

#[tokio::test]
async fn wrong_calls_are_told_to_the_model_which_may_try_again() {
    let harness = Harness::new().await;
    let wrong = calling(&[
        ("a", JOB_PREPARE_DOCUMENT, "{\"argument\": \"half"),
        ("b", JOB_PREPARE_DOCUMENT, "[1]"),
        ("c", "no such tool!", "{}"),
        ("d", JOB_PREPARE_DOCUMENT, ""),
    ]);
    harness.stub.push(wrong.answer());
    let right = calling(&[("a", JOB_PREPARE_DOCUMENT, "{\"argument\":\"a.md\"}")]);
    harness.stub.push(right.answer());
    harness.stub.push(Frames::saying("at last"));
    assert_eq!(harness.run("go").await, Ok(()));
    let outcomes = harness.outcomes();
    let codes: Vec<_> = outcomes
        .iter()
        .map(|outcome| outcome.as_ref().map_err(|error| error.code.as_deref().unwrap_or_default()))
        .map(|outcome| outcome.map(|result| &*result.content))
        .collect();
    let invalid = Err("invalid_arguments");
    assert_eq!(codes, [invalid, invalid, Err("unknown_tool"), invalid, Ok("a.md")]);
    let messages = &harness.stub.chats()[1]["messages"];
    assert_sound(messages.as_array().expect("a list"));
    assert_eq!(messages[2]["tool_calls"][2]["function"]["name"], "nosuchtool");
    let told = messages[3]["content"].as_str().expect("text");
    assert!(told.contains("not a JSON object") && told.contains("half"), "{told}");
}

#[tokio::test]
async fn a_call_that_was_cut_is_not_made() {
    let harness = Harness::new().await;
    let frames = Frames::new().call(0, "a", JOB_BOOLEAN_TRUE, "{\"argument\": \"ha");
    harness.stub.push(frames.clone().finish("length").done().answer());
    assert!(harness.fail("go").await.contains("limit for one answer"));
    harness.stub.push(frames.answer());
    assert!(harness.fail("go").await.contains("cut off"));
    assert_eq!(harness.outcomes(), []);
    assert_eq!(harness.history().await.len(), 1, "three prompts in one message");
}

#[tokio::test]
async fn a_model_that_does_not_come_to_an_end_is_stopped() {
    let harness = Harness::with_limits(|limits| limits.rounds = 3).await;
    let again = calling(&[("same", JOB_BOOLEAN_TRUE, "{\"argument\":\"x\"}")]);
    harness.stub.always(stub_provider::CHAT, again.answer());
    let Err(AgentError::LimitReached(message)) = harness.run("go").await else {
        panic!("the provider has not failed");
    };
    assert!(message.contains("3 times") && message.contains("limit"), "{message}");
    assert_eq!(harness.stub.chats().len(), 3);
    let ids: Vec<_> = harness
        .events()
        .into_iter()
        .filter_map(|event| match event {
            AgentEvent::ToolStart { call_id, .. } => Some(call_id),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call-1-1", "call-2-1", "call-3-1"], "unique, whatever the provider says");
    let history = harness.history().await;
    assert_eq!(history.len(), 1 + 3 * 2 + 1);
}
