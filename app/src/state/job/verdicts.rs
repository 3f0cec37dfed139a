//! The verdicts of a job: the stored ones, and those that arrive as they are given.

use wire::{TaskId, Verdict, WorkVerdict};

/// A verdict, and the run of the work that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) work: u32,
    pub(crate) task: TaskId,
    pub(crate) verdict: Verdict,
}

impl Judged {
    /// A run judges each criterion once in each attempt.
    fn is_same(&self, other: &Self) -> bool {
        let key = |one: &Self| (one.task, one.verdict.attempt);
        key(self) == key(other) && self.verdict.criterion == other.verdict.criterion
    }
}

/// All verdicts, each once, in their order.
#[derive(Default)]
pub(super) struct Verdicts(Vec<Judged>);

impl Verdicts {
    pub(super) fn all(&self) -> &[Judged] {
        &self.0
    }

    /// Adds one that was just given, unless it is known.
    pub(super) fn add(&mut self, judged: Judged) {
        if !self.0.iter().any(|known| known.is_same(&judged)) {
            self.0.push(judged);
        }
    }

    /// Takes the stored ones. Those that arrived since they were read come after them.
    pub(super) fn take_stored(&mut self, stored: Vec<WorkVerdict>) {
        let stored = stored.into_iter().map(|one| Judged {
            work: one.work_id,
            task: one.task_id,
            verdict: one.into_verdict(),
        });
        let arrived = std::mem::replace(&mut self.0, stored.collect());
        for judged in arrived {
            self.add(judged);
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::{Met, VerdictCriterion};

    use super::*;

    fn judged(task: u32, attempt: u32) -> Judged {
        let id = format!("task-00000000-0000-4000-8000-{task:012}");
        let verdict = Verdict {
            attempt,
            criterion: VerdictCriterion::Condition,
            met: Met::Yes,
            reason: String::new(),
            evidence: None,
            judge: None,
        };
        Judged { work: 0, task: id.parse().expect("an id"), verdict }
    }

    fn stored(one: Judged) -> WorkVerdict {
        WorkVerdict::new(one.work, one.task, String::new(), one.verdict)
    }

    #[test]
    fn stored_and_arriving_verdicts_are_each_there_once() {
        let mut verdicts = Verdicts::default();
        for one in [judged(2, 1), judged(2, 1), judged(3, 1)] {
            verdicts.add(one);
        }
        assert_eq!(verdicts.all(), [judged(2, 1), judged(3, 1)]);
        // The page came late: one was given before, and one since they were read.
        verdicts.take_stored([judged(1, 1), judged(2, 1)].map(stored).into());
        verdicts.add(judged(3, 2));
        assert_eq!(verdicts.all(), [judged(1, 1), judged(2, 1), judged(3, 1), judged(3, 2)]);
    }
}
