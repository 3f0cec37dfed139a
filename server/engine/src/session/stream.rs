//! Turns what an agent reports into what readers can rely on.
//!
//! Backends differ: some leave out starts, some repeat whole texts, some never finish what was
//! aborted. This module alone ensures that every block opens before its deltas and closes once,
//! that its deltas add up to the complete content, and that nothing stays open when a turn ends.

mod questions;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use agents::{AgentEvent, AgentEvents, Capabilities, TextKind};
use extensions::SessionExtensions;
use parking_lot::Mutex;
use serde_json::Value;
use store::fold::{OpenQuestion, PromptAuthor, SessionNote};
use store::journal::StoreError;
use store::live::LiveLog;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use wire::{LogLevel, PermissionId, SessionResponse, ToolError, TurnEnding, Usage};

use super::CalledTool;
use super::asking::Asking;
use super::generation::Generation;
use super::outlet::Outlet;
use crate::budget::Meter;

/// The only writer of a session's responses.
pub(super) struct Stream {
    log: Outlet,
    asking: Asking,
    /// Counts what the session uses.
    meter: Arc<Meter>,
    state: Mutex<State>,
    /// Notified when requests of a turn that was cut off have ended.
    settled: Notify,
}

/// One of a session's agents, by the order in which they were started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Speaker(u32);

#[derive(Default)]
struct State {
    generation: Generation,
    /// The agent that is listened to, and the one that was started last.
    speaker: Speaker,
    last_speaker: Speaker,
    /// What the session's agent supports.
    capabilities: Capabilities,
    /// Whether the turn of a prompt has begun and is not over.
    is_running: bool,
    /// Whether a further prompt was handed to it.
    is_steered: bool,
    /// The model's turn that is under way.
    turn: Option<String>,
    /// The model's latest turn for this prompt.
    last_turn: Option<String>,
    texts: Vec<OpenText>,
    tools: Vec<OpenTool>,
    /// The blocks that were closed in this turn and in the one before, so that late reports don't
    /// open them again.
    closed: HashSet<BlockId>,
    closed_before: HashSet<BlockId>,
    called: Vec<CalledTool>,
    usage: Usage,
    /// The text of the last message that was closed in this turn.
    last_message: Option<String>,
    /// The meter of the task whose prompt is being answered.
    task: Option<Arc<Meter>>,
    failure: Option<String>,
    /// The agent's latest error, unless it has said or done something since.
    unanswered: Option<String>,
    crash: Option<String>,
    /// Cancelled when the agent reports that it has crashed.
    crashed: CancellationToken,
    /// Permission requests of a turn that was cut off when the server stopped.
    interrupted: BTreeMap<PermissionId, OpenQuestion>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum BlockId {
    Text(TextKind, String),
    Tool(String),
}

struct OpenText {
    kind: TextKind,
    id: String,
    text: String,
}

struct OpenTool {
    call_id: String,
    /// Its index in `called`, if it was called in this turn.
    called: Option<usize>,
}

/// What happened in a turn.
#[derive(Debug, Default)]
pub(super) struct Finished {
    pub(super) tools: Vec<CalledTool>,
    pub(super) usage: Usage,
    pub(super) last_message: Option<String>,
    pub(super) failure: Option<String>,
}

impl Stream {
    pub(super) fn new(
        log: Arc<LiveLog<SessionResponse>>,
        asking: Asking,
        meter: Arc<Meter>,
    ) -> Self {
        Self {
            log: Outlet::new(log),
            asking,
            meter,
            state: Mutex::default(),
            settled: Notify::new(),
        }
    }

    /// Where a further agent reports. From now on, all others are ignored: an agent that is being
    /// stopped may still report what it did, or that it crashed.
    pub(super) fn hear_another(self: &Arc<Self>) -> (Speaker, AgentEvents) {
        let speaker = {
            let mut state = self.state.lock();
            state.last_speaker.0 += 1;
            let speaker = state.last_speaker;
            state.hear(speaker);
            speaker
        };
        let stream = Arc::clone(self);
        (speaker, AgentEvents::new(move |event| stream.report(speaker, event)))
    }

    /// Listens to an earlier agent again.
    pub(super) fn hear(&self, speaker: Speaker) {
        self.state.lock().hear(speaker);
    }

