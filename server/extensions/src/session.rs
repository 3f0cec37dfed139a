//! All extensions of one session.

pub(super) mod hooks;
mod manage;
mod program;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use agents::guarded::Guarded;
use agents::permission::PermissionHandler;
use agents::{AgentExtension, ToolSet};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};
use wire::{ExtensionInfo, ExtensionState, Extensions, LogLevel, SessionId, SessionResponse};

use super::discovery::Found;
use super::events::Events;
use super::peer::{INVALID_PARAMS, Refusal, UNKNOWN_METHOD};
use super::process::{Launch, Process};
use super::{ExtensionHost, NotKept};
use hooks::Hooks;
use program::{Joining, Program, reported_info};

/// Version of the protocol between extensions and their host.
const PROTOCOL: u32 = 3;
const LONGEST_LOG: usize = 16 * 1024;
const LONGEST_PROMPT: usize = 1024 * 1024;

/// What extensions can do in a session. Implemented by the engine.
pub trait SessionPort: Send + Sync + 'static {
    /// Queues a prompt; the error says why it was refused.
    fn send(&self, prompt: String) -> Result<(), String>;

    /// Aborts the running turn.
    fn abort(&self);

    /// Adds a message to the stream.
    fn log(&self, extension: &str, level: LogLevel, message: String, ephemeral: bool);

    /// Whether prompts are queued.
    fn has_waiting(&self) -> bool;
}

/// The parts of a session that its extensions use.
pub struct SessionParts {
    /// Id of the session.
    pub id: SessionId,
    /// The session's working directory.
    pub folder: PathBuf,
    /// The folder that trust is given to, from [`super::trusted_folder`].
    pub root: PathBuf,
    /// The tools of the session, to which those of extensions are added.
    pub tools: Arc<ToolSet>,
    /// Asked before a tool acts.
    pub permissions: Arc<dyn PermissionHandler>,
    /// Files and folders that tools must not touch.
    pub guarded: Guarded,
    /// Through which extensions act on the session.
    pub port: Box<dyn SessionPort>,
    /// Whether the session's first agent runs extensions itself. If so, they are only listed here.
    pub agent_runs_them: bool,
}

/// The extensions of one session.
pub struct SessionExtensions {
    host: Arc<ExtensionHost>,
    parts: SessionParts,
    /// Serialises start, reload and stop.
    changing: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    events: Mutex<Events>,
    /// Whether the session's agent runs extensions itself.
    agent_runs_them: AtomicBool,
    /// Whether extensions have been started, and so whether there is anyone to inform.
    is_active: AtomicBool,
    prompts: AtomicU64,
    /// Cancelled when the session ends: nothing is started after that.
    ending: CancellationToken,
    /// The parent of every program's token, so that they all end with it.
    stop: CancellationToken,
    _ends: DropGuard,
}

#[derive(Default)]
struct State {
    programs: Vec<Arc<Program>>,
    /// Extensions that were found but not started, or that the agent runs.
    others: Vec<ExtensionInfo>,
    /// Context for the model, sent with the next prompt.
    context: Vec<String>,
    is_enabled: bool,
}

impl SessionExtensions {
    /// Creates the host side of a session. Starts no extension yet.
    pub fn new(host: Arc<ExtensionHost>, parts: SessionParts) -> Arc<Self> {
        let stop = CancellationToken::new();
        Arc::new(Self {
            host,
            agent_runs_them: AtomicBool::new(parts.agent_runs_them),
            parts,
            changing: tokio::sync::Mutex::default(),
            state: Mutex::default(),
            events: Mutex::default(),
            is_active: AtomicBool::new(false),
            prompts: AtomicU64::new(0),
            ending: CancellationToken::new(),
            _ends: stop.clone().drop_guard(),
            stop,
        })
    }

    fn host(&self) -> &ExtensionHost {
        &self.host
    }

    fn parts(&self) -> &SessionParts {
        &self.parts
    }

    /// Starts the extensions, if the folder is trusted, and waits until each has joined the session
    /// or failed.
    pub async fn start(self: &Arc<Self>) {
        if self.is_trusted() {
            let _changing = self.changing.lock().await;
            self.ending.run_until_cancelled(self.start_all("new")).await;
        }
    }

    /// Stops all extensions, searches for them again, and starts them.
    pub async fn reload(self: &Arc<Self>) {
        let _changing = self.changing.lock().await;
        self.stop_all().await;
        if self.is_trusted() {
            self.ending.run_until_cancelled(self.start_all("resume")).await;
        } else {
            self.disable();
        }
    }

