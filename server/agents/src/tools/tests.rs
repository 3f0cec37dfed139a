//! The tools as a model calls them.

mod changes;
mod looks;

use std::fs;
use std::path::PathBuf;

use async_trait::async_trait;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::ToolSet;
use crate::permission::{ApproveAll, Denied};
use crate::tool::ToolCall;

/// A workspace with some files, and the tools of a run in it.
struct Fixture {
    folder: TempDir,
    tools: ToolSet,
}

impl Fixture {
    fn new() -> Self {
        Self::asking(Arc::new(ApproveAll))
    }

    fn asking(permissions: Arc<dyn PermissionHandler>) -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        fs::create_dir_all(folder.path().join("src/deep")).expect("folder");
        fs::create_dir(folder.path().join(".git")).expect("folder");
        for (name, text) in [
            ("README.md", "# Hello\nworld\n"),
            ("src/main.rs", "fn main() {\n    hello();\n}\n"),
            ("src/deep/lib.rs", "pub fn hello() {}\n"),
            ("build.log", "hello\n"),
            (".gitignore", "*.log\n"),
            (".git/config", "hello\n"),
        ] {
            fs::write(folder.path().join(name), text).expect("file");
        }
        let tools = set(&folder, permissions);
        Self { folder, tools }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("file");
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("file")
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<String, (String, String)> {
        let result = self.tools.call(name, ToolCall::new(arguments)).await;
        result
            .map(|result| result.content)
            .map_err(|error| (error.code.expect("every error of ours has a code"), error.message))
    }

    /// Makes a call that must succeed.
    async fn run(&self, name: &str, arguments: Value) -> String {
        self.call(name, arguments).await.expect("success")
    }

    /// Makes a call that must fail, and returns its code and message.
    async fn fail(&self, name: &str, arguments: Value) -> (String, String) {
        self.call(name, arguments).await.expect_err("failure")
    }
}

fn set(folder: &TempDir, permissions: Arc<dyn PermissionHandler>) -> ToolSet {
    let workspace = Workspace::open(folder.path(), &RootsLimit::default()).expect("a folder");
    let commands = CommandSettings::default();
    session_tools(WorkspaceSettings { workspace, permissions, commands })
}

/// Records what it is asked, runs a function, and answers.
struct Asked<F> {
    requests: Arc<Mutex<Vec<PermissionRequest>>>,
    meanwhile: F,
    answer: Result<(), Denied>,
}

#[async_trait]
impl<F: Fn() + Send + Sync + 'static> PermissionHandler for Asked<F> {
    async fn request(&self, _: &Asker, request: PermissionRequest) -> Result<(), Denied> {
        self.requests.lock().push(request);
        (self.meanwhile)();
        self.answer.clone()
    }
}

#[test]
fn a_session_has_all_tools_and_their_schemas_fit_together() {
    let fixture = Fixture::new();
    let names: Vec<_> = fixture.tools.iter().map(|tool| tool.name.clone()).collect();
    let expected = [
        "listFiles",
        "readFiles",
        "createFile",
        "editFile",
        "applyDiff",
        "searchFiles",
        "runCommand",
    ];
    assert_eq!(names[4..], expected);
    for tool in fixture.tools.iter().skip(4) {
        assert!(!tool.description.is_empty());
        assert_eq!(tool.parameters["type"], "object");
        let properties = tool.parameters["properties"].as_object().expect("properties");
        assert!(properties.values().all(|property| property["description"].is_string()));
        for required in tool.parameters["required"].as_array().expect("a list") {
            assert!(properties.contains_key(required.as_str().expect("a name")));
        }
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_refused() {
    let fixture = Fixture::new();
    for (name, arguments) in [
        ("listFiles", json!({ "max": "many" })),
        ("listFiles", json!(null)),
        ("listFiles", json!({ "glob": "[" })),
        ("readFiles", json!({})),
        ("readFiles", json!({ "files": [] })),
        ("readFiles", json!({ "files": vec!["README.md"; 101] })),
        ("createFile", json!({ "path": "x" })),
        ("createFile", json!({ "path": "", "content": "" })),
        ("editFile", json!({ "content": "x" })),
        ("applyDiff", json!({ "path": "README.md", "content": "x" })),
        ("searchFiles", json!({ "query": "" })),
        ("searchFiles", json!({ "query": "a\nb" })),
        ("searchFiles", json!({ "query": "(", "regex": true })),
        ("searchFiles", json!({ "query": "(a{1000}){1000}", "regex": true })),
        ("searchFiles", json!({ "query": "a".repeat(1001) })),
        ("runCommand", json!({ "cwd": "." })),
    ] {
        let (code, message) = fixture.fail(name, arguments).await;
        assert_eq!(code, "invalid_arguments", "{name}: {message}");
    }
}
