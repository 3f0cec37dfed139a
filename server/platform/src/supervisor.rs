//! The supervisor: our own program, started once for each program of an agent, and its parent.
//!
//! The portal holds the other end of its standard input. When that closes, because the portal let go
//! of it or because the portal is gone, however it ended, the supervisor kills the program with all
//! that it has started. On Linux it adopts orphans among them, so that none gets away.
//!
//! The portal calls [`install`] at its start; `copilot-portal supervise` calls [`run`].

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group, wait, waitpid,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::signal::unix::{SignalKind, signal};

use crate::process_tree::{children, descendants};

/// The sub-command of the program that runs a supervisor.
pub const COMMAND: &str = "supervise";
/// Tells a supervisor to kill everything.
pub const END: Signal = Signal::INT;

/// The program's input is the supervisor's.
const PASS_INPUT: &str = "pass-input";
/// The program has no input.
const NO_INPUT: &str = "no-input";
/// What shells answer when a program can't be started.
const EXIT_NOT_STARTED: u8 = 127;
/// What shells add to the number of a signal.
const EXIT_SIGNAL: i32 = 128;
/// How long processes that were killed are waited for, and how often they are looked for.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);
/// How often orphans are looked for.
const ROUNDS: usize = 100;
/// How often it is looked whether the portal is gone while the program does not read.
const GLANCE: Duration = Duration::from_millis(100);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Has all programs run under a supervisor from now on: this program, started again. Call it once,
/// before anything is started.
///
/// Orphans whose supervisor was killed become children of the portal on Linux, so that it still
/// knows them as its own.
pub fn install() -> io::Result<()> {
    // On Linux it is the very program that runs, even if its file was replaced.
    let program = if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe()?
    };
    let _ = PROGRAM.set(program);
    adopt_orphans()
}

/// Whether programs run under a supervisor.
pub fn is_installed() -> bool {
    PROGRAM.get().is_some()
}

/// The processes that descend from this one, where the system tells: all that agents have started.
pub fn started_processes() -> Vec<u32> {
    let processes = descendants(getpid()).into_iter();
    processes.filter_map(|process| u32::try_from(process.as_raw_nonzero().get()).ok()).collect()
}

/// Kills the orphans of a supervisor that was killed: they became children of the portal, whose other
/// children are supervisors. Called when one has ended; nothing is left behind by most of them.
pub fn end_orphans() {
    let Ok(own) = std::fs::read_link("/proc/self/exe") else { return };
    // Those who are killed may have started others meanwhile.
    for _ in 0..ROUNDS {
        let mut left = children(getpid());
        // A child that may not be looked at has not begun to be another program yet.
        left.retain(|child| {
            let program = std::fs::read_link(format!("/proc/{}/exe", child.as_raw_nonzero()));
            program.is_ok_and(|program| program != own)
        });
        if left.is_empty() {
            return;
        }
        tracing::warn!(orphans = left.len(), "a supervisor was killed, what it ran is ended");
        for child in left {
            for process in descendants(child).into_iter().chain([child]) {
                let _ = kill_process(process, Signal::KILL);
            }
            // Nobody else waits for it.
            let _ = waitpid(Some(child), WaitOptions::empty());
        }
    }
}

/// A command that runs `program` under a supervisor; none if there is none.
pub fn command(program: &OsStr, pass_input: bool) -> Option<tokio::process::Command> {
    let mut command = tokio::process::Command::new(PROGRAM.get()?);
    command.arg(COMMAND).arg(if pass_input { PASS_INPUT } else { NO_INPUT }).arg(program);
    Some(command)
}

/// Runs a program to its end, or to the end of the portal. The arguments are those after
/// [`COMMAND`]. Its exit code, or the signal that ended it, is that of this process.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(supervise(arguments))) {
        Ok(end) => end,
        Err(error) => {
            eprintln!("copilot-portal: can't be started: {error}");
            ExitCode::from(EXIT_NOT_STARTED)
        }
    }
}

