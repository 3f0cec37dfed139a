//! Converts the CLI's events to ours.
//!
//! The CLI's events are JSON that grows with every version, so only the fields that are needed are
//! read, and the rest is ignored. [`Reader`] does no I/O: events in, events out.

use std::collections::HashMap;

use agents::{AgentEvent, AgentExtension, TextKind};
use github_copilot_sdk::types::SessionEvent;
use serde_json::Value;
use wire::{ExtensionSource, ExtensionState, ToolError, ToolResult, Usage};

/// How many subagents' calls are attributed to the calls that started them.
const MOST_AGENTS: usize = 1000;

/// What an event means for the current prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The CLI has taken up a prompt.
    Begun {
        /// The id that the prompt got when it was sent.
        message_id: Option<String>,
    },
    /// The CLI has nothing left to do.
    Idle,
}

/// Reads the events of one conversation, in order.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Number of rounds so far. Counted here, because the CLI begins at 0 for each prompt.
    rounds: u64,
    round: Option<u64>,
    reasoning: Option<Reasoning>,
    /// The id of the message that is open.
    message: Option<String>,
    outputs: HashMap<String, Output>,
    /// The calls that started subagents, by the subagent's id.
    parents: HashMap<String, String>,
    /// The error of a request to the model that the CLI may repeat.
    trouble: Option<String>,
}

/// A block of reasoning. The CLI repeats it at the very end, but for readers it ends where the
/// answer begins; if it continues after that, it becomes another block.
#[derive(Debug)]
struct Reasoning {
    id: String,
    part: u32,
    is_open: bool,
}

/// How a running tool's output arrives.
#[derive(Debug)]
enum Output {
    Pieces,
    /// As snapshots of the whole output; holds the last one.
    Snapshot(String),
}

impl Reader {
    /// Continues counting where a conversation left off.
    pub(super) fn after(rounds: u64) -> Self {
        Self { rounds, ..Self::default() }
    }

    /// Converts an event, and returns what it means for the current prompt.
    pub(super) fn read(
        &mut self,
        event: &SessionEvent,
        emit: &mut dyn FnMut(AgentEvent),
    ) -> Option<Progress> {
        let data = &event.data;
        let agent = event.agent_id.as_deref().filter(|id| !id.is_empty());
        match &*event.event_type {
            "tool.execution_start" => self.start_tool(data, agent, emit),
            "tool.shell_output" => self.add_output(data, "text", emit),
            "tool.execution_partial_result" => self.add_snapshot(data, emit),
            "tool.execution_complete" => self.end_tool(data, emit),
            "assistant.usage" => emit_usage(data, emit),
            "subagent.started" => {
                if let (Some(agent), Some(call)) = (agent, text(data, "toolCallId"))
                    && self.parents.len() < MOST_AGENTS
                {
                    self.parents.insert(agent.to_owned(), call.to_owned());
                }
            }
            // Everything else counts for the main agent only: what subagents say is the result of a
            // tool.
            _ if agent.is_some() => {}
            "assistant.turn_start" => {
                self.trouble = None;
                self.rounds += 1;
                self.round = Some(self.rounds);
                emit(AgentEvent::TurnStart { turn_id: turn_id(self.rounds) });
            }
            "assistant.turn_end" => {
                self.end_reasoning(emit);
                if let Some(round) = self.round.take() {
                    emit(AgentEvent::TurnEnd { turn_id: turn_id(round) });
                }
            }
            "assistant.reasoning_delta" => self.add_reasoning(data, emit),
            "assistant.reasoning" => self.complete_reasoning(data, emit),
            "assistant.message_delta" => {
                if let (Some(id), Some(delta)) =
                    (text(data, "messageId"), text(data, "deltaContent"))
                {
                    self.end_reasoning(emit);
                    self.message = Some(id.to_owned());
                    let (kind, id) = (TextKind::Message, id.to_owned());
                    emit(AgentEvent::TextDelta { kind, id, delta: delta.to_owned() });
                }
            }
            "assistant.message" => self.complete_message(data, emit),
            "session.extensions_loaded" => emit_extensions(data, emit),
            "session.error" => self.fail(event, emit),
            "user.message" => {
                let message_id = text(data, "messageId").map(str::to_owned);
                return Some(Progress::Begun { message_id });
            }
            "session.idle" => {
                if let Some(message) = self.trouble.take() {
                    emit(AgentEvent::Error { message });
                }
                return Some(Progress::Idle);
            }
            _ => {}
        }
        None
    }

