//! The parts of a task's node that change while the job runs.

use wire::WorkState;

use crate::state::job::Past;
use crate::wording::{CARRIED_OVER, work_word};

/// How a task stands, as the chart shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// The state of the work.
    pub state: WorkState,
    /// Why it is in this state, for the tool tip.
    pub reason: Option<String>,
    /// What sets the run apart.
    pub past: Option<Past>,
}

impl NodeStatus {
    fn is_carried(&self) -> bool {
        self.past == Some(Past::CarriedOver)
    }
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

/// The second mark of a node, at its other end.
pub(crate) fn past_mark(past: Past) -> &'static str {
    match past {
        // An arrow that comes from above and goes on.
        Past::CarriedOver => "M-6 -5L-6 -1A3 3 0 0 0 -3 2L5 2M1 -2L5 2L1 6",
        // Round again.
        Past::Interrupted(_) => "M5 -3A6 6 0 1 0 6 1M5 -7L5 -3L1 -3",
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
        let past = self.status.as_ref().and_then(|status| status.past).map(|past| match past {
            Past::CarriedOver => "carried",
            Past::Interrupted(_) => "recovered",
        });
        let timed = self.caption().map(|_| "timed");
        let selected = self.selected.then_some("selected");
        for name in [state, past, timed, selected].into_iter().flatten() {
            class.push(' ');
            class.push_str(name);
        }
        class
    }

    /// What stands below the label: how long it took, and the state unless its mark is known to
    /// everybody. The time of what was carried over is that of another run; what waits for a person does
    /// not work.
    pub(crate) fn caption(&self) -> Option<String> {
        let Some(status) = &self.status else { return self.elapsed.clone() };
        let word = match status.state {
            WorkState::NotReached
            | WorkState::Running
            | WorkState::Succeeded
            | WorkState::Failed => None,
            state => Some(work_word(state)),
        };
        let is_measured = status.state != WorkState::Waiting;
        match (word, self.elapsed.as_deref().filter(|_| is_measured)) {
            // Together they have to be short.
            (Some(word), _) if status.is_carried() => Some(format!("{word}, carried")),
            (None, _) if status.is_carried() => Some(CARRIED_OVER.to_owned()),
            (Some(word), Some(elapsed)) => Some(format!("{word} {elapsed}")),
            (word, elapsed) => word.or(elapsed).map(str::to_owned),
        }
    }

    /// The description for assistive technology and the tool tip.
    pub(crate) fn description(&self, label: &str) -> String {
        let Some(status) = &self.status else { return label.to_owned() };
        let mut text = format!("{label}: {}", work_word(status.state));
        if status.is_carried() {
            text.push_str(", ");
            text.push_str(CARRIED_OVER);
        }
        if let Some(reason) = &status.reason {
            text.push_str(" (");
            text.push_str(reason);
            text.push(')');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use wire::Recovery;

    use super::*;

    fn look(state: WorkState, reason: Option<&str>, elapsed: Option<&str>) -> Look {
        let status = Some(NodeStatus { state, reason: reason.map(str::to_owned), past: None });
        Look { status, elapsed: elapsed.map(str::to_owned), selected: false }
    }

    fn with_past(mut look: Look, past: Past) -> Look {
        if let Some(status) = &mut look.status {
            status.past = Some(past);
        }
        look
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
            (WorkState::Waiting, Some("0:07"), Some("waiting for you")),
            (WorkState::Skipped, None, Some("skipped")),
        ] {
            let look = look(state, None, elapsed);
            assert_eq!(look.caption().as_deref(), caption);
            assert_eq!(look.class("node").contains("timed"), caption.is_some());
        }
    }

    #[test]
    fn what_was_carried_over_says_so_and_not_how_long_it_took() {
        let carried = |state| with_past(look(state, None, Some("0:07")), Past::CarriedOver);
        let done = carried(WorkState::Succeeded);
        assert_eq!(done.class("node"), "node succeeded carried timed");
        assert_eq!(done.caption().as_deref(), Some("carried over"));
        assert_eq!(done.description("build"), "build: succeeded, carried over");
        let chosen = carried(WorkState::False);
        assert_eq!(chosen.caption().as_deref(), Some("false, carried"));
    }

    #[test]
    fn what_went_on_after_a_restart_has_a_mark_and_says_how() {
        let reason = Some("after a restart: the interrupted turn is resumed");
        let running = look(WorkState::Running, reason, Some("0:07"));
        let running = with_past(running, Past::Interrupted(Recovery::Resumed));
        assert_eq!(running.class("node"), "node running recovered timed");
        assert_eq!(running.caption().as_deref(), Some("0:07"));
        assert_eq!(
            running.description("build"),
            "build: running (after a restart: the interrupted turn is resumed)"
        );
    }

    #[test]
    fn every_state_has_a_mark_of_its_own() {
        let marks: std::collections::BTreeSet<_> =
            WorkState::ALL.iter().map(|state| mark(*state)).collect();
        assert_eq!(marks.len(), WorkState::ALL.len());
        for past in [Past::CarriedOver, Past::Interrupted(Recovery::Resumed)] {
            assert!(!marks.contains(past_mark(past)));
        }
    }
}
