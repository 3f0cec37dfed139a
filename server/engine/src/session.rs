//! Sessions: conversations with agents, one prompt after the other.
//!
//! [`SessionManager`] starts and finds sessions for the HTTP layer and the task engine, which then
//! call the [`Session`]. [`SessionPolicy`] holds what sessions may do. Each session has one future,
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
//! - A prompt that *steers* is handed to the running turn, if the agent takes it before that is over;
//!   otherwise it is the next one in the queue.
//! - *Abort* ends the running turn (or the one about to begin) and nothing else: prompts that were
//!   queued behind it stay queued and have their turns.
//! - *Stop* ends the session: the running turn is aborted, queued prompts are dropped, the agent
//!   is freed, the log is closed.
//! - A session that was idle for long is *parked*: its agent is freed, and resumed with the next
//!   prompt.
//! - A turn in which the model failed is continued by a *fallback* model, if the session has any: in
//!   the same turn, by a new agent that knows the conversation. The session stays with that model.
//! - A *crash* of the agent, if no other model continues, ends the session in the same way as a
//!   stop, with a `sessionError` at the end of the log.

mod agent;
mod allowance;
mod answers;
mod asking;
mod attachments;
mod completion;
mod context;
mod continuation;
mod conversation;
mod fallback;
mod fallback_list;
mod folder;
mod generation;
mod handle;
mod head;
mod host;
mod interrupted;
mod kept;
mod manager;
mod opening;
mod outlet;
mod parking;
mod project;
mod queue;
mod retention;
mod revival;
mod rights;
mod starter;
mod steering;
mod stream;
mod switching;
mod toolkit;
mod turns;
mod waiting;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use agents::permission::{SessionPermissions, WorkOfJob};
use serde_json::Value;
use store::fold::ProjectLink;
use store::journal::StoreError;
use wire::{ErrorName, PermissionMode, Reached, SessionId, TaskId, TurnEnding, Usage};

use crate::budget::BudgetNotSupported;

pub use allowance::SetBudgetError;
pub use attachments::AttachError;
pub use completion::complete_folder;
pub use fallback_list::FallbackError;
pub use folder::check_folder;
pub use handle::Session;
pub(crate) use host::{Hosting, ProjectHost};
pub use manager::{SessionManager, SessionSettings};
pub use queue::PendingTurn;
pub use rights::{SessionPolicy, SessionRights};
pub(crate) use turns::PastTurn;

/// How a session is started, apart from its model and folder.
#[derive(Clone, Debug)]
pub(crate) struct StartOptions {
    /// How its tools' permission requests are answered.
    pub(crate) permissions: SessionPermissions,
    /// The task that opens it; `None` if a user does.
    pub(crate) task: Option<TaskId>,
    /// The work that the task runs for, if it is part of a job.
    pub(crate) work: Option<WorkOfJob>,
    /// When an unanswered permission request is denied; `None` for the default.
    pub(crate) permission_time_out: Option<Duration>,
    /// The place in the chain of its project; `None` for sessions that are not of the bridge.
    pub(crate) project: Option<Box<ProjectLink>>,
}

impl StartOptions {
    /// For a session that a user opens.
    pub(crate) fn new(permissions: SessionPermissions) -> Self {
        Self { permissions, task: None, work: None, permission_time_out: None, project: None }
    }
}

/// Why a session was not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// No provider offers this model at the moment.
    #[error("unknown model: `{0}`")]
    ModelIdNotFound(String),
    /// A relative path: clients can't know what it would be relative to.
    #[error("not an absolute path: `{0}`")]
    WorkingDirectoryNotAbsolutePath(String),
    /// The path doesn't exist or isn't a folder.
    #[error("no such folder: `{0}`")]
    WorkingDirectoryNotExists(String),
    /// The limit of open sessions is reached.
    #[error("too many sessions are open")]
    TooManySessions,
    /// The provider could not start the agent; holds its error.
    #[error("the agent did not start: {0}")]
    ModelNotAvailable(String),
    /// The default budget of sessions can't be kept with this model.
    #[error(transparent)]
    BudgetNotSupported(#[from] BudgetNotSupported),
    /// The new session could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StartError {
    /// The error's name on the wire.
    pub fn name(&self) -> ErrorName {
        match self {
            Self::ModelIdNotFound(_) => ErrorName::ModelIdNotFound,
            Self::WorkingDirectoryNotAbsolutePath(_) => ErrorName::WorkingDirectoryNotAbsolutePath,
            Self::WorkingDirectoryNotExists(_) => ErrorName::WorkingDirectoryNotExists,
            Self::TooManySessions => ErrorName::TooManySessions,
            Self::ModelNotAvailable(_) => ErrorName::ModelNotAvailable,
            Self::BudgetNotSupported(_) => ErrorName::BudgetNotSupported,
            Self::Store(_) => ErrorName::StoreUnavailable,
        }
    }
}

