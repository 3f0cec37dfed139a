//! The words for states that people read, on all pages.

use wire::{EntityState, WorkState};

/// The word for the state of a work, within a sentence.
pub(crate) fn work_word(state: WorkState) -> &'static str {
    match state {
        WorkState::NotReached => "not reached",
        WorkState::Waiting => "waiting for you",
        other => other.as_str(),
    }
}

/// What is said of a result that a retry took over.
pub(crate) const CARRIED_OVER: &str = "carried over";

/// The word for the state of a job, on its own.
pub(crate) fn job_word(state: EntityState) -> &'static str {
    match state {
        EntityState::Idle => "Idle",
        EntityState::Running => "Running",
        EntityState::Waiting => "Waits for you",
        EntityState::Interrupted => "Interrupted",
        EntityState::Succeeded => "Succeeded",
        EntityState::Failed => "Failed",
        EntityState::Canceled => "Canceled",
        EntityState::Closed => "Closed",
    }
}
