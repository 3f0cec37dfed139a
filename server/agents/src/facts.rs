//! The facts of a conversation: what was asked, what the model answered, which tools it called.
//!
//! They are all a model needs to continue a conversation, whichever backend ran it before. They are
//! a fold over a session's responses, so a caller that kept those can resume.
//!
//! ```text
//!   SessionResponse ─┐
//!                    ├─► FactFold ─► Fact, Fact, … ─► AgentBackend::resume_session
//!   AgentEvent ──────┘   (simulated models remember by it)
//! ```

use serde_json::Value;
use wire::{SessionResponse, ToolError, ToolResult};

/// One thing that was said or done in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A prompt, by a user or by the engine.
    Prompt(String),
    /// A round began: one request to the model. The facts up to the next round or prompt are its
    /// answer.
    Round,
    /// A message of the model. Never empty.
    Message(String),
    /// A tool call by the model. Calls within calls are left out: the model never saw them.
    ToolCall {
        /// The tool's name, as the model wrote it.
        name: String,
        /// As called: null without arguments, a string if the model did not write valid JSON.
        arguments: Value,
        /// `None` if the conversation was interrupted before the call ended.
        outcome: Option<Result<ToolResult, ToolError>>,
    },
}

impl Fact {
    /// The facts in a session's responses, whether those are complete, compacted or truncated.
    pub fn from_responses<'a>(
        responses: impl IntoIterator<Item = &'a SessionResponse>,
    ) -> Vec<Self> {
        let mut fold = FactFold::default();
        for response in responses {
            fold.take(response);
        }
        fold.facts
    }

    /// The number of rounds. Backends derive ids from the round's number and continue counting from
    /// here, so that ids stay unique through the whole conversation.
    pub fn count_rounds(facts: &[Self]) -> u32 {
        let rounds = facts.iter().filter(|fact| **fact == Self::Round).count();
        u32::try_from(rounds).unwrap_or(u32::MAX)
    }
}

/// Folds responses or events into facts.
#[derive(Debug, Default)]
pub(crate) struct FactFold {
    facts: Vec<Fact>,
    /// Messages that have not ended: their ids and their indices in `facts`.
    open_messages: Vec<(String, usize)>,
    open_calls: Vec<(String, usize)>,
}

impl FactFold {
    /// Continues an existing list of facts.
    pub(crate) fn after(facts: Vec<Fact>) -> Self {
        Self { facts, ..Self::default() }
    }

    pub(crate) fn facts(&self) -> &[Fact] {
        &self.facts
    }

    fn take(&mut self, response: &SessionResponse) {
        use SessionResponse as R;
        match response {
            R::UserPrompt { prompt } | R::GeneratedUserPrompt { prompt } => self.prompt(prompt),
            R::AgentStart { .. } => self.round(),
            R::Message { message_id, delta } => self.add_text(message_id, delta),
            R::EndMessage { message_id, complete_content } => {
                self.end_message(message_id, Some(complete_content));
            }
            R::StartToolExecution {
                tool_call_id,
                parent_tool_call_id: None,
                tool_name,
                tool_arguments,
            } => self.start_call(tool_call_id, tool_name, read_arguments(tool_arguments)),
            R::EndToolExecution { tool_call_id, result, error } => {
                let outcome = match error {
                    Some(error) => Err(error.clone()),
                    None => Ok(result.clone().unwrap_or_default()),
                };
                self.end_call(tool_call_id, outcome);
            }
            // Listed one by one, so that a new response needs a decision here. Errors are for
            // people: the model learns about them from the results of its tools.
            R::StartReasoning { .. }
            | R::Reasoning { .. }
            | R::EndReasoning { .. }
            | R::StartMessage { .. }
            | R::StartToolExecution { .. }
            | R::ToolExecution { .. }
            | R::AgentEnd { .. }
            | R::TurnEnd { .. }
            | R::Idle
            | R::QueueChanged(_)
            | R::PermissionRequest(_)
            | R::PermissionResolved { .. }
            | R::Usage { .. }
            | R::ExtensionLog { .. }
            | R::ProjectMessage(_)
            | R::ProjectMessageEnd(_)
            | R::ProjectCleared
            | R::ProjectDraft(_)
            | R::ProjectDraftTaken(_)
            | R::Error { .. } => {}
        }
    }

    pub(crate) fn prompt(&mut self, prompt: &str) {
        // No message or call outlives its prompt.
        self.open_messages.clear();
        self.open_calls.clear();
        self.facts.push(Fact::Prompt(prompt.to_owned()));
    }

    pub(crate) fn round(&mut self) {
        self.facts.push(Fact::Round);
    }

    pub(crate) fn add_text(&mut self, message_id: &str, delta: &str) {
        if delta.is_empty() {
            return;
        }
        let open = self.open_messages.iter().find(|(id, _)| id == message_id);
        let open = open.and_then(|(_, place)| self.facts.get_mut(*place));
        if let Some(Fact::Message(text)) = open {
            text.push_str(delta);
        } else {
            self.open_messages.push((message_id.to_owned(), self.facts.len()));
            self.facts.push(Fact::Message(delta.to_owned()));
        }
    }

    /// `content` is the complete message, if known.
    pub(crate) fn end_message(&mut self, message_id: &str, content: Option<&str>) {
        let content = content.unwrap_or_default();
        match close(&mut self.open_messages, message_id) {
            Some(place) if !content.is_empty() => {
                self.facts[place] = Fact::Message(content.to_owned());
            }
            // Compacted responses have no deltas.
            None if !content.is_empty() => self.facts.push(Fact::Message(content.to_owned())),
            _ => {}
        }
    }

    pub(crate) fn start_call(&mut self, call_id: &str, name: &str, arguments: Value) {
        self.open_calls.push((call_id.to_owned(), self.facts.len()));
        self.facts.push(Fact::ToolCall { name: name.to_owned(), arguments, outcome: None });
    }

    pub(crate) fn end_call(&mut self, call_id: &str, ended: Result<ToolResult, ToolError>) {
        if let Some(place) = close(&mut self.open_calls, call_id)
            && let Fact::ToolCall { outcome, .. } = &mut self.facts[place]
        {
            *outcome = Some(ended);
        }
    }
}

/// Removes an open block from its list and returns its index in `facts`.
fn close(open: &mut Vec<(String, usize)>, id: &str) -> Option<usize> {
    let index = open.iter().position(|(known, _)| known == id)?;
    Some(open.swap_remove(index).1)
}

/// Parses the pretty-printed JSON of a response; an empty text is null.
pub fn read_arguments(text: &str) -> Value {
    if text.is_empty() {
        return Value::Null;
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests;
