//! The fold of a run of a job.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wire::{EntityState, JobResponse, JobStatus, TaskId, Usage, WorkStatus};

use super::Fold;
use crate::journal::Record;

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
    },
    /// What a work has used. Comes just before the fact that the work has stopped.
    Used {
        /// Id of the work within the job.
        work_id: u32,
        /// As reported by the providers of its models.
        usage: Usage,
    },
}

/// The state of a run of a job, from its facts and notes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFold {
    started_at: u64,
    ended_at: Option<u64>,
    name: String,
    folder: String,
    status: Option<JobStatus>,
    usage: Usage,
    works: BTreeMap<u32, WorkFold>,
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
}

impl JobFold {
    /// Its name in the entry.
    pub fn name(&self) -> &str {
        &self.name
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

    /// The works that have been started, by id, each with its latest run.
    pub fn works(&self) -> &BTreeMap<u32, WorkFold> {
        &self.works
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
                };
                self.works.insert(*work_id, work);
                return false;
            }
            JobResponse::WorkStopped { work_id, succeeded } => {
                if let Some(work) = self.works.get_mut(work_id) {
                    work.task_id = None;
                    work.status =
                        if *succeeded { WorkStatus::Succeeded } else { WorkStatus::Failed };
                    work.ended_at = Some(at);
                }
                return false;
            }
            JobResponse::JobSucceeded => self.end(at, JobStatus::Succeeded),
            JobResponse::JobFailed => self.end(at, JobStatus::Failed),
            JobResponse::JobCanceled => self.end(at, JobStatus::Canceled),
            JobResponse::Error { .. } => return false,
        }
        true
    }

    fn note(&mut self, at: u64, note: &JobNote) {
        match note {
            JobNote::Started { name, folder, .. } => {
                self.started_at = at;
                self.name.clone_from(name);
                self.folder.clone_from(folder);
            }
            JobNote::Used { work_id, usage } => {
                self.usage += *usage;
                if let Some(work) = self.works.get_mut(work_id) {
                    work.usage = *usage;
                }
            }
        }
    }

    fn record(&self) -> Record {
        Record {
            parent: None,
            title: self.name.clone(),
            folder: self.folder.clone(),
            model: None,
            state: match self.status() {
                JobStatus::Running => EntityState::Running,
                JobStatus::Succeeded => EntityState::Succeeded,
                JobStatus::Failed => EntityState::Failed,
                JobStatus::Canceled => EntityState::Canceled,
            },
            started_at: self.started_at,
            ended_at: self.ended_at,
            usage: self.usage,
            detail: String::new(),
        }
    }
}
