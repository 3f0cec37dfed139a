//! What the real program keeps in its data folder: who may have it open, what it refuses, what is
//! there after a crash, and `copilot-portal store`.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Output, Stdio};

use common::{Running, portal};
use serde_json::Value;
use tempfile::TempDir;

const SERVE: [&str; 7] =
    ["--port", "0", "--test", "--simulated-first-ms", "0", "--store", "sqlite"];
/// Where SQLite keeps the version of the tables: four bytes, the highest first.
const USER_VERSION: u64 = 60;

fn data_folder() -> TempDir {
    tempfile::tempdir().expect("temporary folder")
}

fn serve(data: &Path) -> Running {
    Running::start(portal(&SERVE).arg("--data-dir").arg(data))
}

/// A server that is expected not to start.
fn refuse(data: &Path) -> String {
    let output = portal(&SERVE).arg("--data-dir").arg(data).output().expect("runs");
    refusal(&output)
}

/// The one line of a program that ended with 2.
fn refusal(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    assert!(text.starts_with("copilot-portal: "), "{text}");
    assert!(output.stdout.is_empty(), "it does not serve");
    text
}

fn store(action: &str, data: &Path) -> Output {
    portal(&["store", action, "--data-dir"]).arg(data).output().expect("runs")
}

/// What a `store` command that worked has printed.
fn printed(action: &str, data: &Path) -> String {
    let output = store(action, data);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// Starts a session; its id.
fn start_session(server: &Running) -> String {
    let answer = server.get("/api/copilot/session/start/simulated-quick");
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let reply: Value = serde_json::from_str(body).expect("JSON");
    reply["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn stop(server: Running) {
    server.get("/api/stop");
    assert_eq!(server.wait().code(), Some(0));
}

/// A data folder in which a server has kept a session; the session's id.
fn with_session() -> (TempDir, String) {
    let data = data_folder();
    let server = serve(data.path());
    let session = start_session(&server);
    stop(server);
    (data, session)
}

fn exported(data: &Path) -> Vec<Value> {
    let text = printed("export", data);
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn a_second_server_on_a_folder_is_refused_and_the_first_goes_on() {
    let data = data_folder();
    let server = serve(data.path());
    let first = server.child.as_ref().expect("running").id();
    let error = refuse(data.path());
    assert!(error.contains(&format!("(process {first})")), "{error}");
    assert!(error.contains("--data-dir"), "{error}");
    let error = refusal(&store("vacuum", data.path()));
    assert!(error.contains(&format!("(process {first})")), "{error}");

    start_session(&server);
    stop(server);
    stop(serve(data.path()));
}

#[test]
fn a_damaged_store_is_refused_and_left_as_it_is() {
    let data = data_folder();
    let file = data.path().join("portal.db");
    let contents = b"this is not a database, whatever its name says";
    fs::write(&file, contents).expect("a file");
    let error = refuse(data.path());
    assert!(error.contains(&*file.to_string_lossy()) && error.contains("damaged"), "{error}");
    for action in ["info", "export", "vacuum"] {
        let error = refusal(&store(action, data.path()));
        assert!(error.contains("damaged"), "{action}: {error}");
    }
    let checked = store("check", data.path());
    let problems = String::from_utf8(checked.stdout).expect("text");
    assert_eq!((checked.status.code(), problems.lines().count()), (Some(1), 1), "{problems}");
    assert!(problems.starts_with(&*file.to_string_lossy()), "{problems}");
    assert_eq!(fs::read(&file).expect("the file"), contents);
}

#[test]
fn a_store_of_a_newer_portal_is_refused_and_left_as_it_is() {
    let (data, _) = with_session();
    let file = data.path().join("portal.db");
    let mut open = fs::OpenOptions::new().write(true).open(&file).expect("the file");
    open.seek(SeekFrom::Start(USER_VERSION)).expect("a place");
    open.write_all(&99_u32.to_be_bytes()).expect("written");
    drop(open);
    let before = fs::read(&file).expect("the file");
    let error = refuse(data.path());
    assert!(error.contains("newer portal") && error.contains("99"), "{error}");
    for action in ["info", "check", "export", "vacuum"] {
        let error = refusal(&store(action, data.path()));
        assert!(error.contains("newer portal"), "{action}: {error}");
    }
    assert!(fs::read(&file).expect("the file") == before, "it was changed");
}

#[test]
fn a_folder_that_can_t_be_used_is_named() {
    let data = data_folder();
    let file = data.path().join("taken");
    fs::write(&file, "not a folder").expect("a file");
    let error = refuse(&file);
    assert!(error.contains(&*file.to_string_lossy()) && error.contains("--data-dir"), "{error}");
    assert_eq!(fs::read_to_string(&file).expect("the file"), "not a folder");
    // Nobody can make one there, not even root.
    #[cfg(target_os = "linux")]
    assert!(refuse(Path::new("/proc/portal")).contains("/proc/portal"));

    let empty = data.path().join("empty");
    fs::create_dir(&empty).expect("a folder");
    for action in ["info", "check", "export", "vacuum"] {
        let error = refusal(&store(action, &empty));
        assert!(error.contains("there is no store in"), "{action}: {error}");
    }
    assert!(fs::read_dir(&empty).expect("the folder").next().is_none(), "nothing was made");
}

#[test]
fn a_killed_server_leaves_a_store_that_opens_again() {
    let data = data_folder();
    let mut server = serve(data.path());
    let session = start_session(&server);
    let child = server.child.as_mut().expect("running");
    child.kill().expect("killed");
    child.wait().expect("it ended");
    assert_eq!(printed("check", data.path()), "ok\n");

    let server = serve(data.path());
    let other = start_session(&server);
    assert_eq!(printed("check", data.path()), "ok\n", "while it runs");
    let ids: Vec<Value> =
        exported(data.path()).into_iter().map(|line| line["id"].clone()).collect();
    for id in [session, other] {
        assert!(ids.iter().any(|it| it.as_str().is_some_and(|it| it.contains(&id))), "{ids:?}");
    }
    stop(server);
}

#[test]
fn an_operator_looks_at_what_is_kept() {
    let (data, session) = with_session();
    let info = printed("info", data.path());
    let file = data.path().join("portal.db");
    assert!(info.contains(&format!("file            {}\n", file.display())), "{info}");
    for part in ["\nsize            ", "iB\n", "\nschema version  2\n", "\nfacts           "] {
        assert!(info.contains(part), "{part:?} is missing in:\n{info}");
    }
    assert!(info.lines().any(|line| line.starts_with("session ")), "{info}");

    assert_eq!(printed("check", data.path()), "ok\n");
    let lines = exported(data.path());
    let found = lines.iter().find(|line| {
        line["id"].as_str().is_some_and(|id| id.contains(&session)) && line["events"].is_array()
    });
    assert!(found.is_some(), "{lines:?}");

    let sizes = printed("vacuum", data.path());
    let lines: Vec<&str> = sizes.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("before  "), "{sizes}");
    assert!(lines[1].starts_with("after   "), "{sizes}");
    assert_eq!(printed("check", data.path()), "ok\n");
}

#[test]
fn an_export_that_nobody_reads_to_its_end_is_no_failure() {
    let (data, _) = with_session();
    let mut command = portal(&["store", "export", "--data-dir"]);
    let mut child = command.arg(data.path()).spawn().expect("runs");
    drop(child.stdout.take());
    let mut errors = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut errors).expect("text");
    assert!(child.wait().expect("it ended").success(), "{errors}");
    assert_eq!(errors, "");
}

#[test]
fn the_data_folder_is_found_as_by_a_server() {
    let (data, _) = with_session();
    let kept = data.path().as_os_str();
    let run = |arguments: &[&str], variable: (&str, &OsStr)| {
        let mut command = portal(&[&["store", "check"][..], arguments].concat());
        command.env("HOME", "/nowhere").env_remove("XDG_STATE_HOME").stdin(Stdio::null());
        command.env_remove("XDG_CONFIG_HOME").env(variable.0, variable.1);
        command.output().expect("runs")
    };
    let output = run(&[], ("COPILOT_PORTAL_DATA_DIR", kept));
    assert_eq!(output.stdout, b"ok\n");
    let config = data.path().join("own.toml");
    let text = format!("[bridge]\ndataDir = '{}'\n", data.path().display());
    fs::write(&config, text).expect("a file");
    let output = run(&["--config", config.to_str().expect("text")], ("UNUSED", kept));
    assert_eq!(output.stdout, b"ok\n");
    let output = run(&[], ("COPILOT_PORTAL_CONFIG", config.as_os_str()));
    assert_eq!(output.stdout, b"ok\n");
    if cfg!(unix) {
        let error = refusal(&run(&[], ("XDG_STATE_HOME", kept)));
        assert!(error.contains(&*data.path().join("copilot-portal").to_string_lossy()), "{error}");
    }
    for wrong in [&["store"][..], &["store", "burn"], &["--port", "1", "store", "info"]] {
        let error = refusal(&portal(wrong).output().expect("runs"));
        assert!(error.contains("--help"), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_kept_is_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = data_folder();
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("a folder");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).expect("a mode");
    let server = serve(&data);
    start_session(&server);
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for name in ["portal.db", "portal.db-wal", "portal.db-shm", "portal.lock"] {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
    stop(server);
    assert!(!data.join("portal.db-wal").exists(), "everything is in the database");
}

#[test]
fn in_memory_nothing_is_written() {
    let data = data_folder();
    for arguments in [
        &["--port", "0", "--store", "memory"][..],
        // Tests keep nothing unless they are told to.
        &["--port", "0", "--test"],
    ] {
        let mut command = portal(arguments);
        command.env_remove("COPILOT_PORTAL_STORE").arg("--data-dir").arg(data.path());
        let server = Running::start(&mut command);
        start_session(&server);
        stop(server);
        assert!(!data.path().join("portal.db").exists(), "{arguments:?}");
        assert!(!data.path().join("portal.lock").exists(), "{arguments:?}");
    }
    // By default it is kept.
    let mut command = portal(&["--port", "0"]);
    command.env_remove("COPILOT_PORTAL_STORE").arg("--data-dir").arg(data.path());
    stop(Running::start(&mut command));
    assert!(data.path().join("portal.db").exists());
}

#[test]
fn what_was_alive_is_alive_after_a_restart() {
    let alive = |server: &Running| {
        let answer = server.get("/api/copilot/alive");
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        serde_json::from_str::<Value>(body).expect("JSON")
    };
    let data = data_folder();
    let server = serve(data.path());
    let session = start_session(&server);
    let before = alive(&server);
    assert_eq!(before["items"][0]["id"], *session, "{before}");
    stop(server);
    let server = serve(data.path());
    assert_eq!(alive(&server), before);
    stop(server);
}
