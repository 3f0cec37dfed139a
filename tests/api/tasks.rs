//! Tasks: every case of their API, in a session that a script opened.

use serde_json::{Value, json};
use tests::{TestApp, TestSession, transcript, unknown_session};

const UNKNOWN: &str = "task-00000000-0000-4000-8000-000000000000";

fn entry() -> Value {
    json!({
        "models": { "driving": "gpt-5-mini" },
        "drivingSessionRetries": [{ "modelId": "gpt-5-mini", "retries": 1 }],
        "promptVariables": {
            "judge": ["job_boolean_true or job_boolean_false?"],
        },
        "tasks": {
            "greet": { "prompt": ["say \"hello $user-input\""], "requireUserInput": true },
            "fails / now": {
                "prompt": ["say \"working\""],
                "requireUserInput": false,
                "criteria": {
                    "toolExecuted": ["job_prepare_document"],
                    "failureAction": { "retryTimes": 1, "additionalPrompt": ["say \"more\""] },
                },
            },
            "judged": {
                "prompt": ["say \"working\""],
                "requireUserInput": false,
                "availability": { "condition": ["$judge", "Use the job_boolean_false tool."] },
                "criteria": {
                    "condition": ["$judge", "Use the job_boolean_true tool with \"done\"."],
                    "runConditionInSameSession": false,
                    "failureAction": { "retryTimes": 0 },
                },
            },
            "slow": { "prompt": ["wait 60 seconds"], "requireUserInput": false },
            "crashes": { "prompt": ["Crash."], "requireUserInput": false },
            "refused": {
                "prompt": ["Fail with \"no quota\"."],
                "requireUserInput": false,
            },
        },
        "jobs": {},
        "grid": [],
    })
}

async fn app() -> TestApp {
    let app = TestApp::new();
    app.install(&entry()).await;
    app
}

fn path(task: &str, action: &str) -> String {
    format!("/api/copilot/task/{task}/{action}")
}

async fn try_start(app: &TestApp, name: &str, session: &str, input: &str) -> Value {
    let path = format!("/api/copilot/task/start/{name}/session/{session}");
    app.post(&path, input.to_owned()).await.json()
}

async fn start(app: &TestApp, name: &str, session: &TestSession<'_>, input: &str) -> String {
    let reply = try_start(app, name, &session.id, input).await;
    let id = reply["taskId"].as_str().unwrap_or_else(|| panic!("{reply}"));
    assert!(id.starts_with("task-"), "{id}");
    id.to_owned()
}

/// Reads with a token until the task is reported as closed.
async fn read_to_the_end(app: &TestApp, task: &str, token: &str) -> Vec<Value> {
    let mut seen = Vec::new();
    loop {
        let reply = app.get(&path(task, &format!("live/{token}"))).await.json();
        let Value::Array(responses) = &reply["responses"] else {
            assert_eq!(reply, json!({ "error": "TaskClosed" }));
            return seen;
        };
        seen.extend(responses.iter().cloned());
    }
}

/// A decision: its sentence, and its kind and facts.
fn decision(reason: &str, facts: Value) -> Value {
    let mut decision = facts;
    decision["callback"] = json!("taskDecision");
    decision["reason"] = json!(reason);
    decision
}

