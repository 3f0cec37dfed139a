//! `createFile`, `editFile` and `applyDiff`.

use wire::{PermissionDecision, PermissionKind, PermissionMode};

use super::*;

use crate::permission::{Answer, DenyAll, DeskRules, PermissionDesk};

fn readme(content: &str) -> Value {
    json!({ "path": "README.md", "content": content })
}

const DIFF: &str = "@@ -1,2 +1,2 @@\n-# Hello\n+# Goodbye\n world\n";

#[tokio::test]
async fn a_new_file_is_made_with_its_folders() {
    let fixture = Fixture::new();
    let new = json!({ "path": "a/b/new.txt", "content": "new\n" });
    assert_eq!(fixture.run("createFile", new.clone()).await, "created a/b/new.txt: 4 bytes");
    assert_eq!(fixture.text("a/b/new.txt"), "new\n");
    let (code, message) = fixture.fail("createFile", new).await;
    assert_eq!((code.as_str(), message.as_str()), ("exists", "already exists: `a/b/new.txt`"));
    // The model knows what it wrote.
    let edit = json!({ "path": "a/b/new.txt", "content": "newer\n" });
    fixture.run("editFile", edit).await;
    assert_eq!(fixture.text("a/b/new.txt"), "newer\n");
    for (path, code) in [
        ("../new", "not_allowed"),
        ("/tmp/new", "not_allowed"),
        (".git/hooks/x", "not_allowed"),
        ("README.md/x", "wrong_kind"),
        ("src", "exists"),
    ] {
        let (actual, _) = fixture.fail("createFile", json!({ "path": path, "content": "" })).await;
        assert_eq!(actual, code, "{path}");
    }
    let large = json!({ "path": "large", "content": "x".repeat(1024 * 1024 + 1) });
    assert_eq!(fixture.fail("createFile", large).await.0, "too_large");
}

#[tokio::test]
async fn only_a_file_that_was_read_and_did_not_change_is_edited() {
    let fixture = Fixture::new();
    let (code, message) = fixture.fail("editFile", readme("new\n")).await;
    assert_eq!(code, "not_read");
    assert_eq!(message, "read the whole file before it is edited: `README.md`");

    fixture.run("readFiles", json!({ "files": ["README.md"] })).await;
    let answer = fixture.run("editFile", readme("# Hello\nthere\n")).await;
    assert_eq!(answer, "changed README.md: 1 lines added, 1 removed");
    // The model's own change is known to it, another's is not.
    fixture.run("editFile", readme("three\n")).await;
    fixture.write("README.md", "changed\n");
    let (code, message) = fixture.fail("editFile", readme("four\n")).await;
    assert_eq!(code, "changed");
    assert_eq!(message, "the file changed since it was read, read it again: `README.md`");
    assert_eq!(fixture.text("README.md"), "changed\n");

    fixture.run("readFiles", json!({ "files": ["./src/../README.md"] })).await;
    let same = fixture.run("editFile", readme("changed\n")).await;
    assert_eq!(same, "README.md already has this content, nothing was changed");
    // What another run has read does not count.
    let other = set(&fixture.folder, Arc::new(ApproveAll));
    let outcome = other.call("editFile", ToolCall::new(readme("x"))).await;
    assert_eq!(outcome.expect_err("not read").code.as_deref(), Some("not_read"));
}

#[tokio::test]
async fn a_file_that_was_read_in_part_is_not_edited() {
    let fixture = Fixture::new();
    fixture.write("README.md", "x".repeat(300_000));
    fixture.run("readFiles", json!({ "files": ["README.md"] })).await;
    assert_eq!(fixture.fail("editFile", readme("x")).await.0, "not_read");
    fixture.write("README.md", b"\0");
    assert_eq!(fixture.fail("editFile", readme("x")).await.0, "binary");
    fixture.write("README.md", "x".repeat(1024 * 1024 + 1));
    assert_eq!(fixture.fail("editFile", readme("x")).await.0, "too_large");
    fs::remove_file(fixture.path("README.md")).expect("removed");
    assert_eq!(fixture.fail("editFile", readme("x")).await.0, "not_found");
}

#[tokio::test]
async fn a_diff_is_applied_whole_or_not_at_all() {
    let fixture = Fixture::new();
    let patch = |diff: &str| json!({ "path": "README.md", "diff": diff });
    let half = format!("{DIFF}@@ -9 +9 @@\n-nothing\n+like it\n");
    let (code, message) = fixture.fail("applyDiff", patch(&half)).await;
    assert_eq!(code, "does_not_apply");
    assert_eq!(message, "hunk 2 does not match the file, read it again: `@@ -9 +9 @@`");
    assert_eq!(fixture.text("README.md"), "# Hello\nworld\n");

    let answer = fixture.run("applyDiff", patch(DIFF)).await;
    assert_eq!(answer, "changed README.md: 1 lines added, 1 removed");
    assert_eq!(fixture.text("README.md"), "# Goodbye\nworld\n");
    // The file was never read as a whole.
    assert_eq!(fixture.fail("editFile", readme("x")).await.0, "not_read");
    fixture.run("readFiles", json!({ "files": ["README.md"] })).await;
    fixture.run("applyDiff", patch("@@ -2 +2 @@\n-world\n+moon\n")).await;
    fixture.run("editFile", readme("x\n")).await;
    for path in ["missing", "../README.md", ".git/config", "src"] {
        fixture.fail("applyDiff", json!({ "path": path, "diff": DIFF })).await;
    }
}

