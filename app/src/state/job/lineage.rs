//! The runs before and after a run of a job.

use wire::JobId;

/// Which runs retry which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lineage {
    pub(crate) retried_from: Option<JobId>,
    /// The oldest first.
    pub(crate) retries: Vec<JobId>,
}
