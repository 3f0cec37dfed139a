//! Extensions of a session, over the API.

use std::sync::Arc;

use agents::{AgentBackend, AgentError, AgentSession, AgentSettings, Capabilities};
use async_trait::async_trait;
use extensions::ExtensionSettings;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::transcript::errors;
use tests::{MODEL, Options, TestApp};
use tokio_util::sync::CancellationToken;
use wire::ModelInfo;

/// A server and a folder with one extension, which is not trusted.
fn project() -> (TestApp, TempDir) {
    project_with(Vec::new())
}

/// The same, with additional providers.
fn project_with(providers: Vec<Arc<dyn AgentBackend>>) -> (TestApp, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/extensions");
    let extension = folder.path().join(".github/extensions/tools");
    std::fs::create_dir_all(&extension).expect("a folder");
    std::fs::create_dir(folder.path().join(".git")).expect("a repository");
    let copied =
        std::fs::copy(format!("{ours}/tools/extension.mjs"), extension.join("extension.mjs"));
    copied.expect("one of our extensions");
    let sdk = format!("{ours}/node_modules/@github/copilot-sdk");
    assert!(
        std::path::Path::new(&sdk).is_dir(),
        "the package for extensions is missing: run `npm ci` in tests/extensions"
    );
    let extensions = ExtensionSettings {
        sdk_path: Some(sdk.into()),
        join_time_out: std::time::Duration::from_mins(1),
        ..ExtensionSettings::default()
    };
    let options = Options { extensions, ..Options::default() };
    (TestApp::with_backends(options, providers), folder)
}

/// A provider whose agents run extensions themselves, and always fail.
struct RunsThem;

#[async_trait]
impl AgentBackend for RunsThem {
    fn provider(&self) -> &'static str {
        "runs-them"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { extensions: true, own_tools: true, ..Capabilities::default() }
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        let (name, id) = ("Failing".to_owned(), "failing".to_owned());
        Ok(vec![ModelInfo { name, id, multiplier: 0.0, provider: None }])
    }

    async fn start_session(&self, _: AgentSettings) -> Result<Box<dyn AgentSession>, AgentError> {
        Ok(Box::new(Self))
    }

    async fn close(&self) {}
}

#[async_trait]
impl AgentSession for RunsThem {
    async fn run_turn(&self, _: &str, _: &CancellationToken) -> Result<(), AgentError> {
        Err(AgentError::Failed("down".to_owned()))
    }

    async fn stop(&self) {}
}

fn states(list: &Value) -> Vec<&str> {
    let extensions = list["extensions"].as_array().expect("a list").iter();
    extensions.map(|extension| extension["state"].as_str().expect("a word")).collect()
}

#[tokio::test]
async fn a_folder_is_trusted_once_and_forgotten_again() {
    let (app, folder) = project();
    let path = folder.path().canonicalize().expect("a folder");
    let path = path.to_str().expect("text");
    let id = app.start_in(folder.path()).await.id;
    let base = format!("/api/copilot/session/{id}/extensions");

    let list = app.get(&base).await.json();
    assert_eq!((&list["folder"], &list["trusted"]), (&json!(path), &json!(false)));
    assert_eq!(states(&list), ["untrusted"]);
    assert_eq!(list["extensions"][0]["name"], "tools");
    assert_eq!(list["extensions"][0]["source"], "project");

    let refused = app.post(&format!("{base}/trust"), "perhaps").await.json();
    assert_eq!(refused["error"], "InvalidExtensionTrust");
    let list = app.post(&format!("{base}/trust"), "allow").await.json();
    assert_eq!((&list["trusted"], states(&list)), (&json!(true), vec!["running"]));
    assert_eq!(list["extensions"][0]["tools"][0], "greet_someone");

    let other = app.start_in(folder.path()).await.id;
    let reload = format!("/api/copilot/session/{other}/extensions/reload");
    assert_eq!(states(&app.post(&reload, "").await.json()), ["running"], "trusted there, too");

    let list = app.post(&format!("{base}/trust"), "forbid").await.json();
    assert_eq!((&list["trusted"], states(&list)), (&json!(false), vec!["untrusted"]));
    app.finish().await;
}

#[tokio::test]
async fn the_portal_runs_them_for_a_fallback_model_that_does_not() {
    let (app, folder) = project_with(vec![Arc::new(RunsThem)]);
    let trusting = app.start_in(folder.path()).await;
    app.post(&trusting.path("extensions/trust"), "allow").await;
    let session = app.start_model_in("failing", folder.path()).await;
    let list = app.get(&session.path("extensions")).await.json();
    assert_eq!(states(&list), ["stopped"], "the agent would run it");
    app.post(&session.path("permissions"), "approve-all").await;
    app.post(&session.path("fallback"), format!("[\"{MODEL}\"]")).await;
    session.query("use the greet_someone tool with the arguments {\"who\": \"Ada\"}").await;
    let seen = session.read_until_idle("reader").await;
    assert_eq!(errors(&seen), [format!("failing failed: down; continuing with {MODEL}")]);
    let ended = seen.iter().find(|response| response["callback"] == "onEndToolExecution");
    assert!(ended.is_some_and(|end| end.get("error").is_none()), "{ended:?}");
    let list = app.get(&session.path("extensions")).await.json();
    assert_eq!(states(&list), ["running"]);
    app.finish().await;
}

#[tokio::test]
async fn extensions_belong_to_a_session() {
    let app = TestApp::new();
    for id in ["nonsense", "session-00000000-0000-4000-8000-000000000001"] {
        for (path, body) in [("reload", ""), ("trust", "allow")] {
            let path = format!("/api/copilot/session/{id}/extensions/{path}");
            assert_eq!(app.post(&path, body).await.json()["error"], "SessionNotFound");
        }
        let path = format!("/api/copilot/session/{id}/extensions");
        assert_eq!(app.get(&path).await.json()["error"], "SessionNotFound");
    }
    app.finish().await;
}
