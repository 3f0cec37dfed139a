//! Sessions: conversations with agents, one prompt after the other.
//!
//! [`SessionManager`] starts and finds sessions for the HTTP layer and the task engine, which then
//! call the [`Session`]. [`SessionPolicy`] says what sessions may do. Each session has one future,
//! its *conversation*, which takes prompts from a queue and runs one turn at a time; what the agent
//! reports meanwhile goes through the session's *stream*, which puts it in order, to the live log.
//!
//! ```text
//!   query ─────────┐                        ┌──────────────── run_turn ──▶ AgentSession
//!   send_generated ┼─▶ Queue ─▶ Conversation┤                                  │ AgentEvents
//!   abort ─ token ─┘   (capped)     │       └─ begin/finish ─▶ Stream ◀─────────┘
//!   stop ── token ──────────────────┘                            │ push
//!                                                                ▼
//!   poll ─────────────────────────────────────────────────────▶ LiveLog
//! ```
//!
//! - A prompt that comes while a turn runs is queued and answered in order.
//! - *Abort* ends the running turn (or the one about to begin) and nothing else: prompts that were
//!   queued behind it stay queued and have their turns.
//! - *Stop* ends the session: the running turn is aborted, queued prompts are dropped, the agent
//!   is freed, the log is closed.
//! - A *crash* of the agent ends the session in the same way, with a `sessionError` at the end of
//!   the log.

mod agent;
mod conversation;
mod folder;
mod generation;
mod handle;
mod kept;
mod manager;
mod opening;
mod outlet;
mod queue;
mod revival;
mod rights;
mod stream;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use agents::permission::{SessionPermissions, WorkOfJob};
use serde_json::Value;
use store::journal::StoreError;
use wire::{ErrorName, PermissionMode, SessionId, TaskId, Usage};

pub use folder::check_folder;
pub use handle::Session;
pub use manager::{SessionManager, SessionSettings};
pub use queue::PendingTurn;
pub use rights::{SessionPolicy, SessionRights};

/// How a session is started besides its model and its folder.
#[derive(Clone, Debug)]
pub(crate) struct StartOptions {
    /// How its tools that ask are dealt with.
    pub(crate) permissions: SessionPermissions,
    /// The task that opens it; none if a person does.
    pub(crate) task: Option<TaskId>,
    /// The work that the task runs for, if it belongs to a job.
    pub(crate) work: Option<WorkOfJob>,
}

/// Why a session was not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// No provider has that model now.
    #[error("unknown model: `{0}`")]
    ModelIdNotFound(String),
    /// Relative to what?
    #[error("not an absolute path: `{0}`")]
    WorkingDirectoryNotAbsolutePath(String),
    /// Nothing there, or not a folder.
    #[error("no such folder: `{0}`")]
    WorkingDirectoryNotExists(String),
    /// As many sessions are open as may be.
    #[error("too many sessions are open")]
    TooManySessions,
    /// The provider failed.
    #[error("the agent did not start: {0}")]
    ModelNotAvailable(String),
    /// It could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StartError {
    /// The name on the wire.
    pub fn name(&self) -> ErrorName {
        match self {
            Self::ModelIdNotFound(_) => ErrorName::ModelIdNotFound,
            Self::WorkingDirectoryNotAbsolutePath(_) => ErrorName::WorkingDirectoryNotAbsolutePath,
            Self::WorkingDirectoryNotExists(_) => ErrorName::WorkingDirectoryNotExists,
            Self::TooManySessions => ErrorName::TooManySessions,
            Self::ModelNotAvailable(_) => ErrorName::ModelNotAvailable,
            Self::Store(_) => ErrorName::StoreUnavailable,
        }
    }
}

/// Why a running session was not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// Never there, stopped, or crashed.
    #[error("no such session")]
    SessionNotFound,
    /// As many prompts wait in it as may.
    #[error("too many prompts are waiting")]
    TooManyQueries,
    /// Nobody asks that, or it was answered before.
    #[error("not waiting for a decision")]
    PermissionNotPending,
    /// It is kept, but its agent can't be started now.
    #[error("the session's agent can't be started")]
    ModelNotAvailable,
    /// It must have ended for this.
    #[error("the session is still open")]
    StillRunning,
    /// What was asked could not be kept, so it is not done.
    #[error("nothing can be kept at the moment")]
    StoreUnavailable,
}

impl From<StoreError> for SessionError {
    fn from(_: StoreError) -> Self {
        Self::StoreUnavailable
    }
}

impl SessionError {
    /// The name on the wire.
    pub fn name(self) -> ErrorName {
        match self {
            Self::SessionNotFound => ErrorName::SessionNotFound,
            Self::TooManyQueries => ErrorName::TooManyQueries,
            Self::PermissionNotPending => ErrorName::PermissionNotPending,
            Self::ModelNotAvailable => ErrorName::ModelNotAvailable,
            Self::StillRunning => ErrorName::StillRunning,
            Self::StoreUnavailable => ErrorName::StoreUnavailable,
        }
    }
}

/// How a prompt's turn ended, and what was done in it.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnOutcome {
    /// The tools that the model called in this turn and in no other, in order.
    pub tools: Vec<CalledTool>,
    /// What it took, as far as the provider tells.
    pub usage: Usage,
    /// How it ended.
    pub ended: TurnEnd,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The prompt was dealt with.
    Idle,
    /// It was cut short, or never begun, because somebody said so or stopped the session.
    Aborted,
    /// It failed, and the session goes on.
    Failed(String),
    /// The session died.
    Crashed(String),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct CalledTool {
    /// The tool's name.
    pub name: String,
    /// What it was called with.
    pub arguments: Value,
    /// Whether it ran to its end without an error.
    pub succeeded: bool,
}

impl CalledTool {
    /// The parameter `argument`, which is all that the job tools have.
    pub fn argument(&self) -> Option<&str> {
        self.arguments.get("argument")?.as_str()
    }
}

/// An open session, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// Id of the session.
    pub id: SessionId,
    /// The model it was started with.
    pub model: String,
    /// Where the agent works.
    pub working_directory: PathBuf,
    /// How it deals with tools that ask.
    pub permissions: PermissionMode,
    /// Whether a turn is running.
    pub busy: bool,
    /// How many prompts wait for their turn.
    pub queued: usize,
}
