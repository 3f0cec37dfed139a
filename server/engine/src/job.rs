//! Jobs: trees of tasks that run as a unit.
//!
//! [`JobManager`] is what the HTTP layer calls. Each run of a job has one future. What runs when is
//! decided by [`plan`], a pure state machine: it takes which work has stopped, and returns which
//! ones start. [`places`] limits how many run at once.
//!
//! ```text
//!   ┌─► Plan ─ works that start ─► PlaceQueue ─ the first in line ─► tasks ─┐
//!   │    └─► decided               (one a job)                              │
//!   │                                   ▲                                   │
//!   │                         Places (one a server)                         │
//!   └─────────────────────── a work has stopped ◄───────────────────────────┘
//!           └─► LiveLog (poll), and its fold (status, running list)
//! ```
//!
//! - A task that *fails* is a result for the plan. One that *crashes* fails the job at once.
//! - A *retry* is a run that begins with results of an earlier one; `retry` decides which.
//! - *Stop* ends the running tasks and starts no others; the job is canceled once none is running.

mod manager;
pub mod places;
pub mod plan;
mod record;
mod retry;
mod run;
mod skipped;
mod status;
mod verdicts;

#[cfg(test)]
mod tests;

use store::journal::StoreError;
use wire::ErrorName;

use crate::budget::BudgetNotSupported;
use crate::session::StartError;

pub use manager::{JobManager, JobSettings};

/// Why a job was not started or found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// No job of that name, or no run of that id.
    #[error("no such job")]
    JobNotFound,
    /// The folder is not one that agents can work in.
    #[error(transparent)]
    WorkingDirectory(#[from] StartError),
    /// The entry requires input for this job, and it was blank.
    #[error("the job needs input")]
    UserInputRequired,
    /// The limit of running jobs is reached.
    #[error("too many jobs are running")]
    TooManyJobs,
    /// Only a job that has ended can be deleted or retried.
    #[error("the job is still running")]
    StillRunning,
    /// Nothing of the job would run again.
    #[error("nothing to retry")]
    NothingToRetry,
    /// The job has no work with this id.
    #[error("no such work")]
    WorkNotFound,
    /// A budget can't be kept with a model that the job uses.
    #[error(transparent)]
    BudgetNotSupported(#[from] BudgetNotSupported),
    /// The job could not be stored or read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl JobError {
    /// The error's name on the wire.
    pub fn name(&self) -> ErrorName {
        match self {
            Self::JobNotFound => ErrorName::JobNotFound,
            Self::WorkingDirectory(error) => error.name(),
            Self::UserInputRequired => ErrorName::UserInputRequired,
            Self::TooManyJobs => ErrorName::TooManyJobs,
            Self::StillRunning => ErrorName::StillRunning,
            Self::NothingToRetry => ErrorName::NothingToRetry,
            Self::WorkNotFound => ErrorName::WorkNotFound,
            Self::BudgetNotSupported(_) => ErrorName::BudgetNotSupported,
            Self::Store(_) => ErrorName::StoreUnavailable,
        }
    }
}
