//! A program and everything it starts, ended as a whole.
//!
//! ```text
//!  portal ── pipe ──► supervisor ──► program ──► whatever it starts
//!     │                   ▲ │ ends them all when the pipe closes, however the portal ended,
//!     └── TERM, INT ──────┘ ▼ and when the program is over
//! ```
//!
//! Unit tests have no supervisor: there the program itself is the portal's child, and its process
//! group is killed.

use std::ffi::OsStr;
use std::process::Stdio;
#[cfg(unix)]
use std::time::Duration;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
#[cfg(unix)]
use tokio::process::Child;
use tokio::process::Command;

#[cfg(unix)]
use crate::process_tree::descendants;
#[cfg(unix)]
use crate::supervisor;

/// How often marked processes are searched for: those found may have started others.
#[cfg(unix)]
const ROUNDS: usize = 3;
/// How long the supervisor may take to end all processes.
#[cfg(unix)]
const FAREWELL: Duration = Duration::from_secs(2);

/// The standard input of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Closed from the beginning.
    Nothing,
    /// A pipe that the portal writes to.
    Pipe,
}

/// A command for a program that leads its own process group, under the supervisor if there is one.
/// The caller adds the arguments; standard input is already set.
pub fn command(program: impl AsRef<OsStr>, input: Input) -> Command {
    #[cfg(unix)]
    if let Some(mut command) = supervisor::command(program.as_ref(), input == Input::Pipe) {
        // Killing the supervisor would spare its processes. It exits when its input closes.
        command.stdin(Stdio::piped()).process_group(0).kill_on_drop(false);
        return command;
    }
    let mut command = Command::new(program);
    command.kill_on_drop(true).stdin(match input {
        Input::Nothing => Stdio::null(),
        Input::Pipe => Stdio::piped(),
    });
    #[cfg(unix)]
    command.process_group(0);
    command
}

/// The process group of a child started by [`command`]. Dropping it kills all of its processes,
/// including descendants that have left the group but can still be identified.
///
/// Drop it before the child: afterwards the child's process id may be reused.
#[cfg(unix)]
pub struct ProcessGroup {
    leader: Option<Pid>,
    mark: Option<String>,
    is_supervised: bool,
}

#[cfg(unix)]
impl ProcessGroup {
    /// The group that a child leads.
    pub fn of(child: &Child) -> Self {
        let number = child.id().and_then(|id| i32::try_from(id).ok());
        let leader = number.and_then(Pid::from_raw);
        Self { leader, mark: None, is_supervised: supervisor::is_installed() }
    }

    /// Asks its processes to exit.
    pub fn terminate(&self) {
        let Some(leader) = self.leader else { return };
        // Fails if they have already exited.
        let _ = if self.is_supervised {
            kill_process(leader, Signal::TERM)
        } else {
            kill_process_group(leader, Signal::TERM)
        };
    }

    /// The same group with a mark (`NAME=VALUE`) that the child has in its environment. It
    /// identifies descendants that have left the group after the child has exited.
    #[must_use]
    pub fn with_mark(mut self, mark: String) -> Self {
        self.mark = Some(mark);
        self
    }

    /// Kills what is left after the child was reaped: a supervisor leaves nothing, unless it was
    /// killed.
    pub fn end_rest(&mut self) {
        if self.is_supervised {
            self.leader = None;
            supervisor::end_orphans();
        }
        self.end();
    }

    /// Kills all processes, and waits for the child.
    pub async fn finish(&mut self, child: &mut Child) {
        if child.id().is_none() {
            return self.end_rest();
        }
        self.end();
        if self.is_supervised && tokio::time::timeout(FAREWELL, child.wait()).await.is_ok() {
            return;
        }
        // Fails if it has already exited, which is just as good.
        let _ = child.kill().await;
    }

    /// Kills all processes. Only the first call acts: later the process id may be reused.
    pub fn end(&mut self) {
        let Some(leader) = self.leader.take() else { return };
        if self.is_supervised {
            let _ = kill_process(leader, supervisor::END);
            return;
        }
        let family = descendants(leader);
        // Fails if they have already exited.
        let _ = kill_process_group(leader, Signal::KILL);
        for process in family {
            let _ = kill_process(process, Signal::KILL);
        }
        for _ in 0..ROUNDS {
            let left = self.mark.as_deref().map(marked).unwrap_or_default();
            if left.is_empty() {
                break;
            }
            for process in left {
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }
}

/// The processes with a mark in their environment, on systems that reveal it.
#[cfg(unix)]
fn marked(mark: &str) -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = processes.filter_map(|process| {
        let number = process.file_name().to_str()?.parse().ok()?;
        let environment = std::fs::read(process.path().join("environ")).ok()?;
        let has_mark = environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes());
        Pid::from_raw(number).filter(|_| has_mark)
    });
    numbered.collect()
}

#[cfg(unix)]
impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end();
    }
}
