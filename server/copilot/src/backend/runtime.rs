//! A running CLI: its process, the connection to it, and how it ends.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::{FusedFuture, FutureExt};
use github_copilot_sdk::Client;
use parking_lot::Mutex;
use platform::environment::is_ours;
#[cfg(unix)]
use platform::process_group::ProcessGroup;
use platform::process_group::{self, Input};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::settings::CopilotSettings;

/// How long the CLI may take to shut down, and then to exit.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long to wait for the reason after a connection broke.
const REASON: Duration = Duration::from_secs(1);
/// How long to wait for a process's last output after its end: another process may hold the pipe
/// open.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// Limit for one line of the CLI's log, in bytes.
const LONGEST_LINE: u64 = 4096;

/// The environment variable that marks the CLI and its descendants.
const MARK: &str = "COPILOT_PORTAL_CLI";

/// A CLI process, shared by all sessions. Dropping it ends it and everything it started.
pub(super) struct Runtime {
    pub(super) client: Client,
    death: Arc<Death>,
    watcher: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// Whether and how the process has ended.
#[derive(Default)]
struct Death {
    /// Cancelled to end the process.
    wanted: CancellationToken,
    /// Cancelled when the process has ended.
    happened: CancellationToken,
    reason: OnceLock<String>,
    /// The last line of its log.
    last_words: Mutex<String>,
}

impl Runtime {
    /// Starts the CLI and waits until it answers. The process ends when `end` is cancelled.
    pub(super) async fn start(
        program: &Path,
        settings: &CopilotSettings,
        end: CancellationToken,
    ) -> Result<Self, String> {
        let mark = mark();
        let mut child = spawn(program, settings, &mark)
            .map_err(|error| format!("can't be started: {error}: `{}`", program.display()))?;
        let pipes = child.stdout.take().zip(child.stdin.take()).zip(child.stderr.take());
        let ((output, input), log) = pipes.ok_or("the system gave no pipes")?;
        tracing::info!(program = %program.display(), pid = child.id(), "started the Copilot CLI");
        let death = Arc::new(Death { wanted: end, ..Death::default() });
        let watcher = tokio::spawn(watch(Watched::new(child, &mark), log, death.clone()));
        let watcher = AbortOnDropHandle::new(watcher);
        let folder = std::env::current_dir().unwrap_or_default();
        let client = Client::from_streams(output, input, folder).map_err(|error| error.to_string());
        let runtime = Self { client: client?, death, watcher: Mutex::new(Some(watcher)) };
        tokio::select! {
            biased;
            reason = runtime.died() => Err(runtime.death.with_last_words(reason)),
            answer = timeout(settings.limits.start, runtime.client.verify_protocol_version()) => {
                match answer {
                    Ok(Ok(())) => Ok(runtime),
                    // The process ended, and its pipe broke first.
                    Ok(Err(error)) => match timeout(REASON, runtime.died()).await {
                        Ok(reason) => Err(runtime.death.with_last_words(reason)),
                        Err(_) => Err(format!("does not answer as it should: {error}")),
                    },
                    Err(_) => {
                        let seconds = settings.limits.start.as_secs();
                        Err(format!("did not answer within {seconds} s"))
                    }
                }
            }
        }
    }

    /// Whether it has ended, or is about to.
    pub(super) fn is_dead(&self) -> bool {
        self.death.happened.is_cancelled() || self.death.wanted.is_cancelled()
    }

    /// Waits for its end and returns the reason. Cancel safe.
    pub(super) async fn died(&self) -> String {
        self.death.happened.cancelled().await;
        self.death.describe()
    }

    /// Called after the connection broke: makes sure that the process is gone, too, and returns the
    /// reason.
    pub(super) async fn lost(&self) -> String {
        if let Ok(reason) = timeout(REASON, self.died()).await {
            return reason;
        }
        let _ = self.death.reason.set("the Copilot CLI hung up".to_owned());
        self.death.wanted.cancel();
        self.died().await
    }