#[tokio::test]
async fn people_see_what_they_decide_about() {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let asked = Asked { requests: Arc::clone(&requests), meanwhile: || {}, answer: Ok(()) };
    let fixture = Fixture::asking(Arc::new(asked));
    std::os::unix::fs::symlink("src/main.rs", fixture.path("link")).expect("link");
    fixture.run("createFile", json!({ "path": "new", "content": "a\u{202e}b" })).await;
    fixture.run("readFiles", json!({ "files": ["README.md"] })).await;
    fixture.run("editFile", readme("# Hello\nthere\n")).await;
    let diff = "@@\n-fn main() {\n+fn start() {\n";
    fixture.run("applyDiff", json!({ "path": "link", "diff": diff })).await;
    let requests = requests.lock().clone();
    let [create, edit, apply] = requests.try_into().expect("three questions");
    assert_eq!((create.kind, create.title.as_str()), (PermissionKind::Create, "Create new"));
    assert_eq!(create.detail.as_deref(), Some("a\\u{202e}b"));
    assert_eq!((edit.kind, edit.title.as_str()), (PermissionKind::Write, "Change README.md"));
    let expected = "--- a/README.md\n+++ b/README.md\n@@ -1,2 +1,2 @@\n # Hello\n-world\n+there\n";
    assert_eq!(edit.diff.as_deref(), Some(expected));
    // The name of the link would hide what is changed.
    assert_eq!(apply.path.as_deref(), Some("src/main.rs"));
}

#[tokio::test]
async fn nothing_is_asked_that_cannot_be_done_anyway() {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let asked = Asked { requests: Arc::clone(&requests), meanwhile: || {}, answer: Ok(()) };
    let fixture = Fixture::asking(Arc::new(asked));
    fixture.fail("createFile", readme("x")).await;
    fixture.fail("createFile", json!({ "path": "../x", "content": "" })).await;
    fixture.fail("editFile", readme("x")).await;
    fixture.fail("applyDiff", json!({ "path": "README.md", "diff": "@@\n-no\n" })).await;
    fixture.fail("runCommand", json!({ "command": "true" })).await;
    fixture.run("applyDiff", json!({ "path": "README.md", "diff": "@@\n world\n" })).await;
    assert!(requests.lock().is_empty());
}

#[tokio::test]
async fn what_is_refused_is_not_done() {
    let fixture = Fixture::asking(Arc::new(DenyAll));
    fixture.run("readFiles", json!({ "files": ["README.md"] })).await;
    for (name, arguments) in [
        ("createFile", json!({ "path": "a/new", "content": "" })),
        ("editFile", readme("x")),
        ("applyDiff", json!({ "path": "README.md", "diff": DIFF })),
    ] {
        let (code, message) = fixture.fail(name, arguments).await;
        assert_eq!(code, "denied");
        assert!(message.starts_with("refused"), "{message}");
    }
    assert_eq!(fixture.text("README.md"), "# Hello\nworld\n");
    assert!(!fixture.path("a").exists());
}

#[tokio::test]
async fn what_changes_while_people_think_is_not_overwritten() {
    let place = Arc::new(Mutex::new(PathBuf::new()));
    let written = Arc::clone(&place);
    let meanwhile = move || fs::write(&*written.lock(), "someone else\n").expect("file");
    let asked = Asked { requests: Arc::default(), meanwhile, answer: Ok(()) };
    let fixture = Fixture::asking(Arc::new(asked));
    *place.lock() = fixture.path("README.md");
    fixture.run("readFiles", json!({ "files": ["README.md"] })).await;
    let (code, _) = fixture.fail("editFile", readme("x")).await;
    assert_eq!(code, "changed");
    fixture.write("README.md", "# Hello\nworld\n");
    let diff = json!({ "path": "README.md", "diff": DIFF });
    assert_eq!(fixture.fail("applyDiff", diff).await.0, "changed");
    assert_eq!(fixture.text("README.md"), "someone else\n");
    *place.lock() = fixture.path("new");
    let (code, _) = fixture.fail("createFile", json!({ "path": "new", "content": "" })).await;
    assert_eq!(code, "exists");
    assert_eq!(fixture.text("new"), "someone else\n");
}

#[tokio::test]
async fn a_call_that_is_dropped_while_it_waits_changes_nothing() {
    let desk = PermissionDesk::new(
        PermissionMode::Ask,
        PermissionDesk::TIME_OUT,
        DeskRules::default(),
        |_| {},
    );
    let fixture = Fixture::asking(Arc::new(desk.clone()));
    let call = fixture.call("createFile", json!({ "path": "new", "content": "" }));
    tokio::select! {
        outcome = call => panic!("nobody approved: {outcome:?}"),
        () = async { while desk.pending().is_empty() { tokio::task::yield_now().await; } } => {}
    }
    assert!(desk.pending().is_empty());
    assert!(!fixture.path("new").exists());
    // With an answer the call continues.
    let approve = async {
        while desk.pending().is_empty() {
            tokio::task::yield_now().await;
        }
        let id = desk.pending().first().expect("a question").question.id;
        desk.resolve(id, &Answer::new(PermissionDecision::Approve, "tester"))
    };
    let call = fixture.call("createFile", json!({ "path": "new", "content": "" }));
    let (outcome, approved) = tokio::join!(call, approve);
    assert!(outcome.is_ok() && approved.is_ok());
    assert!(fixture.path("new").exists());
}
