//! How the works of a job stand: as the last status says, and as live responses go beyond it.

use wire::{JobTask, Recovery, WorkState, WorkStatus};

use crate::wording::work_word;

/// The state of a work, and why it is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) state: WorkState,
    pub(crate) reason: Option<String>,
    pub(crate) past: Option<Past>,
}

/// What sets a run of a work apart from one that simply began and ended in this job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// It belongs to the job that this one retries; only its result was carried over.
    CarriedOver,
    /// The server had stopped during it.
    Interrupted(Recovery),
}

impl Past {
    fn of(task: &JobTask) -> Option<Self> {
        let carried = task.carried.then_some(Self::CarriedOver);
        carried.or_else(|| task.recovery.map(Self::Interrupted))
    }
}

impl Default for Standing {
    fn default() -> Self {
        WorkState::NotReached.into()
    }
}

impl From<WorkState> for Standing {
    fn from(state: WorkState) -> Self {
        Self { state, reason: None, past: None }
    }
}

impl From<&JobTask> for Standing {
    fn from(task: &JobTask) -> Self {
        // Who waits for a person is known from the questions themselves, as they come and go.
        let state = match task.state {
            WorkState::Waiting => WorkState::Running,
            state => state,
        };
        Self { state, reason: task.reason.clone(), past: Past::of(task) }
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

    /// Whether a person must say how it goes on after a restart of the server.
    pub(crate) fn is_asked_about(&self) -> bool {
        self.is_running() && self.recovery() == Some(Recovery::Asked)
    }

    /// Whether its task has run in this job or in the one that this job retries.
    pub(crate) fn has_run(&self) -> bool {
        use WorkState::{NotReached, Queued, Skipped};
        !matches!(self.state, NotReached | Queued | Skipped)
    }

    /// A live response says how it stands now. A run that begins has no past.
    pub(super) fn change(&mut self, status: WorkStatus) {
        let past = self.past.filter(|_| status != WorkStatus::Running);
        *self = Self { past, ..status.into() };
    }

    /// What was decided when the server had stopped during the run.
    pub(crate) fn recovery(&self) -> Option<Recovery> {
        match self.past {
            Some(Past::Interrupted(recovery)) => Some(recovery),
            Some(Past::CarriedOver) | None => None,
        }
    }

    /// Why it is in its state, and what was decided when the server had stopped.
    pub(crate) fn explain(&self) -> Option<String> {
        let decided = self.recovery().map(|it| format!("after a restart: {}", it.sentence()));
        match (self.reason.clone(), decided) {
            (Some(reason), Some(decided)) => Some(format!("{reason}; {decided}")),
            (reason, decided) => reason.or(decided),
        }
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
        let word = match state {
            WorkState::Waiting if count == 1 => "waits for you",
            WorkState::Waiting => "wait for you",
            state => work_word(*state),
        };
        match state {
            WorkState::Succeeded if !has_ended => {
                Some(format!("{count} of {} {word}", total.max(states.len())))
            }
            WorkState::Skipped | WorkState::NotReached if !has_ended => None,
            _ => (count > 0).then(|| format!("{count} {word}")),
        }
    });
    parts.collect::<Vec<_>>().join(if has_ended { ", " } else { " · " })
}

#[cfg(test)]
mod tests {
    use WorkState::{
        Canceled, Failed, False, NotReached, Queued, Running, Skipped, Succeeded, True, Waiting,
    };

    use super::*;

    fn standing(state: WorkState, reason: Option<&str>, past: Option<Past>) -> Standing {
        Standing { state, reason: reason.map(str::to_owned), past }
    }

    #[test]
    fn a_reason_says_what_was_decided_after_a_restart() {
        let resumed = Some(Past::Interrupted(Recovery::Resumed));
        let sent_again = Some(Past::Interrupted(Recovery::SentAgain));
        for (reason, past, text) in [
            (None, None, None),
            (Some("no test"), None, Some("no test")),
            (None, Some(Past::CarriedOver), None),
            (None, resumed, Some("after a restart: the interrupted turn is resumed")),
            (
                Some("no test"),
                sent_again,
                Some("no test; after a restart: the interrupted prompt is sent again"),
            ),
        ] {
            assert_eq!(standing(Failed, reason, past).explain().as_deref(), text);
        }
    }

    #[test]
    fn only_a_work_that_still_runs_is_asked_about() {
        let asked = Some(Past::Interrupted(Recovery::Asked));
        assert!(standing(Running, None, asked).is_asked_about());
        assert!(!standing(Canceled, None, asked).is_asked_about());
        let resumed = Some(Past::Interrupted(Recovery::Resumed));
        assert!(!standing(Running, None, resumed).is_asked_about());
    }

    #[test]
    fn what_succeeded_is_counted_and_the_rest_is_named() {
        for (states, total, has_ended, text) in [
            (&[Succeeded, Failed, NotReached][..], 3, true, "1 succeeded, 1 failed, 1 not reached"),
            (
                &[Succeeded, Succeeded, Running, NotReached, NotReached],
                5,
                false,
                "2 of 5 succeeded · 1 running",
            ),
            (
                &[Running, Waiting, Queued, True, Skipped],
                5,
                false,
                "0 of 5 succeeded · 1 running · 1 waits for you · 1 queued · 1 true",
            ),
            (&[True, False, Skipped, Canceled], 4, true, "1 canceled, 1 true, 1 false, 1 skipped"),
            (&[Succeeded; 2], 2, true, "2 succeeded"),
            (&[], 4, false, "0 of 4 succeeded"),
        ] {
            assert_eq!(describe_progress(states, total, has_ended), text);
        }
    }
}
