//! Budgets through the API: of sessions, and in the status of jobs.

use axum::body::Body;
use engine::job::JobSettings;
use serde_json::{Value, json};
use server::security::access::{AccessKey, Rights, Role};
use tests::job::{FICKLE_MODEL, entry_of, options, task};
use tests::transcript::errors;
use tests::{MODEL, Options, TestApp, TestSession};
use tokio::time::{Duration, Instant, sleep};
use wire::Budget;

const COUNT_AND_WAIT: &str =
    "Count 60 input and 50 output tokens at a cost of 2, then wait 30 minutes";

fn budget(json: &Value) -> Budget {
    serde_json::from_value(json.clone()).expect("a budget")
}

async fn set(session: &TestSession<'_>, app: &TestApp, limits: &Value) {
    let reply = app.post(&session.path("budget"), limits.to_string()).await;
    assert_eq!((reply.status.as_u16(), &*reply.text), (200, "{}"), "{limits}");
}

#[tokio::test(start_paused = true)]
async fn a_budget_is_set_read_and_removed() {
    let app = TestApp::new();
    let session = app.start().await;
    let nothing = json!({ "minutes": 0.0, "turns": 0, "tokens": 0, "cost": 0.0 });
    let read = async || app.get(&session.path("budget")).await.json();
    assert_eq!(read().await, json!({ "budget": {}, "spent": nothing }));
    let limits = json!({ "minutes": 0.5, "turns": 3, "tokens": 1000, "cost": 2 });
    set(&session, &app, &limits).await;
    assert_eq!(read().await, json!({ "budget": limits, "spent": nothing }));
    set(&session, &app, &json!({ "turns": 3, "cost": null })).await;
    assert_eq!(read().await["budget"], json!({ "turns": 3 }));
    session.query("Count 5 input and 2 output tokens at a cost of 0.5").await;
    session.read_until_idle("t").await;
    let spent = &read().await["spent"];
    assert_eq!((&spent["turns"], &spent["tokens"]), (&json!(1), &json!(7)));
    assert_eq!(spent["cost"], json!(0.5));
    set(&session, &app, &json!({})).await;
    assert_eq!(read().await["budget"], json!({}));
    session.stop().await;
    assert_eq!(read().await["spent"]["turns"], json!(1), "of a closed session, too");
    app.finish().await;
}

