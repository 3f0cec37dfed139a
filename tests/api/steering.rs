//! Prompts for a running turn, and another model for the next one.

use serde_json::{Value, json};
use tests::transcript::{assert_grammar, count, messages};
use tests::{TestApp, TestSession, unknown_session};

/// Returns when a turn with this prompt is running.
async fn begin(session: &TestSession<'_>, prompt: &str) -> Vec<Value> {
    session.query(prompt).await;
    let mut seen = Vec::new();
    while count(&seen, "onAgentStart") == 0 {
        seen.extend(session.responses("t").await);
    }
    seen
}

async fn steer(app: &TestApp, session: &TestSession<'_>, prompt: &str) -> Value {
    app.post(&session.path("steer"), prompt.to_owned()).await.json()
}

async fn switch(app: &TestApp, session: &TestSession<'_>, model: &str) -> Value {
    app.post(&session.path("model"), model.to_owned()).await.json()
}

fn user_prompts(seen: &[Value]) -> Vec<&str> {
    let prompts = seen.iter().filter(|response| response["callback"] == "onUserPrompt");
    prompts.filter_map(|response| response["prompt"].as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_running_turn_takes_prompts_in_order_and_before_those_that_wait() {
    let app = TestApp::new();
    let session = app.start().await;
    assert_eq!(steer(&app, &session, "say x").await, json!({"error": "NotWorking"}));
    let first = "wait 3 seconds, then say \"one\"";
    let mut seen = begin(&session, first).await;
    session.query("say \"last\"").await;
    for prompt in ["say \"two\"", "say \"three\""] {
        assert_eq!(steer(&app, &session, prompt).await, json!({}));
    }
    seen.extend(session.read_until_idles("t", 2).await);
    assert_grammar(&seen);
    assert_eq!(user_prompts(&seen), [first, "say \"two\"", "say \"three\"", "say \"last\""]);
    assert_eq!(messages(&seen), ["one", "two", "three", "last"]);
    assert_eq!(count(&seen, "onTurnEnd"), 2, "they were of the running turn");
    assert_eq!(app.get(&session.path("queue")).await.json(), json!({"queue": []}));
    assert_eq!(steer(&app, &session, "say x").await, json!({"error": "NotWorking"}), "over");
    let budget = app.get(&session.path("budget")).await.json();
    assert_eq!(budget["spent"]["turns"], 2, "{budget}");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_an_aborted_turn_did_not_take_is_the_next_one() {
    let app = TestApp::new();
    let session = app.start().await;
    let mut seen = begin(&session, "wait 3 seconds, then say \"one\"").await;
    session.query("say \"last\"").await;
    assert_eq!(steer(&app, &session, "say \"two\"").await, json!({}));
    assert_eq!(session.abort().await, json!({}));
    seen.extend(session.read_until_idles("t", 3).await);
    assert_eq!(messages(&seen), ["two", "last"]);
    assert_eq!(count(&seen, "onTurnEnd"), 3);
    app.finish().await;
}

#[tokio::test]
async fn sessions_tell_whether_they_can_be_steered() {
    let app = TestApp::with(tests::Options { further_models: &["plain"], ..Default::default() });
    let session = app.start().await;
    assert_eq!(app.open_sessions().await[0]["canSteer"], true);
    session.stop().await;
    let plain = app.start_model("plain").await;
    assert_eq!(app.open_sessions().await[0].get("canSteer"), None);
    assert_eq!(steer(&app, &plain, "say x").await, json!({"error": "SteerNotSupported"}));
    for path in ["steer", "model"] {
        let reply = app.post(&unknown_session(path), "x").await.json();
        assert_eq!(reply, json!({"error": "SessionNotFound"}));
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn another_model_answers_from_the_next_prompt_on() {
    let app = TestApp::new();
    let session = app.start().await;
    session.query("say \"I know this.\"").await;
    session.read_until_idle("t").await;
    assert_eq!(switch(&app, &session, "gpt-5.2").await, json!({}));
    assert_eq!(app.open_sessions().await[0]["modelId"], "gpt-5.2");
    session.query("repeat the conversation").await;
    let seen = session.read_until_idle("t").await;
    assert_grammar(&seen);
    assert!(messages(&seen)[0].contains("I know this."), "{seen:?}");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_model_is_not_switched_while_the_session_works_or_to_an_unknown_one() {
    let app = TestApp::new();
    let session = app.start().await;
    for unknown in ["", "nonsense"] {
        let error = json!({"error": "ModelIdNotFound"});
        assert_eq!(switch(&app, &session, unknown).await, error, "{unknown}");
    }
    let mut seen = begin(&session, "wait 3 seconds, then say \"one\"").await;
    assert_eq!(switch(&app, &session, "gpt-5.2").await, json!({"error": "SessionBusy"}));
    assert_eq!(app.open_sessions().await[0]["modelId"], tests::MODEL);
    seen.extend(session.read_until_idle("t").await);
    assert_eq!(messages(&seen), ["one"], "and the session goes on");
    assert_eq!(switch(&app, &session, tests::MODEL).await, json!({}), "it has it already");
    app.finish().await;
}
