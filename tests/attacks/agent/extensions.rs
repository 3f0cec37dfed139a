//! Code that an agent wrote, and tries to have executed.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::trust::PortalTrust;
use extensions::{ExtensionSettings, TrustStore};
use platform::lifecycle::Lifecycle;
use serde_json::{Value, json};
use store::live::{LiveSettings, LiveShared};
use store::portal::PortalLog;
use tempfile::TempDir;
use tests::{Options, TestApp, TestSession};

/// A server, and a repository with one extension that creates a file when it runs.
fn project(allow_everywhere: bool) -> (TestApp, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join(".git")).expect("a repository");
    write(folder.path(), "good", "");
    let sdk = concat!(env!("CARGO_MANIFEST_DIR"), "/extensions/node_modules/@github/copilot-sdk");
    let extensions = ExtensionSettings {
        sdk_path: Some(sdk.into()),
        allow_everywhere,
        join_time_out: Duration::from_mins(1),
        ..ExtensionSettings::default()
    };
    (TestApp::with(Options { extensions, ..Options::default() }), folder)
}

/// Writes an extension that contains a line.
fn write(root: &Path, name: &str, line: &str) {
    let folder = root.join(".github/extensions").join(name);
    fs::create_dir_all(&folder).expect("a folder");
    let text = format!(
        "import {{ joinSession }} from '@github/copilot-sdk/extension';\n\
         import {{ writeFileSync }} from 'node:fs';\n{line}\n\
         writeFileSync('ran-{name}', '');\nawait joinSession({{ tools: [] }});\n"
    );
    fs::write(folder.join("extension.mjs"), text).expect("an extension");
}

async fn use_tool(session: &TestSession<'_>, tool: &str) -> Vec<Value> {
    session.query(&format!("use the {tool} tool")).await;
    session.read_until_idle("reader").await
}

/// The state of an extension, and the reason.
async fn state(app: &TestApp, session: &TestSession<'_>, name: &str) -> (String, String) {
    let list = app.get(&session.path("extensions")).await.json();
    let all = list["extensions"].as_array().expect("a list").iter();
    let found = all.clone().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{list}"));
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("state"), text("reason"))
}

#[tokio::test]
async fn an_extension_that_changed_or_is_new_does_not_run_until_it_is_allowed_again() {
    for allow_everywhere in [false, true] {
        let (app, folder) = project(allow_everywhere);
        let session = app.start_in(folder.path()).await;
        if !allow_everywhere {
            app.post(&session.path("extensions/trust"), "allow").await;
        }
        use_tool(&session, "extensions_reload_is_none").await;
        assert_eq!(state(&app, &session, "good").await.0, "running");
        fs::remove_file(folder.path().join("ran-good")).expect("it ran");

        // Any change counts: here a file next to the entry point.
        fs::write(folder.path().join(".github/extensions/good/lib.mjs"), "evil").expect("a file");
        write(folder.path(), "evil", "");
        app.post(&session.path("extensions/reload"), "").await;
        let other = app.start_in(folder.path()).await;
        other.query("do nothing").await;
        other.read_until_idle("reader").await;
        for session in [&session, &other] {
            let (state_of, why) = state(&app, session, "good").await;
            assert_eq!((&*state_of, &*why), ("untrusted", "it has changed since it was allowed"));
            assert_eq!(state(&app, session, "evil").await.0, "untrusted");
        }
        assert!(!folder.path().join("ran-good").exists());
        assert!(!folder.path().join("ran-evil").exists());

        app.post(&session.path("extensions/trust"), "allow").await;
        assert_eq!(state(&app, &session, "good").await.0, "running");
        app.finish().await;
    }
}

#[tokio::test]
async fn trust_without_hashes_counts_no_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, project) = project(false);
    let root = project.path().canonicalize().expect("a folder");
    let file = folder.path().join("extensions.json");
    fs::write(&file, json!({ "folders": { root.to_str().expect("text"): true } }).to_string())
        .expect("a file");
    let live = LiveShared::new(LiveSettings::for_tests());
    let trust = PortalTrust(PortalLog::new(live, &Lifecycle::new()));
    trust.adopt_file(&file).await;
    let trust_store: Option<Arc<dyn TrustStore>> = Some(Arc::new(trust));
    let extensions = ExtensionSettings { trust_store, ..ExtensionSettings::default() };
    let app = TestApp::with(Options { extensions, ..Options::default() });
    let session = app.start_in(project.path()).await;
    let (state_of, why) = state(&app, &session, "good").await;
    assert_eq!(state_of, "untrusted");
    assert!(why.contains("allow it again"), "{why}");
    app.finish().await;
}