    /// Another agent is about to take over the session. From now on, it runs the extensions itself
    /// or the portal does.
    ///
    /// If dropped before it returns, some extensions may not run; call it again then.
    pub async fn hand_over(self: &Arc<Self>, agent_runs_them: bool) {
        let _changing = self.changing.lock().await;
        if self.agent_runs_them() == agent_runs_them {
            return;
        }
        self.stop_all().await;
        self.state.lock().others.clear();
        self.disable();
        self.agent_runs_them.store(agent_runs_them, Ordering::Relaxed);
        if self.is_trusted() {
            self.ending.run_until_cancelled(self.start_all("resume")).await;
        }
    }

    fn agent_runs_them(&self) -> bool {
        self.agent_runs_them.load(Ordering::Relaxed)
    }

    /// Allows the extensions of the folder as they are, and starts them once that is durable.
    pub async fn allow(self: &Arc<Self>) -> Result<(), NotKept> {
        self.host.allow(&self.parts.root).await?;
        self.reload().await;
        Ok(())
    }

    /// Forbids the extensions of the folder. They can't be started from now on; the future stops
    /// those of this session, and then says whether that will be remembered.
    pub fn forbid(self: &Arc<Self>) -> impl Future<Output = Result<(), NotKept>> + use<> {
        let kept = self.host.trust.forbid(&self.parts.root);
        let session = Arc::clone(self);
        async move {
            session.reload().await;
            kept.await
        }
    }

    /// Informs the extensions, and then ends them.
    pub async fn end(&self, reason: &str, error: Option<&str>) {
        // Extensions that are still starting are not waited for.
        self.ending.cancel();
        let _changing = self.changing.lock().await;
        if !self.is_active.load(Ordering::Relaxed) {
            return;
        }
        self.session_end(reason, error).await;
        let kind = if error.is_some() { "error" } else { "routine" };
        let data = json!({ "shutdownType": kind, "totalPremiumRequests": 0 });
        let event = self.events.lock().make("session.shutdown", &data);
        self.tell(&event);
        self.stop_all().await;
    }

    /// The folder that trust is given to.
    pub fn root(&self) -> &Path {
        &self.parts.root
    }

    /// Whether extensions may run in the folder.
    pub fn is_trusted(&self) -> bool {
        self.host.trust.is_trusted(&self.parts.root)
    }

    /// Lists all extensions with their states.
    pub async fn list(self: &Arc<Self>) -> Extensions {
        let found = self.judged().await;
        let trusted = self.is_trusted();
        let mut extensions = {
            let state = self.state.lock();
            let programs = state.programs.iter().map(|program| program.info());
            programs.chain(state.others.iter().cloned()).collect::<Vec<_>>()
        };
        for (found, problem) in found {
            let path = found.path.display().to_string();
            let is_same =
                |known: &&mut ExtensionInfo| known.path == path || self.is_same(known, &found);
            if let Some(known) = extensions.iter_mut().find(is_same) {
                known.path = path;
                continue;
            }
            extensions.push(if found.is_shadowed {
                shadowed(&found)
            } else if let Some(problem) = problem {
                found.info(ExtensionState::Untrusted, Some(problem))
            } else {
                let reason = if self.agent_runs_them() {
                    "the agent has not started it; it may with the next session"
                } else {
                    "not started yet: reload"
                };
                found.info(ExtensionState::Stopped, Some(reason.to_owned()))
            });
        }
        extensions.sort_by(|one, other| {
            let key = |info: &ExtensionInfo| (info.name.clone(), info.source.as_str());
            key(one).cmp(&key(other))
        });
        Extensions { folder: self.parts.root.display().to_string(), trusted, extensions }
    }

    /// Agents do not report the paths of their extensions, so those match by name and source.
    fn is_same(&self, known: &ExtensionInfo, found: &Found) -> bool {
        self.agent_runs_them() && known.name == found.name && known.source == found.source
    }

    /// Replaces the list of extensions that the agent runs itself.
    pub fn set_reported(&self, reported: &[AgentExtension]) {
        self.state.lock().others = reported.iter().map(reported_info).collect();
    }

    /// Informs extensions about a response of the session.
    pub fn observe(&self, response: &SessionResponse) {
        if !self.is_active.load(Ordering::Relaxed) {
            return;
        }
        let event = self.events.lock().of(response);
        // A session is idle only if no prompt is queued either.
        if *response == SessionResponse::Idle && self.parts.port.has_waiting() {
            return;
        }
        if let Some(event) = event {
            self.tell(&event);
        }
    }

