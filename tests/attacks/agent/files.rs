//! Files that run later, attacked by an agent with permission for something else.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tests::job::{entry_of, task};
use tests::{MODEL, TestApp, TestSession};

const EXTENSION: &str = ".github/extensions/evil/extension.mjs";

fn create(path: &str) -> String {
    let arguments = json!({ "path": path, "content": "evil\n" });
    format!("use the createFile tool with the arguments {arguments}")
}

/// Has the model create a file. Answers the permission request, if there is one, and returns it.
async fn make(session: &TestSession<'_>, path: &str, decision: &str) -> Option<Value> {
    session.query(&create(path)).await;
    let mut question = None;
    loop {
        let seen = session.responses("reader").await;
        let asks = |response: &&Value| response["callback"] == "onPermissionRequest";
        if let Some(asked) = seen.iter().find(asks) {
            assert_eq!(session.decide(asked, decision).await, json!({}));
            question = Some(asked.clone());
        }
        if seen.iter().any(|response| response["callback"] == "onIdle") {
            return question;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn always_for_one_text_file_covers_its_folder_and_no_file_that_runs_later() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    let session = app.start_in(folder.path()).await;
    let asked = make(&session, "notes/a.txt", "approve-always").await.expect("asked");
    assert!(asked.get("eachTime").is_none(), "{asked}");
    assert!(make(&session, "notes/b.txt", "deny").await.is_none(), "the same folder");
    for path in ["a.txt", "notes/deep/a.txt", "other/a.txt"] {
        assert!(make(&session, path, "deny").await.is_some(), "{path}");
    }
    for path in [EXTENSION, "notes/.envrc", "notes/.bashrc"] {
        let asked = make(&session, path, "approve-always").await.expect("asked");
        assert_eq!(asked["eachTime"], true, "{path}");
    }
    // The permanent approval counted only once.
    for path in [".github/extensions/evil/lib.mjs", "notes/.zshrc"] {
        assert!(make(&session, path, "deny").await.is_some(), "{path}");
        assert!(!folder.path().join(path).exists());
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn approve_all_does_not_cover_files_that_run_later_in_any_spelling() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    let session = app.start_in(folder.path()).await;
    assert_eq!(app.post(&session.path("permissions"), "approve-all").await.json(), json!({}));
    assert!(make(&session, "a.txt", "deny").await.is_none());
    for path in [
        EXTENSION,
        ".GitHub/Workflows/ci.yml",
        ".vscode/tasks.json",
        ".envrc",
        ".husky/pre-commit",
        ".githooks/pre-push",
        "home/.Bashrc",
        "x/../.vscode/launch.json",
        ".vscode./settings.json",
    ] {
        if path.starts_with("x/") {
            fs::create_dir(folder.path().join("x")).expect("a folder");
        }
        let asked = make(&session, path, "deny").await;
        assert!(asked.is_some_and(|asked| asked["eachTime"] == true), "{path}");
    }
    // Nor does a working directory inside them help.
    let inner = folder.path().join(".github/workflows");
    fs::create_dir_all(&inner).expect("a folder");
    let session = app.start_in(&inner).await;
    assert_eq!(app.post(&session.path("permissions"), "approve-all").await.json(), json!({}));
    assert!(make(&session, "ci.yml", "deny").await.is_some());
    assert!(!inner.join("ci.yml").exists());
    app.finish().await;
}

/// Runs a job that creates a workflow, with nobody to answer; returns whether it asked, and whether
/// the file exists.
async fn run_job(approve_files: Option<Value>, folder: &Path) -> (bool, bool) {
    let app = TestApp::with(tests::job::options());
    let mut entry = entry_of(&[("write", task("ok"))]);
    let prompt = create(".github/workflows/ci.yml");
    entry["tasks"]["ok"]["prompt"] =
        json!([format!("{prompt}, then use the job_boolean_true tool")]);
    entry["tasks"]["ok"]["model"] = json!({ "id": MODEL });
    if let Some(files) = approve_files {
        entry["jobs"]["write"]["approveFiles"] = files;
    }
    app.install(&entry).await;
    let started = app.post("/api/copilot/job/start/write", format!("{}\n", folder.display())).await;
    let started = started.json();
    let id = started["jobId"].as_str().expect("a job");
    let mut asked = false;
    loop {
        // The request times out on its own: nobody answers.
        let answer = app.get(&format!("/api/copilot/job/{id}/live/t")).await.json();
        for session in app.open_sessions().await {
            let id = session["sessionId"].as_str().expect("an id").to_owned();
            let seen = app.get(&format!("/api/copilot/session/{id}/live/t")).await.json();
            asked |= seen.to_string().contains("onPermissionRequest");
        }
        if answer["error"] == "JobsClosed" {
            break;
        }
    }
    app.finish().await;
    (asked, folder.join(".github/workflows/ci.yml").exists())
}

#[tokio::test(start_paused = true)]
async fn a_job_makes_files_that_run_later_only_if_it_names_them() {
    for (files, made) in [
        (None, false),
        (Some(json!([".github/extensions/**"])), false),
        (Some(json!([".github/workflows/*.yml"])), true),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let (asked, is_made) = run_job(files.clone(), folder.path()).await;
        assert_eq!((asked, is_made), (!made, made), "{files:?}");
    }
}
