//! Paths that are completed while somebody types.

use std::fs;
use std::path::Path;

use axum::body::Body;
use serde_json::{Value, json};
use server::security::access::{AccessKey, Rights, Role};
use tests::{Options, TestApp, unknown_session};

fn make(root: &Path, folders: &[&str], files: &[&str]) {
    for folder in folders {
        fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    for file in files {
        fs::write(root.join(file), "x").expect("a file");
    }
}

async fn folders(app: &TestApp, typed: &str) -> Vec<String> {
    let reply = app.get(&format!("/api/copilot/folders?path={typed}")).await.json();
    serde_json::from_value(reply["folders"].clone()).unwrap_or_else(|_| panic!("{reply}"))
}

#[tokio::test]
async fn folders_complete_what_is_typed() {
    let app = TestApp::new();
    let root = tempfile::tempdir().expect("a folder");
    make(root.path(), &["beta", "alpha", "alps/deep", ".hidden"], &["alfile"]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(root.path().join("beta"), root.path().join("allink")).expect("link");
    let root = root.path().to_str().expect("text");
    let below = |names: &[&str]| -> Vec<String> {
        names.iter().map(|name| format!("{root}/{name}")).collect()
    };
    assert_eq!(
        folders(&app, &format!("{root}/")).await,
        below(&["allink", "alpha", "alps", "beta"])
    );
    assert_eq!(folders(&app, &format!("{root}/alp")).await, below(&["alpha", "alps"]));
    assert_eq!(folders(&app, &format!("{root}/alps/")).await, below(&["alps/deep"]));
    assert_eq!(folders(&app, &format!("{root}/.")).await, below(&[".hidden"]));
    for nothing in [&format!("{root}/none/"), &format!("{root}/alfile/"), "relative/", "", "%00/"] {
        assert!(folders(&app, nothing).await.is_empty(), "{nothing}");
    }
    let refused = app.get("/api/copilot/folders").await.refusal();
    assert_eq!(refused, (400, "UnreadableRequest".into()));
}

#[tokio::test]
async fn at_most_fifty_folders_are_offered() {
    let app = TestApp::new();
    let root = tempfile::tempdir().expect("a folder");
    for number in 0..60 {
        fs::create_dir(root.path().join(format!("f{number:02}"))).expect("a folder");
    }
    let found = folders(&app, &format!("{}/f", root.path().display())).await;
    assert_eq!(found.len(), 50);
    assert!(found[49].ends_with("/f49"), "{found:?}");
}

#[tokio::test]
async fn files_of_the_folder_match_in_any_case_and_the_best_come_first() {
    let app = TestApp::new();
    let root = tempfile::tempdir().expect("a folder");
    make(
        root.path(),
        &["src/Main", "target", ".git"],
        &[
            "README.md",
            "src/main.rs",
            "src/domain.rs",
            "src/Main/other.rs",
            "target/main.o",
            ".git/main",
            ".gitignore",
        ],
    );
    fs::write(root.path().join(".gitignore"), "/target\n").expect("a file");
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("main-secret"), "x").expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path(), root.path().join("main-link")).expect("a link");
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path().join("main-secret"), root.path().join("main-file"))
        .expect("a link");
    let session = app.start_in(root.path()).await;
    let files = async |query: &str| app.get(&session.path(&format!("files{query}"))).await.json();
    assert_eq!(
        files("?q=MAIN").await,
        json!({"files": ["src/main.rs", "src/domain.rs", "src/Main/other.rs"]})
    );
    assert_eq!(files("?q=src%2Fd").await, json!({"files": ["src/domain.rs"]}));
    assert_eq!(files("?q=none").await, json!({"files": []}));
    let all = json!({"files": [
        ".gitignore", "README.md", "src/domain.rs", "src/main.rs", "src/Main/other.rs"
    ]});
    assert_eq!(files("").await, all);
    drop(root);
    assert_eq!(files("?q=main").await, json!({"files": []}), "the folder is gone");
    assert_eq!(
        app.get(&unknown_session("files?q=a")).await.json(),
        json!({"error": "SessionNotFound"})
    );
    app.finish().await;
    assert_eq!(files("?q=main").await, json!({"error": "SessionNotFound"}));
}

#[tokio::test]
async fn viewers_may_have_paths_completed_and_strangers_may_not() {
    let rights = Rights { role: Role::Viewer, may_answer: false };
    let app = TestApp::with(Options {
        access_key: Some("correct-horse-battery"),
        further_keys: vec![AccessKey::named("screen", rights, "wall-screen-battery")],
        ..Options::default()
    });
    let viewer = [("authorization", "Bearer wall-screen-battery")];
    for path in ["/api/copilot/folders?path=/", &unknown_session("files")] {
        let reply = app.call("GET", path, &viewer, Body::empty()).await;
        assert_eq!(reply.status, 200, "{path}");
        assert_ne!(reply.json(), Value::Null);
        let stranger = app.call("GET", path, &[], Body::empty()).await;
        assert_eq!(stranger.refusal(), (401, "AccessKeyRequired".into()));
    }
}
