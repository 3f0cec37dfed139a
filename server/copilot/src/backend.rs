//! GitHub Copilot: the agent of its CLI, through GitHub's own SDK.
//!
//! ```text
//!   Copilot ─ Launcher ─ Runtime (one CLI process, shared)
//!      │                    └─ Client (JSON-RPC over its pipes)
//!      ├─ ModelList
//!      └─ Conversation ─ Turns
//!            └─ Follower ─► Reader ─► AgentEvents
//! ```
//!
//! The CLI is started by the portal and not by the SDK, as the head of a process group: whatever
//! its tools start ends with it. It runs on the models of the user's GitHub account, or on an
//! endpoint of the operator's without any login.

mod conversation;
mod events;
mod find;
mod launcher;
mod models;
mod permission;
mod runtime;
mod tools;
mod turn;

use std::fmt;
use std::sync::Arc;

use agents::{AgentBackend, AgentError, AgentSession, AgentSettings, Capabilities};
use async_trait::async_trait;
use wire::ModelInfo;

use crate::settings::CopilotSettings;
use conversation::Conversation;
use launcher::Launcher;
use models::ModelList;

/// The provider's name.
const PROVIDER: &str = "copilot";

/// The backend of the Copilot CLI.
pub struct Copilot {
    settings: Arc<CopilotSettings>,
    launcher: Launcher,
    models: ModelList,
}

impl Copilot {
    /// A CLI that is started when it is first needed.
    pub fn new(settings: CopilotSettings) -> Self {
        let settings = Arc::new(settings);
        let found = find::Places::new(settings.cli.clone()).find();
        match &found {
            Ok(Some(program)) => {
                tracing::info!(program = %program.display(), "found the Copilot CLI");
            }
            Ok(None) => tracing::info!("no Copilot CLI found: its models are not offered"),
            Err(reason) => tracing::warn!(reason, "the Copilot CLI can't be used"),
        }
        Self {
            launcher: Launcher::new(settings.clone()),
            models: ModelList::new(settings.clone()),
            settings,
        }
    }
}

impl fmt::Debug for Copilot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Copilot").field(&self.settings).finish()
    }
}

#[async_trait]
impl AgentBackend for Copilot {
    fn provider(&self) -> &'static str {
        PROVIDER
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { own_tools: true, extensions: true, ..Capabilities::default() }
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        self.models.get(&self.launcher).await
    }

    async fn start_session(
        &self,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        // The CLI takes any id, and fails with the first prompt.
        let models = self.models.get(&self.launcher).await?;
        if !models.iter().any(|model| model.id == settings.model) {
            let reason = format!("unknown model: `{}`", settings.model);
            return Err(AgentError::Unavailable(reason));
        }
        let runtime = self.launcher.get().await?;
        let conversation = Conversation::start(runtime, settings, &self.settings).await?;
        Ok(Box::new(conversation))
    }

    async fn close(&self) {
        self.launcher.close().await;
    }
}
