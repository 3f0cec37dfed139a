//! The supervisor: our own executable, started once for each program of an agent as that program's
//! parent.
//!
//! The portal holds the other end of its standard input. When that closes, because the portal
//! dropped it or because the portal has ended in any way, the supervisor kills the program and
//! everything it has started. On Linux it adopts orphans, so that no process escapes.
//!
//! The portal calls [`install`] at startup; `copilot-portal supervise` calls [`run`].

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

/// The subcommand that runs a supervisor.
pub const COMMAND: &str = "supervise";
/// The signal that tells a supervisor to kill everything.
pub const END: Signal = Signal::INT;

/// The program reads the supervisor's input.
const PASS_INPUT: &str = "pass-input";
/// The program has no input.
const NO_INPUT: &str = "no-input";
/// Exit code of shells if a program cannot be started.
const EXIT_NOT_STARTED: u8 = 127;
/// Shells exit with this plus the number of the signal.
const EXIT_SIGNAL: i32 = 128;
/// How long to wait for killed processes, and how long to pause between two checks.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);
/// How often orphans are searched for.
const ROUNDS: usize = 100;
/// Interval of the checks whether the portal has ended while the program does not read its input.
const GLANCE: Duration = Duration::from_millis(100);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Makes all programs run under a supervisor from now on, which is this executable started again.
/// Call it once, before anything is started.
///
/// On Linux, orphans whose supervisor was killed become children of the portal, so that it can
/// still find them.
pub fn install() -> io::Result<()> {
    // On Linux this is the running executable itself, even if its file was replaced.
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

/// The descendants of this process, on systems that reveal them: everything that agents have
/// started.
pub fn started_processes() -> Vec<u32> {
    let processes = descendants(getpid()).into_iter();
    processes.filter_map(|process| u32::try_from(process.as_raw_nonzero().get()).ok()).collect()
}

/// Kills the orphans of a supervisor that was killed: they became children of the portal, whose
/// other children are supervisors. Called after one has exited; most leave nothing behind.
pub fn end_orphans() {
    let Ok(own) = std::fs::read_link("/proc/self/exe") else { return };
    // Processes may have started others before they were killed.
    for _ in 0..ROUNDS {
        let mut left = children(getpid());
        // A child whose executable cannot be read has not called `exec` yet.
        left.retain(|child| {
            let program = std::fs::read_link(format!("/proc/{}/exe", child.as_raw_nonzero()));
            program.is_ok_and(|program| program != own)
        });
        if left.is_empty() {
            return;
        }
        tracing::warn!(orphans = left.len(), "a supervisor was killed, ending its orphans");
        for child in left {
            for process in descendants(child).into_iter().chain([child]) {
                let _ = kill_process(process, Signal::KILL);
            }
            // Nobody else reaps it.
            let _ = waitpid(Some(child), WaitOptions::empty());
        }
    }
}

/// A command that runs `program` under a supervisor; `None` if none is installed.
pub fn command(program: &OsStr, pass_input: bool) -> Option<tokio::process::Command> {
    let mut command = tokio::process::Command::new(PROGRAM.get()?);
    command.arg(COMMAND).arg(if pass_input { PASS_INPUT } else { NO_INPUT }).arg(program);
    Some(command)
}

/// Runs a program until it or the portal ends. The arguments are those after [`COMMAND`]. This
/// process exits with the program's exit code, or with its signal.
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
    // Listen to all signals before anything is started.
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
                // Fails if it has already exited.
                let _ = kill_process_group(leader, Signal::TERM);
            }
        }
    };
    end_all(leader);
    Ok(status.map_or(ExitCode::FAILURE, end_like))
}

/// Forwards input until the portal closes it.
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
            // The program no longer reads; keep watching for the end of the portal.
            sink = None;
        }
    }
}

/// Whether the writing end is closed, even if there is more to read.
async fn is_closed(control: &Receiver) -> bool {
    let ready = tokio::time::timeout(Duration::ZERO, control.ready(Interest::READABLE)).await;
    matches!(ready, Ok(Ok(ready)) if ready.is_read_closed())
}

/// Closes our copy of the program's output, so that readers see its end when the program closes it.
fn close_output() -> io::Result<()> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

/// Reaps all processes that have exited; returns the program's status if it is among them.
fn reap(leader: Pid) -> Option<WaitStatus> {
    let mut status = None;
    while let Ok(Some((process, ended))) = wait(WaitOptions::NOHANG) {
        if process == leader {
            status = Some(ended);
        }
    }
    status
}

/// Kills until no process is left.
fn end_all(leader: Pid) {
    let deadline = Instant::now() + PATIENCE;
    // Fails if they have already exited.
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

/// Ends this process in the way the program has ended.
fn end_like(status: WaitStatus) -> ExitCode {
    if let Some(number) = status.terminating_signal() {
        if let Some(signal) = Signal::from_named_raw(number)
            && !matches!(signal, Signal::TERM | Signal::INT | Signal::CHILD | Signal::PIPE)
        {
            // The program has dumped core if it should; a core dump of the supervisor is useless.
            let _ = rustix::process::setrlimit(
                rustix::process::Resource::Core,
                rustix::process::Rlimit { current: Some(0), maximum: Some(0) },
            );
            let _ = kill_process(getpid(), signal);
        }
        // A signal that is handled here: exit as shells do.
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
