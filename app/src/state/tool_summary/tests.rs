use super::*;

fn call<'a>(name: &'a str, arguments: &'a str, ending: Ending<'a>) -> ToolSummary {
    ToolSummary::of(&ToolCall { name, arguments, folder: "/home/me/src", ending })
}

fn returned(content: &str) -> Ending<'_> {
    Ending::Returned { content, details: None }
}

fn failed(message: &str) -> Ending<'_> {
    Ending::Failed { message, denied: false }
}

#[test]
fn one_line_says_what_a_call_did() {
    for (name, arguments, ending, verb, text) in [
        (
            "editFile",
            r#"{"content": "whole text", "path": "src/main.rs"}"#,
            returned("changed src/main.rs: 3 lines added, 1 removed"),
            "Edited",
            "src/main.rs +3 −1",
        ),
        (
            "runCommand",
            r#"{"command": "cargo test"}"#,
            returned("[exit code 1]\nerror\n"),
            "Ran",
            "cargo test → exit 1",
        ),
        ("runCommand", r#"{"command": "ls"}"#, returned("[exit code 0]\na\n"), "Ran", "ls"),
        (
            "runCommand",
            r#"{"command": "sleep 9"}"#,
            returned("[ended by signal 9]\n"),
            "Ran",
            "sleep 9 → failed",
        ),
        (
            "bash",
            r#"{"command":"cd a && make\necho b","description":"Build"}"#,
            returned("no\n<exited with exit code 2>"),
            "Ran",
            "cd a && make → exit 2",
        ),
        ("Bash", r#"{"command":"false"}"#, failed("Exit code 1\nno"), "Ran", "false → exit 1"),
        ("bash", r#"{"command":"a"}"#, returned("an exit code 3"), "Ran", "a"),
        ("readFiles", r#"{"files":["a.rs"]}"#, returned("a"), "Read", "a.rs"),
        ("readFiles", r#"{"files":["a","b","c"]}"#, returned("a"), "Read", "a and 2 more"),
        ("view", r#"{"path":"/home/me/src/app/a.rs"}"#, returned(""), "Read", "app/a.rs"),
        ("view", r#"{"path":"/home/me/srcs/a.rs"}"#, returned(""), "Read", "/home/me/srcs/a.rs"),
        (
            "grep",
            r#"{"path":".","pattern":"a\\(b\""}"#,
            returned("[exit code 1]"),
            "Searched",
            r#"a\(b""#,
        ),
        ("glob", r#"{"pattern":"**/*.rs"}"#, failed("no"), "List", "**/*.rs → failed"),
        (
            "str_replace_editor",
            r#"{"command":"view","path":"a.rs"}"#,
            returned("text"),
            "Read",
            "a.rs",
        ),
        (
            "str_replace_editor",
            r#"{"command":"create","path":"a.rs","file_text":"a\nb"}"#,
            returned("Created."),
            "Created",
            "a.rs +2",
        ),
        (
            "str_replace_editor",
            r#"{"command":"str_replace","path":"a.rs","old_str":"a","new_str":"b"}"#,
            returned("Edited."),
            "Edited",
            "a.rs +1 −1",
        ),
        (
            "apply_patch",
            "*** Begin Patch\n*** Add File: src/a.rs\n+a\n*** End Patch",
            returned("Done."),
            "Edited",
            "src/a.rs +1",
        ),
        ("ask_user", r#"{"question":"Which one?\nA or B"}"#, returned("A"), "Asked", "Which one?"),
        (
            "web_fetch",
            r#"{"max":5,"url":"https://e.org"}"#,
            returned(""),
            "Fetched",
            "https://e.org",
        ),
        (
            "task",
            r#"{"prompt":"long","description":"Review"}"#,
            returned(""),
            "Delegated",
            "Review",
        ),
        ("job_boolean_true", r#"{"x":1,"reason":"it holds"}"#, returned(""), "Called", "it holds"),
        ("anything", "", returned(""), "Called", ""),
        ("anything", "{}", failed("no"), "Call", "→ failed"),
    ] {
        let summary = call(name, arguments, ending);
        assert_eq!((summary.verb, summary.text().as_str()), (verb, text), "{name} {arguments}");
    }
}

#[test]
fn what_was_not_done_is_not_told_as_if_it_was() {
    let arguments = r#"{"path":"a.rs","old_str":"a","new_str":"b"}"#;
    for (ending, verb, text, word) in [
        (Ending::Running, "Edit", "a.rs +1 −1", None),
        (failed("no such text"), "Edit", "a.rs → failed", Some("failed")),
        (Ending::Failed { message: "no", denied: true }, "Edit", "a.rs → denied", Some("denied")),
        (Ending::Aborted, "Edit", "a.rs → aborted", Some("aborted")),
        (returned("ok"), "Edited", "a.rs +1 −1", None),
    ] {
        let summary = call("edit", arguments, ending);
        assert_eq!((summary.verb, summary.text().as_str()), (verb, text));
        assert_eq!(summary.outcome.map(Outcome::word), word);
    }
    assert_eq!(Outcome::Exit(1).word(), "failed");
}

#[test]
fn an_exit_code_is_that_of_a_command() {
    for (content, code) in [
        ("[exit code 101]\nexit code 3", Some(101)),
        ("text\n<shellId: 4 completed with exit code 7>", Some(7)),
        ("Exit code: -1\nWall time: 1 s", Some(-1)),
        ("it said exit code 4", None),
        ("[exit code x]", None),
        ("", None),
    ] {
        assert_eq!(exit_code(content), code, "{content}");
    }
}

#[test]
fn the_object_counts_what_it_stands_for() {
    let count = |arguments| call("readFiles", arguments, returned("")).count;
    assert_eq!(count(r#"{"files":["a","b","c"]}"#), 3);
    assert_eq!(count(r#"{"files":["a"]}"#), 1);
    assert_eq!(count("{}"), 1);
}

#[test]
fn a_long_object_is_cut() {
    let arguments = format!(r#"{{"command":"{}"}}"#, "ä".repeat(130));
    let object = call("bash", &arguments, Ending::Running).object;
    assert_eq!(object, format!("{}…", "ä".repeat(120)));
}

#[test]
fn arguments_that_still_arrive_are_told_as_far_as_they_came() {
    let arguments = r#"{"command": "cargo test --wor"#;
    assert_eq!(call("bash", arguments, Ending::Running).text(), "cargo test --wor");
}
