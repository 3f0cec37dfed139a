//! Retries of jobs that have ended: new runs that take results over.
//!
//! ```text
//!   stored stream ─► JobHistory ─► carry_over ─► begin: Started and Retries, in one piece
//!                                                  │ durable?
//!                                                  ▼
//!   stream and record of the original ◄─── RetriedBy, durable ─► the id is returned
//! ```

use std::sync::Arc;

use store::fold::{Addition, CarriedRun, JobFold, JobHistory, JobNote, extend, refold};
use store::journal::{StoreError, wait_for};
use wire::entry::Entry;
use wire::{JobId, JobResponse, Spent};

use super::{JobManager, Launch};
use crate::job::JobError;
use crate::job::plan::WorkStopped;
use crate::job::retry::carry_over;
use crate::job::run::Past;
use crate::session::check_folder;

impl JobManager {
    /// Runs a job that has ended once more, with the entry, the folder and the input that it had,
    /// from a work on; without one, from what failed. Results that do not depend on it are taken over.
    ///
    /// Cancel safe, but dropping it may leave a job whose id nobody knows.
    pub async fn retry(self: &Arc<Self>, id: JobId, work: Option<u32>) -> Result<JobId, JobError> {
        self.live.check_store()?;
        // Its status may be a moment ahead of the store.
        self.live.durable(id).await?;
        let journal = self.live.shared().journal();
        let history = refold::<JobResponse, JobHistory>(&**journal, id.into()).await?;
        let history = history.ok_or(JobError::JobNotFound)?;
        if history.fold.ended_at().is_none() {
            return Err(JobError::StillRunning);
        }
        let (launch, carried) = self.prepare_retry(history, work)?;
        check_folder(&launch.folder).await?;
        let Launch { entry, name, budget, .. } = &launch;
        self.check_budgets(entry, &entry.jobs[name], budget).await?;

        let (retry, handle) = self.begin(launch, Some(JobNote::Retries { from: id, carried }))?;
        // Nobody may see only one half of the link, even if the caller does not wait.
        let manager = self.clone();
        let linked = self.lifecycle.spawn(async move {
            manager.acknowledge(retry, &handle).await?;
            // It is stopped, since its id is never returned.
            manager.link(id, retry).await.inspect_err(|_| handle.begin_stop())
        });
        let crashed = |_| Err(StoreError::Unavailable("it was not linked".to_owned()).into());
        linked.await.unwrap_or_else(crashed)?;
        tracing::info!(job = %id, %retry, "job is retried");
        Ok(retry)
    }

    /// What a retry begins with, and the results that it takes over.
    fn prepare_retry(
        &self,
        history: JobHistory,
        work: Option<u32>,
    ) -> Result<(Launch, Vec<CarriedRun>), JobError> {
        let name = history.fold.name().to_owned();
        // Earlier versions did not store it.
        let entry = history.entry.filter(|entry| entry.jobs.contains_key(&name));
        let entry = Arc::<Entry>::from(entry.ok_or(JobError::NothingToRetry)?);
        let job = &entry.jobs[&name];
        let carried = carry_over(&job.work, &history.ended, work)?;
        let default = self.default_mode.get();
        let results = carried.iter().copied().map(WorkStopped::from).collect();
        let launch = Launch {
            // As it was started; but if the settings are stricter by now, they count.
            mode: job.permissions.unwrap_or_else(|| {
                history.permissions.map_or(default, |before| before.stricter(default))
            }),
            budget: self.budget_of(job),
            spent: Spent::default(),
            folder: history.fold.folder().to_owned(),
            input: history.fold.input().to_owned(),
            past: Past { results, ..Past::default() },
            name,
            entry: entry.clone(),
        };
        Ok((launch, carried.into_iter().map(CarriedRun::from).collect()))
    }

    /// Links a job to its retry, unless it is. The server may have stopped in between.
    pub(super) async fn link_again(&self, original: JobId, retry: JobId) {
        let journal = self.live.shared().journal();
        let known = refold::<JobResponse, JobFold>(&**journal, original.into()).await;
        let is_linked = |fold: &JobFold| fold.retries().contains(&retry);
        if let Ok(Some(fold)) = known
            && !is_linked(&fold)
            && let Err(error) = self.link(original, retry).await
        {
            tracing::warn!(job = %original, %retry, %error, "a retry is not linked");
        }
    }

    /// Adds to a job that has ended that another run retries it, and returns when that is durable.
    /// Does nothing if the job was deleted meanwhile.
    async fn link(&self, original: JobId, retry: JobId) -> Result<(), JobError> {
        // One after the other: its stream is extended here if it has no log any more, and a log that
        // still has to store something would not know of it.
        let _turn = self.linking.lock().await;
        let record = self.find(original).ok();
        if let Some(record) = &record {
            // Its end can be durable just before it is copied to the record.
            record.handle.ended().await;
        }
        let shared = self.live.shared();
        let journal = &**shared.journal();
        let note = JobNote::RetriedBy { job: retry };
        let at = shared.next_time();
        if let Some(log) = self.live.load(original).await {
            log.note(&note);
            wait_for(journal, log.durable()).await?;
        } else {
            let notes = vec![(at, note.clone())];
            let addition = Addition { facts: Vec::new(), notes, closed_blocks: Vec::new() };
            let added = extend::<JobResponse, JobFold>(journal, original.into(), addition);
            wait_for(journal, async { added.await.map(|_| ()) }).await?;
        }
        if let Some(record) = record {
            record.note_after_end(at, &note);
        }
        Ok(())
    }
}
