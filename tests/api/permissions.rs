//! Tools that ask before they act, and the usage of models.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tests::job::{entry_of, task};
use tests::transcript::{assert_grammar, texts};
use tests::{MODEL, TestApp, TestSession, unknown_session};

/// A prompt that creates a file.
fn create(path: &str) -> String {
    let arguments = json!({ "path": path, "content": "hello\n" });
    format!("use the createFile tool with the arguments {arguments}")
}

fn outcome(seen: &[Value]) -> &Value {
    let end = seen.iter().find(|response| response["callback"] == "onEndToolExecution");
    end.expect("the tool has ended")
}

/// Has the model create a file, and answers the permission request.
async fn ask(session: &TestSession<'_>, path: &str, decision: &str) -> (Value, Vec<Value>) {
    session.query(&create(path)).await;
    let token = format!("reader-of-{path}");
    let (mut seen, question) = session.read_until_asked(&token).await;
    assert_eq!(session.decide(&question, decision).await, json!({}));
    seen.extend(session.read_until_idle(&token).await);
    assert_grammar(&seen);
    (question, seen)
}

#[tokio::test(start_paused = true)]
async fn nothing_changes_before_somebody_approves() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    let session = app.start_in(folder.path()).await;
    session.query(&create("a.txt")).await;
    let (_, question) = session.read_until_asked("one").await;
    let id = question["requestId"].clone();
    assert_eq!(
        question,
        json!({
            "callback": "onPermissionRequest", "requestId": id, "kind": "create",
            "title": "Create a.txt", "path": "a.txt", "detail": "hello\n",
        })
    );
    assert!(!folder.path().join("a.txt").exists());

    // A later reader is asked, too; the first answer counts.
    let (_, again) = session.read_until_asked("two").await;
    assert_eq!(again, question);
    assert_eq!(session.decide(&question, "approve").await, json!({}));
    let late = session.decide(&question, "deny").await;
    assert_eq!(late["error"], "PermissionNotPending");
    for token in ["one", "two"] {
        let seen = session.read_until_idle(token).await;
        let resolved = json!({
            "callback": "onPermissionResolved", "requestId": id, "decision": "approve",
        });
        assert!(seen.contains(&resolved), "{seen:?}");
        assert_eq!(outcome(&seen)["result"]["content"], "created a.txt: 6 bytes");
    }
    assert_eq!(fs::read_to_string(folder.path().join("a.txt")).expect("the file"), "hello\n");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_denied_is_not_done_and_the_model_is_told() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    let session = app.start_in(folder.path()).await;
    let (_, seen) = ask(&session, "a.txt", "deny").await;
    assert_eq!(outcome(&seen)["error"]["message"], "refused by the user");
    assert!(!folder.path().join("a.txt").exists());
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn always_is_for_one_kind_and_one_session() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    let session = app.start_in(folder.path()).await;
    ask(&session, "a.txt", "approve-always").await;
    session.query(&create("b.txt")).await;
    let seen = session.read_until_idles("more", 2).await;
    assert_eq!(texts(&seen, "onPermissionRequest", "title"), ["Create a.txt"]);
    assert!(folder.path().join("b.txt").exists());

    let edit = "use the readFiles tool with the arguments {\"files\":[\"a.txt\"]}, then use the \
                editFile tool with the arguments {\"path\":\"a.txt\",\"content\":\"bye\\n\"}";
    session.query(edit).await;
    let mut seen = Vec::new();
    let question = loop {
        seen.extend(session.responses("more").await);
        let asks = |response: &&Value| response["kind"] == "write";
        if let Some(question) = seen.iter().find(asks) {
            break question.clone();
        }
    };
    let diff = question["diff"].as_str().expect("a diff");
    assert!(diff.contains("-hello") && diff.contains("+bye"), "{diff}");
    session.decide(&question, "deny").await;
    session.read_until_idle("more").await;

    let other = app.start_in(folder.path()).await;
    ask(&other, "c.txt", "deny").await;
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_can_be_told_to_ask_nothing() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    let session = app.start_in(folder.path()).await;
    assert_eq!(app.open_sessions().await[0]["permissions"], "ask");
    for (mode, made) in [("approve-all", true), ("deny", false)] {
        assert_eq!(app.post(&session.path("permissions"), mode).await.json(), json!({}));
        assert_eq!(app.open_sessions().await[0]["permissions"], mode);
        session.query(&create(mode)).await;
        let seen = session.read_until_idle("reader").await;
        assert_eq!(texts(&seen, "onPermissionRequest", "title"), [""; 0]);
        assert_eq!(folder.path().join(mode).exists(), made, "{mode}");
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_its_turn_and_its_session() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    for (end, error) in [("abort", "PermissionNotPending"), ("stop", "SessionNotFound")] {
        let session = app.start_in(folder.path()).await;
        session.query(&create(end)).await;
        let (_, question) = session.read_until_asked("reader").await;
        app.get(&session.path(end)).await;
        let seen = match end {
            "abort" => session.read_until_idle("reader").await,
            _ => session.read_to_the_end("reader").await,
        };
        let resolved = json!({
            "callback": "onPermissionResolved",
            "requestId": question["requestId"],
            "decision": "withdrawn",
        });
        assert!(seen.contains(&resolved), "{end}: {seen:?}");
        assert_eq!(session.decide(&question, "approve").await["error"], error);
        assert!(!folder.path().join(end).exists());
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn mistakes_are_told_with_what_is_accepted() {
    let app = TestApp::new();
    let session = app.start().await;
    let nobody = "permission/permission-00000000-0000-4000-8000-000000000000";
    for (path, body, error) in [
        (session.path(nobody), "approve", "PermissionNotPending"),
        (session.path("permission/1"), "approve", "PermissionNotPending"),
        (session.path(nobody), "yes", "InvalidPermissionDecision"),
        (session.path(nobody), "", "InvalidPermissionDecision"),
        (session.path("permissions"), "sometimes", "InvalidPermissionMode"),
        (unknown_session(nobody), "approve", "SessionNotFound"),
        (unknown_session("permissions"), "ask", "SessionNotFound"),
    ] {
        assert_eq!(app.post(&path, body).await.json()["error"], error, "{path}");
    }
    app.finish().await;
}

/// Starts a job of one prompt in a folder, with or without its own permissions; returns the path of
/// its reader.
async fn start_writing(
    app: &TestApp,
    prompt: &str,
    permissions: Option<&str>,
    folder: &Path,
) -> String {
    let mut entry = entry_of(&[("write", task("ok"))]);
    entry["tasks"]["ok"]["prompt"] = json!([prompt]);
    entry["tasks"]["ok"]["model"] = json!({ "id": MODEL });
    if let Some(mode) = permissions {
        entry["jobs"]["write"]["permissions"] = json!(mode);
    }
    app.install(&entry).await;
    let body = format!("{}\n", folder.display());
    let started = app.post("/api/copilot/job/start/write", body).await.json();
    format!("/api/copilot/job/{}/live/t", started["jobId"].as_str().expect("a job"))
}

#[tokio::test(start_paused = true)]
async fn jobs_approve_everything_unless_they_or_the_settings_say_otherwise() {
    let deny = || Some("deny");
    for (setting, job, made) in [(None, None, true), (None, deny(), false), (deny(), None, false)] {
        let mut options = tests::job::options();
        if let Some(mode) = setting {
            options.jobs.permissions = mode.parse().expect("a mode");
        }
        let app = TestApp::with(options);
        let folder = tempfile::tempdir().expect("a folder");
        let prompt = format!("{}, then use the job_boolean_true tool", create("a.txt"));
        let live = start_writing(&app, &prompt, job, folder.path()).await;
        while app.get(&live).await.json()["error"] != "JobsClosed" {}
        assert_eq!(folder.path().join("a.txt").exists(), made, "{setting:?} {job:?}");
        app.finish().await;
    }
}

#[tokio::test(start_paused = true)]
async fn rights_are_taken_away_from_jobs_at_work() {
    for (job, made) in [(None, false), (Some("approve-all"), true)] {
        let app = TestApp::with(tests::job::options());
        let folder = tempfile::tempdir().expect("a folder");
        let (first, second) = (create("first.txt"), create("second.txt"));
        let prompt = format!("{first}, then wait 9 seconds, then {second}");
        let live = start_writing(&app, &prompt, job, folder.path()).await;
        while !folder.path().join("first.txt").exists() {
            tokio::task::yield_now().await;
        }
        app.narrow_jobs(wire::PermissionMode::Deny);
        while app.get(&live).await.json()["error"] != "JobsClosed" {}
        assert_eq!(folder.path().join("second.txt").exists(), made, "{job:?}");
        app.finish().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_models_took_is_told_per_turn_and_summed_for_jobs() {
    let app = TestApp::new();
    let session = app.start().await;
    session.query("count 120 input tokens and 30 output tokens, then say done").await;
    let seen = session.read_until_idle("reader").await;
    let usage = json!({
        "callback": "onUsage", "model": MODEL, "inputTokens": 120, "outputTokens": 30,
    });
    assert!(seen.contains(&usage), "{seen:?}");
    app.finish().await;

    let app = TestApp::with(tests::job::options());
    let mut entry = entry_of(&[("twice", tests::job::seq([task("ok"), task("no")]))]);
    for name in ["ok", "no"] {
        let prompt = entry["tasks"][name]["prompt"][0].as_str().expect("a prompt").to_owned();
        entry["tasks"][name]["prompt"] =
            json!([format!("count 100 input tokens and 10 output tokens, then {prompt}")]);
    }
    app.install(&entry).await;
    let started = app.post("/api/copilot/job/start/twice", "/\n").await.json();
    let id = started["jobId"].as_str().expect("a job");
    while app.get(&format!("/api/copilot/job/{id}/live/t")).await.json()["error"] != "JobsClosed" {}
    let status = app.get(&format!("/api/copilot/job/{id}/status")).await.json();
    assert_eq!(status["usage"], json!({ "inputTokens": 200, "outputTokens": 20 }));
    for work in 0..2 {
        let usage = &status["tasks"][work]["usage"];
        assert_eq!(*usage, json!({ "inputTokens": 100, "outputTokens": 10 }), "{work}");
    }
    app.finish().await;
}
