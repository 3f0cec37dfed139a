//! What the engine decides, in words for the people who follow a task.

use std::fmt;

use super::flow::Role;
use super::judgement::Unmet;

/// A decision, as readers of a task's stream see it. The prefix tells programs what it is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Decision<'a> {
    SessionStarted { role: Role, model: &'a str },
    SessionCrashed { role: Role, model: &'a str, error: &'a str },
    Available { reason: &'a str },
    NotAvailable { unmet: &'a Unmet },
    CriteriaMet,
    CriteriaNotMet { unmet: &'a Unmet },
    Retry { number: u32, of: u32 },
    RetryCrashed { number: u32 },
    CrashesUsedUp { role: Role, tries: usize },
    RetriesUsedUp { retries: u32 },
    Stopped,
    Succeeded,
    Failed { why: &'a str },
}

impl Decision<'_> {
    fn prefix(&self) -> &'static str {
        match self {
            Self::SessionStarted { .. } => "[SESSION STARTED]",
            Self::SessionCrashed { .. } => "[SESSION CRASHED]",
            Self::Available { .. } | Self::NotAvailable { .. } => "[AVAILABILITY]",
            Self::CriteriaMet | Self::CriteriaNotMet { .. } => "[CRITERIA]",
            Self::Retry { .. } => "[OPERATION]",
            Self::RetryCrashed { .. } | Self::CrashesUsedUp { .. } | Self::RetriesUsedUp { .. } => {
                "[DECISION]"
            }
            Self::Stopped => "[MISC]",
            Self::Succeeded => "[TASK SUCCEEDED]",
            Self::Failed { .. } => "[TASK FAILED]",
        }
    }
}

impl fmt::Display for Decision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.prefix())?;
        match self {
            Self::SessionStarted { role, model } => {
                write!(f, "{role} session started with model {model}")
            }
            Self::SessionCrashed { role, model, error } => {
                write!(f, "{role} session with model {model} crashed: {error}")
            }
            Self::Available { reason } => write!(f, "availability.condition holds: {reason}"),
            Self::NotAvailable { unmet } => {
                write!(f, "{unmet}\nCounts as job_prerequisite_failed.")
            }
            Self::CriteriaMet => write!(f, "all criteria are met"),
            Self::CriteriaNotMet { unmet } => write!(f, "{unmet}"),
            Self::Retry { number, of } => write!(f, "retry #{number} of {of} starts"),
            Self::RetryCrashed { number } => {
                write!(f, "retry #{number} failed, because its session kept crashing")
            }
            Self::CrashesUsedUp { role, tries: 1 } => {
                write!(f, "the {role} session crashed, and is not tried again")
            }
            Self::CrashesUsedUp { role, tries } => {
                write!(f, "the {role} session crashed {tries} times, which uses up its tries")
            }
            Self::RetriesUsedUp { retries: 0 } => write!(f, "no retry is allowed"),
            Self::RetriesUsedUp { retries } => write!(f, "all {retries} retries are used up"),
            Self::Stopped => write!(f, "the task was stopped"),
            Self::Succeeded => write!(f, "the task succeeded"),
            Self::Failed { why } => write!(f, "{why}"),
        }
    }
}
