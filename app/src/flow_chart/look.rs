//! The parts of a task's node that change while the job runs.

/// The status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStatus {
    /// The task is running.
    Running,
    /// The task has succeeded.
    Succeeded,
    /// The task has failed.
    Failed,
}

impl NodeStatus {
    fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }

    /// A triangle, a tick or a cross centred at 0, as an SVG path.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Running => "M-4 -6L7 0L-4 6Z",
            Self::Succeeded => "M-6 1L-2 5L6 -5",
            Self::Failed => "M-5 -5L5 5M5 -5L-5 5",
        }
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
        let status = self.status.map(NodeStatus::name);
        let timed = self.elapsed.as_ref().map(|_| "timed");
        let selected = self.selected.then_some("selected");
        for name in [status, timed, selected].into_iter().flatten() {
            class.push(' ');
            class.push_str(name);
        }
        class
    }

    /// The description for assistive technology and the tool tip.
    pub(crate) fn description(&self, label: &str) -> String {
        match self.status {
            Some(status) => format!("{label}: {}", status.name()),
            None => label.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_description_say_how_far_a_task_is() {
        let look = Look::default();
        assert_eq!(look.class("node task"), "node task");
        assert_eq!(look.description("build"), "build");
        let elapsed = Some("0:07".to_owned());
        let look = Look { status: Some(NodeStatus::Running), elapsed, selected: true };
        assert_eq!(look.class("node task"), "node task running timed selected");
        assert_eq!(look.description("build"), "build: running");
    }
}
