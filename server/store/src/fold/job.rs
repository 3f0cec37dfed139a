//! The fold of a run of a job.

mod history;
mod work_end;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wire::entry::{Entry, Work};
use wire::{
    Budget, EntityState, JobId, JobResponse, JobStatus, PermissionMode, Recovery, Spent, TaskId,
    Usage, WorkStatus, shorten,
};

use super::{Fold, INTERRUPTED, RunDetail};
use crate::journal::Record;
pub use history::{JobHistory, WorkRun};
pub use work_end::{Canceler, WorkEnd};

/// The notes of a run of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum JobNote {
    /// The job was started. Always the first note.
    Started {
        /// Its name in the entry.
        name: String,
        /// Where its agents work.
        folder: String,
        /// What the user typed.
        input: String,
        /// Its tree of works, in stores of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        work: Option<Work>,
        /// What it needs of the entry, as that was installed; `None` in stores of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entry: Option<Box<Entry>>,
        /// How permission requests were answered when it was started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permissions: Option<PermissionMode>,
        /// How much all its tasks may use together.
        #[serde(default, skip_serializing_if = "Budget::is_empty")]
        budget: Budget,
    },
    /// What a work has used. Comes just before the fact that the work has stopped.
    Used {
        /// Id of the work within the job.
        work_id: u32,
        /// As reported by the providers of its models.
        usage: Usage,
    },
    /// How often the task of a work was tried. Comes just before the fact that the work has stopped.
    Attempted {
        /// Id of the work within the job.
        work_id: u32,
        /// The number of its task sessions.
        attempts: u32,
    },
    /// Why a work did not succeed. Comes just before the fact that the work has stopped.
    Unsuccessful {
        /// Id of the work within the job.
        work_id: u32,
        /// How its run ended.
        end: WorkEnd,
    },
    /// The server stopped while the job was running. Comes just before the facts that end it.
    Interrupted,
    /// What counts for its budget since the last such note.
    Spent(Spent),
    /// It retries another run. Comes just after the first note.
    Retries {
        /// The run that it retries.
        from: JobId,
        /// The results that it takes over, in the order in which they came.
        carried: Vec<CarriedRun>,
    },
    /// Another run retries this one.
    RetriedBy {
        /// The run that retries it.
        job: JobId,
    },
    /// It was decided how a running work goes on after the server had stopped.
    Recovered {
        /// Id of the work within the job.
        work_id: u32,
        /// What was decided.
        recovery: Recovery,
    },
}

/// A run of a work whose result a retry takes over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CarriedRun {
    /// Id of the work within the job.
    pub work_id: u32,
    /// Why it did not succeed; `None` if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<WorkEnd>,
    /// Whether it succeeded.
    pub succeeded: bool,
    /// Microseconds since the Unix epoch.
    pub started_at: u64,
    /// Microseconds since the Unix epoch.
    pub ended_at: u64,
    /// What it has used, in the run that it was a part of.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// How often its task was tried in that run, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
}

/// The state of a run of a job, from its facts and notes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFold {
    started_at: u64,
    ended_at: Option<u64>,
    name: String,
    folder: String,
    status: Option<JobStatus>,
    is_interrupted: bool,
    /// The first error that the job reported.
    error: Option<String>,
    usage: Usage,
    work: Option<Work>,
    planned: BTreeMap<u32, PlannedWork>,
    budget: Budget,
    spent: Spent,
    works: BTreeMap<u32, WorkFold>,
    input: String,
    retried_from: Option<JobId>,
    retries: Vec<JobId>,
}

/// A work of the job's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedWork {
    /// Name of its task.
    pub name: String,
    /// Whether it is part of a condition.
    pub is_condition: bool,
}

/// The latest run of a work.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkFold {
    /// The task to follow it by, while it is running.
    pub task_id: Option<TaskId>,
    /// Running, or how it ended.
    pub status: WorkStatus,
    /// Microseconds since the Unix epoch.
    pub started_at: u64,
    /// Microseconds since the Unix epoch, once it has ended.
    pub ended_at: Option<u64>,
    /// What it has used, known once it has ended.
    pub usage: Usage,
    /// How often its task was tried, known once it has ended; `None` in stores of earlier versions.
    pub attempts: Option<u32>,
    /// Why it did not succeed; `None` in stores of earlier versions.
    pub end: Option<WorkEnd>,
    /// Whether the run belongs to the job that this one retries.
    pub carried: bool,
    /// What was decided when the server had stopped during the run.
    pub recovery: Option<Recovery>,
}