    fn add_reasoning(&mut self, data: &Value, emit: &mut dyn FnMut(AgentEvent)) {
        let (Some(id), Some(delta)) = (text(data, "reasoningId"), text(data, "deltaContent"))
        else {
            return;
        };
        let part = match &self.reasoning {
            Some(known) if known.id == id => known.part + u32::from(!known.is_open),
            _ => {
                self.end_reasoning(emit);
                0
            }
        };
        let reasoning = Reasoning { id: id.to_owned(), part, is_open: true };
        let (kind, id) = (TextKind::Reasoning, reasoning.block());
        self.reasoning = Some(reasoning);
        emit(AgentEvent::TextDelta { kind, id, delta: delta.to_owned() });
    }

    fn end_reasoning(&mut self, emit: &mut dyn FnMut(AgentEvent)) {
        if let Some(reasoning) = self.reasoning.as_mut().filter(|reasoning| reasoning.is_open) {
            reasoning.is_open = false;
            let (kind, id) = (TextKind::Reasoning, reasoning.block());
            emit(AgentEvent::TextEnd { kind, id, content: None });
        }
    }

    /// Reports reasoning that was not streamed.
    fn complete_reasoning(&mut self, data: &Value, emit: &mut dyn FnMut(AgentEvent)) {
        self.end_reasoning(emit);
        let (Some(id), Some(content)) = (text(data, "reasoningId"), text(data, "content")) else {
            return;
        };
        if self.reasoning.as_ref().is_some_and(|known| known.id == id) || content.is_empty() {
            return;
        }
        self.reasoning = Some(Reasoning { id: id.to_owned(), part: 0, is_open: false });
        let (kind, id) = (TextKind::Reasoning, id.to_owned());
        emit(AgentEvent::TextEnd { kind, id, content: Some(content.to_owned()) });
    }

    fn complete_message(&mut self, data: &Value, emit: &mut dyn FnMut(AgentEvent)) {
        self.trouble = None;
        self.end_reasoning(emit);
        let content = text(data, "content").unwrap_or_default();
        let Some(id) = text(data, "messageId") else { return };
        let is_begun = self.message.take().is_some_and(|begun| begun == id);
        // A message that only calls tools has no text.
        if is_begun || !content.is_empty() {
            let (kind, id) = (TextKind::Message, id.to_owned());
            emit(AgentEvent::TextEnd { kind, id, content: Some(content.to_owned()) });
        }
    }

    fn start_tool(&mut self, data: &Value, agent: Option<&str>, emit: &mut dyn FnMut(AgentEvent)) {
        if agent.is_none() {
            self.end_reasoning(emit);
        }
        let (Some(call_id), Some(name)) = (text(data, "toolCallId"), text(data, "toolName")) else {
            return;
        };
        let parent = text(data, "parentToolCallId");
        let parent = parent.or_else(|| Some(self.parents.get(agent?)?.as_str()));
        emit(AgentEvent::ToolStart {
            call_id: call_id.to_owned(),
            parent_call_id: parent.map(str::to_owned),
            name: name.to_owned(),
            arguments: data.get("arguments").cloned().unwrap_or_default(),
        });
    }

    fn add_output(&mut self, data: &Value, field: &str, emit: &mut dyn FnMut(AgentEvent)) {
        let (Some(call_id), Some(delta)) = (text(data, "toolCallId"), text(data, field)) else {
            return;
        };
        self.outputs.insert(call_id.to_owned(), Output::Pieces);
        let (call_id, delta) = (call_id.to_owned(), delta.to_owned());
        emit(AgentEvent::ToolOutput { call_id, delta });
    }

    /// An older form of output events: reports what is new since the last snapshot.
    fn add_snapshot(&mut self, data: &Value, emit: &mut dyn FnMut(AgentEvent)) {
        let (Some(call_id), Some(all)) = (text(data, "toolCallId"), text(data, "partialOutput"))
        else {
            return;
        };
        let known = self.outputs.entry(call_id.to_owned());
        let known = known.or_insert_with(|| Output::Snapshot(String::new()));
        let Output::Snapshot(before) = known else { return };
        let delta = news(before, all);
        all.clone_into(before);
        if !delta.is_empty() {
            emit(AgentEvent::ToolOutput { call_id: call_id.to_owned(), delta });
        }
    }