    /// Begins a turn with its prompt. What it uses counts for the session, and for the task if it is
    /// the prompt of one.
    pub(super) fn begin(&self, prompt: &str, author: PromptAuthor, task: Option<Arc<Meter>>) {
        self.meter.add_turn();
        let mut state = self.state.lock();
        // Its turn goes on in another way, which asks again if it has to.
        self.withdraw(&mut state);
        state.closed_before = std::mem::take(&mut state.closed);
        state.called.clear();
        for tool in &mut state.tools {
            tool.called = None;
        }
        state.failure = None;
        state.unanswered = None;
        state.last_message = None;
        state.last_turn = None;
        state.is_running = true;
        state.is_steered = false;
        state.usage = Usage::default();
        state.task = task;
        let prompt = prompt.to_owned();
        self.log.push(&match author {
            PromptAuthor::User => SessionResponse::UserPrompt { prompt },
            PromptAuthor::Engine | PromptAuthor::Extension => {
                SessionResponse::GeneratedUserPrompt { prompt }
            }
        });
    }

    /// Reports a prompt that is handed to the running turn.
    pub(super) fn steer(&self, prompt: &str) {
        let mut state = self.state.lock();
        state.is_steered = true;
        self.log.push(&SessionResponse::UserPrompt { prompt: prompt.to_owned() });
    }

    /// What the session's agent supports.
    pub(super) fn capabilities(&self) -> Capabilities {
        self.state.lock().capabilities
    }

    /// Sets what the session's agent supports.
    pub(super) fn set_capabilities(&self, capabilities: Capabilities) {
        self.state.lock().capabilities = capabilities;
    }

    /// Closes what the agent left open. `reason` is the error of unfinished tools; `error` is
    /// reported as well, before the end of the turn.
    pub(super) fn finish(&self, reason: &str, error: Option<&str>) -> Finished {
        let state = &mut *self.state.lock();
        self.close_all(state, reason, error);
        // What is reported from now on was not used for this turn.
        state.task = None;
        Finished {
            tools: std::mem::take(&mut state.called),
            usage: std::mem::take(&mut state.usage),
            last_message: state.last_message.take(),
            failure: state.failure.take(),
        }
    }

    /// Closes what a failed agent left open, in a turn that another agent may continue. Returns
    /// whether any tool was called in the turn, or a further prompt was handed to it.
    pub(super) fn cut_off(&self, reason: &str) -> bool {
        let state = &mut *self.state.lock();
        self.close_all(state, reason, None);
        !state.called.is_empty() || state.is_steered
    }

    fn close_all(&self, state: &mut State, reason: &str, error: Option<&str>) {
        for tool in std::mem::take(&mut state.tools) {
            self.close_tool(state, tool, Err(ToolError::cut_off(reason)));
        }
        for text in std::mem::take(&mut state.texts) {
            self.close_text(state, text, None);
        }
        if let Some(error) = error {
            self.error(error);
        }
        if let Some(turn_id) = state.turn.take() {
            self.log.push(&SessionResponse::AgentEnd { turn_id });
        }
    }

    /// The error that the agent reported at the end of its turn. An agent that went on after an
    /// error has dealt with it.
    pub(super) fn unanswered_error(&self) -> Option<String> {
        self.state.lock().unanswered.clone()
    }

    /// Notes how long a turn has run.
    pub(super) fn note_time(&self, minutes: f64) {
        self.log.note(&SessionNote::Ran { minutes });
    }

    /// Reports how the turn of the prompt ended, if one was running.
    pub(super) fn end_turn(&self, outcome: TurnEnding) {
        let mut state = self.state.lock();
        if std::mem::take(&mut state.is_running) {
            let turn_id = state.last_turn.take();
            self.log.push(&SessionResponse::TurnEnd { turn_id, outcome });
        }
    }

    /// Reports that the session has finished with the prompt.
    pub(super) fn idle(&self) {
        self.log.push(&SessionResponse::Idle);
    }

    /// Reports an error that did not come from the agent.
    pub(super) fn error(&self, message: &str) {
        self.log.push(&SessionResponse::Error { message: message.to_owned() });
    }

    /// Reports a log message of an extension.
    pub(super) fn extension_log(
        &self,
        extension: &str,
        level: LogLevel,
        message: String,
        ephemeral: bool,
    ) {
        let extension = extension.to_owned();
        self.log.push(&SessionResponse::ExtensionLog { extension, level, message, ephemeral });
    }

