//! The tools of a session, which suit the agent that it has.

use std::path::PathBuf;
use std::sync::Arc;

use agents::ToolSet;
use agents::guarded::Guarded;
use agents::permission::PermissionHandler;
use agents::tools::{CommandSettings, Workspace, WorkspaceSettings, workspace_tools};
use parking_lot::Mutex;

use super::StartError;
use super::rights::SessionPolicy;

/// The tool set of a session, which stays the same for all of its agents: extensions add to it.
pub(super) struct Toolkit {
    pub(super) set: Arc<ToolSet>,
    /// What is needed for the portal's tools; `None` if the agent adds its tools to the set itself.
    pub(super) workspace: Option<WorkspaceParts>,
    /// The names of the portal's tools that are in the set.
    pub(super) added: Mutex<Vec<String>>,
}

/// What the portal's tools for a folder are made of.
pub(super) struct WorkspaceParts {
    pub(super) folder: PathBuf,
    pub(super) permissions: Arc<dyn PermissionHandler>,
    pub(super) guarded: Guarded,
    pub(super) commands: CommandSettings,
    pub(super) policy: Arc<SessionPolicy>,
}

impl Toolkit {
    /// Adds the portal's tools for the folder, or removes them if the agent has its own.
    pub(super) async fn fit(&self, own_tools: bool) -> Result<(), StartError> {
        let Some(workspace) = &self.workspace else { return Ok(()) };
        if own_tools {
            self.set.remove(&std::mem::take(&mut *self.added.lock()));
            return Ok(());
        }
        if !self.added.lock().is_empty() {
            return Ok(());
        }
        let tools = workspace_tools(workspace.open().await?);
        let names = tools.iter().map(|tool| tool.name.clone()).collect();
        // An extension may have taken a name while the agent had tools of its own.
        let not_added =
            |error: agents::DuplicateTool| StartError::ModelNotAvailable(error.to_string());
        self.set.add_all(tools).map_err(not_added)?;
        *self.added.lock() = names;
        Ok(())
    }
}

impl WorkspaceParts {
    async fn open(&self) -> Result<WorkspaceSettings, StartError> {
        let not_opened = |reason: String| StartError::WorkingDirectoryNotExists(reason);
        let (folder, roots) = (self.folder.clone(), self.policy.roots());
        let guarded = self.guarded.clone();
        let opening = tokio::task::spawn_blocking(move || {
            Workspace::open(&folder, &roots).map(|workspace| workspace.guarded(&guarded))
        });
        let opened = opening.await.map_err(|error| not_opened(error.to_string()))?;
        Ok(WorkspaceSettings {
            workspace: opened.map_err(|error| not_opened(error.to_string()))?,
            permissions: self.permissions.clone(),
            commands: CommandSettings {
                allowed: self.policy.rights().allow_commands,
                ..self.commands.clone()
            },
        })
    }
}
