//! A conversation: a prompt, the rounds that it takes, and what is remembered of them.
//!
//! ```text
//!   run_turn ─► ask ─► round: request ─► stream ─► events
//!                 ▲      │                  │
//!                 │      │                  └─ no calls, not steered ─► done
//!                 └──────┴── results ◄─ tools ◄─ calls
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::failure::Failure;
use super::history::History;
use super::round::{Round, RoundContext};
use crate::contract::{AgentError, AgentEvent, AgentSession, AgentSettings};
use crate::facts::Fact;
use crate::provider::ProviderModel;

/// One conversation with a model of a provider.
pub(super) struct Conversation {
    context: RoundContext,
    rounds: AtomicU32,
}

impl Conversation {
    /// Begins a conversation, or continues the one described by the facts.
    pub(super) fn new(
        client: Arc<Client>,
        model: ProviderModel,
        settings: AgentSettings,
        facts: &[Fact],
    ) -> Self {
        let history = Mutex::new(History::resume(&settings.working_directory, facts));
        Self {
            context: RoundContext { client, model, settings, history },
            rounds: AtomicU32::new(Fact::count_rounds(facts)),
        }
    }

    async fn answer(&self, prompt: &str) -> Result<(), AgentError> {
        let place = self.context.history.lock().ask(prompt);
        let limit = self.context.client.settings().limits.rounds;
        for _ in 0..limit {
            let number = self.rounds.fetch_add(1, Ordering::Relaxed) + 1;
            let turn_id = format!("turn-{number}");
            self.context.settings.events.emit(AgentEvent::TurnStart { turn_id: turn_id.clone() });
            let outcome = self.run_round(number).await;
            self.context.settings.events.emit(AgentEvent::TurnEnd { turn_id });
            match outcome {
                Ok(uses_tools) => {
                    let is_steered = self.take_steering().await;
                    if !uses_tools && !is_steered {
                        return Ok(());
                    }
                }
                Err(Failed { failure, attempts }) => {
                    if failure.is_about_the_request() {
                        // The provider would refuse it again with every later prompt.
                        self.context.history.lock().take_back(place);
                    }
                    return Err(AgentError::Failed(self.explain(&failure, attempts)));
                }
            }
        }
        Err(AgentError::LimitReached(format!(
            "the model has used tools {limit} times without finishing, which is the limit \
             for one prompt; ask it to continue if it should"
        )))
    }

    /// Adds the prompts for the running turn to the history; false if there are none.
    async fn take_steering(&self) -> bool {
        let mut any = false;
        while let Some(prompt) = self.context.settings.steering.next().await {
            self.context.history.lock().ask(&prompt);
            any = true;
        }
        any
    }

    fn explain(&self, failure: &Failure, attempts: u32) -> String {
        let provider = &self.context.client.settings().name;
        let mut text = format!("{provider}: {}", self.context.client.describe(failure));
        if failure.is_overflow() {
            let window = self.context.model.context_window;
            let window = window.map(|tokens| format!(" ({tokens} tokens)")).unwrap_or_default();
            text = format!(
                "the conversation is longer than {} can read{window}: start a new session, or ask \
                 for less. The last prompt is forgotten. {text}",
                self.context.model.id
            );
        } else if failure.is_about_the_request() {
            text.push_str(". The last prompt is forgotten");
        }
        if attempts > 1 {
            text = format!("{text} (asked {attempts} times)");
        }
        text
    }

    /// One request and the tools it calls; true if the model has to see their results.
    async fn run_round(&self, number: u32) -> Result<bool, Failed> {
        let mut attempts = 0;
        loop {
            let mut round = Round::new(&self.context, number);
            let failure = match round.receive().await {
                Ok(()) => return Ok(round.use_tools().await),
                Err(failure) => failure,
            };
            let limits = &self.context.client.settings().limits;
            let wait = failure.retry_wait(attempts, limits).filter(|_| round.is_empty());
            attempts += 1;
            drop(round);
            let provider = &*self.context.client.settings().name;
            let Some(wait) = wait else {
                tracing::warn!(provider, reason = failure.headline(), "a request failed");
                return Err(Failed { failure, attempts });
            };
            let wait_ms = wait.as_millis();
            tracing::info!(provider, reason = failure.headline(), wait_ms, "retrying the request");
            sleep(wait).await;
        }
    }
}

/// A failed round, and how often its request was sent.
struct Failed {
    failure: Failure,
    attempts: u32,
}

#[async_trait]
impl AgentSession for Conversation {
    async fn run_turn(&self, prompt: &str, abort: &CancellationToken) -> Result<(), AgentError> {
        // Aborting drops the request, which closes its connection, and the tools.
        abort.run_until_cancelled(self.answer(prompt)).await.unwrap_or(Ok(()))
    }

    async fn stop(&self) {
        self.context.history.lock().clear();
    }
}
