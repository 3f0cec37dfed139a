//! What an agent of the bridge tells the session: text in messages, and tool calls between them.

use agents::{AgentEvent, AgentEvents, TextKind, ToolCall};
use parking_lot::Mutex;
use serde_json::Value;
use wire::{ToolError, ToolResult};

/// The longest answer of one run, in bytes. The rest is dropped.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// Reports one run.
pub(super) struct Report {
    events: AgentEvents,
    /// Put before all ids, which are unique within the run.
    prefix: String,
    said: Mutex<Said>,
}

#[derive(Default)]
struct Said {
    ids: u32,
    /// The message that text is added to.
    message: Option<String>,
    bytes: usize,
}

impl Report {
    pub(super) fn new(events: AgentEvents, prefix: String) -> Self {
        Self { events, prefix, said: Mutex::default() }
    }

    /// Adds Markdown to the answer.
    pub(super) fn say(&self, text: &str) {
        let mut said = self.said.lock();
        if said.bytes + text.len() > MAX_ANSWER {
            return;
        }
        said.bytes += text.len();
        let id = if let Some(id) = &said.message {
            id.clone()
        } else {
            let id = self.next_id(&mut said, "text");
            said.message.insert(id).clone()
        };
        self.events.emit(AgentEvent::TextDelta {
            kind: TextKind::Message,
            id,
            delta: text.to_owned(),
        });
    }

    /// Ends the message, if there is one.
    pub(super) fn end_message(&self) {
        if let Some(id) = self.said.lock().message.take() {
            let (kind, content) = (TextKind::Message, None);
            self.events.emit(AgentEvent::TextEnd { kind, id, content });
        }
    }

    /// A tool begins to run. Returns its call.
    pub(super) fn start_tool(&self, name: &str, arguments: Value) -> (String, ToolCall) {
        self.end_message();
        let call_id = self.next_id(&mut self.said.lock(), "call");
        self.events.emit(AgentEvent::ToolStart {
            call_id: call_id.clone(),
            parent_call_id: None,
            name: name.to_owned(),
            arguments: arguments.clone(),
        });
        let call = self.events.follow_call(&call_id, arguments);
        (call_id, call)
    }

    /// The tool has ended.
    pub(super) fn end_tool(&self, call_id: String, outcome: Result<ToolResult, ToolError>) {
        self.events.emit(AgentEvent::ToolEnd { call_id, outcome });
    }

    fn next_id(&self, said: &mut Said, kind: &str) -> String {
        said.ids += 1;
        format!("{}{kind}-{}", self.prefix, said.ids)
    }
}
