//! Slow clients can neither lock the owner out nor fill the memory.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use tests::program::PATIENCE;
use tests::program::{Program, Running};

const KEY: &str = "correct-horse-battery";

/// Announces a body for the login, and sends only its beginning.
fn slow_login(server: &Running) -> TcpStream {
    server.send(
        "POST /login HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nkey=",
    )
}

/// True if the server has hung up.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).expect("our own socket");
    let read = stream.read(&mut [0; 1024]);
    stream.set_nonblocking(false).expect("our own socket");
    match read {
        Ok(length) => length == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

#[test]
fn slow_bodies_on_the_login_do_not_lock_the_owner_out() {
    let mut server = Program::new(&["--access-key", KEY]).start();
    let mut crowd: Vec<_> = (0..260).map(|_| slow_login(&server)).collect();
    let bearer = format!("Authorization: Bearer {KEY}\r\n");
    assert_eq!(server.call("GET", "/api/config", &bearer, "").0, 200);
    // Few strangers of one address stay; the latest may still present a key.
    let mut open = crowd.len();
    server.wait_for("strangers are let go", |_| {
        crowd.retain_mut(|stream| !is_closed(stream));
        open = crowd.len();
        open <= 64
    });
    assert_eq!(server.call("GET", "/api/config", &bearer, "").0, 200);
}

#[test]
fn a_login_that_does_not_come_is_not_waited_for() {
    let server = Program::new(&["--access-key", KEY]).start();
    let begun = Instant::now();
    let mut answer = String::new();
    slow_login(&server).read_to_string(&mut answer).expect("an answer, then the end");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_login_with_a_large_body_is_refused() {
    let server = Program::new(&["--access-key", KEY]).start();
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let (status, answer) = server.call("POST", "/login", form, &"x".repeat(17 * 1024));
    assert_eq!(status, 413, "{answer}");
}

#[test]
fn a_prompt_has_a_cap_of_its_own() {
    let server = Program::new(&[]).start();
    let id = start_session(&server);
    let path = format!("/api/copilot/session/{id}/query");
    let (status, answer) = server.call("POST", &path, "", &"x".repeat(1024 * 1024 + 1));
    assert_eq!(status, 413);
    assert!(answer.contains("PromptTooLarge"), "{answer}");
    assert_eq!(server.post(&path, "hello"), serde_json::json!({}));
}

fn start_session(server: &Running) -> String {
    let started = server.post("/api/copilot/session/start/gpt-5-mini", "");
    started["sessionId"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
}

/// Each is almost a megabyte.
#[cfg(target_os = "linux")]
const MESSAGES: usize = 12;

/// The memory of a process, in kilobytes.
#[cfg(target_os = "linux")]
fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[cfg(target_os = "linux")]
#[test]
fn readers_who_do_not_read_cost_kilobytes() {
    let server = Program::new(&[]).start();
    let id = start_session(&server);
    let prompt = "Stream 35000 deltas with 0 ms between deltas after 0 ms.";
    for _ in 0..MESSAGES {
        server.post(&format!("/api/copilot/session/{id}/query"), prompt);
    }
    let live = |token: &str| format!("/api/copilot/session/{id}/live/{token}");
    // A client that reads gets all of it, but not at once.
    let mut messages = 0;
    let deadline = Instant::now() + PATIENCE;
    while messages < MESSAGES {
        assert!(Instant::now() < deadline, "{messages}");
        let (_, answer) = server.call("GET", &live("reads"), "", "");
        assert!(answer.len() < 3_000_000, "{}", answer.len());
        messages += answer.matches("\"onEndMessage\"").count();
    }

    let before = memory(server.child.id());
    let readers: Vec<_> = (0..40)
        .map(|number| {
            let path = live(&format!("reader-{number}"));
            server.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        })
        .collect();
    for reader in &readers {
        // Its answer has begun, and now waits for the client.
        assert_eq!(reader.peek(&mut [0; 1]).expect("an answer"), 1);
    }
    let grown = memory(server.child.id()).saturating_sub(before);
    assert!(grown < 20_000, "{grown} kB for 40 readers");
    assert!(server.is_alive());
}
