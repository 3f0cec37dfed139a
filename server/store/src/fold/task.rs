//! The fold of a run of a task.

use serde::{Deserialize, Serialize};
use wire::{EntityState, JobId, TaskResponse, Usage};

use super::Fold;
use crate::journal::Record;

/// The notes of a run of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TaskNote {
    /// The task was started. Always the first note.
    Started {
        /// Its name in the entry.
        name: String,
        /// Where its agents work.
        folder: String,
        /// The model of its task session.
        model: String,
        /// The job that it is part of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<JobId>,
    },
    /// What one of its turns has used.
    Used {
        /// As reported by the model's provider.
        usage: Usage,
    },
    /// It was stopped. Comes just before the fact that it has failed.
    Stopped,
}

/// The state of a run of a task, from its facts and notes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskFold {
    started_at: u64,
    ended_at: Option<u64>,
    name: String,
    folder: String,
    model: String,
    job: Option<JobId>,
    usage: Usage,
    succeeded: bool,
    is_stopped: bool,
}

impl Fold<TaskResponse> for TaskFold {
    type Note = TaskNote;

    fn apply(&mut self, at: u64, fact: &TaskResponse) -> bool {
        let succeeded = match fact {
            TaskResponse::TaskSucceeded => true,
            TaskResponse::TaskFailed => false,
            _ => return false,
        };
        self.succeeded = succeeded;
        self.ended_at = Some(at);
        true
    }

    fn note(&mut self, at: u64, note: &TaskNote) {
        match note {
            TaskNote::Started { name, folder, model, job } => {
                self.started_at = at;
                self.name.clone_from(name);
                self.folder.clone_from(folder);
                self.model.clone_from(model);
                self.job = *job;
            }
            TaskNote::Used { usage } => self.usage += *usage,
            TaskNote::Stopped => self.is_stopped = true,
        }
    }

    fn record(&self) -> Record {
        let state = match self.ended_at {
            None => EntityState::Running,
            Some(_) if self.succeeded => EntityState::Succeeded,
            Some(_) if self.is_stopped => EntityState::Canceled,
            Some(_) => EntityState::Failed,
        };
        Record {
            parent: self.job.map(Into::into),
            title: self.name.clone(),
            folder: self.folder.clone(),
            model: Some(self.model.clone()),
            state,
            started_at: self.started_at,
            ended_at: self.ended_at,
            usage: self.usage,
            detail: String::new(),
        }
    }
}
