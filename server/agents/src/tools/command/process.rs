//! A command as a process group, which ends with its call.

use std::io::pipe;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use cap_std::fs::Dir;
use platform::environment::is_secret;
use platform::process_group::{self, Input, ProcessGroup};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;
use tokio::time::Instant;
use wire::ToolError;

use crate::tool::ToolOutput;

use super::capture::{Capture, Stream};
use super::{CommandSettings, failure, visible};

/// How long to wait for output after the command has ended: a process that has left the group may
/// keep the pipe open for ever.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// A command to run.
pub(super) struct Job<'a> {
    pub(super) command: &'a str,
    /// The open folder to run it in. The path is for systems that cannot start a process from a
    /// handle.
    pub(super) folder: &'a Dir,
    pub(super) path: &'a Path,
    pub(super) time_out: Duration,
}

impl Job<'_> {
    /// Runs the command until it ends or times out. Dropping the future ends it as well.
    pub(super) async fn run(
        &self,
        settings: &CommandSettings,
        output: &ToolOutput,
    ) -> Result<String, ToolError> {
        let mut capture = Capture::default();
        let status = match self.start(settings) {
            Ok((mut child, mut receiver)) => {
                let mut seen = Seen { capture: &mut capture, stream: Stream::new(output) };
                watch(&mut child, &mut receiver, self.time_out, &mut seen).await
            }
            Err(error) => Err(error),
        };
        let status = status
            .map_err(|error| failure("io", format!("the command could not be run: {error}")))?;
        let text = capture.text();
        if let Some(status) = status {
            return Ok(format!("[{}]\n{text}", describe(status)));
        }
        let milliseconds = self.time_out.as_millis();
        let command = visible(self.command);
        let message = format!("ended after {milliseconds} ms: `{command}`\n{text}");
        Err(failure("timed_out", message))
    }

    fn start(&self, settings: &CommandSettings) -> std::io::Result<(Child, Receiver)> {
        // One pipe for both, so that the lines stay in order.
        let (reader, writer) = pipe()?;
        let receiver = Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let mut command = process_group::command("/bin/sh", Input::Nothing);
        command
            .arg("-c")
            .arg(self.command)
            .current_dir(self.start_folder())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        for (name, _) in std::env::vars_os() {
            if is_secret(&name.to_string_lossy(), &settings.secrets) {
                command.env_remove(name);
            }
        }
        // Nobody is there to answer a prompt, and the terminal is the portal's.
        command.env("GIT_TERMINAL_PROMPT", "0");
        Ok((command.spawn()?, receiver))
    }

    /// The path of the open folder itself, even if another folder has its name by now.
    fn start_folder(&self) -> PathBuf {
        let open = PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd()));
        if open.exists() { open } else { self.path.to_owned() }
    }
}

struct Seen<'a> {
    capture: &'a mut Capture,
    stream: Stream<'a>,
}

/// Waits for a command to end; `None` if it had to be killed.
async fn watch(
    child: &mut Child,
    receiver: &mut Receiver,
    time_out: Duration,
    seen: &mut Seen<'_>,
) -> std::io::Result<Option<ExitStatus>> {
    // The supervisor ends all processes when its input closes, and `wait` would close it.
    let _input = child.stdin.take();
    let mut group = ProcessGroup::of(child);
    let mut status = None;
    let mut is_open = true;
    let mut buffer = vec![0; 16 * 1024];
    let end = tokio::time::sleep_until(Instant::now() + time_out);
    tokio::pin!(end);
    while status.is_none() || is_open {
        tokio::select! {
            read = receiver.read(&mut buffer), if is_open => match read? {
                0 => is_open = false,
                length => {
                    seen.capture.push(&buffer[..length]);
                    seen.stream.push(&buffer[..length]);
                }
            },
            ended = child.wait(), if status.is_none() => {
                status = Some(ended?);
                group.end_rest();
                end.as_mut().reset(Instant::now() + LAST_OUTPUT);
            }
            () = &mut end => break,
        }
    }
    Ok(status)
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