impl JobFold {
    /// Its name in the entry.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder that its agents work in.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// What the user typed.
    pub fn input(&self) -> &str {
        &self.input
    }

    /// The run that this one retries.
    pub fn retried_from(&self) -> Option<JobId> {
        self.retried_from
    }

    /// The runs that retry this one, the oldest first.
    pub fn retries(&self) -> &[JobId] {
        &self.retries
    }

    /// Microseconds since the Unix epoch.
    pub fn started_at(&self) -> u64 {
        self.started_at
    }

    /// Microseconds since the Unix epoch, once it has ended.
    pub fn ended_at(&self) -> Option<u64> {
        self.ended_at
    }

    /// Running, or how it ended.
    pub fn status(&self) -> JobStatus {
        self.status.unwrap_or(JobStatus::Running)
    }

    /// What all of its works have used.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Its tree of works; `None` in stores of earlier versions.
    pub fn work(&self) -> Option<&Work> {
        self.work.as_ref()
    }

    /// All works of the tree, by id; empty in stores of earlier versions.
    pub fn planned(&self) -> &BTreeMap<u32, PlannedWork> {
        &self.planned
    }

    /// The finer state, without what only a running server knows.
    pub fn state(&self) -> EntityState {
        match self.status() {
            JobStatus::Running => EntityState::Running,
            JobStatus::Succeeded => EntityState::Succeeded,
            JobStatus::Failed | JobStatus::Canceled if self.is_interrupted => {
                EntityState::Interrupted
            }
            JobStatus::Failed => EntityState::Failed,
            JobStatus::Canceled => EntityState::Canceled,
        }
    }

    /// Why it did not succeed, in one sentence.
    pub fn reason(&self) -> Option<String> {
        match self.state() {
            EntityState::Interrupted => Some(INTERRUPTED.to_owned()),
            EntityState::Canceled => Some("stopped by a user".to_owned()),
            EntityState::Failed => {
                self.decisive_failure().or_else(|| self.error.as_deref().map(shorten))
            }
            _ => None,
        }
    }

    /// The failure that decided the job: the first crash, else the first work that failed and is no
    /// condition. Nothing in the tree makes up for either.
    pub fn decisive_work(&self) -> Option<u32> {
        let first = |decides: fn(&WorkEnd, bool) -> bool| {
            let ended = self.works.iter().filter_map(|(id, work)| {
                let is_condition = self.planned.get(id).is_some_and(|work| work.is_condition);
                let is_decisive = decides(work.end.as_ref()?, is_condition);
                is_decisive.then_some((work.ended_at?, *id))
            });
            ended.min().map(|(_, id)| id)
        };
        let by_crash = first(|end, _| end.is_crash());
        by_crash.or_else(|| first(|end, is_condition| end.is_result() && !is_condition))
    }

    fn decisive_failure(&self) -> Option<String> {
        let id = self.decisive_work()?;
        let (name, end) = (self.name_of(id)?, self.works.get(&id)?.end.as_ref()?);
        let reason = end.reason(|id| self.name_of(id));
        Some(match end {
            WorkEnd::Failed { .. } => format!("`{name}` failed: {reason}"),
            WorkEnd::Canceled { .. } | WorkEnd::Interrupted => format!("`{name}` {reason}"),
        })
    }

    /// Name of a work's task, if it is known.
    pub fn name_of(&self, work_id: u32) -> Option<&str> {
        self.planned.get(&work_id).map(|work| &*work.name)
    }

    /// How much all its tasks may use together.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// What its tasks have used of the budget.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// The works that have been started, by id, each with its latest run.
    pub fn works(&self) -> &BTreeMap<u32, WorkFold> {
        &self.works
    }

    /// How many works have succeeded in their latest run, and how many there are; `None` in stores of
    /// earlier versions.
    fn progress(&self) -> Option<(u32, u32)> {
        let total = u32::try_from(self.planned.len()).ok().filter(|total| *total > 0)?;
        let is_done = |work: &&WorkFold| work.status == WorkStatus::Succeeded;
        let done = self.works.values().filter(is_done).count();
        Some((u32::try_from(done).unwrap_or(u32::MAX), total))
    }

