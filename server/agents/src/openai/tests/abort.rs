//! Turns that are aborted, in each phase.

use serde_json::json;
use stub_provider::Answer;
use tokio::sync::Notify;

use super::*;
use crate::{Tool, ToolCall, ToolHandler};

/// Aborts a turn once `happened` returns.
async fn abort_when(harness: &Harness, happened: impl AsyncFnOnce()) {
    let abort = CancellationToken::new();
    let (outcome, ()) = tokio::join!(harness.session.run_turn("go", &abort), async {
        happened().await;
        abort.cancel();
    });
    assert_eq!(outcome, Ok(()));
    let events = harness.events().len();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(harness.events().len(), events, "nothing goes on behind");
}

async fn until_text(harness: &Harness) {
    while harness.messages().is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn before_an_answer_and_in_its_midst_the_connection_is_closed() {
    for answer in [Answer::silence(), Answer::stream().hang(), Answer::error(200, "").hang()] {
        let harness = Harness::new().await;
        harness.stub.push(answer);
        abort_when(&harness, async || harness.stub.wait_for_requests(1).await).await;
        harness.stub.wait_for_aborts(1).await;
        let history = harness.history().await;
        assert_eq!(history, [json!({ "role": "user", "content": "go\n\nand now?" })]);
    }
    let harness = Harness::new().await;
    harness.stub.push(Frames::new().text("half of it").answer().hang());
    abort_when(&harness, async || until_text(&harness).await).await;
    harness.stub.wait_for_aborts(1).await;
    assert_eq!(harness.history().await[1], json!({ "role": "assistant", "content": "half of it" }));
}

#[tokio::test]
async fn in_the_midst_of_a_call_the_call_is_forgotten() {
    let harness = Harness::new().await;
    let frames =
        Frames::new().text("I will").call(0, "a", "job_boolean_true", "{\"argument\":\"x\"}");
    harness.stub.push(frames.answer().hang());
    abort_when(&harness, async || until_text(&harness).await).await;
    harness.stub.wait_for_aborts(1).await;
    assert_eq!(harness.outcomes(), []);
    assert_eq!(harness.history().await[1], json!({ "role": "assistant", "content": "I will" }));
}

#[tokio::test]
async fn between_two_attempts_nothing_is_sent_any_more() {
    let harness =
        Harness::with_limits(|limits| limits.first_back_off = Duration::from_secs(30)).await;
    harness.stub.push(Answer::error(500, "oops"));
    abort_when(&harness, async || {
        harness.stub.wait_for_requests(1).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    })
    .await;
    assert_eq!(harness.stub.chats().len(), 1);
}

/// Signals that it runs, and ends only if told to.
struct Patient {
    running: Arc<Notify>,
}

#[async_trait]
impl ToolHandler for Patient {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        if call.arguments["wait"] == true {
            self.running.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(ToolResult { content: "done".to_owned(), detailed_content: None })
    }
}

#[tokio::test]
async fn while_tools_run_every_call_still_gets_a_result() {
    let running = Arc::new(Notify::new());
    let tools = ToolSet::default();
    let handler = Arc::new(Patient { running: running.clone() });
    let parameters = json!({ "type": "object" });
    let (name, description) = ("patient".to_owned(), String::new());
    tools.add(Tool { name, description, parameters, handler }).expect("a new name");
    let harness = Harness::with(|_| {}, tools).await;
    let frames = Frames::new()
        .call(0, "a", "patient", "{\"wait\":true}")
        .call(1, "b", "patient", "{}")
        .finish("tool_calls")
        .done();
    harness.stub.push(frames.answer());
    abort_when(&harness, async || {
        running.notified().await;
        while harness.outcomes().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    let history = harness.history().await;
    assert_eq!(history[2]["content"], "error: aborted");
    assert_eq!(history[3]["content"], "done");
}

#[tokio::test]
async fn a_turn_that_is_dropped_leaves_the_same() {
    let harness = Harness::new().await;
    harness.stub.push(Frames::new().text("half of it").answer().hang());
    let abort = CancellationToken::new();
    tokio::select! {
        outcome = harness.session.run_turn("go", &abort) => panic!("{outcome:?}"),
        () = until_text(&harness) => {}
    }
    harness.stub.wait_for_aborts(1).await;
    assert_eq!(harness.history().await[1], json!({ "role": "assistant", "content": "half of it" }));
}