#[tokio::test]
async fn extensions_are_reloaded_and_made_only_if_somebody_says_so() {
    let (app, folder) = project(true);
    let session = app.start_in(folder.path()).await;
    let scaffold = "extensions_manage tool with {\"operation\": \"scaffold\", \"name\": \"mine\"}";
    session.query("do nothing").await;
    session.read_until_idle("reader").await;
    fs::remove_file(folder.path().join("ran-good")).expect("it ran");

    app.post(&session.path("permissions"), "deny").await;
    for prompt in ["use the extensions_reload tool", &format!("use the {scaffold}")] {
        session.query(prompt).await;
        let seen = session.read_until_idle("reader").await;
        assert!(seen.iter().any(|it| it["error"]["code"] == "denied"), "{prompt}: {seen:?}");
    }
    app.post(&session.path("permissions"), "ask").await;
    let made = folder.path().join(".github/extensions/mine/extension.mjs");
    let full = made.parent().and_then(Path::parent).expect("a folder").canonicalize();
    let full = full.expect("a folder").join("mine/extension.mjs").display().to_string();
    for (token, mode, prompt, path) in [
        ("a", "ask", "use the extensions_reload tool", None),
        ("b", "ask", &*format!("use the {scaffold}"), Some(&full)),
        // It is a file that runs later.
        ("c", "approve-all", &format!("use the {scaffold}"), Some(&full)),
    ] {
        app.post(&session.path("permissions"), mode).await;
        session.query(prompt).await;
        let question = loop {
            let seen = session.responses(token).await;
            let mut asked = seen.iter().filter(|it| it["callback"] == "onPermissionRequest");
            let answered = |id: &Value| {
                seen.iter()
                    .any(|it| it["callback"] == "onPermissionResolved" && it["requestId"] == *id)
            };
            if let Some(question) = asked.find(|it| !answered(&it["requestId"])) {
                break question.clone();
            }
        };
        assert_eq!(question["kind"], "command", "{question}");
        if let Some(path) = path {
            assert_eq!(question["path"], **path);
            assert_eq!(question["eachTime"], true);
        }
        session.decide(&question, "deny").await;
        session.read_until_idle("reader").await;
    }
    assert!(!made.exists() && !folder.path().join("ran-good").exists());
    app.finish().await;
}

#[tokio::test]
async fn an_extension_imports_nothing_from_outside_of_its_folder() {
    let (app, folder) = project(true);
    let outside = folder.path().join("outside.mjs");
    fs::write(&outside, "export default 1;").expect("a file");
    fs::write(folder.path().join("outside.cjs"), "module.exports = 1;").expect("a file");
    let url = format!("await import('file://{}');", outside.display());
    let required = "import { createRequire } from 'node:module';\n\
                    createRequire(import.meta.url)('../../../outside.cjs');";
    let data = format!(
        "await import('data:text/javascript,' + encodeURIComponent(\"import 'file://{}'\"));",
        outside.display()
    );
    let mut lines = vec![
        ("relative", "import '../../../outside.mjs';"),
        ("absolute", &url),
        ("required", required),
        ("data", &data),
    ];
    write(folder.path(), "inside", "import './lib.mjs';\nimport 'fs';\nimport 'node:path';");
    fs::write(folder.path().join(".github/extensions/inside/lib.mjs"), "").expect("a file");
    #[cfg(unix)]
    {
        write(folder.path(), "link", "");
        let link = folder.path().join(".github/extensions/link/lib.mjs");
        std::os::unix::fs::symlink(&outside, link).expect("a link");
        lines.push(("link", "import './lib.mjs';"));
    }
    for (name, line) in &lines {
        write(folder.path(), name, line);
    }
    let session = app.start_in(folder.path()).await;
    session.query("do nothing").await;
    session.read_until_idle("reader").await;
    assert_eq!(state(&app, &session, "inside").await, ("running".to_owned(), String::new()));
    for (name, _) in lines {
        let (state_of, why) = state(&app, &session, name).await;
        assert_eq!(state_of, "failed", "{name}");
        assert!(why.contains("outside of its folder"), "{name}: {why}");
        assert!(!folder.path().join(format!("ran-{name}")).exists(), "{name}");
    }
    app.finish().await;
}