    fn end(&mut self, at: u64, status: JobStatus) {
        self.status = Some(status);
        self.ended_at = Some(at);
    }
}

impl Fold<JobResponse> for JobFold {
    type Note = JobNote;

    fn apply(&mut self, at: u64, fact: &JobResponse) -> bool {
        match fact {
            JobResponse::WorkStarted { work_id, task_id } => {
                let work = WorkFold {
                    task_id: Some(*task_id),
                    status: WorkStatus::Running,
                    started_at: at,
                    ended_at: None,
                    usage: Usage::default(),
                    attempts: None,
                    end: None,
                    carried: false,
                    recovery: None,
                };
                let before = self.works.insert(*work_id, work);
                // It no longer counts as done.
                return before.is_some() || self.status.is_some();
            }
            JobResponse::WorkStopped { work_id, succeeded } => {
                if let Some(work) = self.works.get_mut(work_id) {
                    work.task_id = None;
                    work.status =
                        if *succeeded { WorkStatus::Succeeded } else { WorkStatus::Failed };
                    work.ended_at = Some(at);
                }
            }
            JobResponse::JobSucceeded => self.end(at, JobStatus::Succeeded),
            JobResponse::JobFailed => self.end(at, JobStatus::Failed),
            JobResponse::JobCanceled => self.end(at, JobStatus::Canceled),
            JobResponse::Error { message } => {
                self.error.get_or_insert_with(|| message.clone());
                return self.status.is_some();
            }
        }
        true
    }

    fn note(&mut self, at: u64, note: &JobNote) {
        match note {
            JobNote::Started { name, folder, input, work, entry, budget, .. } => {
                self.started_at = at;
                self.name.clone_from(name);
                self.folder.clone_from(folder);
                self.input.clone_from(input);
                let of_entry = entry.as_ref().and_then(|entry| entry.jobs.get(name));
                let work = of_entry.map(|job| &job.work).or(work.as_ref());
                self.planned = work.map(plan_of).unwrap_or_default();
                self.work = work.cloned();
                self.budget = *budget;
            }
            JobNote::Retries { from, carried } => {
                self.retried_from = Some(*from);
                for run in carried {
                    self.works.insert(run.work_id, run.into());
                }
            }
            JobNote::RetriedBy { job } => self.retries.push(*job),
            JobNote::Recovered { work_id, recovery } => {
                if let Some(work) = self.works.get_mut(work_id) {
                    work.recovery = Some(*recovery);
                }
            }
            JobNote::Spent(more) => self.spent += *more,
            JobNote::Used { work_id, usage } => {
                self.usage += *usage;
                if let Some(work) = self.works.get_mut(work_id) {
                    work.usage = *usage;
                }
            }
            JobNote::Attempted { work_id, attempts } => {
                if let Some(work) = self.works.get_mut(work_id) {
                    work.attempts = Some(*attempts);
                }
            }
            JobNote::Unsuccessful { work_id, end } => {
                if let Some(work) = self.works.get_mut(work_id) {
                    work.end = Some(end.clone());
                }
            }
            JobNote::Interrupted => self.is_interrupted = true,
        }
    }

    fn record(&self) -> Record {
        let (done, total) = self.progress().unzip();
        Record {
            parent: None,
            title: self.name.clone(),
            folder: self.folder.clone(),
            model: None,
            state: self.state(),
            started_at: self.started_at,
            ended_at: self.ended_at,
            usage: self.usage,
            detail: RunDetail { reason: self.reason(), done, total, session: None }.write(),
        }
    }
}

impl From<&CarriedRun> for WorkFold {
    fn from(run: &CarriedRun) -> Self {
        Self {
            task_id: None,
            status: if run.succeeded { WorkStatus::Succeeded } else { WorkStatus::Failed },
            started_at: run.started_at,
            ended_at: Some(run.ended_at),
            usage: run.usage,
            attempts: run.attempts,
            end: run.end.clone(),
            carried: true,
            recovery: None,
        }
    }
}

fn plan_of(work: &Work) -> BTreeMap<u32, PlannedWork> {
    let conditions = work.condition_ids();
    let works = work.task_refs().into_iter().map(|task| {
        let is_condition = conditions.contains(&task.work_id_in_job);
        (task.work_id_in_job, PlannedWork { name: task.task_id.to_owned(), is_condition })
    });
    works.collect()
}
