//! How often the program has the disk write, as the kernel sees it: at least once before it
//! acknowledges something, and once for many if they come together. Needs `strace`.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Running, portal};

/// Calls that are made one after the other.
const IN_SEQUENCE: usize = 10;
/// Callers at a time, and how many calls each of them makes.
const CALLERS: usize = 32;
const CALLS_EACH: usize = 8;

/// A program whose calls to `fsync` and `fdatasync` are written to a file; `None` without `strace`.
fn traced(folder: &Path, trace: &Path) -> Option<Running> {
    let program = portal(&["--port", "0", "--test", "--store", "sqlite", "--data-dir"]);
    let mut command = Command::new("strace");
    // The program stays our child, so that it ends with the test.
    command.args(["-D", "-f", "-qq", "-e", "trace=fsync,fdatasync"]);
    // As slow as a disk, or few calls would come during a sync.
    command.args(["-e", "inject=fsync,fdatasync:delay_enter=20000", "-o"]).arg(trace);
    command.arg(program.get_program()).args(program.get_args()).arg(folder);
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(env!("CARGO_TARGET_TMPDIR")).stdout(std::process::Stdio::piped());
    let has_strace = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status();
    has_strace.is_ok_and(|status| status.success()).then(|| Running::start(&mut command))
}

/// How many calls there were so far. A call that is interrupted by another thread's has a second
/// line, which does not repeat the bracket.
fn count(trace: &Path) -> usize {
    let text = fs::read_to_string(trace).expect("the trace");
    text.lines().filter(|line| line.contains("sync(")).count()
}

/// Starts a session, which is acknowledged once it is durable.
fn start_session(server: &Running) {
    let answer = server.get("/api/copilot/session/start/simulated-quick");
    assert!(answer.contains("\"sessionId\""), "{answer}");
}

#[test]
fn what_is_acknowledged_was_synced_and_many_share_a_sync() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let trace = folder.path().join("trace");
    let Some(server) = traced(&folder.path().join("data"), &trace) else {
        println!("skipped: there is no strace, or it may not trace");
        return;
    };
    for call in 1..=IN_SEQUENCE {
        let before = count(&trace);
        start_session(&server);
        assert!(count(&trace) > before, "call {call} was acknowledged without a sync");
    }

    let before = count(&trace);
    std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| (0..CALLS_EACH).for_each(|_| start_session(&server)));
        }
    });
    let (syncs, calls) = (count(&trace) - before, CALLERS * CALLS_EACH);
    assert!(syncs > 0 && syncs < calls / 4, "{syncs} syncs for {calls} calls");
    server.get("/api/stop");
    assert_eq!(server.wait().code(), Some(0));
}
