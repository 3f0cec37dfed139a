//! A conversation with a model without tools: prompt in, text out.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agents::{AgentError, AgentEvent, AgentEvents, AgentSession, AgentSettings, Found, TextKind};
use parking_lot::Mutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The longest answer of one turn, in bytes.
const MAX_ANSWER: usize = 1024 * 1024;
/// How long a model may take to shut down. Then it is dropped.
const GRACE: Duration = Duration::from_secs(2);

/// Called with every piece of an answer. Must not block.
pub(super) type OnText = Box<dyn Fn(&str) + Send + Sync>;

/// An open conversation with one model.
pub(super) struct Talk {
    agent: Box<dyn AgentSession>,
    listener: Arc<Listener>,
}

/// Collects the model's answers.
struct Listener {
    on_text: OnText,
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

impl Talk {
    /// Starts the model in a folder. `on_text` receives its answers as they come.
    pub(super) async fn start(
        found: Found,
        folder: &Path,
        on_text: OnText,
    ) -> Result<Self, AgentError> {
        let listener =
            Arc::new(Listener { on_text, turn: Mutex::default(), over: CancellationToken::new() });
        let listening = Arc::clone(&listener);
        let events = AgentEvents::new(move |event| listening.handle(event));
        let settings = AgentSettings::new(found.model_id, folder, events);
        let agent = found.backend.start_session(settings).await?;
        Ok(Self { agent, listener })
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
    pub(super) async fn stop(&self) {
        if timeout(GRACE, self.agent.stop()).await.is_err() {
            tracing::warn!("a model did not stop in time");
        }
    }
}

impl Listener {
    fn handle(&self, event: AgentEvent) {
        match event {
            AgentEvent::TextDelta { kind: TextKind::Message, id, delta } => self.add(id, &delta),
            // A block without deltas arrives as a whole.
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
        // With the lock held, so that pieces are passed on in order.
        (self.on_text)(&turn.text[from..]);
    }
}
