//! Domain errors are answered with the error's name and nothing else: clients compare the whole
//! object. Details are in a header.

use std::collections::BTreeSet;
use std::pin::pin;

use axum::body::Body;
use engine::job::JobSettings;
use serde_json::{Value, json};
use store::attachment::MOST_ATTACHMENTS;
use store::live::LiveSettings;
use tests::job::{FICKLE_MODEL, alt, entry_of, options, seq, task};
use tests::{MODEL, Options, Reply, TestApp, TestSession, is_pending, unknown_session};
use wire::{Budget, ErrorName};

const TASK: &str = "/api/copilot/task/task-00000000-0000-4000-8000-000000000000";
const JOB: &str = "/api/copilot/job/job-00000000-0000-4000-8000-000000000000";
const BROKEN_MODEL: &str = "broken-one";

/// The names that occurred, each in an answer that contained nothing else.
#[derive(Default)]
struct Met(BTreeSet<String>);

impl Met {
    fn check(&mut self, reply: &Reply, error: ErrorName, call: &str) {
        assert_eq!(reply.status, 200, "{call}");
        // Compared as text: parsing could hide a duplicate field.
        assert_eq!(reply.text, format!(r#"{{"error":"{error}"}}"#), "{call}");
        assert_eq!(reply.json(), json!({ "error": error.to_string() }), "{call}");
        self.0.insert(error.to_string());
    }

    async fn post(&mut self, app: &TestApp, path: &str, body: &str, error: ErrorName) -> Reply {
        let reply = app.post(path, body.to_owned()).await;
        self.check(&reply, error, &format!("POST {path} {body:?}"));
        reply
    }

    async fn get(&mut self, app: &TestApp, path: &str, error: ErrorName) {
        self.check(&app.get(path).await, error, path);
    }

    async fn poll(&mut self, app: &TestApp, path: &str, error: ErrorName) {
        let reply = app.call("GET", path, &[], Body::empty()).await;
        self.check(&reply, error, path);
    }
}

#[tokio::test(start_paused = true)]
async fn every_error_of_the_domain_is_its_name_and_nothing_else() {
    let mut met = Met::default();
    starts_of_sessions(&mut met).await;
    calls_to_sessions(&mut met).await;
    calls_while_a_turn_runs(&mut met).await;
    budgets(&mut met).await;
    live_calls(&mut met).await;
    tasks(&mut met).await;
    jobs(&mut met).await;
    // Its status is another one, and it has a message.
    let others = ErrorName::ALL.iter().filter(|name| **name != ErrorName::StoreUnavailable);
    let all: BTreeSet<String> = others.map(ToString::to_string).collect();
    assert_eq!(met.0, all, "an error that nothing here provokes");
}

async fn starts_of_sessions(met: &mut Met) {
    let further_models = &[BROKEN_MODEL];
    let app = TestApp::with(Options { further_models, max_sessions: 1, ..Options::default() });
    let start = |model: &str| format!("/api/copilot/session/start/{model}");
    for (model, folder, error) in [
        ("unknown", "", ErrorName::ModelIdNotFound),
        (MODEL, "relative", ErrorName::WorkingDirectoryNotAbsolutePath),
        (MODEL, "/no/such/folder", ErrorName::WorkingDirectoryNotExists),
        (BROKEN_MODEL, "", ErrorName::ModelNotAvailable),
    ] {
        met.post(&app, &start(model), folder, error).await;
    }
    app.start().await;
    met.post(&app, &start(MODEL), "", ErrorName::TooManySessions).await;
    app.finish().await;
}

async fn calls_to_sessions(met: &mut Met) {
    let app = TestApp::with(Options { max_queries: 0, ..Options::default() });
    let unknown = unknown_session("");
    let unknown = unknown.trim_end_matches('/');
    for id in [unknown, "/api/copilot/session/nonsense"] {
        for (action, body) in [
            ("query", "hello"),
            ("abort", ""),
            ("stop", ""),
            ("permissions", "ask"),
            ("permission/permission-00000000-0000-4000-8000-000000000000", "approve"),
            ("extensions/reload", ""),
            ("extensions/trust", "allow"),
            ("rename", "title"),
            ("delete", ""),
            ("continue", ""),
            ("budget", "{}"),
            ("queue/1/remove", ""),
            ("queue/1/edit", "hello"),
            ("steer", "hello"),
            ("attach/a.txt", "hello"),
            ("model", MODEL),
        ] {
            met.post(&app, &format!("{id}/{action}"), body, ErrorName::SessionNotFound).await;
        }
        for action in [
            "extensions",
            "live",
            "live/t",
            "query",
            "stop",
            "events",
            "export.md",
            "export.json",
            "budget",
            "queue",
            "files",
            "attachment/file-00000000-0000-4000-8000-000000000000",
        ] {
            met.get(&app, &format!("{id}/{action}"), ErrorName::SessionNotFound).await;
        }
    }
    let session = app.start().await;
    for (action, body, error) in [
        ("query", "say hello", ErrorName::TooManyQueries),
        ("permissions", "perhaps", ErrorName::InvalidPermissionMode),
        ("permission/nonsense", "perhaps", ErrorName::InvalidPermissionDecision),
        ("permission/nonsense", "deny", ErrorName::PermissionNotPending),
        ("extensions/trust", "perhaps", ErrorName::InvalidExtensionTrust),
        ("rename", "", ErrorName::InvalidTitle),
        ("budget", "[]", ErrorName::InvalidBudget),
        ("queue/1/remove", "", ErrorName::NotQueued),
        ("steer", "say hello", ErrorName::NotWorking),
        ("delete", "", ErrorName::StillRunning),
        ("continue", "", ErrorName::StillRunning),
    ] {
        met.post(&app, &session.path(action), body, error).await;
    }
    let attach = session.path("attach/a");
    met.post(&app, &attach, "\0", ErrorName::AttachmentNotSupported).await;
    for _ in 0..MOST_ATTACHMENTS {
        app.post(&attach, "").await;
    }
    met.post(&app, &attach, "", ErrorName::TooManyAttachments).await;
    met.get(&app, &session.path("attachment/nonsense"), ErrorName::AttachmentNotFound).await;
    let item = "/api/copilot/inbox/permission-00000000-0000-4000-8000-000000000000";
    met.post(&app, item, "deny", ErrorName::NotPending).await;
    met.post(&app, item, "perhaps", ErrorName::InvalidAnswer).await;
    app.finish().await;
}

async fn calls_while_a_turn_runs(met: &mut Met) {
    let app = TestApp::with(Options { further_models: &["plain"], ..Options::default() });
    let session = app.start_model("plain").await;
    session.query("wait 60 seconds").await;
    session.responses("t").await;
    met.post(&app, &session.path("steer"), "say hello", ErrorName::SteerNotSupported).await;
    met.post(&app, &session.path("model"), MODEL, ErrorName::SessionBusy).await;
    app.finish().await;
}

async fn budgets(met: &mut Met) {
    let one_turn = Budget { turns: 1.try_into().ok(), ..Budget::default() };
    let app = TestApp::with(Options { session_budget: one_turn, ..options() });
    let mut entry = entry_of(&[("job", task("ok"))]);
    entry["tasks"]["ok"]["model"] = json!({ "id": FICKLE_MODEL });
    entry["tasks"]["ok"]["budget"] = json!({ "tokens": 1 });
    app.install(&entry).await;
    met.post(&app, "/api/copilot/job/start/job", "/", ErrorName::BudgetNotSupported).await;
    let session = app.start_with(&["do nothing"]).await;
    session.read_until_idle("t").await;
    met.post(&app, &session.path("query"), "say hello", ErrorName::BudgetExceeded).await;
    let start = format!("/api/copilot/task/start/ok/session/{}", session.id);
    met.post(&app, &start, "", ErrorName::BudgetExceeded).await;
    app.finish().await;
}

async fn live_calls(met: &mut Met) {
    let live = LiveSettings { max_readers: 2, max_pending_calls: 1, ..LiveSettings::for_tests() };
    let app = TestApp::with(Options { live, ..Options::default() });
    let (session, other) = (app.start().await, app.start().await);
    let live_of = |session: &TestSession<'_>, token: &str| session.path(&format!("live/{token}"));
    met.poll(&app, &live_of(&session, "one"), ErrorName::HttpRequestTimeout).await;
    {
        let mut first = pin!(session.poll("one"));
        assert!(is_pending(&mut first).await);
        met.poll(&app, &live_of(&session, "one"), ErrorName::ParallelCallNotSupported).await;
        met.poll(&app, &live_of(&other, "one"), ErrorName::TooManyPendingCalls).await;
    }
    met.poll(&app, &session.path("live"), ErrorName::HttpRequestTimeout).await;
    met.poll(&app, &live_of(&session, "three"), ErrorName::TooManyReaders).await;
    session.stop().await;
    met.poll(&app, &live_of(&session, "one"), ErrorName::SessionClosed).await;
    met.poll(&app, &live_of(&session, "one"), ErrorName::SessionNotFound).await;
    let batch = app.post("/api/copilot/live/t", other.id.clone()).await;
    met.check(&batch, ErrorName::HttpRequestTimeout, "a live call for many");
    app.finish().await;
}

async fn tasks(met: &mut Met) {
    let app = TestApp::with(options());
    met.get(&app, "/api/copilot/task", ErrorName::EntryNotInstalled).await;
    let session = app.start().await;
    let start =
        |name: &str, session: &str| format!("/api/copilot/task/start/{name}/session/{session}");
    met.post(&app, &start("ok", &session.id), "", ErrorName::EntryNotInstalled).await;
    for action in ["stop", "live", "live/t"] {
        met.get(&app, &format!("{TASK}/{action}"), ErrorName::TaskNotFound).await;
    }
    session.stop().await;

    app.install(&entry_of(&[("job", seq([task("ok"), task("ok 60")]))])).await;
    let session = app.start().await;
    met.post(&app, &start("nothing", &session.id), "", ErrorName::TaskNotFound).await;
    met.post(&app, &start("ok", "nonsense"), "", ErrorName::SessionNotFound).await;
    for action in ["stop", "live", "live/t"] {
        met.get(&app, &format!("{TASK}/{action}"), ErrorName::TaskNotFound).await;
    }
    let started = app.post(&start("ok%2060", &session.id), "").await.json();
    let id = started["taskId"].as_str().unwrap_or_else(|| panic!("{started}"));
    let path = |action: &str| format!("/api/copilot/task/{id}/{action}");
    met.post(&app, &path("stop"), "", ErrorName::TaskCannotClose).await;
    session.stop().await;
    loop {
        let reply = app.get(&path("live/t")).await;
        if !reply.json()["responses"].is_array() {
            met.check(&reply, ErrorName::TaskClosed, "the end of a task");
            break;
        }
    }
    met.poll(&app, &path("live/t"), ErrorName::TaskNotFound).await;
    app.finish().await;
}

async fn jobs(met: &mut Met) {
    let jobs = JobSettings { max_jobs: 1, ..JobSettings::default() };
    let app = TestApp::with(Options { jobs, ..options() });
    let start = |name: &str| format!("/api/copilot/job/start/{name}");
    for path in ["/api/copilot/job", "/api/copilot/job/running"] {
        met.get(&app, path, ErrorName::EntryNotInstalled).await;
    }
    met.post(&app, &start("slow"), "/", ErrorName::EntryNotInstalled).await;
    let unknown = async |app: &TestApp, met: &mut Met| {
        for action in ["status", "verdicts", "stop", "live", "live/t"] {
            met.get(app, &format!("{JOB}/{action}"), ErrorName::JobNotFound).await;
        }
        for job in [JOB, "/api/copilot/job/nonsense"] {
            for work in ["", "0", "x"] {
                met.post(app, &format!("{job}/retry"), work, ErrorName::JobNotFound).await;
            }
            met.get(app, &format!("{job}/retry"), ErrorName::JobNotFound).await;
        }
    };
    unknown(&app, met).await;

    let quick = alt(task("no"), task("ok"), Value::Null);
    let mut entry = entry_of(&[("slow", task("ok 60")), ("asks", task("asks")), ("quick", quick)]);
    entry["jobs"]["asks"]["requireUserInput"] = json!(true);
    app.install(&entry).await;
    unknown(&app, met).await;
    for (name, body, error) in [
        ("nothing", "/", ErrorName::JobNotFound),
        ("slow", "relative", ErrorName::WorkingDirectoryNotAbsolutePath),
        ("slow", "/no/such/folder\ninput", ErrorName::WorkingDirectoryNotExists),
        ("asks", "/\n", ErrorName::UserInputRequired),
    ] {
        met.post(&app, &start(name), body, error).await;
    }
    let ended = app.start_job("quick").await;
    ended.read_to_the_end("t").await;
    for (work, error) in [
        ("", ErrorName::NothingToRetry),
        ("1", ErrorName::NothingToRetry),
        ("2", ErrorName::WorkNotFound),
        ("first", ErrorName::WorkNotFound),
    ] {
        met.post(&app, &ended.path("retry"), work, error).await;
    }
    let job = app.start_job("slow").await;
    met.post(&app, &start("slow"), "/", ErrorName::TooManyJobs).await;
    met.post(&app, &ended.path("retry"), "0", ErrorName::TooManyJobs).await;
    for work in ["", "0", "x"] {
        met.post(&app, &job.path("retry"), work, ErrorName::StillRunning).await;
    }
    job.stop().await;
    loop {
        let reply = app.get(&job.path("live/t")).await;
        if !reply.json()["responses"].is_array() {
            met.check(&reply, ErrorName::JobsClosed, "the end of a job");
            break;
        }
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn details_stand_in_a_header_that_any_client_can_read() {
    let app = TestApp::with(Options { further_models: &[BROKEN_MODEL], ..Options::default() });
    let session = app.start().await;
    let start = |model: &str| format!("/api/copilot/session/start/{model}");
    for (path, body, details) in [
        (start("un%20kn%C3%BCwn"), "", "unknown model: `un kn%C3%BCwn`"),
        (start(MODEL), "ü\r\nx", "not an absolute path: `%C3%BC%0D%0Ax`"),
        (start(MODEL), "/no/such/folder", "no such folder: `/no/such/folder`"),
        (
            start(BROKEN_MODEL),
            "",
            "the agent did not start: no login:%0Arun %E2%80%9Clogin%E2%80%9D",
        ),
        (session.path("permissions"), "x", "the body must be approve-all, ask or deny"),
        (session.path("permission/x"), "x", "the body must be approve, approve-always or deny"),
        (session.path("extensions/trust"), "x", "the body must be allow or forbid"),
    ] {
        let reply = app.post(&path, body).await;
        assert_eq!(reply.json().as_object().map(serde_json::Map::len), Some(1), "{path}");
        assert_eq!(reply.header("portal-message"), details, "{path}");
    }
    let long = app.post(&start(MODEL), format!("/{}", "ü".repeat(100_000))).await;
    let details = long.header("portal-message");
    assert!(details.len() <= 1000 && details.ends_with("%C3%BC"), "{details}");
    let reply = app.post(&session.path("query"), "say hello").await;
    assert_eq!((reply.json(), reply.header("portal-message")), (json!({}), ""), "no error");
    app.finish().await;
}

#[tokio::test]
async fn what_never_reaches_the_domain_says_why_in_its_body() {
    let app = TestApp::new();
    let reply = app.post(&unknown_session("query"), vec![0xff]).await;
    assert_eq!(reply.refusal(), (400, "UnreadableRequest".into()));
    assert!(reply.json()["message"].is_string());
    let reply = app.get("/api/nothing").await;
    assert_eq!(reply.json(), json!({ "error": "Unknown API endpoint" }));
}
