//! Models that continue a turn in which the session's own model failed.

use std::sync::Arc;

use agents::{Catalog, Fact, PastConversation};
use extensions::SessionExtensions;
use store::fold::SessionFold;
use store::journal::StoreError;
use store::live::{LiveLog, LiveShared};
use wire::{SessionId, SessionResponse};

use super::StartError;
use super::agent::SessionAgent;
use super::context::Context;
use super::starter::Starter;
use crate::budget::check_reports;

/// Finds and starts the fallback models of one session.
pub(super) struct Fallback {
    pub(super) id: SessionId,
    pub(super) starter: Starter,
    /// The models of sessions for which nobody chose any.
    pub(super) default: Vec<String>,
    pub(super) catalog: Catalog,
    pub(super) extensions: Arc<SessionExtensions>,
    pub(super) log: Arc<LiveLog<SessionResponse>>,
    pub(super) live: Arc<LiveShared>,
}

impl Fallback {
    /// The next model that was not tried in this turn.
    pub(super) fn next(&self, tried: &[String]) -> Option<String> {
        let chosen = self.log.fold(|fold: &SessionFold| fold.fallback().map(<[_]>::to_vec));
        let models = chosen.flatten().unwrap_or_else(|| self.default.clone());
        models.into_iter().find(|model| !tried.contains(model))
    }

    /// Starts an agent of the next model that can be used; those that can't are reported and
    /// skipped. The agent knows the conversation up to this turn, and what was said in this turn if
    /// tools were called in it.
    ///
    /// If this returns `None` or is dropped, [`restore`](Self::restore) the agent before.
    pub(super) async fn start_next(
        &self,
        tried: &mut Vec<String>,
        called_tools: bool,
    ) -> Option<SessionAgent> {
        let stream = &self.starter.stream;
        let past = match self.past(called_tools).await {
            Ok(past) => past,
            Err(error) => {
                stream.error(&format!("no other model can continue: {error}"));
                return None;
            }
        };
        while let Some(model) = self.next(tried) {
            tried.push(model.clone());
            match self.start(&model, past.clone()).await {
                Ok(agent) => return Some(agent),
                Err(error) => stream.error(&format!("{model} was skipped: {error}")),
            }
        }
        None
    }

    /// Starts an agent of a model that a user has chosen. It knows the whole conversation.
    ///
    /// If this fails or is dropped, [`restore`](Self::restore) the agent before.
    pub(super) async fn start_chosen(&self, model: &str) -> Result<SessionAgent, StartError> {
        let past = self.past(true).await?;
        self.start(model, past).await
    }

    async fn start(
        &self,
        model: &str,
        past: Option<PastConversation>,
    ) -> Result<SessionAgent, StartError> {
        let found = self.catalog.find(model).await;
        let found = found.ok_or_else(|| StartError::ModelIdNotFound(model.to_owned()))?;
        let budget = self.log.fold(SessionFold::budget).unwrap_or_default();
        check_reports(found.backend.capabilities().reports, model, &budget)?;
        // Before it starts, or it would be given the tools of extensions that it runs itself.
        self.extensions.hand_over(found.backend.capabilities().extensions).await;
        self.starter.start(&found, model.to_owned(), past).await
    }

    /// Makes everything suit the agent that the session has, after another one was not started.
    pub(super) async fn restore(&self, agent: &SessionAgent) {
        self.starter.stream.hear(agent.speaker);
        self.extensions.hand_over(agent.capabilities.extensions).await;
        if let Err(error) = self.starter.toolkit.fit(agent.capabilities.own_tools).await {
            tracing::warn!(session = %self.id, %error, "an agent has lost its tools");
        }
    }

    /// The conversation so far, which any backend may continue. Without the last turn if it failed
    /// and changed nothing: its prompt is sent again.
    async fn past(&self, with_last_turn: bool) -> Result<Option<PastConversation>, StoreError> {
        self.log.durable().await?;
        let context = Context::read(&**self.live.journal(), self.id).await?;
        let mut facts = context.map(|context| context.facts).unwrap_or_default();
        if !with_last_turn {
            let prompt = facts.iter().rposition(|fact| matches!(fact, Fact::Prompt(_)));
            facts.truncate(prompt.unwrap_or_default());
        }
        let past = PastConversation { handle: None, facts };
        Ok((!past.facts.is_empty()).then_some(past))
    }
}
