//! One extension in one session, from its start to its end.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use agents::AgentExtension;
use futures_util::FutureExt;
use futures_util::future::FusedFuture;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use wire::{ExtensionInfo, ExtensionLine, ExtensionState, LogLevel};

use super::SessionExtensions;
use crate::discovery::Found;
use crate::frames::read_frame;
use crate::iso_8601;
use crate::peer::{INVALID_PARAMS, Incoming, Peer, Refusal};
use crate::process::{Pipes, Process, describe};
use crate::tool::Declaration;

/// How many recent lines of its log are kept, and how much of each.
const LINES: usize = 50;
const LONGEST_LINE: usize = 2 * 1024;
/// How many messages it may add to the session's stream, which is stored.
const MOST_LOGS: usize = 10_000;
/// How long its standard error is read after its end: another process may hold it open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// An extension that was started.
pub(super) struct Program {
    pub(super) found: Found,
    pub(super) peer: Arc<Peer>,
    standing: Mutex<Standing>,
    stop: CancellationToken,
    running: Mutex<Option<JoinHandle<()>>>,
}

struct Standing {
    state: ExtensionState,
    reason: Option<String>,
    tools: Vec<String>,
    hooks: bool,
    log: VecDeque<ExtensionLine>,
    logs: usize,
}

/// A request to join the session. It is answered after all extensions before it have joined or
/// failed.
pub(super) struct Joining {
    pub(super) id: Value,
    pub(super) tools: Result<Vec<Declaration>, String>,
    pub(super) hooks: bool,
}

impl Program {
    /// Creates the program from a process that has been started, or could not be.
    pub(super) fn start(
        session: &Arc<SessionExtensions>,
        found: Found,
        started: std::io::Result<(Process, Pipes)>,
        stop: CancellationToken,
    ) -> (Arc<Self>, oneshot::Receiver<Joining>) {
        let (peer, written) = Peer::new();
        let (joining, joined) = oneshot::channel();
        let program = Arc::new(Self {
            found,
            peer: Arc::new(peer),
            standing: Mutex::new(Standing {
                state: ExtensionState::Starting,
                reason: None,
                tools: Vec::new(),
                hooks: false,
                log: VecDeque::new(),
                logs: 0,
            }),
            stop,
            running: Mutex::default(),
        });
        match started {
            Ok((process, pipes)) => {
                let run = Run {
                    program: Arc::clone(&program),
                    session: Arc::downgrade(session),
                    joining: Some(joining),
                };
                let grace = session.host().settings.stop_time_out;
                let run = run.run(process, pipes, written, grace);
                *program.running.lock() = Some(session.host().lifecycle.spawn(run));
            }
            Err(error) => {
                program.fail(session, &format!("Node could not be started: {error}"));
                program.peer.end();
            }
        }
        (program, joined)
    }

    pub(super) fn state(&self) -> ExtensionState {
        self.standing.lock().state
    }

    pub(super) fn is_hooked(&self) -> bool {
        let standing = self.standing.lock();
        standing.state == ExtensionState::Running && standing.hooks
    }

    pub(super) fn is_running(&self) -> bool {
        self.state() == ExtensionState::Running
    }

    /// Records that it has joined the session.
    pub(super) fn join(&self, tools: Vec<String>, hooks: bool) {
        let mut standing = self.standing.lock();
        if standing.state == ExtensionState::Starting {
            standing.state = ExtensionState::Running;
        }
        standing.tools = tools;
        standing.hooks = hooks;
    }

    /// Reports a failure, and ends the extension.
    pub(super) fn fail(&self, session: &SessionExtensions, reason: &str) {
        {
            let mut standing = self.standing.lock();
            if standing.state == ExtensionState::Failed || standing.state == ExtensionState::Stopped
            {
                return;
            }
            standing.state = ExtensionState::Failed;
            standing.reason = Some(reason.to_owned());
        }
        self.stop.cancel();
        let message = format!("the extension has failed: {reason}");
        session.log(self, LogLevel::Error, &message, false);
    }

    /// Ends it and waits until nothing is left of it.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        let running = self.running.lock().take();
        if let Some(running) = running {
            // Fails if it has panicked, which ends it as well.
            let _ = running.await;
        }
    }

    pub(super) fn info(&self) -> ExtensionInfo {
        let standing = self.standing.lock();
        ExtensionInfo {
            state: standing.state,
            reason: standing.reason.clone(),
            tools: standing.tools.clone(),
            hooks: standing.hooks,
            log: standing.log.iter().cloned().collect(),
            ..self.found.info(standing.state, None)
        }
    }

    /// Adds a message to its log.
    pub(super) fn remember(&self, level: LogLevel, message: &str) {
        let message = shorten(message, LONGEST_LINE);
        let log = &mut self.standing.lock().log;
        log.push_back(ExtensionLine { level, message, at: iso_8601() });
        if log.len() > LINES {
            log.pop_front();
        }
    }

    /// Counts a message for the stream; false if the limit is reached.
    pub(super) fn may_log(&self) -> bool {
        let mut standing = self.standing.lock();
        standing.logs += 1;
        standing.logs <= MOST_LOGS
    }

    /// The line of its standard error that explains its end best.
    fn last_words(&self) -> Option<String> {
        let standing = self.standing.lock();
        let lines = || standing.log.iter().rev().map(|line| line.message.trim());
        let is_error = |line: &&str| {
            let head = line.split(':').next().unwrap_or_default();
            head.ends_with("Error") || head.contains("Error [")
        };
        let words = lines().find(is_error).or_else(|| lines().find(|line| !line.is_empty()));
        words.map(str::to_owned)
    }
}

