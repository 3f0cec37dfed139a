//! Child processes: run, capture, watch line by line, and stop.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::{Context, bail};

pub(crate) use xtask::build::command;
use xtask::build::each_line;

const NO_OUTPUT: &str = "the child has no output";

/// Runs a command with the terminal as its own; a failure is an error.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| cannot_start(command))?;
    check(command, status)
}

/// Runs a command and passes on every line of its standard output.
pub(crate) fn run_lines(
    command: &mut Command,
    on_line: impl FnMut(&str),
) -> anyhow::Result<ExitStatus> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| cannot_start(command))?;
    each_line(child.stdout.take().context(NO_OUTPUT)?, on_line)?;
    Ok(child.wait()?)
}

/// Runs a command and passes on every line of its standard error.
pub(crate) fn run_error_lines(
    command: &mut Command,
    on_line: impl FnMut(&str),
) -> anyhow::Result<ExitStatus> {
    let mut child =
        command.stderr(Stdio::piped()).spawn().with_context(|| cannot_start(command))?;
    each_line(child.stderr.take().context(NO_OUTPUT)?, on_line)?;
    Ok(child.wait()?)
}

/// Prints a line of a child's output at once.
pub(crate) fn echo(line: &str) {
    let mut output = io::stdout().lock();
    // A closed standard output is no reason to stop the tests.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

/// Runs a command quietly and returns its output; a failure is an error that contains it.
pub(crate) fn capture(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| cannot_start(command))?;
    if !output.status.success() {
        bail!("{} failed: {}", name(command), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether the command starts and succeeds. Prints nothing.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Turns a failed status into an error.
pub(crate) fn check(command: &Command, status: ExitStatus) -> anyhow::Result<()> {
    if status.success() {
        return Ok(());
    }
    bail!("{} failed: {status}", name(command))
}

/// The command as one would type it, shortened to its first words.
fn name(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let program = program.file_stem().unwrap_or_default().to_string_lossy();
    let arguments = command.get_args().take(3).map(OsStr::to_string_lossy);
    let words: Vec<_> = std::iter::once(program).chain(arguments).collect();
    format!("`{}`", words.join(" "))
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start {}", name(command))
}

/// A child and its descendants, all of which end when this is dropped.
pub(crate) struct Group {
    child: Child,
}

impl Group {
    /// Starts the command as the leader of a process group.
    pub(crate) fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let child = command.spawn().with_context(|| cannot_start(command))?;
        Ok(Self { child })
    }

    /// The standard output of the leader, if it was piped and not taken yet.
    pub(crate) fn output(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Whether the leader of the group has exited.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the leader of the group to exit, but no longer than `limit`.
    pub(crate) fn wait(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while !self.has_ended() {
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(50));
        }
        true
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let id = self.child.id();
        // The leader may have exited before its children: on Unix, kill the whole group anyway.
        if cfg!(unix) {
            succeeds(Command::new("kill").args(["-s", "KILL", "--", &format!("-{id}")]));
        } else if !self.has_ended() {
            succeeds(Command::new("taskkill").args(["/T", "/F", "/PID", &id.to_string()]));
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_named_by_its_first_words() {
        let mut command = Command::new("/opt/rust/bin/cargo");
        command.args(["build", "--release", "-p", "server"]);
        assert_eq!(name(&command), "`cargo build --release -p`");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut Command::new("no-such-program-here")).expect_err("it cannot start");
        assert!(format!("{error:#}").starts_with("cannot start `no-such-program-here`"));
    }
}
