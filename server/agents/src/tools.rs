//! What a model can do in a folder, and nowhere else: read, search and change files, run commands.
//!
//! [`workspace_tools`] makes the tools of one run. They share its record of which files were read,
//! its [`Workspace`], through which every file access goes, and its permission handler, which is
//! asked before anything changes.
//!
//! ```text
//!   ToolSet::call ─► argument checks ─► Workspace (look) ─► PermissionHandler ─► Workspace (act)
//! ```

mod change;
mod command;
mod completion;
mod diff;
mod list;
mod pattern;
mod read;
mod roots;
mod sandbox;
mod search;
mod specification;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use wire::entry::JOB_TOOLS;
use wire::{PermissionRequest, ToolError, ToolResult};

use crate::ask_user::ASK_USER;
use crate::permission::{Asker, PermissionHandler};
use crate::tool::{Tool, ToolHandler};

pub use command::CommandSettings;
pub use completion::complete_file;
pub use roots::{AllowedRoots, RootsLimit};
pub use sandbox::{Fault, SandboxError, Workspace};

pub use crate::names::show_path;
pub use change::preview;
use sandbox::ContentHash;

/// The name of the tool that runs commands.
pub const RUN_COMMAND: &str = "runCommand";
/// Limit for a tool's answer, in bytes; reading files has its own limits.
const MAX_ANSWER: usize = 64 * 1024;
/// Size limit of a file that a tool creates or changes, in bytes.
const MAX_CHANGE: u64 = 1024 * 1024;

/// What the tools of a run work with.
#[derive(Clone)]
pub struct WorkspaceSettings {
    /// The folder, and which parts of it tools may use.
    pub workspace: Workspace,
    /// Asked before anything changes.
    pub permissions: Arc<dyn PermissionHandler>,
    /// Whether and how commands are run.
    pub commands: CommandSettings,
}

impl fmt::Debug for WorkspaceSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkspaceSettings")
            .field("workspace", &self.workspace)
            .field("commands", &self.commands)
            .finish_non_exhaustive()
    }
}

/// The seven tools of one run.
pub fn workspace_tools(settings: WorkspaceSettings) -> Vec<Tool> {
    let run = Arc::new(Run {
        workspace: settings.workspace,
        permissions: settings.permissions,
        read: Mutex::new(HashMap::new()),
    });
    let handlers: [Arc<dyn ToolHandler>; 7] = [
        Arc::new(list::ListFiles(Arc::clone(&run))),
        Arc::new(read::ReadFiles(Arc::clone(&run))),
        Arc::new(change::CreateFile(Arc::clone(&run))),
        Arc::new(change::EditFile(Arc::clone(&run))),
        Arc::new(change::ApplyDiff(Arc::clone(&run))),
        Arc::new(search::SearchFiles(Arc::clone(&run))),
        Arc::new(command::RunCommand::new(run, settings.commands)),
    ];
    specification::all()
        .into_iter()
        .zip(handlers)
        .map(|(specification, handler)| specification.tool(handler))
        .collect()
}

/// Whether a tool of the portal only looks, or only tells the portal something.
pub fn is_read_only(tool: &str) -> bool {
    specification::LOOKING.contains(&tool) || JOB_TOOLS.contains(&tool) || tool == ASK_USER
}

/// The tools of a session: those that every session has, and those for its folder.
#[cfg(test)]
fn session_tools(settings: WorkspaceSettings) -> crate::tool::ToolSet {
    let tools = crate::tool::ToolSet::with_job_tools();
    tools.add_all(workspace_tools(settings)).expect("the job tools have other names");
    tools
}

/// State shared by the tools of a run.
struct Run {
    workspace: Workspace,
    permissions: Arc<dyn PermissionHandler>,
    /// Hashes of the files that the model has read, by resolved path.
    read: Mutex<HashMap<PathBuf, ContentHash>>,
}

impl Run {
    fn remember(&self, real: &Path, hash: ContentHash) {
        self.read.lock().insert(real.to_owned(), hash);
    }

    fn remembered(&self, real: &Path) -> Option<ContentHash> {
        self.read.lock().get(real).copied()
    }

    async fn ask(&self, asker: &Asker, request: PermissionRequest) -> Result<(), ToolError> {
        let answer = self.permissions.request(asker, request).await;
        answer.map_err(|denied| failure("denied", denied.reason))
    }
}

impl From<SandboxError> for ToolFailure {
    fn from(error: SandboxError) -> Self {
        Self(failure(error.fault.code(), error.to_string()))
    }
}

/// A [`ToolError`] that other errors of this module convert into.
struct ToolFailure(ToolError);

impl From<ToolError> for ToolFailure {
    fn from(error: ToolError) -> Self {
        Self(error)
    }
}

fn failure(code: &str, message: impl Into<String>) -> ToolError {
    ToolError { message: message.into(), code: Some(code.to_owned()) }
}

fn answer(content: String) -> ToolResult {
    ToolResult { content, detailed_content: None }
}

/// Parses the arguments of a call, which come from a model.
fn arguments<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments)
        .map_err(|error| failure("invalid_arguments", format!("invalid arguments: {error}")))
}

/// Runs blocking work. Its token is cancelled when the call is dropped.
async fn blocking<T: Send + 'static>(
    run: &Arc<Run>,
    work: impl FnOnce(&Run, &CancellationToken) -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, ToolError> {
    let token = CancellationToken::new();
    let _dropped = token.clone().drop_guard();
    let run = Arc::clone(run);
    let done = tokio::task::spawn_blocking(move || work(&run, &token)).await;
    match done {
        Ok(outcome) => outcome.map_err(|failure| failure.0),
        Err(error) => {
            tracing::error!(%error, "a tool has crashed");
            Err(failure("internal", "the tool has crashed"))
        }
    }
}

/// Truncates a text to `limit` bytes. Returns whether anything was cut off.
pub fn cut_at(text: &mut String, limit: usize) -> bool {
    if text.len() <= limit {
        return false;
    }
    text.truncate(text.floor_char_boundary(limit));
    true
}

#[cfg(test)]
mod tests;
