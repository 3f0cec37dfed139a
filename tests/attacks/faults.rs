//! Faults that must not take down the server, its data or its logs.
#![cfg(unix)]

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::program::{NOBODY, PATIENCE, Program, Running, is_root};

fn signal(server: &Running, name: &str) {
    let status = Command::new("kill").arg(name).arg(server.child.id().to_string()).status();
    assert!(status.expect("kill").success());
}

/// Sends a request on an open keep-alive connection; returns whether it was answered.
fn is_answered(stream: &mut TcpStream) -> bool {
    let request = "GET /api/test HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut status = [0; 12];
    let answered = stream
        .write_all(request.as_bytes())
        .and_then(|()| stream.read_exact(&mut status))
        .is_ok_and(|()| &status == b"HTTP/1.1 200");
    // Reads the rest of the response, so that the next one starts cleanly.
    let mut rest = [0; 4096];
    answered && stream.read(&mut rest).is_ok()
}

/// A call that is refused and logged, with a line of about 2 kB.
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
    // Signals are delivered in the order of their numbers: if the first one had ended it, this one
    // would be too late.
    signal(&server, "-TERM");
    let mut server = server;
    assert_eq!(server.child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_limit_of_file_sizes_does_not_end_the_server() {
    let mut program = Program::new(&[]).env("RUST_LOG", "trace").after("ulimit -f 8");
    let log = program.log_to_file();
    let mut server = program.start();
    let size = || fs::metadata(&log).expect("the log").len();
    // Until the log has reached the limit, of 8 blocks of 512 or 1024 bytes.
    server.wait_for("a full log", |server| {
        fill_log(server);
        [4096, 8192].contains(&size())
    });
    fill_log(&server);
    assert!(server.is_alive());
    assert!([4096, 8192].contains(&size()));
}

#[test]
fn a_store_without_room_holds_up_neither_the_end_nor_the_next_start() {
    let program = Program::new(&["--store", "sqlite"]).after("ulimit -f 400");
    let (data, binary) = (program.data(), program.data().with_file_name("copilot-portal"));
    let mut server = program.start();
    let session = server.start_session();
    let prompt = format!("say {}", "x".repeat(50_000));
    server.wait_for("a full store", |server| {
        let reply = server.post(&format!("{session}/query"), &prompt);
        reply["error"].as_str().is_some_and(|error| error.contains("Store"))
    });
    assert!(server.is_alive());
    let told = Instant::now();
    signal(&server, "-TERM");
    assert_eq!(server.child.wait().expect("it ends").code(), Some(0));
    assert!(told.elapsed() < Duration::from_secs(5), "{:?}", told.elapsed());

    let check = Command::new(binary).args(["store", "check", "--data-dir"]).arg(data).output();
    let check = check.expect("it runs");
    assert_eq!(String::from_utf8_lossy(&check.stdout), "ok\n", "{check:?}");
}

#[test]
fn a_data_folder_that_can_t_be_written_ends_the_start_in_one_line() {
    let mut program = Program::unprivileged(&["--store", "sqlite"]);
    let data = program.data();
    fs::set_permissions(&data, Permissions::from_mode(0o500)).expect("a mode");
    let output = program.command().stderr(Stdio::piped()).output().expect("it runs");
    let error = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains(&*data.to_string_lossy()) && error.contains("--data-dir"), "{error}");
    assert!(fs::read_dir(&data).expect("the folder").next().is_none(), "nothing was made");
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
    let (found, finds) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = log.lines().map_while(Result::ok);
        let told = |line: &String| line.contains("log lines were lost") && line.contains("lines=");
        // Fails if the test has already failed.
        let _ = found.send(lines.find(told));
    });
    let told = finds.recv_timeout(PATIENCE).expect("the log goes on when it is read");
    assert!(told.is_some(), "it ended without a word");
}

/// How often the log reports that connections cannot be accepted.
fn refusals_in(log: &Path) -> usize {
    let text = fs::read_to_string(log).expect("the log");
    text.lines().filter(|line| line.contains("can't take further connections")).count()
}

