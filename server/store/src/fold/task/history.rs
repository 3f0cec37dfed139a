//! Everything that a task can go on from after a restart.

use serde::{Deserialize, Serialize};
use wire::entry::Entry;
use wire::{SessionId, TaskResponse};

use super::{TaskEvent, TaskFold, TaskNote};
use crate::fold::Fold;
use crate::journal::Record;

/// What a task without a job was started with, apart from what its record shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskOrigin {
    /// What the run needs of the entry, as that was installed.
    pub entry: Entry,
    /// The user's session that it runs in.
    pub session: SessionId,
    /// What the user typed.
    pub input: String,
}

/// What the plan of a task was told, beside what the task comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskHistory {
    /// What the task comes to.
    pub fold: TaskFold,
    /// What it was started with, if it has no job.
    pub origin: Option<Box<TaskOrigin>>,
    /// What the plan was told, in order.
    pub events: Vec<TaskEvent>,
}

impl Fold<TaskResponse> for TaskHistory {
    type Note = TaskNote;

    fn apply(&mut self, at: u64, fact: &TaskResponse) -> bool {
        self.fold.apply(at, fact)
    }

    fn note(&mut self, at: u64, note: &TaskNote) {
        match note {
            TaskNote::Started { origin, .. } => self.origin.clone_from(origin),
            TaskNote::Event(event) => self.events.push(event.clone()),
            _ => {}
        }
        self.fold.note(at, note);
    }

    fn record(&self) -> Record {
        self.fold.record()
    }
}
