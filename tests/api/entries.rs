//! Installing an entry by request, in test mode.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::job::{entry_of, options, task};
use tests::{Options, TestApp};

const INSTALL: &str = "/api/copilot/test/installJobsEntry";

fn entry() -> Value {
    json!({
        "models": { "driving": "gpt-5-mini" },
        "drivingSessionRetries": [{ "modelId": "gpt-5-mini", "retries": 1 }],
        "promptVariables": {},
        "tasks": { "t": { "prompt": ["say hi"], "requireUserInput": false } },
        "jobs": {},
        "grid": [],
    })
}

/// A server with a test folder `tests` in its own folder, and a file next to it.
struct Setup {
    app: TestApp,
    root: TempDir,
}

impl Setup {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir(root.path().join("tests")).expect("a folder");
        let test_folder = Some(root.path().join("tests"));
        let app = TestApp::with(Options { test_folder, ..Options::default() });
        Self { app, root }
    }

    fn write(&self, name: &str, content: &str) -> String {
        let file = self.root.path().join(name);
        fs::write(&file, content).expect("a file");
        file.display().to_string()
    }

    async fn install(&self, file: &str) -> (String, String) {
        let reply = self.app.post(INSTALL, file.to_owned()).await.json();
        let text = |field: &str| reply[field].as_str().unwrap_or_default().to_owned();
        (text("result"), text("error"))
    }
}

#[tokio::test(start_paused = true)]
async fn an_entry_in_the_test_folder_is_installed_and_replaced() {
    let setup = Setup::new();
    let missing = json!({ "error": "EntryNotInstalled" });
    assert_eq!(setup.app.get("/api/copilot/task").await.json(), missing);
    let file = setup.write("tests/entry.json", &entry().to_string());
    let reply = setup.app.post(INSTALL, file).await.json();
    assert_eq!(reply, json!({ "result": "OK" }));
    let mut other = entry();
    other["tasks"] = json!({ "other": entry()["tasks"]["t"] });
    let file = setup.write("tests/other.json", &other.to_string());
    assert_eq!(setup.install(&format!("{file}\n")).await.0, "OK");
    let tasks = setup.app.get("/api/copilot/task").await.json();
    assert_eq!(tasks["tasks"][0]["name"], "other");
    setup.app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_not_a_json_file_in_the_folder_is_an_invalid_path() {
    let setup = Setup::new();
    let outside = setup.write("outside.json", &entry().to_string());
    let not_json = setup.write("tests/not.json", "{ no");
    let root = setup.root.path().display().to_string();
    let mut paths = vec![
        (outside.clone(), "outside"),
        (format!("{root}/tests/../outside.json"), "outside"),
        (format!("{root}/tests/missing.json"), "can't be read"),
        (format!("{root}/tests"), "not a file"),
        (not_json, "not JSON"),
        ("tests/entry.json".to_owned(), "not an absolute path"),
        (String::new(), "not an absolute path"),
        ("/\0".to_owned(), "can't be read"),
    ];
    #[cfg(unix)]
    {
        let link = format!("{root}/tests/link.json");
        std::os::unix::fs::symlink(Path::new(&outside), &link).expect("a link");
        paths.push((link, "outside"));
    }
    for (path, why) in paths {
        let (result, error) = setup.install(&path).await;
        assert_eq!(result, "InvalidatePath", "{path}: {error}");
        assert!(error.contains(why), "{path}: {error}");
    }
    setup.app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn all_problems_of_an_entry_are_told_in_the_order_of_the_document() {
    let setup = Setup::new();
    let mut bad = entry();
    bad["models"] = json!({});
    bad["tasks"]["t"]["model"] = json!({ "category": "none" });
    let file = setup.write("tests/bad.json", &bad.to_string());
    let (result, error) = setup.install(&file).await;
    assert_eq!(result, "InvalidateEntry");
    for path in ["entry.models.driving: ", "entry.tasks[\"t\"].model.category: "] {
        assert!(error.lines().any(|line| line.starts_with(path)), "{path} in:\n{error}");
    }
    let missing = json!({ "error": "EntryNotInstalled" });
    assert_eq!(setup.app.get("/api/copilot/task").await.json(), missing);
    setup.app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn unknown_models_are_rejected_with_the_list_of_models() {
    let setup = Setup::new();
    let mut unknown = entry();
    unknown["models"]["other"] = json!("gpt-0");
    let retries = unknown["drivingSessionRetries"].as_array_mut().expect("a list");
    retries.push(json!({ "modelId": "gpt-1", "retries": 1 }));
    unknown["tasks"]["t"]["model"] = json!({ "id": "gpt-2" });
    let file = setup.write("tests/unknown.json", &unknown.to_string());
    let (result, error) = setup.install(&file).await;
    assert_eq!(result, "Rejected");
    for part in [
        "entry.models[\"other\"]: Unknown model: gpt-0.",
        "entry.drivingSessionRetries[1].modelId: Unknown model: gpt-1.",
        "entry.tasks[\"t\"].model.id: Unknown model: gpt-2.",
        "\n- GPT-5 mini (simulated): gpt-5-mini (multiplier 0)",
        "\n- Simulated Premium: simulated-premium (multiplier 1)",
    ] {
        assert!(error.contains(part), "{part} in:\n{error}");
    }
    setup.app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_installed_while_a_session_runs() {
    let setup = Setup::new();
    let file = setup.write("tests/entry.json", &entry().to_string());
    let session = setup.app.start().await;
    let (result, error) = setup.install(&file).await;
    assert_eq!((result.as_str(), error.contains("a session is running")), ("Rejected", true));
    session.stop().await;
    assert_eq!(setup.install(&file).await.0, "OK");
    setup.app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn outside_of_test_mode_there_is_no_such_endpoint() {
    let app = TestApp::new();
    let reply = app.post(INSTALL, "/x").await;
    assert_eq!(reply.refusal(), (404, "Unknown API endpoint".to_owned()));
    app.finish().await;
}

#[tokio::test]
async fn descriptions_are_told_where_tasks_and_jobs_are_listed() {
    let app = TestApp::with(options());
    let mut entry = entry_of(&[("job", task("ok")), ("other", task("no"))]);
    for (list, name) in [("tasks", "ok"), ("jobs", "job")] {
        entry[list][name]["description"] = format!("What {name} is for.").into();
    }
    app.install(&entry).await;
    let tasks = app.get("/api/copilot/task").await.json();
    let told = |name: &str| {
        let all = tasks["tasks"].as_array().expect("tasks");
        all.iter().find(|task| task["name"] == name).expect(name)["description"].clone()
    };
    assert_eq!(told("ok"), "What ok is for.");
    assert_eq!(told("no"), Value::Null, "left out");
    let jobs = app.get("/api/copilot/job").await.json();
    assert_eq!(jobs["jobs"]["job"]["description"], "What job is for.");
}
