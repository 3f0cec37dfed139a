//! The backend for everything that speaks `OpenAI`'s chat completions: the big providers, and the
//! servers that people run themselves.
//!
//! ```text
//!   OpenAi (one per provider) ─ Client ─ ModelList
//!      └─ Conversation ─ History
//!            └─ Round ─► Client ─► bytes ─► Decoder ─► Chunk ─► Answer ─► AgentEvents
//!                  └─► ToolSet
//! ```
//!
//! There are as many dialects as providers. Requests use only what all of them accept; answers are
//! parsed leniently (`chunk`, `answer`). `server` makes one backend for each configured provider.

mod answer;
mod chunk;
mod client;
mod conversation;
mod events;
mod failure;
mod history;
mod models;
mod round;
mod settings;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use wire::ModelInfo;

use crate::contract::{
    AgentBackend, AgentError, AgentSession, AgentSettings, Capabilities, PastConversation,
    ReportedUsage, ResumeError,
};
use crate::facts::Fact;
use crate::provider::{KeySource, ProviderModel};
use client::Client;
use conversation::Conversation;
use failure::Failure;
use models::ModelList;
pub use settings::{ProviderHeaders, ProviderLimits, ProviderSettings, parse_key_header};

/// The backend of one provider.
pub struct OpenAi {
    client: Arc<Client>,
    models: ModelList,
}

impl OpenAi {
    /// Creates the backend. Connects to nothing yet.
    pub fn new(settings: ProviderSettings) -> Self {
        if let KeySource::Missing(reason) = &settings.key {
            tracing::warn!(provider = settings.name, reason, "a provider can't be used");
        }
        let client = Arc::new(Client::new(settings));
        Self { models: ModelList::new(client.clone()), client }
    }

    fn unavailable(&self, failure: &Failure) -> AgentError {
        AgentError::Unavailable(self.client.describe(failure))
    }

    async fn open(
        &self,
        settings: AgentSettings,
        facts: &[Fact],
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        let models = self.models.get().await.map_err(|failure| self.unavailable(&failure))?;
        let model = models.iter().find(|model| model.id == settings.model).cloned();
        let model = model.ok_or_else(|| {
            AgentError::Unavailable(format!("unknown model: `{}`", settings.model))
        })?;
        Ok(Box::new(Conversation::new(self.client.clone(), model, settings, facts)))
    }

    fn info(&self, model: &ProviderModel) -> ModelInfo {
        let settings = self.client.settings();
        let usual = if matches!(settings.key, KeySource::None) { 0.0 } else { 1.0 };
        ModelInfo {
            name: model.name.clone().unwrap_or_else(|| model.id.clone()),
            id: model.id.clone(),
            multiplier: model.multiplier.unwrap_or(usual),
            provider: Some(settings.name.clone()),
        }
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenAi").field(self.client.settings()).finish()
    }
}

#[async_trait]
impl AgentBackend for OpenAi {
    fn provider(&self) -> &str {
        &self.client.settings().name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: true,
            steer: true,
            images: true,
            reports: ReportedUsage::Tokens,
            ..Capabilities::default()
        }
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        let models = self.models.get().await.map_err(|failure| self.unavailable(&failure))?;
        Ok(models.iter().map(|model| self.info(model)).collect())
    }

    async fn start_session(
        &self,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        self.open(settings, &[]).await
    }

    async fn resume_session(
        &self,
        past: PastConversation,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, ResumeError> {
        Ok(self.open(settings, &past.facts).await?)
    }

    async fn close(&self) {
        self.client.close();
    }
}
