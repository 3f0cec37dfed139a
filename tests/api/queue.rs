//! The prompts that wait in a session.

use axum::body::Body;
use serde_json::{Value, json};
use server::security::access::{AccessKey, Rights, Role};
use tests::transcript::{count, messages};
use tests::{Options, TestApp, TestSession, unknown_session};

const SLOW: &str = "wait 3 seconds, then say \"one\"";

/// Returns when the first turn is running.
async fn begin(session: &TestSession<'_>) -> Vec<Value> {
    session.query(SLOW).await;
    let mut seen = Vec::new();
    while count(&seen, "onAgentStart") == 0 {
        seen.extend(session.responses("t").await);
    }
    seen
}

async fn queue(app: &TestApp, session: &TestSession<'_>) -> Value {
    app.get(&session.path("queue")).await.json()
}

#[tokio::test(start_paused = true)]
async fn waiting_prompts_are_listed_changed_and_removed() {
    let app = TestApp::new();
    let session = app.start().await;
    let mut seen = begin(&session).await;
    assert_eq!(queue(&app, &session).await, json!({"queue": []}), "its turn has begun");
    for prompt in ["say \"two\"", "say \"three\"", "say \"four\""] {
        session.query(prompt).await;
    }
    let waiting = |prompts: &[(u64, &str)]| {
        let all = prompts.iter().map(|(id, prompt)| json!({"id": id, "prompt": prompt}));
        json!({"queue": all.collect::<Vec<_>>()})
    };
    let all = [(2, "say \"two\""), (3, "say \"three\""), (4, "say \"four\"")];
    assert_eq!(queue(&app, &session).await, waiting(&all));
    let act = async |path: &str, body: &str| {
        app.post(&session.path(&format!("queue/{path}")), body.to_owned()).await.json()
    };
    assert_eq!(act("3/remove", "").await, json!({}));
    assert_eq!(act("2/edit", "say \"deux\"").await, json!({}));
    let left = [(2, "say \"deux\""), (4, "say \"four\"")];
    assert_eq!(queue(&app, &session).await, waiting(&left));
    for gone in ["1", "3", "5", "0", "-1", "two", "18446744073709551616"] {
        for action in ["remove", "edit"] {
            let reply = act(&format!("{gone}/{action}"), "say x").await;
            assert_eq!(reply, json!({"error": "NotQueued"}), "{gone}/{action}");
        }
    }
    let too_large = app.post(&session.path("queue/4/edit"), "x".repeat(1024 * 1024 + 1)).await;
    assert_eq!(too_large.refusal(), (413, "PromptTooLarge".into()));
    seen.extend(session.read_until_idles("t", 3).await);
    assert_eq!(messages(&seen), ["one", "deux", "four"]);
    assert_eq!(queue(&app, &session).await, json!({"queue": []}));
    assert_eq!(act("4/remove", "").await, json!({"error": "NotQueued"}), "its turn is over");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn readers_learn_of_a_queue_and_of_its_changes() {
    let app = TestApp::new();
    let session = app.start().await;
    let mut seen = begin(&session).await;
    assert_eq!(count(&seen, "onQueueChanged"), 0, "nothing waits");
    session.query("say \"two\"\nand more").await;
    let long = "x".repeat(300);
    session.query(&long).await;
    for path in ["queue/2/edit", "queue/3/remove"] {
        let reply = app.post(&session.path(path), "say \"deux\"").await.json();
        assert_eq!(reply, json!({}), "{path}");
    }
    seen.extend(session.read_until_idles("t", 2).await);
    let changes: Vec<&Value> = seen
        .iter()
        .filter(|response| response["callback"] == "onQueueChanged")
        .map(|response| &response["queue"])
        .collect();
    let shortened = format!("{}…", "x".repeat(200));
    assert_eq!(
        changes,
        [
            &json!([{"id": 2, "prompt": "say \"two\""}]),
            &json!([{"id": 2, "prompt": "say \"two\""}, {"id": 3, "prompt": shortened}]),
            &json!([{"id": 2, "prompt": "say \"deux\""}, {"id": 3, "prompt": shortened}]),
            &json!([{"id": 2, "prompt": "say \"deux\""}]),
            &json!([]),
        ]
    );
    session.query("say \"three\"").await;
    let later = session.read_until_idle("t").await;
    assert_eq!(count(&later, "onQueueChanged"), 0, "it never waited");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_closed_session_has_no_queue() {
    let app = TestApp::new();
    let session = app.start().await;
    begin(&session).await;
    session.query("say \"two\"").await;
    session.stop().await;
    for path in [session.path("queue"), unknown_session("queue")] {
        assert_eq!(app.get(&path).await.json(), json!({"error": "SessionNotFound"}));
        for action in ["1/remove", "1/edit"] {
            let reply = app.post(&format!("{path}/{action}"), "x").await.json();
            assert_eq!(reply, json!({"error": "SessionNotFound"}));
        }
    }
    app.finish().await;
}

#[tokio::test]
async fn viewers_see_a_queue_and_change_nothing() {
    let rights = Rights { role: Role::Viewer, may_answer: true };
    let app = TestApp::with(Options {
        access_key: Some("correct-horse-battery"),
        further_keys: vec![AccessKey::named("screen", rights, "wall-screen-battery")],
        ..Options::default()
    });
    let viewer = [("authorization", "Bearer wall-screen-battery")];
    let seen = app.call("GET", &unknown_session("queue"), &viewer, Body::empty()).await;
    assert_eq!(seen.json(), json!({"error": "SessionNotFound"}), "let through");
    for action in ["queue/1/remove", "queue/1/edit", "steer", "model"] {
        let path = unknown_session(action);
        let refused = app.call("POST", &path, &viewer, Body::from("x")).await;
        assert_eq!(refused.refusal(), (403, "RoleNotAllowed".into()), "{action}");
    }
}