impl Found {
    /// Describes an extension that has no log yet.
    pub(super) fn info(&self, state: ExtensionState, reason: Option<String>) -> ExtensionInfo {
        ExtensionInfo {
            name: self.name.clone(),
            source: self.source,
            path: self.path.display().to_string(),
            state,
            reason,
            tools: Vec::new(),
            hooks: false,
            log: Vec::new(),
        }
    }
}

/// Describes an extension that the session's agent runs.
pub(super) fn reported_info(extension: &AgentExtension) -> ExtensionInfo {
    ExtensionInfo {
        name: extension.name.clone(),
        source: extension.source,
        // Agents do not report paths. The list takes them from what is found on disk.
        path: String::new(),
        state: extension.state,
        reason: None,
        tools: Vec::new(),
        hooks: false,
        log: Vec::new(),
    }
}

/// State of the future that runs a program.
struct Run {
    program: Arc<Program>,
    /// Weak: dropping the session ends its extensions.
    session: Weak<SessionExtensions>,
    joining: Option<oneshot::Sender<Joining>>,
}

impl Run {
    async fn run(
        mut self,
        mut process: Process,
        pipes: Pipes,
        written: mpsc::Receiver<Vec<u8>>,
        grace: Duration,
    ) {
        let Pipes { stdin, stdout, stderr } = pipes;
        let program = Arc::clone(&self.program);
        let mut writing = pin!(write(stdin, written).fuse());
        let mut listening = pin!(listen(&program, stderr).fuse());
        let output_ended = {
            let mut reading = pin!(self.read(stdout));
            loop {
                tokio::select! {
                    biased;
                    () = program.stop.cancelled() => break None,
                    reason = &mut reading => break Some(reason),
                    () = &mut writing => {}
                    () = &mut listening => {}
                }
            }
        };
        let reason = match output_ended {
            Some(None) => {
                // Usually the whole process has exited. Its last output is worth waiting for.
                let status = timeout(grace, process.wait()).await;
                if !listening.is_terminated() {
                    let _ = timeout(LAST_WORDS, listening).await;
                }
                Some(match status {
                    Ok(status) => self.describe_end(&describe(status)),
                    Err(_) => "it closed its standard output".to_owned(),
                })
            }
            Some(reason) => reason,
            None => None,
        };
        self.program.peer.end();
        if let Some(session) = self.session.upgrade() {
            session.take_away(&self.program);
            if let Some(reason) = reason {
                self.program.fail(&session, &reason);
            }
        }
        process.stop(grace).await;
        let mut standing = self.program.standing.lock();
        if standing.state != ExtensionState::Failed {
            standing.state = ExtensionState::Stopped;
        }
    }

    fn describe_end(&self, status: &str) -> String {
        let when = if self.joining.is_some() { " before it joined the session" } else { "" };
        match self.program.last_words() {
            Some(words) => format!("it ended{when} ({status}): {words}"),
            None => format!("it ended{when} ({status})"),
        }
    }

    /// Reads messages until there are no more. Returns why, unless the output simply ended.
    async fn read(&mut self, stdout: ChildStdout) -> Option<String> {
        let mut stdout = BufReader::new(stdout);
        loop {
            let message = match read_frame(&mut stdout).await {
                Ok(Some(message)) => message,
                Ok(None) => return None,
                Err(error) => return Some(error.to_string()),
            };
            match Incoming::parse(&message) {
                Some(Incoming::Request { id, method, params }) => {
                    self.answer(id, &method, &params)?;
                }
                Some(Incoming::Response { id, result }) => {
                    self.program.peer.take_response(id, result);
                }
                Some(Incoming::Notification) => {}
                None => return Some("it sent something that is not JSON-RPC".to_owned()),
            }
        }
    }

    /// `None` if the session is gone.
    fn answer(&mut self, id: Value, method: &str, params: &Value) -> Option<()> {
        let session = self.session.upgrade()?;
        if method == "session.resume" {
            let Some(joining) = self.joining.take() else {
                let refusal = Refusal::new(INVALID_PARAMS, "the session was joined before");
                self.program.peer.respond(&id, Err(refusal));
                return Some(());
            };
            let tools = Declaration::read_all(&params["tools"]);
            let hooks = params["hooks"] == Value::Bool(true);
            // Fails if joining has timed out.
            let _ = joining.send(Joining { id, tools, hooks });
            return Some(());
        }
        let result = session.answer(&self.program, method, params);
        self.program.peer.respond(&id, result);
        Some(())
    }
}

/// Writes messages as long as possible. The end of the process is noticed on its output.
async fn write(mut stdin: ChildStdin, mut written: mpsc::Receiver<Vec<u8>>) {
    while let Some(frame) = written.recv().await {
        if stdin.write_all(&frame).await.is_err() {
            break;
        }
    }
}

/// Logs the lines of its standard error.
async fn listen(program: &Program, mut stderr: impl AsyncRead + Unpin) {
    let mut line = Vec::new();
    let mut buffer = vec![0; 4 * 1024];
    let tell = |line: &mut Vec<u8>| {
        let text = String::from_utf8_lossy(line);
        if !text.trim().is_empty() {
            program.remember(LogLevel::Info, text.trim_end());
        }
        line.clear();
    };
    while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
        for byte in &buffer[..length] {
            match byte {
                b'\n' => tell(&mut line),
                byte if line.len() < LONGEST_LINE => line.push(*byte),
                _ => {}
            }
        }
    }
    tell(&mut line);
}

fn shorten(text: &str, limit: usize) -> String {
    let mut text = text.to_owned();
    text.truncate(text.floor_char_boundary(limit));
    text
}
