//! `listFiles`, `readFiles` and `searchFiles`.

use std::time::{Duration, Instant};

use super::*;

#[tokio::test]
async fn files_are_listed_by_glob_and_word() {
    let fixture = Fixture::new();
    for (arguments, expected) in [
        (json!({}), ".gitignore\nREADME.md\nsrc/main.rs\nsrc/deep/lib.rs\n"),
        (
            json!({ "glob": null, "max": null }),
            ".gitignore\nREADME.md\nsrc/main.rs\nsrc/deep/lib.rs\n",
        ),
        (json!({ "glob": "*.rs" }), "src/main.rs\nsrc/deep/lib.rs\n"),
        (json!({ "glob": "src/*.rs" }), "src/main.rs\n"),
        (json!({ "glob": "deep" }), "src/deep/lib.rs\n"),
        (json!({ "glob": "config" }), "[no files]\n"),
        (json!({ "glob": "build.log" }), "[no files]\n"),
        (
            json!({ "glob": "*.rs", "max": 1 }),
            "src/main.rs\n[there are more: narrow the glob or raise max]\n",
        ),
    ] {
        assert_eq!(fixture.run("listFiles", arguments.clone()).await, expected, "{arguments}");
    }
}

#[tokio::test]
async fn lists_are_bounded() {
    let fixture = Fixture::new();
    for number in 0..600 {
        fixture.write(&format!("file{number}"), "");
    }
    for (max, lines) in [(json!(null), 51), (json!(500), 501), (json!(1_000_000), 501)] {
        let text = fixture.run("listFiles", json!({ "glob": "file", "max": max })).await;
        assert_eq!(text.lines().count(), lines);
    }
    let name = "x".repeat(200);
    for number in 0..500 {
        fixture.write(&format!("{name}{number}"), "");
    }
    let text = fixture.run("listFiles", json!({ "glob": name, "max": 500 })).await;
    assert!(text.len() < MAX_ANSWER + 500);
    assert!(text.ends_with("raise max]\n"));
}

#[tokio::test]
async fn misleading_names_are_quoted() {
    let fixture = Fixture::new();
    fixture.write("two\nlines.txt", "hello\n");
    let text = fixture.run("listFiles", json!({ "glob": "*.txt" })).await;
    assert_eq!(text, "\"two\\nlines.txt\"\n");
    let text = fixture.run("searchFiles", json!({ "query": "hello", "glob": "*.txt" })).await;
    assert_eq!(text, "\"two\\nlines.txt\":1: hello\n");
    let text = fixture.run("readFiles", json!({ "files": ["two\nlines.txt"] })).await;
    assert_eq!(text, "=== \"two\\nlines.txt\"\nhello\n");
}

#[tokio::test]
async fn files_are_read_and_what_cannot_be_read_is_named() {
    let fixture = Fixture::new();
    fixture.write("image", b"\x89PNG\0");
    fixture.write("open", "no end");
    let files = json!(["README.md", "image", "open", "missing", "../x", ".git/config", "src"]);
    let text = fixture.run("readFiles", json!({ "files": files })).await;
    let expected = "\
=== README.md
# Hello
world
=== image
[binary file, not read: 5 bytes]
=== open
no end
=== missing
[not read: no such file or folder]
=== ../x
[not read: outside of the workspace]
=== .git/config
[not read: `.git` is off limits]
=== src
[not read: not a regular file]
";
    assert_eq!(text, expected);
    let (code, message) = fixture.fail("readFiles", json!({ "files": ["missing"] })).await;
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("not_found", "no such file or folder: `missing`")
    );
    let (code, message) = fixture.fail("readFiles", json!({ "files": ["/etc/passwd", "x"] })).await;
    assert_eq!(code, "not_allowed");
    assert!(message.starts_with("no file could be read:\n=== /etc/passwd\n"), "{message}");
}

#[tokio::test]
async fn reading_is_bounded_by_file_and_in_all() {
    let fixture = Fixture::new();
    // A character spans the limit.
    let large = format!("x{}", "ü".repeat(200_000));
    for name in ["a", "b", "c"] {
        fixture.write(name, &large);
    }
    let sparse = fs::File::create(fixture.path("sparse")).expect("file");
    sparse.set_len(1 << 40).expect("a sparse file");
    let text = fixture.run("readFiles", json!({ "files": ["a"] })).await;
    assert!(text.ends_with("\n[cut: 262143 of 400001 bytes]\n"));
    assert!(!text.contains('\u{fffd}'));
    let text = fixture.run("readFiles", json!({ "files": ["a", "b", "c", "sparse"] })).await;
    assert!(text.len() < read::MAX_ALL + 500, "{}", text.len());
    assert!(text.contains("=== c\n"));
    assert!(text.contains("of 400001 bytes]\n=== sparse\n"));
}

#[tokio::test]
async fn lines_are_found_by_text_and_expression() {
    let fixture = Fixture::new();
    fixture.write("binary", b"hello\0");
    for (arguments, expected) in [
        (
            json!({ "query": "hello" }),
            "src/main.rs:2:     hello();\nsrc/deep/lib.rs:1: pub fn hello() {}\n",
        ),
        (json!({ "query": "hello()", "glob": "main" }), "src/main.rs:2:     hello();\n"),
        (json!({ "query": "^fn .*\\{$", "regex": true }), "src/main.rs:1: fn main() {\n"),
        (json!({ "query": "^fn .*", "regex": false }), "[no matches]\n"),
        (json!({ "query": "(?i)HELLO", "regex": true, "glob": "*.md" }), "README.md:1: # Hello\n"),
        (
            json!({ "query": "hello", "max": 1 }),
            "src/main.rs:2:     hello();\n\
             [there are more: narrow the query or the glob, or raise max]\n",
        ),
    ] {
        assert_eq!(fixture.run("searchFiles", arguments.clone()).await, expected, "{arguments}");
    }
}

#[tokio::test]
async fn searches_are_bounded() {
    let fixture = Fixture::new();
    fixture.write("long", format!("{}needle{}", "ü".repeat(3000), ".".repeat(3000)));
    let text = fixture.run("searchFiles", json!({ "query": "needle" })).await;
    assert!(text.starts_with("long:1: …ü") && text.contains("needle..."), "{text}");
    assert!(text.len() < 400, "{}", text.len());
    fixture.write("many", "hay\n".repeat(10_000));
    let text = fixture.run("searchFiles", json!({ "query": "hay", "max": 100_000 })).await;
    assert_eq!(text.lines().count(), search::MOST + 1);
    let sparse = fs::File::create(fixture.path("sparse")).expect("file");
    sparse.set_len(1 << 40).expect("a sparse file");
    let text = fixture.run("searchFiles", json!({ "query": "nowhere" })).await;
    assert_eq!(text, "[no matches]\n[left out, as they are larger than 4 MiB: 1]\n");
}

#[tokio::test]
async fn a_hostile_expression_ends() {
    let fixture = Fixture::new();
    fixture.write("aaa", "a".repeat(300_000));
    let started = Instant::now();
    for query in ["(a*)*b", "(a|aa)+$b", "(.*)(.*)(.*)(.*)x", "(a{0,30}){0,10}b"] {
        let arguments = json!({ "query": query, "regex": true, "glob": "aaa" });
        assert_eq!(fixture.run("searchFiles", arguments).await, "[no matches]\n", "{query}");
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}
