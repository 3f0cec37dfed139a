//! The rules of sessions, on simulated models and in virtual time.

mod attachments;
mod budgets;
mod continuation;
mod ending;
mod fallback;
mod inbox;
mod interrupted;
mod ordering;
mod parking;
mod provider;
mod restart;
mod resume;
mod rights;
mod rules;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use agents::simulated::{Simulated, SimulatedSettings};
use agents::{AgentBackend, Catalog};
use platform::lifecycle::Lifecycle;
use store::live::{LiveSettings, LiveShared, PollError, ReaderKey};
use wire::{Budget, LiveToken, SessionId, SessionResponse, Spent};

use super::*;
use crate::budget::Meter;

const MODEL: &str = "gpt-5-mini";

/// The meter of a task without a budget.
fn meter() -> Arc<Meter> {
    Arc::new(Meter::new(Budget::default(), Spent::default()))
}

/// A server's worth of sessions. Every test ends with [`Harness::end`], which asserts that nothing
/// is left running.
struct Harness {
    sessions: Arc<SessionManager>,
    lifecycle: Lifecycle,
}

impl Harness {
    fn new() -> Self {
        Self::with(SimulatedSettings::for_tests(), |_| {})
    }

    /// With the default pace, as users see it.
    fn paced() -> Self {
        let settings = SimulatedSettings { test_models: true, ..SimulatedSettings::default() };
        Self::with(settings, |_| {})
    }

    fn with(simulated: SimulatedSettings, change: impl FnOnce(&mut SessionSettings)) -> Self {
        Self::with_backend(Arc::new(Simulated::new(simulated)), change)
    }

    fn with_backend(
        backend: Arc<dyn AgentBackend>,
        change: impl FnOnce(&mut SessionSettings),
    ) -> Self {
        Self::with_backends([backend], change)
    }

    fn with_backends(
        backends: impl IntoIterator<Item = Arc<dyn AgentBackend>>,
        change: impl FnOnce(&mut SessionSettings),
    ) -> Self {
        let lifecycle = Lifecycle::new();
        let mut settings = SessionSettings::new("/");
        change(&mut settings);
        let live = LiveShared::new(LiveSettings::for_tests());
        let catalog = Catalog::new(backends);
        let sessions = SessionManager::new(catalog, settings, live, lifecycle.clone());
        Self { sessions, lifecycle }
    }

    async fn start(&self) -> SessionId {
        self.sessions.start(MODEL, "").await.expect("a session")
    }

    async fn start_with(&self, prompts: &[&str]) -> SessionId {
        let id = self.start().await;
        for prompt in prompts {
            self.query(id, prompt);
        }
        id
    }

    fn query(&self, id: SessionId, prompt: &str) {
        let sent = self.sessions.get(id).and_then(|session| session.enqueue(prompt.to_owned()));
        sent.expect("the session is open");
    }

    fn send(&self, id: SessionId, prompt: &str) -> PendingTurn {
        let sent = self.sessions.get(id).and_then(|session| {
            session.send_for_task(prompt.to_owned(), TaskId::generate(), meter())
        });
        sent.expect("the session is open")
    }

    /// Reads with a new token until that many turns are over.
    async fn read_until_idle(&self, id: SessionId, times: usize) -> Vec<SessionResponse> {
        let token = LiveToken::generate();
        let mut seen = Vec::new();
        let end = loop {
            let idle = seen.iter().enumerate();
            let mut idle = idle.filter(|(_, response)| **response == SessionResponse::Idle);
            if let Some((index, _)) = idle.nth(times - 1) {
                break index + 1;
            }
            let more = self.read(id, &token).await;
            seen.extend(more.expect("still open"));
        };
        // The next turn may have begun.
        seen.truncate(end);
        check_blocks(&seen);
        seen
    }

    /// Reads with a new token until the session is closed.
    async fn read_to_the_end(&self, id: SessionId) -> Vec<SessionResponse> {
        let token = LiveToken::generate();
        let mut seen = Vec::new();
        while let Some(more) = self.read(id, &token).await {
            seen.extend(more);
        }
        check_blocks(&seen);
        seen
    }

