//! Agent runs over HTTP: approvals and cancellation by any client.

use engine::bridge::{BridgeSettings, WorkspaceFolder};
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::events::told;
use tests::{Options, TestApp};

const CREATE: &str = r#"{"actions":[{"tool":"createFile","path":"new.md","content":"new\n"}],"commentary":"Add a page"}"#;
const FINISH: &str = r#"{"finalSummary":"It is there.","done":true}"#;

/// A server whose only project is a new folder.
fn app() -> (TempDir, TestApp) {
    let folder = tempfile::tempdir().expect("temporary folder");
    let bridge = Some(BridgeSettings::new([WorkspaceFolder::new(folder.path())]));
    let app = TestApp::with(Options { bridge, ..Options::default() });
    (folder, app)
}

fn goal(steps: &[&str]) -> Value {
    let lines = steps.iter().enumerate();
    let lines: Vec<_> = lines
        .map(|(index, step)| format!("Turn {}: say {}", index + 1, Value::from(*step)))
        .collect();
    json!({ "text": format!("agent:\n{}", lines.join("\n")) })
}

#[tokio::test(start_paused = true)]
async fn an_agent_waits_for_approval_from_any_client() {
    let (folder, app) = app();
    let (mut one, mut other) = (app.events("", None).await, app.events("", None).await);
    let run = app.post_json("/message", &goal(&[CREATE, FINISH])).await.json()["id"].clone();
    let events = one.until("approvalRequest").await;
    assert_eq!(events[0].data["mode"], "agent");
    let question = &events.last().expect("a question").data;
    assert_eq!(question["id"], run);
    assert_eq!((&question["action"], &question["path"]), (&json!("createFile"), &json!("new.md")));
    assert_eq!(question["contentPreview"], "new\n");
    assert!(!folder.path().join("new.md").exists());

    let seen = other.until("approvalRequest").await;
    assert_eq!(seen.last().expect("a question").data, *question);
    let answer = json!({ "approvalId": question["approvalId"], "approved": true });
    assert_eq!(app.post_json("/approval", &answer).await.json(), json!({ "ok": true }));
    let reply = app.post_json("/approval", &answer).await;
    assert_eq!(reply.refusal(), (404, "ApprovalNotFound".into()), "decided already");
    let events = one.until("done").await;
    assert_eq!(events[0].name, "approvalDecision");
    assert_eq!(events[0].data["approved"], true);
    assert!(told(&events).ends_with("It is there.\n"), "{}", told(&events));
    assert_eq!(events.last().expect("done").data["reason"], "done");
    assert_eq!(std::fs::read_to_string(folder.path().join("new.md")).expect("made"), "new\n");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_run_is_cancelled_by_any_client() {
    let (folder, app) = app();
    let mut events = app.events("", None).await;
    let run = app.post_json("/message", &goal(&[CREATE])).await.json()["id"].clone();
    events.until("approvalRequest").await;
    let body = json!({ "id": run });
    assert_eq!(app.post_json("/cancel", &body).await.json(), json!({ "ok": true }));
    let end = events.until("done").await;
    assert_eq!((&*end[0].name, &end[0].data["approved"]), ("approvalDecision", &json!(false)));
    let done = &end.last().expect("done").data;
    assert_eq!((&done["reason"], &done["error"]), (&json!("cancelled"), &json!("cancelled")));
    assert_eq!(app.post_json("/cancel", &body).await.refusal(), (404, "RunNotFound".into()));
    assert!(!folder.path().join("new.md").exists());
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_server_ends_runs_and_connections() {
    let (_folder, app) = app();
    let mut events = app.events("", None).await;
    app.post_json("/message", &json!({ "text": "wait 10 minutes" })).await;
    app.finish().await;
    let end = events.until("done").await;
    assert_eq!(end.last().expect("done").data["reason"], "cancelled");
    assert_eq!(events.next().await, None);
}
