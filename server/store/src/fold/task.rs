//! The fold of a run of a task.

mod event;
mod history;

use serde::{Deserialize, Serialize};
use wire::{
    Budget, Decision, EntityState, FailureCause, JobId, SessionId, Spent, TaskResponse, Usage,
};

use super::{Fold, INTERRUPTED, RunDetail};
use crate::journal::Record;
pub use event::{JobToolCall, NoAnswer, TaskEvent};
pub use history::{TaskHistory, TaskOrigin};

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
        /// How much it may use.
        #[serde(default, skip_serializing_if = "Budget::is_empty")]
        budget: Budget,
        /// What it needs to go on after a restart, unless its job has that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Box<TaskOrigin>>,
    },
    /// What its plan was told. Stored together with what that led to.
    Event(TaskEvent),
    /// What one of its turns has used.
    Used {
        /// As reported by the model's provider.
        usage: Usage,
    },
    /// What counts for its budget since the last such note.
    Spent(Spent),
    /// It was stopped. Comes just before the fact that it has failed.
    Stopped,
    /// The server stopped while it was running. Comes just before the facts that end it.
    Interrupted,
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
    /// The user's session that it runs in, if there is one.
    session: Option<SessionId>,
    usage: Usage,
    /// The sessions in which its prompt was tried.
    attempts: u32,
    budget: Budget,
    spent: Spent,
    succeeded: bool,
    is_stopped: bool,
    is_interrupted: bool,
    /// Why it failed, as far as it was decided.
    cause: Option<FailureCause>,
}

impl TaskFold {
    fn state(&self) -> EntityState {
        match self.ended_at {
            None => EntityState::Running,
            Some(_) if self.succeeded => EntityState::Succeeded,
            Some(_) if self.is_interrupted => EntityState::Interrupted,
            Some(_) if self.is_stopped => EntityState::Canceled,
            Some(_) => EntityState::Failed,
        }
    }

    /// Why it did not succeed, in one sentence.
    fn reason(&self) -> Option<String> {
        match self.state() {
            EntityState::Interrupted => Some(INTERRUPTED.to_owned()),
            EntityState::Canceled => Some(FailureCause::Stopped.reason()),
            EntityState::Failed => self.cause.as_ref().map(FailureCause::reason),
            _ => None,
        }
    }
}

impl TaskFold {
    /// Its name in the entry.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The model of its task session.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The folder that its agents work in.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Whether it has ended.
    pub fn is_ended(&self) -> bool {
        self.ended_at.is_some()
    }

    /// What its turns have used so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// In how many sessions its prompt was tried so far.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How much it may use.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// What it has used of its budget.
    pub fn spent(&self) -> Spent {
        self.spent
    }
}

impl Fold<TaskResponse> for TaskFold {
    type Note = TaskNote;

    fn apply(&mut self, at: u64, fact: &TaskResponse) -> bool {
        let succeeded = match fact {
            TaskResponse::TaskSucceeded => true,
            TaskResponse::TaskFailed => false,
            TaskResponse::TaskDecision { decision: Decision::Failed(cause), .. } => {
                self.cause = Some(cause.clone());
                return self.ended_at.is_some();
            }
            TaskResponse::TaskSessionStarted { is_driving: false, .. } => {
                self.attempts = self.attempts.saturating_add(1);
                return false;
            }
            _ => return false,
        };
        self.succeeded = succeeded;
        self.ended_at = Some(at);
        true
    }

    fn note(&mut self, at: u64, note: &TaskNote) {
        match note {
            TaskNote::Started { name, folder, model, job, budget, origin } => {
                self.started_at = at;
                self.name.clone_from(name);
                self.folder.clone_from(folder);
                self.model.clone_from(model);
                self.job = *job;
                self.session = origin.as_ref().map(|origin| origin.session);
                self.budget = *budget;
            }
            TaskNote::Event(_) => {}
            TaskNote::Used { usage } => self.usage += *usage,
            TaskNote::Spent(more) => self.spent += *more,
            TaskNote::Stopped => self.is_stopped = true,
            TaskNote::Interrupted => self.is_interrupted = true,
        }
    }

    fn record(&self) -> Record {
        Record {
            parent: self.job.map(Into::into),
            title: self.name.clone(),
            folder: self.folder.clone(),
            model: Some(self.model.clone()),
            state: self.state(),
            started_at: self.started_at,
            ended_at: self.ended_at,
            usage: self.usage,
            detail: RunDetail {
                reason: self.reason(),
                session: self.session,
                ..RunDetail::default()
            }
            .write(),
        }
    }
}