async fn supervise(mut arguments: impl Iterator<Item = OsString>) -> io::Result<ExitCode> {
    let (Some(input), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other("the program is missing"));
    };
    // All signals are listened to before there is something to lose.
    let mut children = signal(SignalKind::child())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut end = signal(SignalKind::interrupt())?;
    adopt_orphans()?;
    let control = Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
    let pass_input = input == PASS_INPUT;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(if pass_input { Stdio::piped() } else { Stdio::null() })
        .process_group(0)
        .spawn()?;
    let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let leader = leader.ok_or_else(|| io::Error::other("no process number"))?;
    let sink = child.stdin.take().map(|stdin| Sender::from_owned_fd(OwnedFd::from(stdin)));
    let mut portal = std::pin::pin!(pass_on(control, sink.transpose()?));
    close_output()?;
    let status = loop {
        tokio::select! {
            biased;
            _ = children.recv() => if let Some(status) = reap(leader) { break Some(status) },
            _ = end.recv() => break None,
            () = &mut portal => break None,
            _ = terminate.recv() => {
                // Fails if it has ended.
                let _ = kill_process_group(leader, Signal::TERM);
            }
        }
    };
    end_all(leader);
    Ok(status.map_or(ExitCode::FAILURE, end_like))
}

/// Passes input on until the portal closes it.
async fn pass_on(mut control: Receiver, mut sink: Option<Sender>) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let Ok(length @ 1..) = control.read(&mut buffer).await else { return };
        let Some(open) = &mut sink else { continue };
        let written = {
            let mut writing = std::pin::pin!(open.write_all(&buffer[..length]));
            loop {
                tokio::select! {
                    written = &mut writing => break written,
                    () = tokio::time::sleep(GLANCE) => if is_closed(&control).await { return },
                }
            }
        };
        if written.is_err() {
            // It reads no more; that the portal has ended is still to be seen.
            sink = None;
        }
    }
}

/// Whether nobody can write any more, though there may be more to read.
async fn is_closed(control: &Receiver) -> bool {
    let ready = tokio::time::timeout(Duration::ZERO, control.ready(Interest::READABLE)).await;
    matches!(ready, Ok(Ok(ready)) if ready.is_read_closed())
}

/// Lets go of the program's output, so that its end is seen when the program closes it.
fn close_output() -> io::Result<()> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

/// Takes note of all processes that have ended; how the program did, if it is among them.
fn reap(leader: Pid) -> Option<WaitStatus> {
    let mut status = None;
    while let Ok(Some((process, ended))) = wait(WaitOptions::NOHANG) {
        if process == leader {
            status = Some(ended);
        }
    }
    status
}

/// Kills until there is nobody left to kill.
fn end_all(leader: Pid) {
    let deadline = Instant::now() + PATIENCE;
    // Fails if they have ended by themselves.
    let _ = kill_process_group(leader, Signal::KILL);
    loop {
        for process in descendants(getpid()) {
            let _ = kill_process(process, Signal::KILL);
        }
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Ok(None) | Err(_) => return,
        }
    }
}

/// Ends this process as the program has ended.
fn end_like(status: WaitStatus) -> ExitCode {
    if let Some(number) = status.terminating_signal() {
        if let Some(signal) = Signal::from_named_raw(number)
            && !matches!(signal, Signal::TERM | Signal::INT | Signal::CHILD | Signal::PIPE)
        {
            // The program has dumped its memory if it should; this one has nothing to tell.
            let _ = rustix::process::setrlimit(
                rustix::process::Resource::Core,
                rustix::process::Rlimit { current: Some(0), maximum: Some(0) },
            );
            let _ = kill_process(getpid(), signal);
        }
        // Signals that are handled here: as shells tell it.
        return u8::try_from(EXIT_SIGNAL + number).map_or(ExitCode::FAILURE, ExitCode::from);
    }
    let code = status.exit_status().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(target_os = "linux")]
fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(getpid()))?)
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail on Linux")]
fn adopt_orphans() -> io::Result<()> {
    Ok(())
}
