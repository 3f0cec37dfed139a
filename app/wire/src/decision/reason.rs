//! Why a task failed, in one short sentence for lists and charts.

use super::{Criterion, FailureCause, SessionRole};
use crate::entry::{JOB_BOOLEAN_FALSE, JOB_BOOLEAN_TRUE};

/// The longest text of an agent, user or provider in a sentence, in characters.
const MAX_CHARACTERS: usize = 200;

/// The first line of a text, so that it fits into a sentence.
pub fn shorten(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

impl FailureCause {
    /// Whether it is unknown if the task was done: the sessions that should do or judge it gave no
    /// answer.
    pub fn is_crash(&self) -> bool {
        match self {
            Self::SessionCrashed { .. }
            | Self::TurnFailed { .. }
            | Self::Internal
            | Self::Interrupted => true,
            Self::NotAvailable { .. }
            | Self::CriteriaNotMet { .. }
            | Self::Budget { .. }
            | Self::Stopped
            | Self::CountedAsFailed => false,
        }
    }

    /// The cause in one short sentence, which can follow "failed: ".
    pub fn reason(&self) -> String {
        match self {
            Self::NotAvailable { argument } => {
                format!("not available: {}", refusal(argument.as_deref()))
            }
            Self::CriteriaNotMet { criterion: Criterion::ToolExecuted, missing, .. } => {
                match missing {
                    Some(tools) => {
                        format!("check failed: the agent never called {}", tools.join(", "))
                    }
                    None => "check failed: the agent did not call a required tool".to_owned(),
                }
            }
            Self::CriteriaNotMet { argument, .. } => {
                format!("condition not met: {}", refusal(argument.as_deref()))
            }
            Self::SessionCrashed { role, error, crashes } => {
                setback(*role, "session crashed", *crashes, error)
            }
            Self::TurnFailed { role, error, failed_turns } => {
                setback(*role, "session's turn failed", *failed_turns, error)
            }
            Self::Budget { .. } | Self::Interrupted | Self::CountedAsFailed => self.to_string(),
            Self::Internal => "internal error".to_owned(),
            Self::Stopped => "the task was stopped".to_owned(),
        }
    }
}

/// Why a condition does not hold, by the argument of `job_boolean_false`.
fn refusal(argument: Option<&str>) -> String {
    match argument {
        Some(argument) if argument.trim().is_empty() => format!("{JOB_BOOLEAN_FALSE} was called"),
        Some(argument) => shorten(argument),
        None => format!("neither {JOB_BOOLEAN_TRUE} nor {JOB_BOOLEAN_FALSE} was called"),
    }
}

fn setback(role: SessionRole, what: &str, times: Option<u32>, error: &str) -> String {
    let error = shorten(error);
    match times {
        Some(times @ 2..) => format!("the {role} {what} {times} times: {error}"),
        _ => format!("the {role} {what}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_sentence() {
        use FailureCause as C;
        let text = |text: &str| Some(text.to_owned());
        let condition = |argument| C::CriteriaNotMet {
            criterion: Criterion::Condition,
            argument,
            missing: None,
        };
        let tools = |missing| C::CriteriaNotMet {
            criterion: Criterion::ToolExecuted,
            argument: None,
            missing,
        };
        let (role, error) = (SessionRole::Task, "boom\nat line 2".to_owned());
        let crashed = |crashes| C::SessionCrashed { role, error: error.clone(), crashes };
        let failed = |failed_turns| C::TurnFailed { role, error: error.clone(), failed_turns };
        let nothing = "neither job_boolean_true nor job_boolean_false was called";
        for (cause, is_crash, reason) in [
            (C::NotAvailable { argument: text("busy") }, false, "not available: busy"),
            (C::NotAvailable { argument: None }, false, &*format!("not available: {nothing}")),
            (
                condition(text("no test for step 2\nmore")),
                false,
                "condition not met: no test for step 2",
            ),
            (condition(text("")), false, "condition not met: job_boolean_false was called"),
            (condition(None), false, &format!("condition not met: {nothing}")),
            (
                tools(Some(vec!["a".to_owned(), "b".to_owned()])),
                false,
                "check failed: the agent never called a, b",
            ),
            (tools(None), false, "check failed: the agent did not call a required tool"),
            (crashed(Some(5)), true, "the task session crashed 5 times: boom"),
            (crashed(Some(1)), true, "the task session crashed: boom"),
            (crashed(None), true, "the task session crashed: boom"),
            (failed(Some(2)), true, "the task session's turn failed 2 times: boom"),
            (C::Internal, true, "internal error"),
            (C::Stopped, false, "the task was stopped"),
        ] {
            assert_eq!((cause.is_crash(), &*cause.reason()), (is_crash, reason));
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let long = shorten(&format!("\n{}\nrest", "ä".repeat(500)));
        assert_eq!(long.chars().count(), MAX_CHARACTERS + 1);
        assert!(long.ends_with('…'));
    }
}
