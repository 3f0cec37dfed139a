//! The bridge in the real program: events at its end, histories after a restart, settings that
//! change.

mod common;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{Running, portal};

/// Makes a test that hangs fail.
const SAFETY: Duration = Duration::from_secs(30);

fn start(folder: &Path, arguments: &[&str]) -> Running {
    let arguments =
        [&["--port", "0", "--test", "--simulated-first-ms", "0"][..], arguments].concat();
    Running::start(portal(&arguments).current_dir(folder))
}

/// A connection to the events, after its head and the greeting.
fn events(server: &Running) -> BufReader<TcpStream> {
    let stream = server.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.set_read_timeout(Some(SAFETY)).expect("a time-out");
    let mut events = BufReader::new(stream);
    read_until(&mut events, "id: ");
    events
}

fn read_until(events: &mut impl BufRead, part: &str) -> String {
    let mut text = String::new();
    while !text.contains(part) {
        assert_ne!(events.read_line(&mut text).expect("a line"), 0, "the end: {text}");
    }
    text
}

fn post(server: &Running, path: &str, body: &str) -> String {
    let length = body.len();
    let mut answer = String::new();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    server.send(&head).read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn events_end_with_the_server_after_the_ends_of_all_runs() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let server = start(folder.path(), &[]);
    let mut events = events(&server);
    let answer = post(&server, "/message", r#"{"text":"say hello, then wait 10 minutes"}"#);
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    read_until(&mut events, "event: fragment");
    server.get("/api/stop");
    let mut rest = String::new();
    events.read_to_string(&mut rest).expect("up to the end");
    assert!(rest.contains(r#""reason":"cancelled""#), "{rest}");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_history_is_there_again_after_a_restart() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let id = {
        let server = start(folder.path(), &["--data-dir", "kept", "--store", "sqlite"]);
        let mut events = events(&server);
        post(&server, "/message", r#"{"text":"say remembered"}"#);
        read_until(&mut events, "event: done");
        drop(events);
        let list = server.get("/sessions");
        server.get("/api/stop");
        assert_eq!(server.wait().code(), Some(0));
        list.split('"').nth(3).expect("an id").to_owned()
    };
    let server = start(folder.path(), &["--data-dir", "kept", "--store", "sqlite"]);
    let history = server.get(&format!("/sessions/{id}"));
    assert!(history.contains(r#""role":"assistant","text":"remembered""#), "{history}");
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let kept = ["--data-dir", "kept", "--store", "sqlite"];
    let server = start(folder.path(), &kept);
    let mut first = events(&server);
    for text in ["say hello, then wait 10 minutes", "say later"] {
        let answer = post(&server, "/message", &format!(r#"{{"text":"{text}"}}"#));
        assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    }
    let seen = read_until(&mut first, "event: fragment");
    let last_id = seen.lines().rev().find_map(|line| line.strip_prefix("id: ")).expect("an id");
    // Dropped, it is killed.
    drop(server);

    let server = start(folder.path(), &kept);
    let head =
        format!("GET /events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: {last_id}\r\n\r\n");
    let stream = server.send(&head);
    stream.set_read_timeout(Some(SAFETY)).expect("a time-out");
    let mut events = BufReader::new(stream);
    let cut_off = read_until(&mut events, "\"reason\":\"cancelled\"");
    assert!(!cut_off.contains("event: inbound") && !cut_off.contains("missed"), "{cut_off}");
    assert!(cut_off.contains("interrupted: the server stopped"), "{cut_off}");
    let answered = read_until(&mut events, "\"reason\":\"done\"");
    assert!(answered.contains(r#""fragment":"later""#), "{answered}");
    let list = server.get("/sessions");
    let id = list.split('"').nth(3).expect("an id");
    let history = server.get(&format!("/sessions/{id}"));
    assert!(history.contains(r#""text":"later""#), "{history}");
    assert!(history.contains(r#""reason":"cancelled""#), "{history}");
}

#[test]
fn rights_are_taken_away_when_the_file_changes_and_never_given() {
    let folder = tempfile::tempdir().expect("temporary folder");
    for name in ["one", "two", "three"] {
        std::fs::create_dir(folder.path().join(name)).expect("folder");
    }
    let write = |text: &str| {
        std::fs::write(folder.path().join("own.toml"), text).expect("file");
    };
    let wait_for = |server: &Running, is_so: &dyn Fn(&str) -> bool| {
        let begin = Instant::now();
        loop {
            let list = server.get("/sessions");
            if is_so(&list) {
                return;
            }
            assert!(begin.elapsed() < SAFETY, "{list}");
            std::thread::yield_now();
        }
    };
    let has = |list: &str, name: &str| list.contains(&format!(r#""name":"{name}""#));
    let of = |names: &[&str]| {
        let tables = names.iter().map(|name| format!("[[workspaces]]\npath = '{name}'\n"));
        tables.collect::<String>()
    };
    write(&of(&["one", "two"]));
    let server = start(folder.path(), &["--config", "own.toml"]);
    wait_for(&server, &|list| has(list, "one") && has(list, "two"));
    write(&of(&["two", "three"]));
    wait_for(&server, &|list| !has(list, "one") && has(list, "two") && !has(list, "three"));
    // A mistake changes nothing, and the next version is used again.
    write(&of(&["four"]));
    write(&format!("{}[agent]\nenabled = false\n", of(&["one", "two"])));
    let begin = Instant::now();
    let answer = loop {
        let answer = post(&server, "/message", r#"{"text":"agent: do it"}"#);
        if answer.starts_with("HTTP/1.1 400") {
            break answer;
        }
        assert!(begin.elapsed() < SAFETY, "{answer}");
        // The rate of messages is limited.
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(answer.contains("AgentDisabled"), "{answer}");
    let list = server.get("/sessions");
    assert!(!has(&list, "one") && has(&list, "two"), "{list}");
}