    /// From now on, extensions receive every response that readers receive.
    pub(super) fn connect(&self, extensions: &Arc<SessionExtensions>) {
        self.log.connect(extensions);
    }

    /// Waits until everything that was pushed so far is durable. Cancel safe.
    pub(super) async fn durable(&self) -> Result<(), StoreError> {
        self.log.durable().await
    }

    /// Sets how many conversations of the session were replaced before.
    pub(super) fn set_generation(&self, replaced: u32) {
        self.state.lock().generation = Generation(replaced);
    }

    /// Counts a conversation that is replaced by a new one.
    pub(super) fn next_generation(&self) {
        self.state.lock().generation.0 += 1;
    }

    /// The errors that the agent has reported in this turn no longer count: another one continues.
    pub(super) fn forget_errors(&self) {
        let mut state = self.state.lock();
        state.failure = None;
        state.unanswered = None;
    }

    /// Notes that an agent of this model has taken over.
    pub(super) fn switch_model(&self, model: &str) {
        self.next_generation();
        self.log.note(&SessionNote::Switched { model: model.to_owned() });
    }

    /// Notes the handle by which the backend can resume the conversation.
    pub(super) fn note_handle(&self, handle: Option<String>) {
        self.log.note(&SessionNote::Handle { handle });
    }

    /// Notes that the session has ended, and closes its log.
    pub(super) fn close(&self, crashed: bool) {
        self.withdraw_interrupted();
        self.asking.withdraw_all();
        self.log.note(&SessionNote::Closed { crashed });
        self.log.close();
    }

    /// Waits until the agent reports that it has crashed, and returns its error. Cancel safe.
    pub(super) async fn crash(&self) -> String {
        let crashed = self.state.lock().crashed.clone();
        crashed.cancelled().await;
        self.state.lock().crash.clone().unwrap_or_default()
    }

    /// Handles an event of an agent.
    fn report(&self, speaker: Speaker, event: AgentEvent) {
        let state = &mut *self.state.lock();
        if speaker != state.speaker {
            return;
        }
        match state.generation.apply(event) {
            AgentEvent::TurnStart { turn_id } => {
                if let Some(turn_id) = state.turn.replace(turn_id.clone()) {
                    self.log.push(&SessionResponse::AgentEnd { turn_id });
                }
                state.last_turn = Some(turn_id.clone());
                self.log.push(&SessionResponse::AgentStart { turn_id });
            }
            AgentEvent::TurnEnd { turn_id } => {
                if state.turn.as_ref() == Some(&turn_id) {
                    state.turn = None;
                    self.log.push(&SessionResponse::AgentEnd { turn_id });
                }
            }
            AgentEvent::TextStart { kind, id } => {
                self.open_text(state, kind, id);
            }
            AgentEvent::TextDelta { kind, id, delta } => {
                if let Some(index) = self.open_text(state, kind, id) {
                    self.push_delta(&mut state.texts[index], delta);
                }
            }
            AgentEvent::TextEnd { kind, id, content } => {
                if let Some(index) = self.open_text(state, kind, id) {
                    let text = state.texts.remove(index);
                    self.close_text(state, text, content);
                }
            }
            AgentEvent::ToolStart { call_id, parent_call_id, name, arguments } => {
                self.open_tool(state, call_id, parent_call_id, name, arguments);
            }
            AgentEvent::ToolOutput { call_id, delta } => {
                if state.tools.iter().any(|tool| tool.call_id == call_id) {
                    self.log.push(&SessionResponse::ToolExecution { tool_call_id: call_id, delta });
                }
            }
            AgentEvent::ToolEnd { call_id, outcome } => {
                let index = state.tools.iter().position(|tool| tool.call_id == call_id);
                if let Some(index) = index {
                    let tool = state.tools.remove(index);
                    self.close_tool(state, tool, outcome);
                }
            }
            AgentEvent::Usage { model, usage } => {
                state.usage += usage;
                self.meter.add(usage);
                if let Some(task) = &state.task {
                    task.add(usage);
                }
                self.log.push(&SessionResponse::Usage { model, usage });
            }
            AgentEvent::Extensions(reported) => {
                if let Some(extensions) = self.log.extensions() {
                    extensions.set_reported(&reported);
                }
            }
            AgentEvent::Error { message } => {
                self.error(&message);
                state.unanswered = Some(message.clone());
                state.failure.get_or_insert(message);
            }
            AgentEvent::Crashed { message } => {
                state.crash.get_or_insert(message);
                state.crashed.cancel();
            }
        }
    }

