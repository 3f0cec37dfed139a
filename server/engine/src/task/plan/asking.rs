//! A prompt on its way to an answer.

use store::fold::JobToolCall;
use wire::{FailureCause, Judge, SessionRole as Role};

/// How a prompt is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As it was written.
    Plain,
    /// Once more, to a session that knows nothing of the try before.
    Repeated,
    /// To the session whose turn was cut off: it goes on.
    Resumed,
}

/// What a prompt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Whether the task can be begun.
    Availability,
    /// The task's prompt.
    Work,
    /// Whether the task was done.
    Condition,
}

/// A prompt on its way to an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asking {
    pub(super) step: Step,
    pub(super) role: Role,
    /// For a condition: its text when it was asked first.
    pub(super) content: String,
    pub(super) form: Form,
    pub(super) crashes: u32,
    pub(super) failed_turns: u32,
    pub(super) cause: Option<FailureCause>,
    /// The session that the prompt was sent to last, and its model.
    pub(super) judge: Option<Judge>,
    /// The turns that were cut off, and that the current one continues.
    pub(super) interrupted: Interrupted,
}

/// What is known of turns that were cut off, and that the current one continues.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Interrupted {
    pub(super) turns: u32,
    /// Whether a tool was started that can change something.
    pub(super) may_have_changed: bool,
    /// The job tools that were called.
    pub(super) calls: Vec<JobToolCall>,
}

impl Asking {
    pub(super) fn new(step: Step, role: Role) -> Self {
        Self {
            step,
            role,
            content: String::new(),
            form: Form::Plain,
            crashes: 0,
            failed_turns: 0,
            cause: None,
            judge: None,
            interrupted: Interrupted::default(),
        }
    }

    /// Counts a session that crashed.
    pub(super) fn crashed(&mut self, error: String) {
        self.crashes += 1;
        let (role, crashes) = (self.role, Some(self.crashes));
        self.cause = Some(FailureCause::SessionCrashed { role, error, crashes });
    }
}