    /// The next responses; `None` if the session is closed.
    async fn read(&self, id: SessionId, token: &LiveToken) -> Option<Vec<SessionResponse>> {
        let reader = ReaderKey::Token(token.clone());
        match self.sessions.source(id).await.expect("a session").poll(reader).await {
            Ok(delivery) if delivery.is_closed() => {
                delivery.commit();
                None
            }
            Ok(delivery) => {
                let entries = delivery.entries().into_iter();
                let responses =
                    entries.map(|json| serde_json::from_str(&json).expect("a response"));
                let responses = responses.collect();
                delivery.commit();
                Some(responses)
            }
            Err(PollError::Timeout) => Some(Vec::new()),
            Err(error) => panic!("{error}"),
        }
    }

    async fn end(self) {
        self.sessions.stop_all().await;
        assert!(!self.sessions.has_running());
        let only_the_sweeper = async {
            while self.lifecycle.running() > 1 {
                tokio::task::yield_now().await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(10), only_the_sweeper).await;
        assert_eq!(ended, Ok(()), "only the sweeper runs on");
        assert_eq!(self.lifecycle.shutdown(Duration::from_secs(1)).await, 0);
    }
}

/// Every block opens before its deltas and closes once, with what was streamed.
fn check_blocks(responses: &[SessionResponse]) {
    use SessionResponse as R;
    let mut open: Vec<(&str, &String, String)> = Vec::new();
    let mut closed: Vec<(&str, &String)> = Vec::new();
    for response in responses {
        let (kind, id) = match response {
            R::StartReasoning { reasoning_id: id }
            | R::Reasoning { reasoning_id: id, .. }
            | R::EndReasoning { reasoning_id: id, .. } => ("reasoning", id),
            R::StartMessage { message_id: id }
            | R::Message { message_id: id, .. }
            | R::EndMessage { message_id: id, .. } => ("message", id),
            R::StartToolExecution { tool_call_id: id, .. }
            | R::ToolExecution { tool_call_id: id, .. }
            | R::EndToolExecution { tool_call_id: id, .. } => ("tool", id),
            R::AgentStart { turn_id } | R::AgentEnd { turn_id } => ("turn", turn_id),
            _ => continue,
        };
        assert!(!closed.contains(&(kind, id)), "after the end: {response:?}");
        let block = open.iter().position(|block| block.0 == kind && block.1 == id);
        match response {
            R::StartReasoning { .. }
            | R::StartMessage { .. }
            | R::StartToolExecution { .. }
            | R::AgentStart { .. } => {
                assert_eq!(block, None, "opened twice: {response:?}");
                open.push((kind, id, String::new()));
            }
            R::Reasoning { delta, .. }
            | R::Message { delta, .. }
            | R::ToolExecution { delta, .. } => {
                let index = block.expect("a delta in an open block");
                open[index].2.push_str(delta);
            }
            _ => {
                let (_, _, text) = open.remove(block.expect("an end of an open block"));
                closed.push((kind, id));
                if let R::EndReasoning { complete_content, .. }
                | R::EndMessage { complete_content, .. } = response
                {
                    // A late reader gets no deltas at all.
                    assert!(text.is_empty() || text == *complete_content, "{response:?}");
                }
            }
        }
    }
    assert_eq!(open, [], "left open");
}

fn messages(responses: &[SessionResponse]) -> Vec<String> {
    let messages = responses.iter().filter_map(|response| match response {
        SessionResponse::EndMessage { complete_content, .. } => Some(complete_content.clone()),
        _ => None,
    });
    messages.collect()
}

fn errors(responses: &[SessionResponse]) -> Vec<String> {
    let errors = responses.iter().filter_map(|response| match response {
        SessionResponse::Error { message } => Some(message.clone()),
        _ => None,
    });
    errors.collect()
}