    /// Index of the open block, which is opened if it is new; `None` if it was closed before.
    fn open_text(&self, state: &mut State, kind: TextKind, id: String) -> Option<usize> {
        let same = |text: &OpenText| text.kind == kind && text.id == id;
        let found = state.texts.iter().rposition(same);
        if found.is_some() {
            return found;
        }
        let block = BlockId::Text(kind, id);
        if state.was_closed(&block) {
            return None;
        }
        let BlockId::Text(kind, id) = block else {
            return None;
        };
        self.log.push(&match kind {
            TextKind::Reasoning => SessionResponse::StartReasoning { reasoning_id: id.clone() },
            TextKind::Message => SessionResponse::StartMessage { message_id: id.clone() },
        });
        state.unanswered = None;
        let text = String::new();
        state.texts.push(OpenText { kind, id, text });
        Some(state.texts.len() - 1)
    }

    fn push_delta(&self, block: &mut OpenText, delta: String) {
        block.text.push_str(&delta);
        let id = block.id.clone();
        self.log.push(&match block.kind {
            TextKind::Reasoning => SessionResponse::Reasoning { reasoning_id: id, delta },
            TextKind::Message => SessionResponse::Message { message_id: id, delta },
        });
    }

    fn close_text(&self, state: &mut State, mut block: OpenText, content: Option<String>) {
        let complete_content = match content {
            // It arrived without deltas.
            Some(content) if block.text.is_empty() => content,
            Some(content)
                if content.len() > block.text.len() && content.starts_with(&block.text) =>
            {
                let rest = content[block.text.len()..].to_owned();
                self.push_delta(&mut block, rest);
                content
            }
            Some(content) if content != block.text => {
                // Readers have already seen the deltas, so those count.
                tracing::debug!(block = block.id, "the agent's deltas differ from its text");
                block.text
            }
            _ => block.text,
        };
        let id = block.id;
        state.closed.insert(BlockId::Text(block.kind, id.clone()));
        self.log.push(&match block.kind {
            TextKind::Reasoning => {
                SessionResponse::EndReasoning { reasoning_id: id, complete_content }
            }
            TextKind::Message => {
                state.last_message = Some(complete_content.clone());
                SessionResponse::EndMessage { message_id: id, complete_content }
            }
        });
    }

    fn open_tool(
        &self,
        state: &mut State,
        call_id: String,
        parent_tool_call_id: Option<String>,
        name: String,
        arguments: Value,
    ) {
        let open = state.tools.iter().any(|tool| tool.call_id == call_id);
        if open || state.was_closed(&BlockId::Tool(call_id.clone())) {
            return;
        }
        self.log.push(&SessionResponse::StartToolExecution {
            tool_call_id: call_id.clone(),
            parent_tool_call_id,
            tool_name: name.clone(),
            tool_arguments: pretty(&arguments),
        });
        state.unanswered = None;
        state.tools.push(OpenTool { call_id, called: Some(state.called.len()) });
        state.called.push(CalledTool { name, arguments, succeeded: false });
    }

    fn close_tool(
        &self,
        state: &mut State,
        tool: OpenTool,
        outcome: Result<wire::ToolResult, ToolError>,
    ) {
        if let Some(called) = tool.called.and_then(|index| state.called.get_mut(index)) {
            called.succeeded = outcome.is_ok();
        }
        state.closed.insert(BlockId::Tool(tool.call_id.clone()));
        let (result, error) = match outcome {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        self.log.push(&SessionResponse::EndToolExecution {
            tool_call_id: tool.call_id,
            result,
            error,
        });
    }
}

impl State {
    fn hear(&mut self, speaker: Speaker) {
        self.speaker = speaker;
        self.crash = None;
        self.crashed = CancellationToken::new();
    }

    fn was_closed(&self, block: &BlockId) -> bool {
        self.closed.contains(block) || self.closed_before.contains(block)
    }
}

fn pretty(arguments: &Value) -> String {
    if arguments.is_null() {
        return String::new();
    }
    format!("{arguments:#}")
}
