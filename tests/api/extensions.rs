//! Extensions of a session, over the API.

use extensions::ExtensionSettings;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::{Options, TestApp};

/// A server and a folder with one extension, which is not trusted.
fn project() -> (TestApp, TempDir) {
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
    (TestApp::with(Options { extensions, ..Options::default() }), folder)
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