    fn end_tool(&mut self, data: &Value, emit: &mut dyn FnMut(AgentEvent)) {
        let Some(call_id) = text(data, "toolCallId") else { return };
        self.outputs.remove(call_id);
        emit(AgentEvent::ToolEnd { call_id: call_id.to_owned(), outcome: outcome(data) });
    }

    fn fail(&mut self, event: &SessionEvent, emit: &mut dyn FnMut(AgentEvent)) {
        let message = failure(&event.data);
        if event.is_transient_error() {
            // The CLI will try again. If that helps, there is nothing to report.
            self.trouble = Some(message);
        } else {
            self.trouble = None;
            emit(AgentEvent::Error { message });
        }
    }
}

impl Reasoning {
    fn block(&self) -> String {
        match self.part {
            0 => self.id.clone(),
            part => format!("{}+{part}", self.id),
        }
    }
}

fn turn_id(number: u64) -> String {
    format!("turn-{number}")
}

fn text<'a>(data: &'a Value, field: &str) -> Option<&'a str> {
    data.get(field)?.as_str()
}

/// The part of a snapshot that the previous one lacks.
fn news(before: &str, all: &str) -> String {
    if let Some(rest) = all.strip_prefix(before) {
        return rest.to_owned();
    }
    // A line was rewritten: repeat it from its beginning.
    let same = before.bytes().zip(all.bytes()).take_while(|(old, new)| old == new).count();
    let line =
        all.as_bytes()[..same].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    format!("\n{}", all.get(line..).unwrap_or_default())
}

fn outcome(data: &Value) -> Result<ToolResult, ToolError> {
    let result = &data["result"];
    if data["success"] == true {
        return Ok(ToolResult {
            content: text(result, "content").unwrap_or_default().to_owned(),
            detailed_content: text(result, "detailedContent").map(str::to_owned),
        });
    }
    let error = &data["error"];
    let message = text(error, "message").or_else(|| text(result, "content"));
    Err(ToolError {
        message: message.unwrap_or("the tool failed").to_owned(),
        code: text(error, "code").map(str::to_owned),
    })
}

fn failure(data: &Value) -> String {
    let message = text(data, "message").filter(|message| !message.is_empty());
    let message = message.unwrap_or("the Copilot CLI failed without saying why");
    match data.get("statusCode").and_then(Value::as_u64) {
        Some(status) if !message.contains(&status.to_string()) => format!("{message} ({status})"),
        _ => message.to_owned(),
    }
}

/// Reports the extensions that the CLI runs.
fn emit_extensions(data: &Value, emit: &mut dyn FnMut(AgentEvent)) {
    let extensions = data.get("extensions").and_then(Value::as_array).into_iter().flatten();
    let states = extensions.filter_map(|extension| {
        Some(AgentExtension {
            name: text(extension, "name")?.to_owned(),
            source: match text(extension, "source") {
                Some("project") => ExtensionSource::Project,
                _ => ExtensionSource::User,
            },
            state: match text(extension, "status") {
                Some("running") => ExtensionState::Running,
                Some("starting") => ExtensionState::Starting,
                Some("failed") => ExtensionState::Failed,
                _ => ExtensionState::Stopped,
            },
        })
    });
    emit(AgentEvent::Extensions(states.collect()));
}

fn emit_usage(data: &Value, emit: &mut dyn FnMut(AgentEvent)) {
    let count = |field: &str| data.get(field).and_then(Value::as_u64).unwrap_or_default();
    let usage = Usage {
        input_tokens: count("inputTokens"),
        output_tokens: count("outputTokens"),
        cached_tokens: count("cacheReadTokens"),
        reasoning_tokens: count("reasoningTokens"),
        // The CLI does not know the prices of the operator's own endpoint.
        cost: data.get("cost").and_then(Value::as_f64).filter(|_| data["isByok"] != true),
    };
    if !usage.is_empty() {
        let model = text(data, "model").unwrap_or_default().to_owned();
        emit(AgentEvent::Usage { model, usage });
    }
}

#[cfg(test)]
mod tests;
