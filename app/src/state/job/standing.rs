//! How the works of a job stand: as the last status says, and as live responses go beyond it.

use wire::{JobTask, WorkState, WorkStatus};

use crate::wording::work_word;

/// The state of a work, and why it is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) state: WorkState,
    pub(crate) reason: Option<String>,
}

impl Default for Standing {
    fn default() -> Self {
        WorkState::NotReached.into()
    }
}

impl From<WorkState> for Standing {
    fn from(state: WorkState) -> Self {
        Self { state, reason: None }
    }
}

impl From<&JobTask> for Standing {
    fn from(task: &JobTask) -> Self {
        Self { state: task.state, reason: task.reason.clone() }
    }
}

impl From<WorkStatus> for Standing {
    /// What a live response says. The next status knows better: whether it is a condition, and why
    /// it did not succeed.
    fn from(status: WorkStatus) -> Self {
        match status {
            WorkStatus::Running => WorkState::Running.into(),
            WorkStatus::Succeeded => WorkState::Succeeded.into(),
            WorkStatus::Failed => WorkState::Failed.into(),
        }
    }
}

impl Standing {
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, WorkState::Running | WorkState::Waiting)
    }
}

/// The states in the order in which they are counted.
const COUNTED: [WorkState; 11] = [
    WorkState::Succeeded,
    WorkState::Running,
    WorkState::Waiting,
    WorkState::Queued,
    WorkState::Failed,
    WorkState::Canceled,
    WorkState::Interrupted,
    WorkState::True,
    WorkState::False,
    WorkState::Skipped,
    WorkState::NotReached,
];

/// How many works have succeeded, and how many are in other states. Until the job has ended, what is
/// left follows from the rest.
pub(crate) fn describe_progress(states: &[WorkState], total: usize, has_ended: bool) -> String {
    let parts = COUNTED.iter().filter_map(|state| {
        let count = states.iter().filter(|other| *other == state).count();
        let word = work_word(*state);
        match state {
            WorkState::Succeeded if !has_ended => {
                Some(format!("{count} of {} {word}", total.max(states.len())))
            }
            WorkState::Skipped | WorkState::NotReached if !has_ended => None,
            _ => (count > 0).then(|| format!("{count} {word}")),
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use WorkState::{
        Canceled, Failed, False, NotReached, Queued, Running, Skipped, Succeeded, True, Waiting,
    };

    use super::*;

    #[test]
    fn what_succeeded_is_counted_and_the_rest_is_named() {
        for (states, total, has_ended, text) in [
            (&[Succeeded, Failed, NotReached][..], 3, true, "1 succeeded, 1 failed, 1 not reached"),
            (
                &[Succeeded, Succeeded, Running, NotReached, NotReached],
                5,
                false,
                "2 of 5 succeeded, 1 running",
            ),
            (
                &[Running, Waiting, Queued, True, Skipped],
                5,
                false,
                "0 of 5 succeeded, 1 running, 1 waiting for you, 1 queued, 1 true",
            ),
            (&[True, False, Skipped, Canceled], 4, true, "1 canceled, 1 true, 1 false, 1 skipped"),
            (&[Succeeded; 2], 2, true, "2 succeeded"),
            (&[], 4, false, "0 of 4 succeeded"),
        ] {
            assert_eq!(describe_progress(states, total, has_ended), text);
        }
    }
}