#[test]
fn who_finds_no_place_is_let_go_and_the_log_says_so_once() {
    // A quarter of the file handles is reserved for the rest of the server, far more than it needs.
    let mut program = Program::new(&[]).after("ulimit -n 256");
    let log = program.log_to_file();
    let mut server = program.start();
    let mut first = server.send("");
    assert!(is_answered(&mut first));
    let places = 256 - 256 / 4;
    let _others: Vec<TcpStream> = (1..places).map(|_| server.send("")).collect();
    for _ in 0..40 {
        let end = server.connect().read(&mut [0]).map_err(|error| error.kind());
        assert!(matches!(end, Ok(0) | Err(ErrorKind::ConnectionReset)), "{end:?}");
    }
    assert!(is_answered(&mut first));
    server.wait_for("the warning", |_| refusals_in(&log) == 1);
    signal(&server, "-TERM");
    server.child.wait().expect("it ends");
    assert_eq!(refusals_in(&log), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_store_refuses_what_it_cannot_keep_lets_everybody_stop_and_recovers() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    let program = Program::new(&["--store", "sqlite"]);
    let entry = program.work().join("tests/entry.json");
    fs::create_dir(program.work().join("tests")).expect("a folder");
    let text = json!({
        "models": { "driving": "gpt-5-mini" },
        "drivingSessionRetries": [{ "modelId": "gpt-5-mini", "retries": 1 }],
        "promptVariables": {}, "tasks": {}, "jobs": {}, "grid": [],
    });
    fs::write(&entry, text.to_string()).expect("an entry");
    let mut server = program.start();
    let limit_file_sizes = |server: &Running, current| {
        let process = Pid::from_child(&server.child);
        let limit = Rlimit { current, maximum: None };
        prlimit(Some(process), Resource::Fsize, limit).expect("our child")
    };
    let session = server.start_session();
    let trust = format!("{session}/extensions/trust");
    assert_eq!(server.post(&trust, "allow")["trusted"], json!(true));
    let before = limit_file_sizes(&server, Some(0));
    let (status, reply) = server.call("POST", &format!("{session}/query"), "", "say one");
    assert_eq!(status, 503, "{reply}");
    let reply: Value = serde_json::from_str(&reply).expect("JSON");
    assert_eq!(reply["error"], "StoreUnavailable");
    assert!(reply["message"].is_string(), "{reply}");
    let start = "/api/copilot/session/start/gpt-5-mini";
    assert_eq!(server.call("POST", start, "", "").0, 503);
    assert_eq!(server.call("POST", &trust, "", "forbid").0, 503, "it may be forgotten");
    let listed = server.get(&format!("{session}/extensions"));
    assert_eq!(listed["trusted"], json!(false), "but it holds: {listed}");
    assert_eq!(server.call("POST", &trust, "", "allow").0, 503);
    let listed = server.get(&format!("{session}/extensions"));
    assert_eq!(listed["trusted"], json!(false), "{listed}");
    assert!(tells_trouble(&server), "for the pages to say it");
    assert_eq!(server.post(&format!("{session}/abort"), ""), json!({}));
    assert_eq!(server.post(&format!("{session}/stop"), "")["result"], "Closed");
    let install = "/api/copilot/test/installJobsEntry";
    assert_eq!(server.call("POST", install, "", &entry.display().to_string()).0, 503);
    assert_eq!(server.get("/api/copilot/job"), json!({ "error": "EntryNotInstalled" }));

    limit_file_sizes(&server, before.current);
    server.wait_for("a store that works again", |server| {
        server.post(start, "")["sessionId"].is_string()
    });
    assert!(!tells_trouble(&server));
    let kept = server.get("/api/copilot/history");
    let id = session.rsplit('/').next().expect("an id");
    let items = kept["items"].as_array().expect("items");
    let stopped = items.iter().find(|item| item["id"] == id).expect("it is kept");
    assert_eq!(stopped["state"], "closed", "what was done meanwhile is kept, too");

    // Long before that, or the start would not have been answered.
    server.kill_and_restart();
    let listed = server.get(&format!("{}/extensions", server.start_session()));
    assert_eq!(listed["trusted"], json!(false), "what was withdrawn stays withdrawn");
    assert_eq!(
        server.post(&format!("{}/extensions/trust", server.start_session()), "allow")["trusted"],
        json!(true)
    );
    server.kill_and_restart();
    let listed = server.get(&format!("{}/extensions", server.start_session()));
    assert_eq!(listed["trusted"], json!(true), "what was allowed stays allowed");
}

#[cfg(target_os = "linux")]
#[test]
fn at_the_limit_of_files_those_who_are_connected_are_served_and_others_later() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    let mut program = Program::new(&[]);
    let log = program.log_to_file();
    let mut server = program.start();
    let limit_files = |current| {
        let process = Pid::from_child(&server.child);
        let Rlimit { maximum, .. } = rustix::process::getrlimit(Resource::Nofile);
        prlimit(Some(process), Resource::Nofile, Rlimit { current, maximum }).expect("our child")
    };
    let mut first = server.send("");
    assert!(is_answered(&mut first));
    // Fewer than are already open.
    let before = limit_files(Some(4));
    let mut second = server.send("");
    let deadline = Instant::now() + PATIENCE;
    while refusals_in(&log) == 0 {
        assert!(Instant::now() < deadline, "nothing was logged");
        assert!(is_answered(&mut first));
    }
    assert!(is_answered(&mut first));
    limit_files(before.current);
    assert!(is_answered(&mut second));
    server.wait_for("room for others", |server| server.is_alive());
}

/// Everything in a folder, and the folder itself.
fn all_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("entry").path());
    let inner = entries.flat_map(|path| if path.is_dir() { all_in(&path) } else { vec![path] });
    std::iter::once(folder.to_owned()).chain(inner).collect()
}

#[test]
fn what_is_remembered_is_its_owners_alone_and_is_tightened_if_found_wider() {
    let program = Program::new(&["--store", "sqlite"]).after("umask 000");
    let data = program.data();
    // Left by an earlier version.
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
    let server = program.start();
    let session = server.start_session();
    let reply = server.post(&format!("{session}/extensions/trust"), "allow");
    assert_eq!(reply["error"], json!(null), "{reply}");
    let (status, _) = server.call("POST", "/message", "", &json!({ "text": "say x" }).to_string());
    assert_eq!(status, 202);
    let text = fs::read_to_string(data.join("extensions.json")).expect("left as it was");
    assert_eq!(text, "{}");
    assert!(data.join("portal.db").exists());
    let found = all_in(&data);
    assert!(found.len() >= 5, "{found:?}");
    for path in found {
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        let mode = fs::metadata(&path).expect("it is there").permissions();
        assert_eq!(mode.mode() & 0o7777, wanted, "{}", path.display());
    }
}

/// Whether answers say that nothing can be stored.
fn tells_trouble(server: &Running) -> bool {
    let request = format!(
        "GET /api/test HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n",
        server.port
    );
    let mut answer = String::new();
    server.send(&request).read_to_string(&mut answer).expect("a whole answer");
    assert!(answer.contains("Hello, world!"), "{answer}");
    answer.contains("portal-store: unavailable")
}
