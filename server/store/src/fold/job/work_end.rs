//! Why a run of a work did not succeed.

use serde::{Deserialize, Serialize};
use wire::FailureCause;

use crate::fold::INTERRUPTED;

/// How a run of a work ended that did not succeed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum WorkEnd {
    /// Its task failed or crashed.
    Failed {
        /// Why the task failed.
        cause: FailureCause,
    },
    /// Its task was stopped.
    Canceled {
        /// Who or what stopped it.
        by: Canceler,
    },
    /// The server stopped while its task was running.
    Interrupted,
}

/// What stopped a task of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Canceler {
    /// A user stopped this task alone.
    User,
    /// The whole job was stopped.
    Job,
    /// Another work crashed, which fails the job at once.
    Crash {
        /// The work that crashed.
        work_id: u32,
    },
}

impl WorkEnd {
    /// Whether it is unknown what the result would have been, so that the job could not go on.
    pub fn is_crash(&self) -> bool {
        matches!(self, Self::Failed { cause } if cause.is_crash())
    }

    /// Whether the job went on with it as a failed work.
    pub fn is_result(&self) -> bool {
        match self {
            Self::Failed { cause } => !cause.is_crash(),
            Self::Canceled { by } => *by == Canceler::User,
            Self::Interrupted => false,
        }
    }

    /// The reason in one sentence. `name_of` has the names of works.
    pub fn reason<'a>(&self, name_of: impl Fn(u32) -> Option<&'a str>) -> String {
        match self {
            Self::Failed { cause } => cause.reason(),
            Self::Canceled { by: Canceler::User } => "canceled: a user stopped it".to_owned(),
            Self::Canceled { by: Canceler::Job } => "canceled: the job was stopped".to_owned(),
            Self::Canceled { by: Canceler::Crash { work_id } } => match name_of(*work_id) {
                Some(name) => format!("canceled: `{name}` crashed"),
                None => "canceled: another task crashed".to_owned(),
            },
            Self::Interrupted => INTERRUPTED.to_owned(),
        }
    }
}
