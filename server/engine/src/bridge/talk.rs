//! A conversation with a model that only talks: prompt in, text out.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agents::{AgentError, AgentEvent, AgentEvents, AgentSession, AgentSettings, Found, TextKind};
use parking_lot::Mutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The longest answer of one turn, in bytes.
const MAX_ANSWER: usize = 1024 * 1024;
/// How long a model may take to free itself. Then it is dropped.
const GRACE: Duration = Duration::from_secs(2);

/// Called with every piece of an answer. Must not block.
pub(super) type OnText = Box<dyn Fn(&str) + Send + Sync>;

/// An open conversation.
pub(super) struct Talk {
    agent: Box<dyn AgentSession>,
    heard: Arc<Heard>,
}

/// What the model says.
struct Heard {
    on_text: OnText,
    turn: Mutex<HeardTurn>,
    /// The conversation has died, or says too much. Nothing good can come any more.
    over: CancellationToken,
}

#[derive(Default)]
struct HeardTurn {
    text: String,
    block: Option<String>,
    problem: Option<String>,
}

impl Talk {
    /// Begins a conversation.
    pub(super) async fn start(
        found: Found,
        folder: &Path,
        on_text: OnText,
    ) -> Result<Self, AgentError> {
        let heard =
            Arc::new(Heard { on_text, turn: Mutex::default(), over: CancellationToken::new() });
        let hearing = Arc::clone(&heard);
        let events = AgentEvents::new(move |event| hearing.hear(event));
        let settings = AgentSettings::new(found.model_id, folder, events);
        let agent = found.backend.start_session(settings).await?;
        Ok(Self { agent, heard })
    }

    /// What the model answers to a prompt. Dropped, the turn is aborted.
    pub(super) async fn turn(&self, prompt: &str) -> Result<String, String> {
        *self.heard.turn.lock() = HeardTurn::default();
        let abort = CancellationToken::new();
        let result = tokio::select! {
            biased;
            () = self.heard.over.cancelled() => Ok(()),
            result = self.agent.run_turn(prompt, &abort) => result,
        };
        let heard = std::mem::take(&mut *self.heard.turn.lock());
        match (result, heard.problem) {
            (Err(error), _) => Err(error.to_string()),
            (Ok(()), Some(problem)) => Err(problem),
            (Ok(()), None) => Ok(heard.text),
        }
    }

    /// Frees the model.
    pub(super) async fn stop(&self) {
        if timeout(GRACE, self.agent.stop()).await.is_err() {
            tracing::warn!("a model did not stop in time");
        }
    }
}

impl Heard {
    fn hear(&self, event: AgentEvent) {
        match event {
            AgentEvent::TextDelta { kind: TextKind::Message, id, delta } => self.add(id, &delta),
            // A block of which no delta came is told as a whole.
            AgentEvent::TextEnd { kind: TextKind::Message, id, content: Some(content) }
                if self.turn.lock().block.as_ref() != Some(&id) =>
            {
                self.add(id, &content);
            }
            AgentEvent::Error { message } => self.turn.lock().problem = Some(message),
            AgentEvent::Crashed { message } => {
                self.turn.lock().problem = Some(message);
                self.over.cancel();
            }
            _ => {}
        }
    }

    fn add(&self, block: String, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut turn = self.turn.lock();
        if turn.text.len() + text.len() > MAX_ANSWER {
            turn.problem = Some(format!("the answer is longer than {MAX_ANSWER} bytes"));
            self.over.cancel();
            return;
        }
        let from = turn.text.len();
        if turn.block.as_ref() != Some(&block) {
            if !turn.text.is_empty() {
                turn.text.push_str("\n\n");
            }
            turn.block = Some(block);
        }
        turn.text.push_str(text);
        // With the lock held: pieces must be told in order.
        (self.on_text)(&turn.text[from..]);
    }
}
