//! What a plan is made of, and which models its prompts are tried with.

use std::iter;

use wire::entry::{DRIVING, DrivingSessionRetry, Entry, Task};
use wire::{SessionId, SessionRole as Role};

/// How often a task prompt is tried in total if its sessions crash or its turns fail.
const TASK_TRIES: usize = 5;

/// Which session runs the prompt, and which one judges the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::task) enum Mode {
    /// A user's session does everything, and is not replaced if it crashes.
    Borrowing,
    /// One session of the task's model does everything.
    SingleModel,
    /// One session for each attempt at the prompt, and a driving one for each condition.
    SeveralModels,
}

impl Mode {
    /// The mode of a task that opens its own sessions.
    pub(in crate::task) fn managed(task: &Task) -> Self {
        match &task.criteria {
            Some(criteria) if !criteria.run_condition_in_same_session => Self::SeveralModels,
            _ => Self::SingleModel,
        }
    }
}

/// A task with all that its plan depends on.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::task) struct Definition {
    pub(in crate::task) task: Task,
    pub(in crate::task) mode: Mode,
    /// The user's session that does everything, if it is borrowed.
    pub(in crate::task) borrowed: Option<SessionId>,
    pub(in crate::task) task_model: String,
    driving_model: String,
    driving_retries: Vec<DrivingSessionRetry>,
}

impl Definition {
    /// The definition of a task of an entry, which runs with this model, in a user's session if one
    /// is borrowed. `None` if the entry has no such task.
    pub(in crate::task) fn new(
        entry: &Entry,
        name: &str,
        task_model: &str,
        borrowed: Option<SessionId>,
    ) -> Option<Self> {
        let task = entry.tasks.get(name)?.clone();
        Some(Self {
            mode: if borrowed.is_some() { Mode::Borrowing } else { Mode::managed(&task) },
            task,
            borrowed,
            task_model: task_model.to_owned(),
            driving_model: entry.models.get(DRIVING).cloned().unwrap_or_default(),
            driving_retries: entry.driving_session_retries.clone(),
        })
    }

    /// The model of the try after so many, if there is another one.
    pub(super) fn model(&self, role: Role, tries: u32) -> Option<&str> {
        let tries = usize::try_from(tries).ok()?;
        match (self.mode, role) {
            (Mode::Borrowing, _) => iter::once(&*self.task_model).nth(tries),
            (_, Role::Task) => (tries < TASK_TRIES).then_some(&self.task_model),
            (_, Role::Driving) => {
                let retries = round_robin(&self.driving_retries);
                iter::once(&*self.driving_model).chain(retries).nth(tries)
            }
        }
    }
}

/// One retry of each model in turn, until all have used up theirs.
pub(super) fn round_robin(retries: &[DrivingSessionRetry]) -> impl Iterator<Item = &str> {
    let longest = retries.iter().map(|model| model.retries).max().unwrap_or(0);
    (0..longest).flat_map(move |used| {
        let left = retries.iter().filter(move |model| model.retries > used);
        left.map(|model| model.model_id.as_str())
    })
}
