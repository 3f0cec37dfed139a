//! The real program as a process: start-up lines, exit codes, clean shutdowns, odd bytes on the
//! wire.

mod common;

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
#[cfg(unix)]
use std::process::Command;

use common::{Running, portal};

#[cfg(unix)]
fn signal(server: &Running, name: &str) {
    let pid = server.child.as_ref().expect("running").id().to_string();
    let status = Command::new("kill").args([name, &pid]).status().expect("kill");
    assert!(status.success());
}

/// A call that stays pending: its body is never sent.
#[cfg(unix)]
const CALL_WITHOUT_ITS_BODY: &str = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\
     Content-Type: application/x-www-form-urlencoded\r\n\r\n";

#[test]
fn api_stop_ends_the_process_with_0() {
    let server = Running::start(&mut portal(&["--port", "0"]));
    let answer = server.get("/api/stop");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("{}"), "{answer}");
    assert_eq!(server.wait().code(), Some(0));
}

#[cfg(unix)]
#[test]
fn sigterm_and_ctrl_c_end_the_process_with_0() {
    for name in ["-TERM", "-INT"] {
        let server = Running::start(&mut portal(&["0"]));
        signal(&server, name);
        assert_eq!(server.wait().code(), Some(0), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn pending_calls_do_not_hold_up_the_end() {
    let server = Running::start(&mut portal(&["--port", "0"]));
    // A call without its body, an incomplete head, and an idle connection.
    let pending = server.send(CALL_WITHOUT_ITS_BODY);
    let unfinished = server.send("GET /api/test HTTP/1.1\r\nHost: lo");
    let mut idle = server.send("GET /api/test HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut status = [0; 12];
    idle.read_exact(&mut status).expect("an answer");
    assert_eq!(&status, b"HTTP/1.1 200");

    signal(&server, "-TERM");
    assert_eq!(server.wait().code(), Some(0));
    drop((pending, unfinished, idle));
}

#[cfg(unix)]
#[test]
fn a_second_ctrl_c_ends_at_once() {
    let server = Running::start(&mut portal(&["--port", "0"]));
    let pending = server.send(CALL_WITHOUT_ITS_BODY);
    // A response on another connection shows that the pending call was accepted, too.
    assert!(server.get("/api/test").starts_with("HTTP/1.1 200"));
    signal(&server, "-INT");
    // The listener closes when the shutdown has begun; only then does the next Ctrl-C count as the
    // second.
    while TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).is_ok() {
        std::thread::yield_now();
    }
    signal(&server, "-INT");
    assert_eq!(server.wait().code(), Some(130));
    drop(pending);
}

#[test]
fn odd_bytes_get_a_4xx_and_the_server_lives() {
    let server = Running::start(&mut portal(&["--port", "0"]));
    for target in
        ["//", "//[", "/.//", "/%ff", "*", "/\\", "http://evil.example/", "evil.example:80"]
    {
        let answer = server.get(target);
        assert!(answer.starts_with("HTTP/1.1 4"), "{target}: {answer}");
    }
    let mut answer = String::new();
    server.send("nonsense\r\n\r\n").read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(server.get("/api/test").contains("Hello, world!"));
}

#[test]
fn a_wide_server_prints_its_login_url() {
    let mut child =
        portal(&["--host", "0.0.0.0", "--port", "0"]).spawn().expect("the program starts");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let lines: Vec<String> = lines.take(4).map(|line| line.expect("text")).collect();
    let port = lines[0].rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let server = Running::new(child, port);
    assert!(server.get("/api/test").starts_with("HTTP/1.1 401"));
    let key = lines[3].split_once("/login?key=").expect(&lines[3]).1;
    let head =
        format!("GET /api/stop HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n");
    let stream = server.send(&head);
    assert_eq!(server.wait().code(), Some(0));
    drop(stream);
}

#[test]
fn mistakes_are_one_line_with_the_remedy_and_exit_code_2() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = taken.local_addr().expect("bound").port().to_string();
    let broken = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken.toml");
    std::fs::write(&broken, "[server]\nprot = 1\n").expect("a file");
    let broken = broken.to_str().expect("text");
    for (arguments, words) in [
        (&["--port", port.as_str()][..], &["in use", "--port", port.as_str()][..]),
        (&["--prot", "1"], &["--prot", "--help"]),
        (&["--port", "abc"], &["abc", "--port", "--help"]),
        (&["--config", broken], &["broken.toml:2", "prot", "`port`"]),
        (&["--config", "/no/such/file.toml"], &["/no/such/file.toml"]),
    ] {
        let output = portal(arguments).output().expect("runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8(output.stderr).expect("text");
        assert_eq!(text.trim_end().lines().count(), 1, "{text}");
        for word in words {
            assert!(text.contains(word), "{word} is missing: {text}");
        }
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn the_environment_counts_below_the_command_line() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = taken.local_addr().expect("bound").port().to_string();
    let output = portal(&[]).env("COPILOT_PORTAL_PORT", &port).output().expect("runs");
    let text = String::from_utf8(output.stderr).expect("text");
    assert!(text.contains(&format!("port {port} is in use")), "{text}");

    // The port is free, so the program would start: the wrong host ends it first.
    let arguments = ["--port", "0", "--host", "192.0.2.1"];
    let output = portal(&arguments).env("COPILOT_PORTAL_PORT", &port).output().expect("runs");
    let text = String::from_utf8(output.stderr).expect("text");
    assert!(text.contains("can't listen on 192.0.2.1:0"), "{text}");
}
