//! Who may let a tool act: the question, the answers, and those who answer.
//!
//! A tool asks its [`PermissionHandler`] after all of its own checks and before it acts. Sessions
//! in which people decide have a [`PermissionDesk`], where questions wait for an answer. Whatever
//! the session's mode, its [`DeskRules`] say what is refused, and what is asked for each time.

mod desk;
mod limit;
mod runs_later;

use std::sync::Arc;

use async_trait::async_trait;
use wire::{JobId, PermissionMode, PermissionRequest, SessionId, TaskId};

pub use desk::{NotPending, PendingQuestion, PermissionDesk, PermissionEvent, PermissionEvents};
pub use limit::{DefaultMode, ModeLimit};
pub use runs_later::{AlwaysAsk, DeskRules, InvalidGlob, Safeguards, check_glob};

/// The answer was no.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Denied {
    /// Why, for the model to read.
    pub reason: String,
}

/// How the tools of a session that ask are dealt with.
#[derive(Clone, Debug)]
pub struct SessionPermissions {
    /// Mode for everything that is not asked each time.
    pub mode: PermissionMode,
    /// Files that run later, and that `approve-all` covers nevertheless: globs below its folder.
    pub approve_files: Vec<String>,
    /// Makes the mode stricter while the session runs.
    pub limit: ModeLimit,
}

impl From<PermissionMode> for SessionPermissions {
    fn from(mode: PermissionMode) -> Self {
        Self { mode, approve_files: Vec::new(), limit: ModeLimit::default() }
    }
}

/// The session whose tools ask, and what it was opened for. It is known when the session starts and
/// never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The session.
    pub session: SessionId,
    /// The task that opened it; none if a person did.
    pub task: Option<TaskId>,
    /// The work that the task runs for, if it belongs to a job.
    pub work: Option<WorkOfJob>,
}

/// A work, by its job and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkOfJob {
    /// The run of the job.
    pub job: JobId,
    /// Number of the work within its job.
    pub work_id: u32,
}

/// Who asks. It travels with the call from the model to whoever answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asker {
    /// The session that the call was made in; none in runs of the bridge, which have no session.
    pub owner: Option<Owner>,
    /// The tool, if one asks.
    pub tool: Option<Arc<str>>,
    /// Which call of it, as its start was reported.
    pub call_id: Option<Arc<str>>,
    /// The call was approved before the tool ran: it is not asked about again, unless that is done
    /// each time. Where everything is refused, it still is.
    pub is_approved: bool,
}

impl Asker {
    /// A tool, with no more known of its call.
    pub fn tool(name: &str) -> Self {
        Self { tool: Some(name.into()), ..Self::default() }
    }
}

/// Answers the questions of tools.
#[async_trait]
pub trait PermissionHandler: Send + Sync + 'static {
    /// Returns when the answer is known. Dropped, the question is withdrawn.
    async fn request(&self, asker: &Asker, request: PermissionRequest) -> Result<(), Denied>;
}

/// Says yes to everything.
#[derive(Clone, Copy, Debug)]
pub struct ApproveAll;

#[async_trait]
impl PermissionHandler for ApproveAll {
    async fn request(&self, _: &Asker, _: PermissionRequest) -> Result<(), Denied> {
        Ok(())
    }
}

const GUARDED: &str = "refused: the portal's own settings, keys and data are off limits";
const DENY_ALL: &str = "refused: this session may not change anything";

/// Says no to everything.
#[derive(Clone, Copy, Debug)]
pub struct DenyAll;

#[async_trait]
impl PermissionHandler for DenyAll {
    async fn request(&self, _: &Asker, _: PermissionRequest) -> Result<(), Denied> {
        Err(Denied { reason: DENY_ALL.to_owned() })
    }
}
