//! `runCommand`.
//!
//! The sandbox determines where a command starts, not what it does: it has the rights of the
//! portal's user. So commands are off unless the settings allow them, and each needs permission.

mod capture;
#[cfg(unix)]
mod process;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use wire::{PermissionKind, PermissionRequest, ToolError, ToolResult};

use crate::permission::Asker;
use crate::tool::{ToolCall, ToolHandler};

use super::{Run, answer, arguments, blocking, failure, show_path};
use crate::names::visible;

/// Timeout of a command unless the call sets one.
pub(super) const USUAL_MS: u64 = 120_000;
/// The longest timeout that a call may set.
pub(super) const MOST_MS: u64 = 600_000;
const MAX_COMMAND: usize = 16 * 1024;
const MAX_TITLE: usize = 80;

/// Whether and how commands are run.
#[derive(Clone, Debug, Default)]
pub struct CommandSettings {
    /// Whether commands are allowed at all.
    pub allowed: bool,
    /// Environment variables hidden from commands, besides those that look like secrets.
    pub secrets: Vec<String>,
    /// Cancelled once commands are no longer allowed. Clones share it.
    pub forbidden: CancellationToken,
}

impl CommandSettings {
    fn check(&self) -> Result<(), ToolError> {
        if self.allowed && !self.forbidden.is_cancelled() {
            return Ok(());
        }
        Err(failure("not_allowed", "commands are not allowed by the settings"))
    }
}

pub(super) struct RunCommand {
    run: Arc<Run>,
    settings: CommandSettings,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    command: String,
    cwd: Option<String>,
    timeout_ms: Option<u64>,
}

impl RunCommand {
    pub(super) fn new(run: Arc<Run>, settings: CommandSettings) -> Self {
        Self { run, settings }
    }

    async fn ask(&self, asker: &Asker, command: &str, folder: &str) -> Result<(), ToolError> {
        let mut first: String = command.lines().next().unwrap_or_default().to_owned();
        if super::cut_at(&mut first, MAX_TITLE) || first.len() < command.len() {
            first.push('…');
        }
        let request = PermissionRequest {
            kind: PermissionKind::Command,
            title: format!("Run {}", show_path(&first)),
            path: Some(folder.to_owned()),
            detail: Some(visible(command)),
            diff: None,
            each_time: false,
        };
        self.run.ask(asker, request).await
    }
}

#[async_trait]
impl ToolHandler for RunCommand {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let ToolCall { arguments: given, asker, output } = call;
        let Arguments { command, cwd, timeout_ms } = arguments(given)?;
        self.settings.check()?;
        if command.trim().is_empty() || command.len() > MAX_COMMAND || command.contains('\0') {
            let message = format!("invalid command: 1 to {MAX_COMMAND} bytes are accepted");
            return Err(failure("invalid_arguments", message));
        }
        let time_out = Duration::from_millis(timeout_ms.unwrap_or(USUAL_MS).clamp(1, MOST_MS));
        // Models write an empty text for "not given".
        let cwd = cwd.filter(|cwd| !cwd.is_empty()).unwrap_or_else(|| ".".to_owned());
        let given = cwd.clone();
        let (_, approved) =
            blocking(&self.run, move |run, _| Ok(run.workspace.open_folder(&given)?)).await?;
        let shown = match approved.to_string_lossy() {
            text if text.is_empty() => ".".to_owned(),
            text => show_path(&text),
        };
        self.ask(&asker, &command, &shown).await?;
        self.settings.check()?;
        let (folder, real) =
            blocking(&self.run, move |run, _| Ok(run.workspace.open_folder(&cwd)?)).await?;
        if real != approved {
            let message = format!("the folder changed in the meantime: `{shown}`");
            return Err(failure("changed", message));
        }
        let path = self.run.workspace.root().join(real);
        #[cfg(unix)]
        {
            let job = process::Job { command: &command, folder: &folder, path: &path, time_out };
            job.run(&self.settings, &output).await.map(answer)
        }
        #[cfg(not(unix))]
        {
            let _ = (folder, path, time_out, output, answer);
            Err(failure("not_supported", "commands are not supported on this system"))
        }
    }
}

#[cfg(test)]
mod tests;
