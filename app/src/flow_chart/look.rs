//! The parts of a task's node that change while the job runs.

use wire::WorkState;

use crate::wording::work_word;

/// How a task stands, as the chart shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// The state of the work.
    pub state: WorkState,
    /// Why it is in this state, for the tool tip.
    pub reason: Option<String>,
}

/// The mark of a state, centred at 0, as an SVG path.
pub(crate) fn mark(state: WorkState) -> &'static str {
    match state {
        WorkState::NotReached => "",
        // A clock.
        WorkState::Queued => "M-6 0A6 6 0 1 1 6 0A6 6 0 1 1 -6 0M0 -3L0 0L2.5 1.5",
        WorkState::Running => "M-4 -6L7 0L-4 6Z",
        // A question mark.
        WorkState::Waiting => "M-3 -3A3 3 0 1 1 0 0.5L0 2M0 5.5L0 5.6",
        WorkState::Succeeded => "M-6 1L-2 5L6 -5",
        WorkState::Failed => "M-5 -5L5 5M5 -5L-5 5",
        // A circle with a bar.
        WorkState::Canceled => "M-6 0A6 6 0 1 1 6 0A6 6 0 1 1 -6 0M-4 -4L4 4",
        // A flash.
        WorkState::Interrupted => "M2 -6L-3 1L3 -1L-2 6",
        // Past a post.
        WorkState::Skipped => "M-5 -5L1 0L-5 5M5 -5L5 5",
        // The letters T and F.
        WorkState::True => "M-5 -5L5 -5M0 -5L0 6",
        WorkState::False => "M-3 6L-3 -5L5 -5M-3 0L3 0",
    }
}

/// What changes. A new node has the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) status: Option<NodeStatus>,
    /// How long it has been running.
    pub(crate) elapsed: Option<String>,
    pub(crate) selected: bool,
}

impl Look {
    /// The classes of a node; `kind` are those that it always has.
    pub(crate) fn class(&self, kind: &str) -> String {
        let mut class = kind.to_owned();
        let state = self.status.as_ref().map(|status| match status.state {
            WorkState::NotReached => "not-reached",
            state => state.as_str(),
        });
        let timed = self.caption().map(|_| "timed");
        let selected = self.selected.then_some("selected");
        for name in [state, timed, selected].into_iter().flatten() {
            class.push(' ');
            class.push_str(name);
        }
        class
    }

    /// What stands below the label: how long it took, and the state unless its mark is known to
    /// everybody.
    pub(crate) fn caption(&self) -> Option<String> {
        let state = self.status.as_ref().map(|status| status.state);
        let word = state.and_then(|state| match state {
            WorkState::NotReached
            | WorkState::Running
            | WorkState::Succeeded
            | WorkState::Failed => None,
            state => Some(work_word(state)),
        });
        match (word, &self.elapsed) {
            (Some(word), Some(elapsed)) => Some(format!("{word} {elapsed}")),
            (Some(word), None) => Some(word.to_owned()),
            (None, elapsed) => elapsed.clone(),
        }
    }

    /// The description for assistive technology and the tool tip.
    pub(crate) fn description(&self, label: &str) -> String {
        match &self.status {
            Some(NodeStatus { state, reason: None }) => format!("{label}: {}", work_word(*state)),
            Some(NodeStatus { state, reason: Some(reason) }) => {
                format!("{label}: {} ({reason})", work_word(*state))
            }
            None => label.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(state: WorkState, reason: Option<&str>, elapsed: Option<&str>) -> Look {
        let status = Some(NodeStatus { state, reason: reason.map(str::to_owned) });
        Look { status, elapsed: elapsed.map(str::to_owned), selected: false }
    }

    #[test]
    fn classes_and_description_say_how_far_a_task_is() {
        let none = Look::default();
        assert_eq!(none.class("node task"), "node task");
        assert_eq!(none.description("build"), "build");
        let running = Look { selected: true, ..look(WorkState::Running, None, Some("0:07")) };
        assert_eq!(running.class("node task"), "node task running timed selected");
        assert_eq!(running.description("build"), "build: running");
        let failed = look(WorkState::Failed, Some("no test"), None);
        assert_eq!(failed.description("build"), "build: failed (no test)");
        let unreached = look(WorkState::NotReached, None, None);
        assert_eq!(unreached.class("node task"), "node task not-reached");
        assert_eq!(unreached.description("build"), "build: not reached");
    }

    #[test]
    fn a_state_that_only_its_mark_would_tell_is_said_in_a_word() {
        for (state, elapsed, caption) in [
            (WorkState::NotReached, None, None),
            (WorkState::Succeeded, Some("0:07"), Some("0:07")),
            (WorkState::True, Some("0:07"), Some("true 0:07")),
            (WorkState::Waiting, Some("0:07"), Some("waiting for you 0:07")),
            (WorkState::Skipped, None, Some("skipped")),
        ] {
            let look = look(state, None, elapsed);
            assert_eq!(look.caption().as_deref(), caption);
            assert_eq!(look.class("node").contains("timed"), caption.is_some());
        }
    }

    #[test]
    fn every_state_has_a_mark_of_its_own() {
        let marks: std::collections::BTreeSet<_> =
            WorkState::ALL.iter().map(|state| mark(*state)).collect();
        assert_eq!(marks.len(), WorkState::ALL.len());
    }
}
