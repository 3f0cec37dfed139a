//! Faults that must not take the server, its data or its logs with them.
#![cfg(unix)]

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use tests::program::{NOBODY, Program, Running, is_root};

fn signal(server: &Running, name: &str) {
    let status = Command::new("kill").arg(name).arg(server.child.id().to_string()).status();
    assert!(status.expect("kill").success());
}

/// A kept-alive request on an open connection; whether it was answered.
fn is_answered(stream: &mut TcpStream) -> bool {
    let request = "GET /api/test HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut status = [0; 12];
    let answered = stream
        .write_all(request.as_bytes())
        .and_then(|()| stream.read_exact(&mut status))
        .is_ok_and(|()| &status == b"HTTP/1.1 200");
    // The rest of the answer, so that the next one begins at its beginning.
    let mut rest = [0; 4096];
    answered && stream.read(&mut rest).is_ok()
}

/// A call that is refused and logged, in a line of about 2 kB.
fn fill_log(server: &Running) {
    let path = format!("/{}", "x".repeat(2000));
    assert_eq!(server.call("GET", &path, "Origin: http://evil.example\r\n", "").0, 403);
}

#[test]
fn sighup_ends_in_order() {
    let mut server = Program::unprivileged(&[]).start();
    signal(&server, "-HUP");
    assert_eq!(server.child.wait().expect("it ends").code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn sighup_is_ignored_under_nohup() {
    let server = Program::new(&[]).after("trap '' HUP").start();
    signal(&server, "-HUP");
    assert!(server.is_alive());
    // Signals arrive in the order of their numbers: had the first ended it, this one is too late.
    signal(&server, "-TERM");
    let mut server = server;
    assert_eq!(server.child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_limit_of_file_sizes_does_not_end_the_server() {
    let mut program = Program::new(&[]).env("RUST_LOG", "trace").after("ulimit -f 8");
    let log = program.home().join("log");
    program.command().stderr(File::create(&log).expect("a file"));
    let mut server = program.start();
    let size = || fs::metadata(&log).expect("the log").len();
    // Until the log has met the limit, of 8 blocks of 512 or 1024 bytes.
    server.wait_for("a full log", |server| {
        fill_log(server);
        [4096, 8192].contains(&size())
    });
    fill_log(&server);
    assert!(server.is_alive());
    assert!([4096, 8192].contains(&size()));
}

#[test]
fn a_log_that_nobody_reads_does_not_stop_the_server() {
    let mut program = Program::new(&[]).env("RUST_LOG", "trace");
    program.command().stderr(Stdio::piped());
    let mut server = program.start();
    // More than the pipe and the queue hold.
    for _ in 0..1500 {
        fill_log(&server);
    }
    assert!(server.is_alive());
    let log = BufReader::new(server.child.stderr.take().expect("piped"));
    let mut lines = log.lines().map(|line| line.expect("text"));
    assert!(lines.any(|line| line.contains("log lines were lost") && line.contains("lines=")));
}

#[test]
fn at_the_limit_of_files_those_who_are_connected_are_served_and_the_log_says_so_once() {
    let mut program = Program::new(&[]).after("ulimit -n 48");
    program.command().stderr(Stdio::piped());
    let mut server = program.start();
    let mut first = server.send("");
    assert!(is_answered(&mut first));
    let others: Vec<TcpStream> = (0..80).map(|_| server.send("")).collect();
    let log = BufReader::new(server.child.stderr.take().expect("piped"));
    let mut lines = log.lines().map(|line| line.expect("text"));
    assert!(lines.any(|line| line.contains("can't take further connections")));
    // Many more attempts to accept fail meanwhile: there is one each 50 ms.
    let until = std::time::Instant::now() + std::time::Duration::from_millis(300);
    while std::time::Instant::now() < until {
        assert!(is_answered(&mut first));
    }
    drop(others);
    server.wait_for("room for others", |server| server.is_alive());
    signal(&server, "-TERM");
    server.child.wait().expect("it ends");
    let rest: Vec<String> = lines.filter(|line| line.contains("can't take further")).collect();
    assert!(rest.is_empty(), "{rest:?}");
}

/// Everything in a folder, and the folder.
fn all_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("entry").path());
    let inner = entries.flat_map(|path| if path.is_dir() { all_in(&path) } else { vec![path] });
    std::iter::once(folder.to_owned()).chain(inner).collect()
}

#[test]
fn what_is_remembered_is_its_owners_alone_and_is_tightened_if_found_wider() {
    let program = Program::new(&[]).after("umask 000");
    let data = program.data();
    // What an earlier version has left.
    fs::create_dir(data.join("bridge")).expect("a folder");
    fs::write(data.join("extensions.json"), "{}").expect("a file");
    fs::write(data.join("bridge/old.json"), "{}").expect("a file");
    for path in all_in(&data) {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("a mode");
        if is_root() {
            chown(&path, Some(NOBODY), Some(NOBODY)).expect("root can");
        }
    }
    let program = if is_root() { program.as_nobody().expect("root can") } else { program };
    let mut server = program.start();
    let session = server.start_session();
    let reply = server.post(&format!("{session}/extensions/trust"), "allow");
    assert_eq!(reply["error"], json!(null), "{reply}");
    let (status, _) = server.call("POST", "/message", "", &json!({ "text": "say x" }).to_string());
    assert_eq!(status, 202);
    let histories = data.join("bridge");
    server.wait_for("a history", |_| {
        fs::read_dir(&histories).expect("a folder").flatten().any(|entry| {
            let name = entry.file_name();
            name != "old.json" && Path::new(&name).extension().is_some_and(|kind| kind == "json")
        })
    });
    let text = fs::read_to_string(data.join("extensions.json")).expect("what was decided");
    assert!(text.contains(&*server.program.work().display().to_string()), "{text}");
    let found = all_in(&data);
    assert!(found.len() >= 5, "{found:?}");
    for path in found {
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        let mode = fs::metadata(&path).expect("it is there").permissions();
        assert_eq!(mode.mode() & 0o7777, wanted, "{}", path.display());
    }
}
