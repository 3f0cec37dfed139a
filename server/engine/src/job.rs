//! Jobs: trees of tasks that run as one.
//!
//! [`JobManager`] is what the HTTP layer calls. Each run of a job has one future. What has to run
//! when is decided without any running: [`plan`] is told which work has stopped and says which
//! ones start. [`places`] keeps those waiting that are too many at once.
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
//! - A task that *fails* is a result like any other. One that *crashes* fails the job at once.
//! - *Stop* ends the running tasks and starts no other; the job is canceled once nothing of it
//!   runs.

mod manager;
pub mod places;
pub mod plan;
mod record;
mod run;

#[cfg(test)]
mod tests;

use store::journal::StoreError;
use wire::ErrorName;

use crate::session::StartError;

pub use manager::{JobManager, JobSettings};

/// Why a job was not started or found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// No job of that name, or no run of that id.
    #[error("no such job")]
    JobNotFound,
    /// Its agents could not work there.
    #[error(transparent)]
    WorkingDirectory(#[from] StartError),
    /// It makes no sense without any input.
    #[error("the job needs input")]
    UserInputRequired,
    /// As many jobs run as may.
    #[error("too many jobs are running")]
    TooManyJobs,
    /// It must have ended for this.
    #[error("the job is still running")]
    StillRunning,
    /// It could not be kept, or what was kept could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl JobError {
    /// The name on the wire.
    pub fn name(&self) -> ErrorName {
        match self {
            Self::JobNotFound => ErrorName::JobNotFound,
            Self::WorkingDirectory(error) => error.name(),
            Self::UserInputRequired => ErrorName::UserInputRequired,
            Self::TooManyJobs => ErrorName::TooManyJobs,
            Self::StillRunning => ErrorName::StillRunning,
            Self::Store(_) => ErrorName::StoreUnavailable,
        }
    }
}
