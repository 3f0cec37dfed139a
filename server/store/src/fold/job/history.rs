//! Everything that a job can go on from: after a restart, or in a retry.

use std::collections::BTreeMap;

use wire::entry::Entry;
use wire::{JobResponse, PermissionMode, TaskId, Usage};

use super::{CarriedRun, JobFold, JobNote, WorkEnd};
use crate::fold::Fold;
use crate::journal::Record;

/// The runs of all works in their order, beside what the job comes to. Unlike [`JobFold`], it grows
/// with every iteration of a loop, so it is read only when it is needed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobHistory {
    /// What the job comes to.
    pub fold: JobFold,
    /// What the run needs of the entry, as that was installed; `None` in stores of earlier versions.
    pub entry: Option<Box<Entry>>,
    /// How permission requests were answered when it was started.
    pub permissions: Option<PermissionMode>,
    /// The runs of works that have ended, in the order of their ends. Those that were carried over
    /// come first.
    pub ended: Vec<WorkRun>,
    /// The runs of works that have not ended, by work.
    pub running: BTreeMap<u32, WorkRun>,
}

/// A run of a work.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkRun {
    /// Id of the work within the job.
    pub work_id: u32,
    /// The task that ran; `None` if the run was carried over.
    pub task_id: Option<TaskId>,
    /// Whether it succeeded; false while it is running.
    pub succeeded: bool,
    /// Why it did not succeed, once it has ended.
    pub end: Option<WorkEnd>,
    /// Microseconds since the Unix epoch.
    pub started_at: u64,
    /// Microseconds since the Unix epoch; 0 while it is running.
    pub ended_at: u64,
    /// What it has used.
    pub usage: Usage,
    /// How often its task was tried, once it has ended and if that is known.
    pub attempts: Option<u32>,
}

impl WorkRun {
    /// Whether the job went on with its result. A run that was cut off has none.
    pub fn is_result(&self) -> bool {
        self.succeeded || self.end.as_ref().is_none_or(WorkEnd::is_result)
    }
}

impl From<&CarriedRun> for WorkRun {
    fn from(run: &CarriedRun) -> Self {
        Self {
            work_id: run.work_id,
            task_id: None,
            succeeded: run.succeeded,
            end: run.end.clone(),
            started_at: run.started_at,
            ended_at: run.ended_at,
            usage: run.usage,
            attempts: run.attempts,
        }
    }
}

impl From<&WorkRun> for CarriedRun {
    fn from(run: &WorkRun) -> Self {
        Self {
            work_id: run.work_id,
            end: run.end.clone(),
            succeeded: run.succeeded,
            started_at: run.started_at,
            ended_at: run.ended_at,
            usage: run.usage,
            attempts: run.attempts,
        }
    }
}

impl Fold<JobResponse> for JobHistory {
    type Note = JobNote;

    fn apply(&mut self, at: u64, fact: &JobResponse) -> bool {
        match fact {
            JobResponse::WorkStarted { work_id, task_id } => {
                let run = WorkRun {
                    work_id: *work_id,
                    task_id: Some(*task_id),
                    succeeded: false,
                    end: None,
                    started_at: at,
                    ended_at: 0,
                    usage: Usage::default(),
                    attempts: None,
                };
                self.running.insert(*work_id, run);
            }
            JobResponse::WorkStopped { work_id, succeeded } => {
                if let Some(mut run) = self.running.remove(work_id) {
                    run.succeeded = *succeeded;
                    run.ended_at = at;
                    self.ended.push(run);
                }
            }
            _ => {}
        }
        self.fold.apply(at, fact)
    }

    fn note(&mut self, at: u64, note: &JobNote) {
        match note {
            JobNote::Started { entry, permissions, .. } => {
                self.entry.clone_from(entry);
                self.permissions = *permissions;
            }
            JobNote::Retries { carried, .. } => {
                self.ended = carried.iter().map(WorkRun::from).collect();
            }
            JobNote::Used { work_id, usage } => {
                if let Some(run) = self.running.get_mut(work_id) {
                    run.usage = *usage;
                }
            }
            JobNote::Attempted { work_id, attempts } => {
                if let Some(run) = self.running.get_mut(work_id) {
                    run.attempts = Some(*attempts);
                }
            }
            JobNote::Unsuccessful { work_id, end } => {
                if let Some(run) = self.running.get_mut(work_id) {
                    run.end = Some(end.clone());
                }
            }
            _ => {}
        }
        self.fold.note(at, note);
    }

    fn record(&self) -> Record {
        self.fold.record()
    }
}