#[tokio::test]
async fn what_is_no_budget_is_refused_and_changes_nothing() {
    let app = TestApp::new();
    let session = app.start().await;
    set(&session, &app, &json!({ "turns": 3 })).await;
    for body in ["", "{", "turns", r#"{"turns":}"#] {
        let reply = app.post(&session.path("budget"), body).await;
        assert_eq!(reply.refusal(), (400, "UnreadableRequest".into()), "{body}");
    }
    for (body, words) in [
        (r#"{"turns":0}"#, "nonzero"),
        (r#"{"turns":1.5}"#, "1.5"),
        (r#"{"tokens":-1}"#, "-1"),
        (r#"{"minutes":0}"#, "greater than 0"),
        (r#"{"cost":"1"}"#, "string"),
        (r#"{"hours":1}"#, "unknown field `hours`"),
        ("[]", "sequence"),
        ("null", "null"),
    ] {
        let reply = app.post(&session.path("budget"), body).await;
        assert_eq!(reply.json(), json!({ "error": "InvalidBudget" }), "{body}");
        assert!(reply.header("portal-message").contains(words), "{body}");
    }
    let kept = app.get(&session.path("budget")).await.json();
    assert_eq!(kept["budget"], json!({ "turns": 3 }));
    app.finish().await;
}

#[tokio::test]
async fn viewers_read_a_budget_and_only_operators_set_one() {
    let rights = Rights { role: Role::Viewer, may_answer: true };
    let viewer = AccessKey::named("screen", rights, "wall-screen-battery");
    let app = TestApp::with(Options {
        access_key: Some("correct-horse-battery"),
        further_keys: vec![viewer],
        ..Options::default()
    });
    let own = [("authorization", "Bearer correct-horse-battery")];
    let start = format!("/api/copilot/session/start/{MODEL}");
    let started = app.call("POST", &start, &own, Body::empty()).await.json();
    let id = started["sessionId"].as_str().expect("a session");
    let path = format!("/api/copilot/session/{id}/budget");
    let screen = [("authorization", "Bearer wall-screen-battery")];
    assert_eq!(app.call("GET", &path, &screen, Body::empty()).await.status, 200);
    let refused = app.call("POST", &path, &screen, Body::from("{}")).await;
    assert_eq!(refused.refusal(), (403, "RoleNotAllowed".into()));
    assert_eq!(app.call("POST", &path, &own, Body::from("{}")).await.status, 200);
    let stop = format!("/api/copilot/session/{id}/stop");
    assert_eq!(app.call("POST", &stop, &own, Body::empty()).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_session_without_budget_refuses_prompts_until_it_is_raised() {
    let session_budget = budget(&json!({ "tokens": 100 }));
    let app = TestApp::with(Options { session_budget, ..Options::default() });
    let session = app.start().await;
    let before = Instant::now();
    session.query(COUNT_AND_WAIT).await;
    session.query("say \"two\"").await;
    let seen = session.read_until_idle("t").await;
    assert!(before.elapsed() < Duration::from_secs(1));
    assert_eq!(errors(&seen), ["budget of the session used up: 110 of 100 tokens"]);
    let end = seen.iter().find(|one| one["callback"] == "onTurnEnd").expect("an end");
    assert_eq!(end["outcome"], "failed");
    assert_eq!(session.try_query("say hi").await, json!({ "error": "BudgetExceeded" }));
    set(&session, &app, &json!({ "tokens": 200 })).await;
    let seen = session.read_until_idle("t").await;
    assert_eq!(tests::transcript::messages(&seen), ["two"], "it waited");
    assert_eq!(session.try_query("say hi").await, json!({}));
    app.finish().await;
}

#[tokio::test]
async fn limits_that_a_model_does_not_report_are_refused_where_something_starts() {
    let app = TestApp::with(options());
    let started = app.post(&format!("/api/copilot/session/start/{FICKLE_MODEL}"), "").await.json();
    let id = started["sessionId"].as_str().expect("a session").to_owned();
    let path = format!("/api/copilot/session/{id}/budget");
    let refused = app.post(&path, r#"{"turns":3,"tokens":5}"#).await;
    assert_eq!(refused.json(), json!({ "error": "BudgetNotSupported" }));
    let message = refused.header("portal-message");
    assert!(message.contains(FICKLE_MODEL) && message.ends_with("tokens"), "{message}");
    assert_eq!(app.post(&path, r#"{"turns":3}"#).await.text, "{}");
    app.post(&format!("/api/copilot/session/{id}/stop"), "").await;

    let mut entry = entry_of(&[("job", task("ok"))]);
    entry["tasks"]["ok"]["model"] = json!({ "id": FICKLE_MODEL });
    entry["jobs"]["job"]["budget"] = json!({ "cost": 5 });
    app.install(&entry).await;
    let refused = app.post("/api/copilot/job/start/job", "/").await;
    assert_eq!(refused.json(), json!({ "error": "BudgetNotSupported" }));
    let message = refused.header("portal-message");
    assert!(message.contains(FICKLE_MODEL) && message.ends_with("cost"), "{message}");
    assert!(app.listed_jobs().await.is_empty());

    let session_budget = budget(&json!({ "cost": 1 }));
    let app = TestApp::with(Options { session_budget, ..options() });
    let refused = app.post(&format!("/api/copilot/session/start/{FICKLE_MODEL}"), "").await;
    assert_eq!(refused.json(), json!({ "error": "BudgetNotSupported" }));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_job_has_its_budget_and_what_was_used() {
    let jobs = JobSettings { budget: budget(&json!({ "turns": 20 })), ..JobSettings::default() };
    let app = TestApp::with(Options { jobs, ..options() });
    let mut entry = entry_of(&[("job", task("ok 60"))]);
    entry["jobs"]["job"]["budget"] = json!({ "minutes": 0.5 });
    app.install(&entry).await;
    let job = app.start_job("job").await;
    sleep(Duration::from_secs(15)).await;
    let status = job.status().await;
    assert_eq!(status["budget"], json!({ "minutes": 0.5, "turns": 20 }));
    assert_eq!(status["spent"]["turns"], 1, "{status}");
    let minutes = status["spent"]["minutes"].as_f64().expect("a number");
    assert!((minutes - 0.25).abs() < 0.01, "while it runs: {minutes}");
    let seen = job.read_to_the_end("t").await;
    assert_eq!(tests::job::minutes(&seen), "+0 !0 failed");
    let ended = job.status().await;
    assert_eq!(ended["status"], "Failed");
    let minutes = ended["spent"]["minutes"].as_f64().expect("a number");
    assert!((0.5..0.52).contains(&minutes), "{minutes}");
    app.assert_ends().await;
}
