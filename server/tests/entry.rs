//! The real program's commands about entries: `validate`, `schema`, `sample`, and the published
//! schema.

#[expect(dead_code, reason = "other tests need more of it")]
mod common;

use std::path::{Path, PathBuf};

use common::{Running, portal};

/// Returns the exit code and standard output; standard error must stay empty.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let output = portal(arguments).output().expect("runs");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), String::from_utf8(output.stdout).expect("text"))
}

/// Creates a file for one test.
fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).expect("a file");
    path.to_str().expect("text").to_owned()
}

fn public() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../public")
}

#[test]
fn the_sample_is_valid() {
    let (code, sample) = run(&["sample"]);
    assert_eq!((code, sample.as_str()), (Some(0), engine::entry::SAMPLE));
    let file = file("sample.json", sample);
    let (code, line) = run(&["validate", &file]);
    assert_eq!((code, line), (Some(0), format!("{file}: valid, 12 tasks, 6 jobs\n")));
}

#[test]
fn every_problem_of_an_entry_is_printed_on_its_line() {
    let entry = r#"{ "models": {}, "drivingSessionRetries": [], "promptVariables": {},
        "tasks": { "t": { "prompt": ["$nope"], "requireUserInput": false } },
        "jobs": {}, "grid": [] }"#;
    let (code, lines) = run(&["validate", &file("problems.json", entry)]);
    assert_eq!(code, Some(1));
    assert_eq!(
        lines,
        "entry.models.driving: Missing.\n\
         entry.drivingSessionRetries: Must not be empty.\n\
         entry.tasks[\"t\"].prompt: Cannot find prompt variable: $nope.\n"
    );
}

#[test]
fn what_is_no_entry_at_all_is_told_in_a_line() {
    let broken = file("broken.json", "{\n  \"models\": oops\n}");
    let binary = file("binary.json", [0xff, 0xfe]);
    for (file, expected) in [
        (broken.as_str(), "not JSON, line 2, column 13: expected value"),
        (binary.as_str(), "the file can't be read"),
        ("/no/such/entry.json", "the file can't be read"),
    ] {
        let (code, text) = run(&["validate", file]);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.starts_with(&format!("{file}: {expected}")), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn other_commands_and_server_options_do_not_go_together() {
    for arguments in [&["--port", "0", "schema"][..], &["sample", "--port", "0"], &["0", "sample"]]
    {
        let output = portal(arguments).output().expect("runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn the_published_schema_is_current() {
    let (code, schema) = run(&["schema"]);
    assert_eq!(code, Some(0));
    let published = std::fs::read_to_string(public().join("entry.schema.json")).unwrap_or_default();
    assert!(
        schema == published.replace("\r\n", "\n"),
        "public/entry.schema.json is not current; \
         `cargo run -p server -- schema > public/entry.schema.json` renews it"
    );
}

#[cfg(not(feature = "embed-site"))]
#[test]
fn the_schema_is_served_as_json() {
    let mut server = portal(&["--port", "0"]);
    let server = Running::start(server.env("LEPTOS_SITE_ROOT", public()));
    let answer = server.get("/entry.schema.json");
    let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert!(serde_json::from_str::<serde_json::Value>(body).is_ok(), "{body}");
}
