//! The process of an extension: Node, as the leader of its own process group.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use platform::environment::is_secret;
#[cfg(unix)]
use platform::process_group::ProcessGroup;
use platform::process_group::{self, Input};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use wire::SessionId;

use super::runtime::Runtime;

/// The script that Node runs, passed as an argument so that no file is needed.
static PROGRAM: LazyLock<String> = LazyLock::new(|| {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    format!(
        "const LOADER = {}, JOIN = {};\n{}",
        quoted(include_str!("node/loader.mjs")),
        quoted(include_str!("node/join.mjs")),
        include_str!("node/bootstrap.mjs")
    )
});

/// An environment variable whose value is unique to each extension and session.
const MARK: &str = "COPILOT_PORTAL_EXTENSION";

/// What to start, and where.
pub(super) struct Launch<'a> {
    pub(super) runtime: &'a Runtime,
    /// The path of the `extension.mjs`.
    pub(super) extension: &'a Path,
    pub(super) session: SessionId,
    /// The session's working directory.
    pub(super) folder: &'a Path,
    /// Environment variables hidden from it, in addition to those that look like secrets.
    pub(super) secrets: &'a [String],
}

/// A running process. Dropping it kills it and everything it has started.
pub(super) struct Process {
    #[cfg(unix)]
    group: ProcessGroup,
    child: Child,
}

/// The pipes to a process.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl Process {
    pub(super) fn start(launch: &Launch<'_>) -> std::io::Result<(Self, Pipes)> {
        let mut command = process_group::command(&launch.runtime.node, Input::Pipe);
        command
            .args(["--input-type=module", "--eval", &PROGRAM])
            .current_dir(launch.folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            if is_secret(&name.to_string_lossy(), launch.secrets) {
                command.env_remove(name);
            }
        }
        // Identifies its descendants when it ends.
        let mark = format!("{}/{}", launch.session, launch.extension.display());
        let variables: [(&str, OsString); 5] = [
            (MARK, (&mark).into()),
            ("SESSION_ID", launch.session.to_string().into()),
            ("EXTENSION_PATH", launch.extension.into()),
            ("COPILOT_SDK_PATH", launch.runtime.sdk.clone().into()),
            ("COPILOT_EXTENSION_PARENT_PID", std::process::id().to_string().into()),
        ];
        let mut child = command.envs(variables).spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(std::io::Error::other("no pipes"));
        };
        #[cfg(unix)]
        let group = ProcessGroup::of(&child).with_mark(format!("{MARK}={mark}"));
        let process = Self {
            #[cfg(unix)]
            group,
            child,
        };
        Ok((process, Pipes { stdin, stdout, stderr }))
    }

    /// Waits for its exit. Cancel safe.
    pub(super) async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Asks it to exit and kills it after `grace`, together with anything it leaves behind.
    pub(super) async fn stop(mut self, grace: Duration) {
        #[cfg(unix)]
        {
            self.group.terminate();
            if tokio::time::timeout(grace, self.child.wait()).await.is_err() {
                tracing::info!("an extension did not stop by itself");
            }
            self.group.finish(&mut self.child).await;
        }
        #[cfg(not(unix))]
        {
            let _ = grace;
            // Fails if it has already exited, which is just as good.
            let _ = self.child.kill().await;
        }
    }
}

/// Describes to people how a process ended.
pub(super) fn describe(status: std::io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => match status.code() {
            Some(code) => format!("exit code {code}"),
            None => status.to_string(),
        },
        Err(error) => error.to_string(),
    }
}
