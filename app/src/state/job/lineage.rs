//! What a run of a job was started with, and the runs before and after it.

use wire::JobId;

/// What it takes to run a job again, and which runs retry which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lineage {
    /// Empty in a run of an earlier version.
    pub(crate) folder: String,
    pub(crate) user_input: String,
    pub(crate) retried_from: Option<JobId>,
    /// The oldest first.
    pub(crate) retries: Vec<JobId>,
}
