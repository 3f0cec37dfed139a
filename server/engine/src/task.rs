//! Tasks: a prompt, the condition to start it, the criteria for its success, and what to do if it
//! fails.
//!
//! [`TaskManager`] is what the HTTP layer and the job engine call. Each run of a task has one
//! future, which runs the control flow on its sessions:
//!
//! ```text
//!   start ──▶ Flow (pure control flow) ──▶ Port ──▶ SessionManager
//!                     │                     │ one session of the task's own at a time,
//!                     │ decisions           │ or a borrowed one
//!                     ▼                     │
//!   poll ─────────▶ LiveLog ◀───────────────┘ taskSessionStarted / Stopped
//!   stop ── token ──────────────────────────▲
//! ```
//!
//! - *Borrowing*: a user's session does everything and stays open. A crash fails the task.
//! - *Managed*: the task opens its own sessions and leaves none behind. A crashed session is
//!   replaced while the budget lasts.

mod flow;
mod judgement;
mod manager;
mod run;

#[cfg(test)]
mod tests;

use wire::ErrorName;

use crate::budget::BudgetNotSupported;

pub use flow::TaskEnd;
pub use manager::{ManagedTask, RunningTask, TaskManager, TaskSettings};

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
