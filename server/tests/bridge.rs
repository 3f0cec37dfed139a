//! The bridge of the real program: events at its end, histories after a restart, settings that
//! change.

mod common;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{Running, portal};

/// A test that hangs fails.
const SAFETY: Duration = Duration::from_secs(30);

fn start(folder: &Path, arguments: &[&str]) -> Running {
    let arguments =
        [&["--port", "0", "--test", "--simulated-first-ms", "0"][..], arguments].concat();
    Running::start_command(portal(&arguments).current_dir(folder))
}

/// A connection to the events, past its head and the greeting.
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
        let server = start(folder.path(), &["--data-dir", "kept"]);
        let mut events = events(&server);
        post(&server, "/message", r#"{"text":"say remembered"}"#);
        read_until(&mut events, "event: done");
        drop(events);
        let list = server.get("/sessions");
        server.get("/api/stop");
        assert_eq!(server.wait().code(), Some(0));
        list.split('"').nth(3).expect("an id").to_owned()
    };
    let server = start(folder.path(), &["--data-dir", "kept"]);
    let history = server.get(&format!("/sessions/{id}"));
    assert!(history.contains(r#""role":"assistant","text":"remembered""#), "{history}");
}

#[test]
fn settings_are_read_again_when_the_file_changes() {
    let folder = tempfile::tempdir().expect("temporary folder");
    for name in ["one", "two"] {
        std::fs::create_dir(folder.path().join(name)).expect("folder");
    }
    let write = |text: &str| {
        std::fs::write(folder.path().join("portal.toml"), text).expect("file");
    };
    let wait_for = |server: &Running, part: &str| {
        let begin = Instant::now();
        loop {
            let list = server.get("/sessions");
            if list.contains(part) {
                return;
            }
            assert!(begin.elapsed() < SAFETY, "{list}");
            std::thread::yield_now();
        }
    };
    write("[[workspaces]]\npath = 'one'\n");
    let server = start(folder.path(), &[]);
    wait_for(&server, r#""name":"one""#);
    write("[[workspaces]]\npath = 'two'\n");
    wait_for(&server, r#""name":"two""#);
    // A mistake changes nothing, and the next version counts again.
    write("[[workspaces]]\npath = 'three'\n");
    write("[[workspaces]]\npath = 'one'\n[agent]\nenabled = false\n");
    wait_for(&server, r#""name":"one""#);
    let answer = post(&server, "/message", r#"{"text":"agent: do it"}"#);
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("AgentDisabled"), "{answer}");
}
