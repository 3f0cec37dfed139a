//! Which results a retry takes over from an earlier run of the same job. No waiting, no clock, no
//! I/O. `JobManager::retry` asks, and starts the new run with them.
//!
//! A run of a work is dropped, and so is every result that followed from it. Which ones did is not
//! stored: a [`Plan`] depends on nothing but results, and runs of one work never overlap. So when all
//! results are replayed in their order without the dropped ones, whatever followed from those belongs
//! to a work that is not running in that plan at that moment, and everything else is as it was.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use store::fold::WorkRun;
use wire::entry::Work;

use super::JobError;
use super::plan::{Plan, WorkStopped};

impl From<&WorkRun> for WorkStopped {
    fn from(run: &WorkRun) -> Self {
        Self { work_id: run.work_id, succeeded: run.succeeded }
    }
}

/// The results of an ended run of the job that count in the new run as well, in their order: all
/// those that do not depend on the last run of the chosen work, or, if none is chosen, on the last
/// runs of works that failed. What was cut off has no result, so it runs again anyway.
///
/// `ended` are the runs of all works in the order of their ends.
pub(super) fn carry_over<'a>(
    work: &Work,
    ended: &'a [WorkRun],
    chosen: Option<u32>,
) -> Result<Vec<&'a WorkRun>, JobError> {
    let dropped = match chosen {
        Some(id) if work.task_refs().iter().all(|task| task.work_id_in_job != id) => {
            return Err(JobError::WorkNotFound);
        }
        Some(id) => ended.iter().rposition(|run| run.work_id == id).into_iter().collect(),
        None => find_failed(work, ended),
    };
    // The entry was checked, so its works can be planned; if not, nothing of it has ever run.
    let mut plan = Plan::new(work).map_err(|_| JobError::NothingToRetry)?;
    let mut carried = Vec::new();
    for (index, run) in ended.iter().enumerate() {
        let counts = run.is_result() && !dropped.contains(&index);
        // Refused if it followed from what was dropped.
        if counts && plan.apply(run.into()).is_ok() {
            carried.push(run);
        }
    }
    let runs_again = match chosen {
        Some(id) => plan.running().any(|running| running == id),
        None => plan.running().len() > 0,
    };
    // A job that succeeded, or a work that this job never came to.
    if runs_again { Ok(carried) } else { Err(JobError::NothingToRetry) }
}

/// The last runs of works that failed, by their places in the list. The result of a condition is an
/// answer, not a failure.
fn find_failed(work: &Work, ended: &[WorkRun]) -> BTreeSet<usize> {
    let conditions = work.condition_ids();
    let last: BTreeMap<u32, usize> =
        ended.iter().enumerate().map(|(index, run)| (run.work_id, index)).collect();
    let failed = last.into_iter().filter(|(id, index)| {
        let run = &ended[*index];
        run.is_result() && !run.succeeded && !conditions.contains(id)
    });
    failed.map(|(_, index)| index).collect()
}
