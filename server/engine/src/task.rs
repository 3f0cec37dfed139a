//! Tasks: a prompt, the condition to start it, the criteria for its success, and what to do if it
//! fails.
//!
//! [`TaskManager`] is what the HTTP layer and the job engine call. Each run of a task has one
//! future, which carries out what its plan says:
//!
//! ```text
//!   start ──▶ Plan (pure state machine) ◀── events ──▶ Runner ──▶ SessionManager
//!              ▲                           effects      │ one session of the task's own at a
//!              │ replayed after a restart               │ time, or a borrowed one
//!   poll ───▶ LiveLog ◀─────────────────────────────────┘ events, decisions, verdicts
//!   stop ── token ──────────────────────────────────────▲
//! ```
//!
//! - *Borrowing*: a user's session does everything and stays open. A crash fails the task.
//! - *Managed*: the task opens its own sessions and leaves none behind. A crashed session is
//!   replaced while the budget lasts.

mod judgement;
mod manager;
mod plan;
mod question;
mod run;

#[cfg(test)]
mod tests;

use wire::{ErrorName, FailureCause};

use crate::budget::BudgetNotSupported;

pub use manager::{ManagedTask, RunningTask, TaskManager, TaskSettings};

/// How a run of a task ended.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskEnd {
    /// Its criteria are met, or it has none.
    Succeeded,
    /// It isn't available, its criteria were not met, or its budget is used up.
    Failed(FailureCause),
    /// Unknown whether it succeeded: its sessions crashed or their turns failed.
    Crashed(FailureCause),
    /// It was stopped before its end.
    Stopped,
    /// The server had stopped while it was running, and interrupted works fail.
    Interrupted,
    /// The server stops while it is running. It has not ended: it goes on after a restart.
    Suspended,
}

impl TaskEnd {
    /// Name for logs, without the error, which may be private.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed(_) => "failed",
            Self::Crashed(_) => "crashed",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
            Self::Suspended => "suspended",
        }
    }
}

/// Why a task was not started or stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// The session to borrow isn't open.
    #[error("no such session")]
    SessionNotFound,
    /// No task of that name, or no run of that id.
    #[error("no such task")]
    TaskNotFound,
    /// It runs in a user's session, and ends with its turns.
    #[error("a task in a borrowed session cannot be stopped")]
    TaskCannotClose,
    /// The budget of the session to borrow is used up.
    #[error("the session's budget is used up")]
    BudgetExceeded,
    /// The task's budget can't be kept with the session's model.
    #[error(transparent)]
    BudgetNotSupported(#[from] BudgetNotSupported),
}

impl TaskError {
    /// The error's name on the wire.
    pub fn name(&self) -> ErrorName {
        match self {
            Self::SessionNotFound => ErrorName::SessionNotFound,
            Self::TaskNotFound => ErrorName::TaskNotFound,
            Self::TaskCannotClose => ErrorName::TaskCannotClose,
            Self::BudgetExceeded => ErrorName::BudgetExceeded,
            Self::BudgetNotSupported(_) => ErrorName::BudgetNotSupported,
        }
    }
}