    /// Ends the process and everything it started.
    pub(super) async fn close(&self) {
        let _ = self.death.reason.set("the Copilot CLI was closed".to_owned());
        if !self.is_dead() {
            // It may have something to save; otherwise there is no reason to wait.
            let _ = timeout(FAREWELL, self.client.rpc().runtime().shutdown()).await;
        }
        self.death.wanted.cancel();
        let watcher = self.watcher.lock().take();
        if let Some(watcher) = watcher
            && timeout(FAREWELL, watcher).await.is_err()
        {
            tracing::warn!("the Copilot CLI did not end in time");
        }
    }
}

impl Death {
    fn describe(&self) -> String {
        self.reason.get().map_or("the Copilot CLI ended", String::as_str).to_owned()
    }

    /// Adds the last line of the log, in which a program that exits at once usually says why.
    fn with_last_words(&self, reason: String) -> String {
        match &**self.last_words.lock() {
            "" => reason,
            words => format!("{reason}: {words}"),
        }
    }
}

/// A value that only this CLI and its descendants have in their environment. Its shells have their
/// own process groups, so after a kill nothing else identifies them.
fn mark() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", std::process::id())
}

fn spawn(program: &Path, settings: &CopilotSettings, mark: &str) -> std::io::Result<Child> {
    let mut command = process_group::command(program, Input::Pipe);
    command
        .args(["--server", "--stdio", "--no-auto-update"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if settings.provider.is_some() {
        command.arg("--no-auto-login");
    }
    for (name, _) in std::env::vars_os() {
        if is_ours(&name.to_string_lossy(), &settings.secrets) {
            command.env_remove(name);
        }
    }
    command.envs(settings.environment.iter().map(|(name, value)| (name, value)));
    command.env(MARK, mark);
    command.spawn()
}

/// The process and its group.
struct Watched {
    #[cfg(unix)]
    group: ProcessGroup,
    child: Child,
}

impl Watched {
    #[cfg_attr(not(unix), expect(unused_variables, reason = "there are no groups"))]
    fn new(child: Child, mark: &str) -> Self {
        Self {
            #[cfg(unix)]
            group: ProcessGroup::of(&child).with_mark(format!("{MARK}={mark}")),
            child,
        }
    }

    /// Ends what is left, and waits for it.
    async fn end(&mut self) {
        #[cfg(unix)]
        self.group.finish(&mut self.child).await;
        // Fails if it has already exited.
        #[cfg(not(unix))]
        let _ = self.child.kill().await;
    }
}

/// Runs until the process has ended, on its own or on request.
async fn watch(mut process: Watched, log: ChildStderr, death: Arc<Death>) {
    let mut log = Box::pin(pass_on(log, &death).fuse());
    let status = loop {
        tokio::select! {
            status = process.child.wait() => break Some(status),
            () = death.wanted.cancelled() => break None,
            () = &mut log => {}
        }
    };
    process.end().await;
    if let Some(status) = status {
        // Its last output is more informative than its exit status.
        if !log.is_terminated() {
            let _ = timeout(LAST_WORDS, &mut log).await;
        }
        let how = match status {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        if death.reason.set(format!("the Copilot CLI ended ({how})")).is_ok() {
            tracing::warn!(how, "the Copilot CLI ended");
        }
    }
    drop(log);
    death.happened.cancel();
}

/// Forwards the CLI's log to ours, line by line.
async fn pass_on(log: ChildStderr, death: &Death) {
    let mut log = BufReader::new(log);
    let mut line = Vec::new();
    while let Ok(1..) = (&mut log).take(LONGEST_LINE).read_until(b'\n', &mut line).await {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if !text.is_empty() {
            tracing::debug!(target: "engine::agent::copilot::cli", "{text}");
            text.clone_into(&mut death.last_words.lock());
        }
        line.clear();
    }
}