    fn tell(&self, event: &Value) {
        let params = json!({ "sessionId": self.parts.id.to_string(), "event": event });
        for program in self.programs().iter().filter(|program| program.is_running()) {
            program.peer.notify("session.event", &params);
        }
    }

    fn programs(&self) -> Vec<Arc<Program>> {
        self.state.lock().programs.clone()
    }

    fn final_message(&self) -> Option<String> {
        self.events.lock().final_message.clone()
    }

    fn add_context(&self, context: String) {
        self.state.lock().context.push(context);
    }

    fn take_context(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().context)
    }

    /// Handles a log message of an extension.
    fn log(&self, program: &Program, level: LogLevel, message: &str, ephemeral: bool) {
        program.remember(level, message);
        if program.may_log() {
            let mut message = message.to_owned();
            message.truncate(message.floor_char_boundary(LONGEST_LOG));
            self.parts.port.log(&program.found.name, level, message, ephemeral);
        }
    }

    /// All extensions that were found, each with the reason if it must not be started.
    async fn judged(&self) -> Vec<(Found, Option<String>)> {
        self.host.judge(&self.parts.root).await
    }

    async fn start_all(self: &Arc<Self>, source: &str) {
        if self.agent_runs_them() {
            return;
        }
        self.enable();
        let mut others = Vec::new();
        let mut found = Vec::new();
        for (one, problem) in self.judged().await {
            match problem {
                _ if one.is_shadowed => others.push(shadowed(&one)),
                Some(problem) => others.push(one.info(ExtensionState::Untrusted, Some(problem))),
                None => found.push(one),
            }
        }
        self.state.lock().others = others;
        if found.is_empty() {
            return;
        }
        let runtime = match self.host.runtime().await {
            Ok(runtime) => runtime,
            Err(missing) => {
                let others = found.iter();
                let others = others.map(|f| f.info(missing.state, Some(missing.reason.clone())));
                self.state.lock().others.extend(others);
                return;
            }
        };
        self.is_active.store(true, Ordering::Relaxed);
        let mut starting = Vec::new();
        for found in found {
            let started = Process::start(&Launch {
                runtime,
                extension: &found.path,
                session: self.parts.id,
                folder: &self.parts.folder,
                secrets: &self.host.settings.secrets,
            });
            let (program, joined) = Program::start(self, found, started, self.stop.child_token());
            self.state.lock().programs.push(Arc::clone(&program));
            starting.push((program, joined));
        }
        // All start concurrently and join in the order of their names, so that a conflict of tool
        // names always hits the same one.
        let deadline = Instant::now() + self.host.settings.join_time_out;
        for (program, joined) in starting {
            match timeout_at(deadline, joined).await {
                Ok(Ok(joining)) => self.admit(&program, joining),
                // It has ended, and reports the reason itself.
                Ok(Err(_)) => {}
                Err(_) => {
                    let seconds = self.host.settings.join_time_out.as_secs_f32();
                    program.fail(self, &format!("it did not join the session within {seconds} s"));
                }
            }
        }
        self.session_start(source).await;
    }

    /// Adds the tools for managing extensions, and routes tool calls through the hooks.
    fn enable(self: &Arc<Self>) {
        if std::mem::replace(&mut self.state.lock().is_enabled, true) {
            return;
        }
        let tools = &self.parts.tools;
        tools.set_hooks(Some(Arc::new(Hooks::new(self))));
        if let Err(error) = tools.add_all(manage::tools(self)) {
            tracing::error!(%error, "the tools for extensions are missing");
        }
    }

    fn disable(self: &Arc<Self>) {
        if std::mem::take(&mut self.state.lock().is_enabled) {
            let tools = &self.parts.tools;
            tools.set_hooks(None);
            let names: Vec<_> = manage::tools(self).into_iter().map(|tool| tool.name).collect();
            tools.remove(&names);
        }
    }

    fn admit(self: &Arc<Self>, program: &Arc<Program>, joining: Joining) {
        let Joining { id, tools, hooks } = joining;
        let session = self.parts.id.to_string();
        let admitted = tools.and_then(|declarations| {
            let names: Vec<String> = declarations.iter().map(|tool| tool.name.clone()).collect();
            let tools = declarations.into_iter().map(|declaration| {
                let peer = Arc::clone(&program.peer);
                let permissions = Arc::clone(&self.parts.permissions);
                declaration.into_tool(&program.found.name, &session, peer, permissions)
            });
            let added = self.parts.tools.add_all(tools.collect());
            added.map(|()| names).map_err(|error| error.to_string())
        });
        match admitted {
            Ok(names) => {
                program.join(names, hooks);
                // It may have ended just now, before its tools were known and could be removed.
                if program.peer.has_ended() {
                    self.take_away(program);
                }
                let answer = json!({
                    "sessionId": session,
                    "workspacePath": self.parts.folder.display().to_string(),
                    "capabilities": { "ui": {} },
                });
                program.peer.respond(&id, Ok(answer));
            }
            Err(reason) => {
                let refusal = Refusal::new(INVALID_PARAMS, reason.clone());
                program.peer.respond(&id, Err(refusal));
                program.fail(self, &reason);
            }
        }
    }

    /// Removes the tools of a program that ends.
    fn take_away(&self, program: &Program) {
        self.parts.tools.remove(&program.info().tools);
    }

    async fn stop_all(&self) {
        self.is_active.store(false, Ordering::Relaxed);
        let programs = {
            let mut state = self.state.lock();
            if !self.agent_runs_them() {
                state.others.clear();
            }
            std::mem::take(&mut state.programs)
        };
        futures_util::future::join_all(programs.iter().map(|program| program.stop())).await;
    }

    /// Answers a request of an extension, other than the one to join.
    fn answer(&self, program: &Program, method: &str, params: &Value) -> Result<Value, Refusal> {
        match method {
            "connect" => {
                let version = env!("CARGO_PKG_VERSION");
                Ok(json!({ "ok": true, "protocolVersion": PROTOCOL, "version": version }))
            }
            "ping" => Ok(json!({
                "message": params["message"],
                "timestamp": super::milliseconds(),
                "protocolVersion": PROTOCOL,
            })),
            "session.tools.handlePendingToolCall" => {
                let request = text(params, "requestId")?;
                let result = match &params["error"] {
                    Value::Null => Ok(params["result"].clone()),
                    Value::String(message) => Err(message.clone()),
                    error => Err(error["message"].as_str().unwrap_or("an error").to_owned()),
                };
                Ok(json!({ "success": program.peer.take_call(request, result) }))
            }
            "session.log" => {
                let level = match params["level"].as_str() {
                    Some("warning") => LogLevel::Warning,
                    Some("error") => LogLevel::Error,
                    _ => LogLevel::Info,
                };
                let is_ephemeral = params["ephemeral"] == Value::Bool(true);
                self.log(program, level, text(params, "message")?, is_ephemeral);
                Ok(json!({ "eventId": self.next_id("log") }))
            }
            "session.send" => {
                let prompt = prompt(params)?;
                let sent = self.parts.port.send(prompt);
                sent.map_err(|problem| Refusal::new(INVALID_PARAMS, problem))?;
                Ok(json!({ "messageId": self.next_id("message") }))
            }
            "session.getMessages" => Ok(json!({ "events": self.events.lock().all() })),
            "session.abort" => {
                self.parts.port.abort();
                Ok(json!({ "success": true }))
            }
            "session.detach" => Ok(json!({ "success": true })),
            _ => Err(Refusal::new(UNKNOWN_METHOD, format!("not supported here: `{method}`"))),
        }
    }

    fn next_id(&self, kind: &str) -> String {
        format!("{kind}-of-extension-{}", self.prompts.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

fn shadowed(found: &Found) -> ExtensionInfo {
    let reason = "an extension of the project has the same name";
    found.info(ExtensionState::Shadowed, Some(reason.to_owned()))
}

fn text<'a>(params: &'a Value, name: &str) -> Result<&'a str, Refusal> {
    let text = params[name].as_str();
    text.ok_or_else(|| Refusal::new(INVALID_PARAMS, format!("`{name}` is missing")))
}

/// A prompt together with the names of its attachments.
fn prompt(params: &Value) -> Result<String, Refusal> {
    let mut prompt = text(params, "prompt")?.to_owned();
    let attachments = params["attachments"].as_array().into_iter().flatten();
    let paths: Vec<_> = attachments.filter_map(|attached| attached["path"].as_str()).collect();
    if !paths.is_empty() {
        prompt.push_str("\n\nAttached:");
        for path in paths {
            prompt.push_str("\n- ");
            prompt.push_str(path);
        }
    }
    if prompt.len() > LONGEST_PROMPT {
        return Err(Refusal::new(INVALID_PARAMS, "the prompt is too long"));
    }
    Ok(prompt)
}