#[tokio::test(start_paused = true)]
async fn tasks_are_listed_in_the_order_of_the_entry() {
    let app = TestApp::new();
    let entry = r#"{
        "models": { "driving": "gpt-5-mini" },
        "drivingSessionRetries": [{ "modelId": "gpt-5-mini", "retries": 1 }],
        "promptVariables": {},
        "tasks": {
            "second / of all": { "prompt": ["use $user-input"], "requireUserInput": true },
            "first": { "prompt": ["say hi"], "requireUserInput": false }
        },
        "jobs": {},
        "grid": []
    }"#;
    app.install_text(entry).await;
    let tasks = app.get("/api/copilot/task").await.json();
    assert_eq!(
        tasks,
        json!({ "tasks": [
            { "name": "second / of all", "requireUserInput": true },
            { "name": "first", "requireUserInput": false },
        ]})
    );
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_task_runs_in_the_session_and_leaves_it_open() {
    let app = app().await;
    let session = app.start().await;
    let task = start(&app, "greet", &session, "world").await;
    let seen = read_to_the_end(&app, &task, "t").await;
    let succeeded = decision("[TASK SUCCEEDED] the task succeeded", json!({ "kind": "Succeeded" }));
    assert_eq!(seen, [succeeded, json!({ "callback": "taskSucceeded" })]);
    let said = session.read_until_idle("t").await;
    let prompts = transcript::texts(&said, "onGeneratedUserPrompt", "prompt");
    assert_eq!(prompts, ["say \"hello world\""]);
    assert_eq!(transcript::messages(&said), ["hello world"]);
    session.query("say \"still here\"").await;
    session.read_until_idle("t").await;
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn criteria_are_judged_in_the_session_without_the_availability() {
    let app = app().await;
    let session = app.start().await;
    let task = start(&app, "judged", &session, "").await;
    let seen = read_to_the_end(&app, &task, "t").await;
    let names = ["taskVerdict", "taskDecision", "taskDecision", "taskSucceeded"];
    assert_eq!(transcript::names(&seen), names);
    assert_eq!(seen[0]["judge"]["sessionId"], session.id.as_str());
    let met = json!({ "kind": "Criteria", "attempt": 1, "met": true });
    assert_eq!(seen[1], decision("[CRITERIA] all criteria are met", met));
    assert_eq!(app.open_sessions().await.len(), 1, "no driving session");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_task_that_fails_says_why_and_what_was_tried() {
    let app = app().await;
    let session = app.start().await;
    // A name with a slash and blanks is one segment, percent-encoded.
    let task = start(&app, "fails%20%2F%20now", &session, "").await;
    let seen = read_to_the_end(&app, &task, "t").await;
    let unmet = "[CRITERIA] criteria.toolExecuted failed: not called: job_prepare_document\n\
         job_prepare_document";
    let verdict = |attempt: u32| {
        json!({
            "callback": "taskVerdict", "attempt": attempt, "met": "no",
            "criterion": "tool:job_prepare_document",
            "reason": "the agent never called job_prepare_document",
        })
    };
    let judged = |attempt: u32| {
        let facts = json!({
            "kind": "Criteria", "attempt": attempt, "met": false, "criterion": "toolExecuted",
            "required": ["job_prepare_document"], "missing": ["job_prepare_document"],
        });
        decision(unmet, facts)
    };
    assert_eq!(
        seen,
        [
            verdict(1),
            judged(1),
            decision(
                "[OPERATION] retry #1 of 1 starts",
                json!({ "kind": "Operation", "attempt": 2, "retries": 1 })
            ),
            verdict(2),
            judged(2),
            decision(
                "[DECISION] all 1 retries are used up",
                json!({ "kind": "Decision", "usedUp": "retries", "retries": 1 })
            ),
            decision(
                "[TASK FAILED] criteria.toolExecuted is not met",
                json!({
                    "kind": "Failed", "cause": "criteriaNotMet", "criterion": "toolExecuted",
                    "missing": ["job_prepare_document"],
                })
            ),
            json!({ "callback": "taskFailed" }),
        ]
    );
    let said = session.read_until_idles("t", 2).await;
    let prompts = transcript::texts(&said, "onGeneratedUserPrompt", "prompt");
    assert_eq!(
        prompts[1],
        "say \"working\"\n\n## Required Tool Not Called: job_prepare_document\n\n\
         ## You accidentally Stopped\n\nsay \"more\""
    );
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_ends_the_task_with_an_error() {
    let app = app().await;
    let session = app.start().await;
    let task = start(&app, "crashes", &session, "").await;
    let seen = read_to_the_end(&app, &task, "t").await;
    let [crashed, .., error, end] = &*seen else { panic!("{seen:?}") };
    assert_eq!(crashed["kind"], "SessionCrashed");
    assert_eq!(crashed["sessionId"], session.id.as_str());
    assert_eq!((&crashed["role"], &crashed["tries"]), (&json!("task"), &json!(1)));
    assert!(error["taskError"].as_str().is_some_and(|text| text.contains("crashed")), "{error}");
    assert_eq!(*end, json!({ "callback": "taskFailed" }));
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_turn_is_told_from_a_crash() {
    let app = app().await;
    let session = app.start().await;
    let model = app.open_sessions().await[0]["modelId"].clone();
    let task = start(&app, "refused", &session, "").await;
    let seen = read_to_the_end(&app, &task, "t").await;
    let error = "no quota";
    let model_id = model.as_str().expect("a model");
    assert_eq!(
        seen,
        [
            decision(
                &format!(
                    "[TURN FAILED] the turn of the task session with model {model_id} failed: {error}"
                ),
                json!({
                    "kind": "TurnFailed", "role": "task", "model": model, "tries": 1,
                    "sessionId": session.id, "outcome": "failed", "error": error,
                })
            ),
            decision(
                "[DECISION] the turn of the task session failed, and is not tried again",
                json!({
                    "kind": "Decision", "usedUp": "tries", "role": "task",
                    "crashes": 0, "failedTurns": 1,
                })
            ),
            decision(
                "[TASK FAILED] the turn of the task session failed: no quota",
                json!({ "kind": "Failed", "cause": "turnFailed", "failedTurns": 1, "role": "task", "error": error })
            ),
            json!({ "taskError": "the turn of the task session failed: no quota" }),
            json!({ "callback": "taskFailed" }),
        ]
    );
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_cannot_be_started() {
    let app = app().await;
    let session = app.start().await;
    let id = &session.id;
    let unknown = unknown_session("");
    let unknown = unknown.split('/').nth(4).expect("an id");
    for (name, session, error) in [
        ("nothing", id.as_str(), "TaskNotFound"),
        ("constructor", id, "TaskNotFound"),
        ("__proto__", id, "TaskNotFound"),
        ("Greet", id, "TaskNotFound"),
        ("greet", unknown, "SessionNotFound"),
        ("greet", "nonsense", "SessionNotFound"),
        ("nothing", unknown, "SessionNotFound"),
    ] {
        let reply = try_start(&app, name, session, "x").await;
        assert_eq!(reply, json!({ "error": error }), "{name} in {session}");
    }
    session.stop().await;
    let reply = try_start(&app, "greet", &session.id, "x").await;
    assert_eq!(reply, json!({ "error": "SessionNotFound" }), "a stopped session takes no tasks");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_task_in_a_borrowed_session_cannot_be_stopped() {
    let app = app().await;
    let session = app.start().await;
    let task = start(&app, "slow", &session, "").await;
    let stop = |id: &str| path(id, "stop");
    assert_eq!(app.get(&stop(&task)).await.json(), json!({ "error": "TaskCannotClose" }));
    assert_eq!(app.post(&stop(&task), "").await.json(), json!({ "error": "TaskCannotClose" }));
    for unknown in [UNKNOWN, "nonsense", &session.id] {
        let reply = app.get(&stop(unknown)).await.json();
        assert_eq!(reply, json!({ "error": "TaskNotFound" }), "{unknown}");
    }
    session.stop().await;
    let seen = read_to_the_end(&app, &task, "t").await;
    assert_eq!(transcript::count(&seen, "taskFailed"), 1, "it ends with its session");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn live_works_as_it_does_for_sessions() {
    let app = app().await;
    let session = app.start().await;
    let task = start(&app, "fails%20%2F%20now", &session, "").await;
    let all = read_to_the_end(&app, &task, "one").await;
    // Another token sees everything, and so does the reader without one, one response at a time.
    assert_eq!(read_to_the_end(&app, &task, "two").await, all);
    for expected in &all {
        assert_eq!(app.get(&path(&task, "live")).await.json(), *expected);
    }
    let closed = json!({ "error": "TaskClosed" });
    assert_eq!(app.get(&path(&task, "live")).await.json(), closed, "once");
    let not_found = json!({ "error": "TaskNotFound" });
    for live in ["live", "live/one", "live/two"] {
        assert_eq!(app.get(&path(&task, live)).await.json(), not_found, "{live}");
    }
    for (id, live) in [(UNKNOWN, "live"), (UNKNOWN, "live/t"), ("nonsense", "live/t")] {
        assert_eq!(app.get(&path(id, live)).await.json(), not_found, "{id} {live}");
    }
    let slow = start(&app, "slow", &session, "").await;
    let reply = app.get(&path(&slow, "live/t")).await.json();
    assert_eq!(reply, json!({ "error": "HttpRequestTimeout" }));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn without_an_entry_there_is_no_list_and_no_start() {
    let app = TestApp::new();
    let session = app.start().await;
    let missing = json!({ "error": "EntryNotInstalled" });
    let start = format!("start/greet/session/{}", session.id);
    for path in ["/api/copilot/task".to_owned(), format!("/api/copilot/task/{start}")] {
        assert_eq!(app.get(&path).await.json(), missing, "{path}");
    }
    // Whether a run exists does not depend on the entry.
    let not_found = json!({ "error": "TaskNotFound" });
    for action in ["stop", "live", "live/t"] {
        for id in [UNKNOWN, "nonsense", &session.id] {
            assert_eq!(app.get(&path(id, action)).await.json(), not_found, "{id} {action}");
        }
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn stopping_the_server_ends_tasks() {
    let app = app().await;
    let session = app.start().await;
    let task = start(&app, "slow", &session, "").await;
    assert_eq!(app.get("/api/stop").await.json(), json!({}));
    assert!(app.is_stopping());
    let seen = read_to_the_end(&app, &task, "t").await;
    assert_eq!(transcript::count(&seen, "taskFailed"), 1);
    app.assert_ends().await;
}
