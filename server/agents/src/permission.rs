//! Permission to act: what tools ask, and who answers them.
//!
//! A tool asks its [`PermissionHandler`] after all of its own checks and before it acts. Sessions
//! in which people decide have a [`PermissionDesk`], where questions wait for an answer. Whatever
//! the session's mode, its [`DeskRules`] say what is refused, and what is asked about each time.

mod desk;
mod limit;
mod runs_later;

use std::sync::Arc;

use async_trait::async_trait;
use wire::{JobId, PermissionDecision, PermissionMode, PermissionRequest, SessionId, TaskId};

pub use desk::{NotPending, PendingQuestion, PermissionDesk, PermissionEvent, PermissionEvents};
pub use limit::{DefaultMode, ModeLimit};
pub use runs_later::{AlwaysAsk, DeskRules, InvalidGlob, Safeguards, check_glob};

/// A tool was not allowed to act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Denied {
    /// Reason, which the model reads.
    pub reason: String,
}

/// Permission settings of a session.
#[derive(Clone, Debug)]
pub struct SessionPermissions {
    /// Mode for everything that is not asked about each time.
    pub mode: PermissionMode,
    /// Files that `approve-all` covers although they run later, as globs below the session's
    /// folder.
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
    /// Id of the session.
    pub session: SessionId,
    /// The task that opened the session; `None` if a person did.
    pub task: Option<TaskId>,
    /// The work that the task runs for, if it belongs to a job.
    pub work: Option<WorkOfJob>,
}

/// A work, identified by its job and its number within that job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkOfJob {
    /// Id of the run of the job.
    pub job: JobId,
    /// Number of the work within its job.
    pub work_id: u32,
}

/// The asking side of a question. It is passed along with the tool call to whoever answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asker {
    /// The session that the call was made in; `None` in runs of the bridge, which have no session.
    pub owner: Option<Owner>,
    /// Name of the tool, if a tool asks.
    pub tool: Option<Arc<str>>,
    /// Id of the tool call, as in the report of its start.
    pub call_id: Option<Arc<str>>,
    /// Whether the call was approved before the tool ran. Then nobody is asked again, except about
    /// what is asked each time. In mode `deny` the call is refused all the same.
    pub is_approved: bool,
}

impl Asker {
    /// A tool whose session and call are unknown.
    pub fn tool(name: &str) -> Self {
        Self { tool: Some(name.into()), ..Self::default() }
    }
}

/// A person's answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The decision. An agent's question that is answered is approved.
    pub decision: PermissionDecision,
    /// The text of the answer, or why it is refused.
    pub text: Option<String>,
    /// Name of who answered, for the record.
    pub by: Arc<str>,
}

impl Answer {
    /// An answer without a text.
    pub fn new(decision: PermissionDecision, by: &str) -> Self {
        Self { decision, text: None, by: by.into() }
    }
}

/// Answers the questions of tools.
#[async_trait]
pub trait PermissionHandler: Send + Sync + 'static {
    /// Returns when the answer is known. Dropping the future withdraws the question.
    async fn request(&self, asker: &Asker, request: PermissionRequest) -> Result<(), Denied>;

    /// Asks a person something, and returns the text of the answer. Dropping the future withdraws
    /// the question.
    async fn ask(&self, _: &Asker, _: PermissionRequest) -> Result<String, Denied> {
        Err(Denied { reason: "refused: there is nobody to ask".to_owned() })
    }
}

/// Approves everything without asking.
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

/// Refuses everything without asking.
#[derive(Clone, Copy, Debug)]
pub struct DenyAll;

#[async_trait]
impl PermissionHandler for DenyAll {
    async fn request(&self, _: &Asker, _: PermissionRequest) -> Result<(), Denied> {
        Err(Denied { reason: DENY_ALL.to_owned() })
    }
}
