//! Takes jobs up again that were running when the server stopped.

use std::sync::Arc;

use store::fold::{Canceler, INTERRUPTED, JobHistory, WorkEnd, load};
use store::journal::{Entity, OpenEntities, StoreError};
use wire::{EntityKind, JobId, JobResponse, JobStatus};

use super::{JobManager, Launch};
use crate::job::plan::WorkStopped;
use crate::job::run::{Doom, Past, explain_crash};

impl JobManager {
    /// Takes up the jobs that were running when the server stopped, in the order of their starts.
    /// Called after the recovery, which ends those that can't go on.
    pub async fn take_up(self: &Arc<Self>) -> Result<(), StoreError> {
        let journal = &**self.live.shared().journal();
        let mut left = Vec::new();
        let mut open = OpenEntities::new(journal, EntityKind::Job);
        while let Some(page) = open.next().await? {
            for (entity, record) in page {
                if let Entity::Job(id) = entity {
                    left.push((record.started_at, id));
                }
            }
        }
        left.sort_unstable();
        for (_, id) in left {
            if let Some(stored) = load::<JobResponse, JobHistory>(journal, id.into()).await? {
                self.take_up_one(id, stored.fold).await;
            }
        }
        Ok(())
    }

    async fn take_up_one(self: &Arc<Self>, id: JobId, history: JobHistory) {
        let doom = doom_of(&history);
        let JobHistory { fold, entry, permissions, ended, running } = history;
        let (Some(entry), Some(log)) = (entry, self.live.load(id).await) else { return };
        let default = self.default_mode.get();
        let of_job = entry.jobs.get(fold.name()).and_then(|job| job.permissions);
        // A default that got stricter reaches it, one that got laxer does not.
        let mode = of_job.unwrap_or_else(|| permissions.unwrap_or(default).stricter(default));
        let launch = Launch {
            entry: Arc::from(entry),
            name: fold.name().to_owned(),
            folder: fold.folder().to_owned(),
            input: fold.input().to_owned(),
            mode,
            budget: fold.budget(),
            spent: fold.spent(),
            past: Past {
                results: ended
                    .iter()
                    .filter(|run| run.is_result())
                    .map(WorkStopped::from)
                    .collect(),
                interrupted: running
                    .values()
                    .filter_map(|run| Some((run.work_id, run.task_id?)))
                    .collect(),
                doom,
            },
        };
        match self.launch(id, log, launch, |_| {}) {
            Ok(_) => {
                tracing::info!(job = %id, name = fold.name(), "job taken up");
                if let Some(original) = fold.retried_from() {
                    self.link_again(original, id).await;
                }
            }
            // It stays as it is, and the next start tries again.
            Err(error) => tracing::error!(job = %id, %error, "a job was not taken up"),
        }
    }
}

/// What was going to end the job: a work that crashed or was cut off, or a stop.
fn doom_of(history: &JobHistory) -> Option<Doom> {
    let mut ends = history.ended.iter().filter(|run| !run.is_result());
    ends.find_map(|run| {
        let failed = |error: String, is_interrupted| Doom {
            status: JobStatus::Failed,
            error: Some(error),
            crashed: Some(run.work_id),
            is_interrupted,
        };
        match run.end.as_ref()? {
            WorkEnd::Failed { cause } => {
                let name = history.fold.name_of(run.work_id).unwrap_or_default();
                Some(failed(explain_crash(name, run.work_id, cause), false))
            }
            WorkEnd::Interrupted => Some(failed(INTERRUPTED.to_owned(), true)),
            WorkEnd::Canceled { by: Canceler::Job } => Some(Doom {
                status: JobStatus::Canceled,
                error: None,
                crashed: None,
                is_interrupted: false,
            }),
            WorkEnd::Canceled { .. } => None,
        }
    })
}
