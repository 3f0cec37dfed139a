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
//! The portal starts the CLI itself instead of leaving that to the SDK, and makes it the leader of
//! a process group: whatever its tools start ends with it. It runs on the models of the user's
//! GitHub account, or without any login on an endpoint that the operator configured.

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

use agents::{
    ASK_USER, AgentBackend, AgentError, AgentSession, AgentSettings, Capabilities, Fact,
    PastConversation, ReportedUsage, ResumeError,
};
use async_trait::async_trait;
use wire::ModelInfo;
use wire::entry::JOB_TOOLS;

use crate::settings::CopilotSettings;
use conversation::Conversation;
use launcher::Launcher;
use models::ModelList;

/// The provider's name in lists and logs.
const PROVIDER: &str = "copilot";

/// Tools of the CLI that change nothing. A shell runs its command when `bash` is called, and what reads
/// its output only looks; fetching a page may do something at its server, so `web_fetch` is not here.
const READ_ONLY: [&str; 11] = [
    "view",
    "glob",
    "grep",
    "semantic_code_search",
    "read_bash",
    "list_bash",
    "read_powershell",
    "list_powershell",
    "read_agent",
    "list_agents",
    // Of earlier versions.
    "report_intent",
];

/// The backend of the Copilot CLI.
pub struct Copilot {
    settings: Arc<CopilotSettings>,
    launcher: Launcher,
    models: ModelList,
}

impl Copilot {
    /// Creates the backend. The CLI is started on first use.
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

    /// The CLI accepts any model id when a session starts, and fails only at the first prompt.
    async fn check_model(&self, id: &str) -> Result<(), AgentError> {
        let models = self.models.get(&self.launcher).await?;
        if models.iter().any(|model| model.id == id) {
            Ok(())
        } else {
            Err(AgentError::Unavailable(format!("unknown model: `{id}`")))
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
        // The CLI does not know the prices of the operator's own endpoint.
        let reports = match self.settings.provider {
            Some(_) => ReportedUsage::Tokens,
            None => ReportedUsage::TokensAndCost,
        };
        Capabilities {
            own_tools: true,
            resume: true,
            extensions: true,
            images: true,
            reports,
            ..Capabilities::default()
        }
    }

    /// Its agents do not have the portal's tools for the folder: an extension may use those names.
    fn is_read_only(&self, tool: &str) -> bool {
        READ_ONLY.contains(&tool) || JOB_TOOLS.contains(&tool) || tool == ASK_USER
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        self.models.get(&self.launcher).await
    }

    async fn start_session(
        &self,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        self.check_model(&settings.model).await?;
        let runtime = self.launcher.get().await?;
        let conversation = Conversation::start(runtime, settings, &self.settings).await?;
        Ok(Box::new(conversation))
    }

    async fn resume_session(
        &self,
        past: PastConversation,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, ResumeError> {
        let handle = past.handle.ok_or_else(|| {
            ResumeError::Refused("the Copilot CLI can't resume without a handle".to_owned())
        })?;
        self.check_model(&settings.model).await?;
        let runtime = self.launcher.get().await?;
        let rounds = Fact::count_rounds(&past.facts);
        let conversation =
            Conversation::resume(runtime, settings, &self.settings, &handle, rounds).await?;
        Ok(Box::new(conversation))
    }

    async fn close(&self) {
        self.launcher.close().await;
    }
}
