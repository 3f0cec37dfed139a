//! A conversation with a model without tools, for one turn of a project's session: prompt in, text
//! out.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agents::{
    AgentError, AgentEvent, AgentEvents, AgentSession, AgentSettings, Fact, Found,
    PastConversation, ResumeError, TextKind,
};
use parking_lot::Mutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use wire::bridge::Role;

/// The longest answer of one prompt, in bytes.
const MAX_ANSWER: usize = 1024 * 1024;
/// How long a model may take to shut down. Then it is dropped.
const GRACE: Duration = Duration::from_secs(2);

/// What of a conversation with a model becomes part of the session.
pub(super) struct Forward {
    /// Receives the rounds, their usage and reasoning.
    pub(super) events: AgentEvents,
    /// Put before all ids, because every conversation counts from 1.
    pub(super) prefix: String,
    /// Whether the model's messages are part of the session, too.
    pub(super) messages: bool,
}

/// An open conversation with one model.
pub(super) struct Model {
    agent: Box<dyn AgentSession>,
    listener: Arc<Listener>,
    /// Whether the model knows what was said before.
    knows_past: bool,
}

struct Listener {
    forward: Forward,
    turn: Mutex<TurnText>,
    /// Cancelled when the model has crashed, or its answer is too long.
    over: CancellationToken,
}

#[derive(Default)]
struct TurnText {
    text: String,
    block: Option<String>,
    problem: Option<String>,
}

impl Model {
    /// Starts the model in a folder, with what was said before, if its backend is able to.
    pub(super) async fn start(
        found: Found,
        folder: &Path,
        before: &[(Role, String)],
        forward: Forward,
    ) -> Result<Self, AgentError> {
        let listener =
            Arc::new(Listener { forward, turn: Mutex::default(), over: CancellationToken::new() });
        let listening = Arc::clone(&listener);
        let events = AgentEvents::new(move |event| listening.handle(event));
        let settings = AgentSettings::new(found.model_id, folder, events);
        if !before.is_empty() && found.backend.capabilities().resume {
            let past = PastConversation { handle: None, facts: facts(before) };
            match found.backend.resume_session(past, settings.clone()).await {
                Ok(agent) => return Ok(Self { agent, listener, knows_past: true }),
                // For example because it needs a handle of its own.
                Err(ResumeError::Refused(_)) => {}
                Err(ResumeError::Agent(error)) => return Err(error),
            }
        }
        let agent = found.backend.start_session(settings).await?;
        Ok(Self { agent, listener, knows_past: before.is_empty() })
    }

    /// Whether the model knows what was said before. Else the first prompt has to tell it.
    pub(super) fn knows_past(&self) -> bool {
        self.knows_past
    }

    /// Runs a turn and returns the model's answer. Dropping it aborts the turn.
    pub(super) async fn turn(&self, prompt: &str) -> Result<String, String> {
        *self.listener.turn.lock() = TurnText::default();
        let abort = CancellationToken::new();
        let result = tokio::select! {
            biased;
            () = self.listener.over.cancelled() => Ok(()),
            result = self.agent.run_turn(prompt, &abort) => result,
        };
        let heard = std::mem::take(&mut *self.listener.turn.lock());
        match (result, heard.problem) {
            (Err(error), _) => Err(error.to_string()),
            (Ok(()), Some(problem)) => Err(problem),
            (Ok(()), None) => Ok(heard.text),
        }
    }

    /// Shuts the model down, within the grace period.
    pub(super) async fn stop(self) {
        if timeout(GRACE, self.agent.stop()).await.is_err() {
            tracing::warn!("a model did not stop in time");
        }
    }
}

/// A conversation as facts.
fn facts(said: &[(Role, String)]) -> Vec<Fact> {
    let facts = said.iter().filter(|(_, text)| !text.is_empty()).flat_map(|(role, text)| {
        let (round, text) = match role {
            Role::User => (None, Fact::Prompt(text.clone())),
            Role::Assistant => (Some(Fact::Round), Fact::Message(text.clone())),
        };
        round.into_iter().chain([text])
    });
    facts.collect()
}

impl Listener {
    fn handle(&self, mut event: AgentEvent) {
        let is_forwarded = match &event {
            AgentEvent::TextDelta { kind: TextKind::Message, id, delta } => self.add(id, delta),
            // A block without deltas arrives as a whole.
            AgentEvent::TextEnd { kind: TextKind::Message, id, content: Some(content) }
                if self.turn.lock().block.as_ref() != Some(id) =>
            {
                self.add(id, content)
            }
            AgentEvent::TextStart { kind: TextKind::Message, .. }
            | AgentEvent::TextEnd { kind: TextKind::Message, .. } => self.forward.messages,
            AgentEvent::TurnStart { .. }
            | AgentEvent::TurnEnd { .. }
            | AgentEvent::TextStart { kind: TextKind::Reasoning, .. }
            | AgentEvent::TextDelta { kind: TextKind::Reasoning, .. }
            | AgentEvent::TextEnd { kind: TextKind::Reasoning, .. }
            | AgentEvent::Usage { .. } => true,
            // The turn fails, and the session reports it.
            AgentEvent::Error { message } => {
                self.turn.lock().problem = Some(message.clone());
                false
            }
            // The next prompt starts another conversation, so the session goes on.
            AgentEvent::Crashed { message } => {
                self.turn.lock().problem = Some(message.clone());
                self.over.cancel();
                false
            }
            AgentEvent::ToolStart { .. }
            | AgentEvent::ToolOutput { .. }
            | AgentEvent::ToolEnd { .. }
            | AgentEvent::Extensions(_) => false,
        };
        if is_forwarded {
            event.rename_ids(|id| id.insert_str(0, &self.forward.prefix));
            self.forward.events.emit(event);
        }
    }

    /// Adds to the answer. True if it is to be forwarded.
    fn add(&self, block: &str, text: &str) -> bool {
        let mut turn = self.turn.lock();
        if turn.text.len() + text.len() > MAX_ANSWER {
            turn.problem = Some(format!("the answer is longer than {MAX_ANSWER} bytes"));
            self.over.cancel();
            return false;
        }
        if turn.block.as_deref() != Some(block) {
            if !turn.text.is_empty() {
                turn.text.push_str("\n\n");
            }
            turn.block = Some(block.to_owned());
        }
        turn.text.push_str(text);
        self.forward.messages
    }
}
