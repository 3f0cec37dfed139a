//! The agent of a project's sessions, which wraps the agents of all models.
//!
//! ```text
//!   Conversation ─ run_turn_with ─► ActionAgent ─┬─► Model: AgentSession of the prompt's model
//!        ▲ AgentEvents                │          └─► Pursuit: step ─► ToolSet of the session
//!        └────────────────────────────┘
//! ```
//!
//! Each prompt starts a conversation with the model that it names. A plain prompt is sent with what
//! was said before in the project, and its model has no tools; a goal is pursued step by step, and
//! the actions are calls of the session's tools, with its permissions and hooks. So neither another
//! model nor a crash ends the session.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use agents::tools::{CommandSettings, Workspace, WorkspaceSettings, workspace_tools};
use agents::{
    AgentBackend, AgentError, AgentSession, AgentSettings, Capabilities, Fact, Found,
    PastConversation, ReportedUsage, ResumeError, TurnOptions, TurnStop,
};
use async_trait::async_trait;
use parking_lot::Mutex;
use platform::lifecycle::Lifecycle;
use tokio_util::sync::CancellationToken;
use wire::ModelInfo;
use wire::bridge::Role;

use super::instructions;
use super::model::{Forward, Model};
use super::pursue::Pursuit;
use super::report::Report;
use super::settings::AgentRules;

const STOPPING: &str = "the server is stopping";
const SWITCHED_OFF: &str = "the agent is switched off in the settings";

/// What the agent needs of the bridge.
#[async_trait]
pub(super) trait Surroundings: Send + Sync + 'static {
    /// The model of that name, or the default one.
    async fn find_model(&self, model: Option<&str>) -> Result<Found, String>;

    /// What was said in the project so far, oldest first.
    async fn context(&self, project: &str) -> Result<Vec<(Role, String)>, String>;

    /// What agents may do now.
    fn rules(&self) -> AgentRules;

    /// Opens a project's folder for tools. Blocks.
    fn open_folder(&self, folder: &Path) -> Result<Workspace, String>;

    /// Whether and how commands are run.
    fn commands(&self, rules: &AgentRules) -> CommandSettings;
}

/// Starts the agents of one project.
pub(super) struct ActionBackend {
    pub(super) project: String,
    pub(super) surroundings: Weak<dyn Surroundings>,
    pub(super) lifecycle: Lifecycle,
}

struct ActionAgent {
    project: String,
    surroundings: Weak<dyn Surroundings>,
    lifecycle: Lifecycle,
    settings: AgentSettings,
    /// Numbers the prompts. Ids begin with it, so that they are unique in the session.
    prompts: AtomicU32,
    /// The tools that the last goal added to the session's.
    added: Mutex<Vec<String>>,
}

impl ActionBackend {
    fn open(&self, settings: AgentSettings, prompts: u32) -> Box<dyn AgentSession> {
        Box::new(ActionAgent {
            project: self.project.clone(),
            surroundings: self.surroundings.clone(),
            lifecycle: self.lifecycle.clone(),
            settings,
            prompts: AtomicU32::new(prompts),
            added: Mutex::default(),
        })
    }
}

#[async_trait]
impl AgentBackend for ActionBackend {
    fn provider(&self) -> &'static str {
        "bridge"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: true,
            // Depends on the model, which each message may name; checked when one is sent.
            reports: ReportedUsage::TokensAndCost,
            ..Capabilities::default()
        }
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        Ok(Vec::new())
    }

    async fn start_session(
        &self,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        Ok(self.open(settings, 0))
    }

    async fn resume_session(
        &self,
        past: PastConversation,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, ResumeError> {
        // A prompt that was tried again has more rounds than prompts.
        let is_prompt = |fact: &&Fact| matches!(fact, Fact::Prompt(_));
        let prompts = past.facts.iter().filter(is_prompt).count();
        let rounds = Fact::count_rounds(&past.facts);
        let used = rounds.saturating_add(u32::try_from(prompts).unwrap_or(u32::MAX));
        Ok(self.open(settings, used))
    }

    async fn close(&self) {}
}

#[async_trait]
impl AgentSession for ActionAgent {
    async fn run_turn(&self, prompt: &str, abort: &CancellationToken) -> Result<(), AgentError> {
        self.run_turn_with(prompt, &TurnOptions::default(), abort).await.map(drop)
    }

    async fn run_turn_with(
        &self,
        prompt: &str,
        options: &TurnOptions,
        abort: &CancellationToken,
    ) -> Result<TurnStop, AgentError> {
        let mut model = None;
        let ended = abort.run_until_cancelled(self.answer(prompt, options, &mut model)).await;
        if let Some(model) = model {
            // The turn is over now, although the model may take a while to shut down.
            drop(self.lifecycle.spawn(model.stop()));
        }
        ended.unwrap_or(Ok(TurnStop::Answered)).map_err(AgentError::Failed)
    }

    async fn stop(&self) {}
}

impl ActionAgent {
    async fn answer(
        &self,
        prompt: &str,
        options: &TurnOptions,
        open: &mut Option<Model>,
    ) -> Result<TurnStop, String> {
        let surroundings = self.surroundings.upgrade().ok_or(STOPPING)?;
        let prefix = format!("{}/", self.prompts.fetch_add(1, Ordering::Relaxed) + 1);
        let found = surroundings.find_model(options.model.as_deref()).await?;
        let forward = Forward {
            events: self.settings.events.clone(),
            prefix: prefix.clone(),
            // The steps of a goal are reported once they are parsed.
            messages: options.max_steps.is_none(),
        };
        let folder = &self.settings.working_directory;
        let before = match options.max_steps {
            None => surroundings.context(&self.project).await?,
            // A goal says all that its agent has to know.
            Some(_) => Vec::new(),
        };
        let model = Model::start(found, folder, &before, forward).await;
        let model = open.insert(model.map_err(|error| error.to_string())?);
        let Some(max_steps) = options.max_steps else {
            let untold = if model.knows_past() { &[][..] } else { &before };
            model.turn(&instructions::prompt(untold, prompt)).await?;
            return Ok(TurnStop::Answered);
        };
        let rules = surroundings.rules();
        if !rules.enabled {
            return Err(SWITCHED_OFF.to_owned());
        }
        self.add_tools(&surroundings, &rules).await?;
        let report = Report::new(self.settings.events.clone(), prefix);
        let pursuit = Pursuit {
            model,
            tools: &self.settings.tools,
            max_steps,
            commands: rules.allow_commands,
            report: &report,
        };
        pursuit.run(prompt).await
    }

    /// Gives the session the tools for a new goal: what earlier ones have read does not count.
    async fn add_tools(
        &self,
        surroundings: &Arc<dyn Surroundings>,
        rules: &AgentRules,
    ) -> Result<(), String> {
        let (opening, folder) = (surroundings.clone(), self.settings.working_directory.clone());
        let opened = tokio::task::spawn_blocking(move || opening.open_folder(&folder)).await;
        let tools = workspace_tools(WorkspaceSettings {
            workspace: opened.map_err(|error| error.to_string())??,
            permissions: self.settings.permissions.clone(),
            commands: surroundings.commands(rules),
        });
        let names = tools.iter().map(|tool| tool.name.clone()).collect();
        let before = std::mem::take(&mut *self.added.lock());
        self.settings.tools.remove(&before);
        self.settings.tools.add_all(tools).map_err(|error| error.to_string())?;
        *self.added.lock() = names;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