/// Why a request to a session was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// It never existed, was stopped or has crashed.
    #[error("no such session")]
    SessionNotFound,
    /// Its queue of prompts is full.
    #[error("too many prompts are waiting")]
    TooManyQueries,
    /// No prompt of this number waits: its turn has begun, or it was removed.
    #[error("no such prompt waits")]
    NotQueued,
    /// Its agent takes no prompts while it works.
    #[error("the agent takes no prompts while it works")]
    SteerNotSupported,
    /// No turn is running.
    #[error("no turn is running")]
    NotWorking,
    /// A turn is running or about to begin.
    #[error("the session is working")]
    SessionBusy,
    /// There is no such permission request, or it has been answered.
    #[error("not waiting for a decision")]
    PermissionNotPending,
    /// The session is stored, but its agent can't be started at the moment.
    #[error("the session's agent can't be started")]
    ModelNotAvailable,
    /// Only a session that has ended can be deleted or continued in a new one.
    #[error("the session is still open")]
    StillRunning,
    /// Its agent was freed, and can't be resumed as the limit of open sessions is reached.
    #[error("too many sessions are open")]
    TooManySessions,
    /// Its budget is used up: it takes no prompts until that is raised.
    #[error("the session's budget is used up")]
    BudgetExceeded,
    /// The store can't take the change, so the request is refused.
    #[error("nothing can be kept at the moment")]
    StoreUnavailable,
}

impl From<StoreError> for SessionError {
    fn from(_: StoreError) -> Self {
        Self::StoreUnavailable
    }
}

impl SessionError {
    /// The error's name on the wire.
    pub fn name(self) -> ErrorName {
        match self {
            Self::SessionNotFound => ErrorName::SessionNotFound,
            Self::TooManyQueries => ErrorName::TooManyQueries,
            Self::NotQueued => ErrorName::NotQueued,
            Self::SteerNotSupported => ErrorName::SteerNotSupported,
            Self::NotWorking => ErrorName::NotWorking,
            Self::SessionBusy => ErrorName::SessionBusy,
            Self::PermissionNotPending => ErrorName::PermissionNotPending,
            Self::ModelNotAvailable => ErrorName::ModelNotAvailable,
            Self::StillRunning => ErrorName::StillRunning,
            Self::TooManySessions => ErrorName::TooManySessions,
            Self::BudgetExceeded => ErrorName::BudgetExceeded,
            Self::StoreUnavailable => ErrorName::StoreUnavailable,
        }
    }
}

/// Why a closed session was not continued in a new one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContinueError {
    /// There is no such session, or it is still open.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The new session was not started.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl ContinueError {
    /// The error's name on the wire.
    pub fn name(&self) -> ErrorName {
        match self {
            Self::Session(error) => error.name(),
            Self::Start(error) => error.name(),
        }
    }
}

/// Why a session has kept its model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    /// It is not open, it is working, or the change can't be stored.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The agent of the other model was not started.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl SwitchError {
    /// The error's name on the wire.
    pub fn name(&self) -> ErrorName {
        match self {
            Self::Session(error) => error.name(),
            Self::Start(error) => error.name(),
        }
    }
}

/// How a turn ended, and which tools it called.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnOutcome {
    /// The tools that the model called in this turn and in no other, in order.
    pub tools: Vec<CalledTool>,
    /// What the turn used, as far as the provider reports it.
    pub usage: Usage,
    /// The agent's last message in this turn.
    pub last_message: Option<String>,
    /// Why the turn is over.
    pub ended: TurnEnd,
}

impl TurnOutcome {
    /// The outcome of a turn in which nothing happened.
    fn nothing(ended: TurnEnd) -> Self {
        Self { tools: Vec::new(), usage: Usage::default(), last_message: None, ended }
    }
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnEnd {
    /// The prompt was answered.
    Idle,
    /// It was cut short or never began, because it was aborted or the session stopped.
    Aborted,
    /// It failed; the session stays open.
    Failed(String),
    /// It was cut short by a budget, of the session or of the task that sent the prompt.
    OverBudget(Reached),
    /// The agent crashed, which ended the session; holds the error.
    Crashed(String),
}

impl TurnEnd {
    /// How it is reported.
    fn ending(&self) -> TurnEnding {
        match self {
            Self::Idle => TurnEnding::Completed,
            Self::Aborted => TurnEnding::Aborted,
            Self::Failed(_) | Self::OverBudget(_) | Self::Crashed(_) => TurnEnding::Failed,
        }
    }
}

/// One tool call of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct CalledTool {
    /// Name of the tool, as the model called it.
    pub name: String,
    /// The arguments that the model passed.
    pub arguments: Value,
    /// Whether it completed without an error.
    pub succeeded: bool,
}

impl CalledTool {
    /// The parameter `argument`, the only one that job tools have.
    pub fn argument(&self) -> Option<&str> {
        self.arguments.get("argument")?.as_str()
    }
}

/// An open session, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// Id of the session.
    pub id: SessionId,
    /// First line of its first prompt, unless it was renamed; can be empty.
    pub title: String,
    /// The model that answers its prompts.
    pub model: String,
    /// Where the agent works.
    pub working_directory: PathBuf,
    /// How its tools' permission requests are answered.
    pub permissions: PermissionMode,
    /// Whether a turn is running.
    pub busy: bool,
    /// How many prompts wait for their turn.
    pub queued: usize,
    /// Whether a running turn takes prompts.
    pub can_steer: bool,
    /// Whether prompts may have images.
    pub takes_images: bool,
}
