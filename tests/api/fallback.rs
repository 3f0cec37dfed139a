//! Models that continue failed turns.

use serde_json::json;
use tests::transcript::{assert_grammar, count, errors, messages, names};
use tests::{MODEL, Options, TestApp, unknown_session};

/// Fails with the first model that is asked, and says something with the next one.
const PROMPT: &str = "fail with \"no credit\" | say \"Here I am.\"";

fn app() -> TestApp {
    TestApp::with(Options { further_models: &["one", "two"], ..Options::default() })
}

#[tokio::test(start_paused = true)]
async fn the_fallback_models_of_a_session_are_set_and_read() {
    let app = app();
    let session = app.start().await;
    let path = session.path("fallback");
    assert_eq!(app.get(&path).await.json(), json!({"fallback": []}));
    assert_eq!(app.post(&path, r#"["two", "one", "two"]"#).await.json(), json!({}));
    assert_eq!(app.get(&path).await.json(), json!({"fallback": ["two", "one"]}));
    let unknown = app.post(&path, r#"["one", "three"]"#).await;
    assert_eq!(unknown.json(), json!({"error": "ModelIdNotFound"}));
    for body in ["", "one", "[1]", r#"{"fallback": []}"#] {
        assert_eq!(app.post(&path, body).await.status, 400, "{body}");
    }
    assert_eq!(app.get(&path).await.json(), json!({"fallback": ["two", "one"]}), "unchanged");
    assert_eq!(app.post(&path, "[]").await.json(), json!({}));
    assert_eq!(app.get(&path).await.json(), json!({"fallback": []}));
    let not_found = json!({"error": "SessionNotFound"});
    assert_eq!(app.get(&unknown_session("fallback")).await.json(), not_found);
    assert_eq!(app.post(&unknown_session("fallback"), "[]").await.json(), not_found);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_turn_goes_on_with_another_model() {
    let app = app();
    let session = app.start_model("one").await;
    assert_eq!(app.post(&session.path("fallback"), r#"["two"]"#).await.json(), json!({}));
    session.query(PROMPT).await;
    let seen = session.read_until_idle("reader").await;
    assert_grammar(&seen);
    assert_eq!(errors(&seen), ["one failed: no credit; continuing with two"]);
    assert_eq!(messages(&seen), ["Here I am."]);
    assert_eq!((count(&seen, "onUserPrompt"), count(&seen, "onTurnEnd")), (1, 1));
    assert_eq!(names(&seen)[names(&seen).len() - 3..], ["onAgentEnd", "onTurnEnd", "onIdle"]);
    assert_eq!(seen[seen.len() - 2]["outcome"], "completed");
    assert_eq!(app.open_sessions().await[0]["modelId"], "two");
    let history = app.get("/api/copilot/history").await.json();
    assert_eq!(history["items"][0]["model"], "two");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn without_fallback_models_the_turn_fails() {
    let app = app();
    let session = app.start_with(&["fail with \"no credit\""]).await;
    let seen = session.read_until_idle("reader").await;
    assert_eq!(errors(&seen), ["no credit"]);
    assert_eq!(app.open_sessions().await[0]["modelId"], MODEL);
    app.finish().await;
}
