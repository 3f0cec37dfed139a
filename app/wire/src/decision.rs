//! Decisions of the task engine: typed facts, and the sentence that people read.
//!
//! The engine makes a [`Decision`]; `taskDecision` carries its facts as fields, and as `reason` what
//! its `Display` says. Programs read the fields. Nothing reads the sentence but people.

mod reason;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use reason::shorten;

use crate::SessionId;
use crate::budget::{BudgetLimit, Reached};
use crate::entry::{JOB_BOOLEAN_FALSE, JOB_BOOLEAN_TRUE};
use crate::json::FromJson;

/// What a session of a task is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub enum SessionRole {
    /// Judges the task's conditions.
    Driving,
    /// Works on the task's prompt.
    Task,
}

/// How a turn ended that did not complete, in a session that is still alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub enum FailedTurn {
    /// The provider refused it, or the backend reported an error.
    Failed,
    /// The turn was aborted before its end.
    Aborted,
}

/// Why a prompt got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub enum Setback {
    /// The session crashed or failed to start.
    SessionCrashed,
    /// The turn failed or was aborted.
    TurnFailed,
}

/// A part of a task's definition that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub enum Criterion {
    /// `availability.condition`
    Availability,
    /// `criteria.condition`
    Condition,
    /// `criteria.toolExecuted`
    ToolExecuted,
}

impl Criterion {
    /// The path of its field in a task.
    pub fn field(self) -> &'static str {
        match self {
            Self::Availability => "availability.condition",
            Self::Condition => "criteria.condition",
            Self::ToolExecuted => "criteria.toolExecuted",
        }
    }
}

/// A criterion that is not met, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmet {
    /// `criteria.condition` was not answered with `job_boolean_true`.
    Condition {
        /// The condition as it was sent.
        condition: String,
        /// The argument of `job_boolean_false`, if that was called.
        argument: Option<String>,
    },
    /// Not all of `criteria.toolExecuted` were called.
    ToolExecuted {
        /// All tools that have to be called.
        required: Vec<String>,
        /// Those of `required` that were not called.
        missing: Vec<String>,
    },
}

impl Unmet {
    /// The criterion that is not met.
    pub fn criterion(&self) -> Criterion {
        match self {
            Self::Condition { .. } => Criterion::Condition,
            Self::ToolExecuted { .. } => Criterion::ToolExecuted,
        }
    }

    /// Why a task fails that has no retry left.
    pub fn into_cause(self) -> FailureCause {
        let criterion = self.criterion();
        let (argument, missing) = match self {
            Self::Condition { argument, .. } => (argument, None),
            Self::ToolExecuted { missing, .. } => (None, Some(missing)),
        };
        FailureCause::CriteriaNotMet { criterion, argument, missing }
    }

    /// The required tools that were not called; empty for a condition.
    pub fn missing(&self) -> &[String] {
        match self {
            Self::Condition { .. } => &[],
            Self::ToolExecuted { missing, .. } => missing,
        }
    }
}

/// An allowance of a task that is exhausted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsedUp {
    /// All tries of one prompt ended without an answer.
    Tries {
        /// The role of the sessions that were tried.
        role: SessionRole,
        /// Tries that ended with a crashed session.
        crashes: u32,
        /// Tries that ended with a failed or aborted turn.
        failed_turns: u32,
    },
    /// All tries of a prompt within a retry ended without an answer, so the retry has failed.
    Attempt {
        /// Number of the run of the task's prompt, as in [`Decision::Operation`].
        attempt: u32,
        /// How the last try ended.
        setback: Setback,
    },
    /// No retry is left after unmet criteria.
    Retries {
        /// `retryTimes` of the task.
        retries: u32,
    },
}

/// Why a task failed.
#[derive(Clone, Debug, PartialEq)]
pub enum FailureCause {
    /// Its availability condition does not hold.
    NotAvailable {
        /// The argument of `job_boolean_false`, if that was called.
        argument: Option<String>,
    },
    /// A criterion is not met, and no retry is left.
    CriteriaNotMet {
        /// The criterion that was judged last.
        criterion: Criterion,
        /// For a condition: the argument of `job_boolean_false`, if that was called.
        argument: Option<String>,
        /// For tools: those that were not called.
        missing: Option<Vec<String>>,
    },
    /// Its sessions crashed, and no try is left.
    SessionCrashed {
        /// The role of the last session.
        role: SessionRole,
        /// The last error, with its causes.
        error: String,
        /// How many sessions crashed; `None` in stores of earlier versions.
        crashes: Option<u32>,
    },
    /// Its turns failed, and no try is left.
    TurnFailed {
        /// The role of the last session.
        role: SessionRole,
        /// The last error, with its causes.
        error: String,
        /// How many turns failed; `None` in stores of earlier versions.
        failed_turns: Option<u32>,
    },
    /// An internal error occurred.
    Internal,
    /// A limit of its budget, or of its job's or session's, was reached.
    Budget {
        /// The limit that was reached.
        limit: BudgetLimit,
        /// What the budget allows, in the unit of `limit`.
        allowed: f64,
        /// What was used, in the unit of `limit`.
        used: f64,
    },
    /// The task was stopped.
    Stopped,
    /// The server stopped while it ran, and interrupted works of the job fail.
    Interrupted,
    /// The server stopped while it ran, and somebody counts it as failed.
    CountedAsFailed,
}

impl From<Reached> for FailureCause {
    fn from(Reached { limit, allowed, used }: Reached) -> Self {
        Self::Budget { limit, allowed, used }
    }
}

impl From<Reached> for Decision {
    fn from(Reached { limit, allowed, used }: Reached) -> Self {
        Self::Budget { limit, allowed, used }
    }
}

/// How a work continues after the server ended while it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub enum Recovery {
    /// The interrupted turn is resumed.
    Resumed,
    /// The interrupted prompt is sent again.
    SentAgain,
    /// A person is asked how to continue.
    Asked,
    /// The interrupted condition is judged again.
    JudgedAgain,
    /// Somebody counts the interrupted work as done.
    CountedAsDone,
    /// Somebody counts the interrupted work as failed.
    CountedAsFailed,
    /// The interrupted work has failed, as the job or the settings say.
    Failed,
}

impl Recovery {
    /// What was decided, in a few words.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Resumed => "the interrupted turn is resumed",
            Self::SentAgain => "the interrupted prompt is sent again",
            Self::Asked => "somebody is asked how the interrupted work goes on",
            Self::JudgedAgain => "the interrupted condition is judged again",
            Self::CountedAsDone => "somebody counts the interrupted work as done",
            Self::CountedAsFailed => "somebody counts the interrupted work as failed",
            Self::Failed => "interrupted works fail, as the job or the settings say",
        }
    }
}

/// A decision of the task engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// A session was opened.
    SessionStarted {
        /// Always [`SessionRole::Task`] where one session does everything.
        role: SessionRole,
        /// Id of the session's model.
        model: String,
        /// Id of the new session.
        session_id: SessionId,
    },
    /// A session crashed or failed to start.
    SessionCrashed {
        /// The role of the session.
        role: SessionRole,
        /// Id of the session's model.
        model: String,
        /// `None` if it failed to start.
        session_id: Option<SessionId>,
        /// How often the prompt has been tried so far.
        tries: u32,
        /// The error, with its causes.
        error: String,
    },
    /// A turn failed or was aborted; its session is alive.
    TurnFailed {
        /// The role of the session.
        role: SessionRole,
        /// Id of the session's model.
        model: String,
        /// The session of the turn.
        session_id: Option<SessionId>,
        /// How often the prompt has been tried so far.
        tries: u32,
        /// How the turn ended.
        outcome: FailedTurn,
        /// The error, with its causes.
        error: String,
    },
    /// The availability condition was judged.
    Availability {
        /// The condition as it was sent.
        condition: String,
        /// Whether the condition holds.
        met: bool,
        /// The argument of the boolean tool that was called last, if one was called.
        argument: Option<String>,
    },
    /// The criteria were judged.
    Criteria {
        /// Number of the run of the task's prompt, as in [`Decision::Operation`].
        attempt: u32,
        /// The criterion that is not met; `None` if all are.
        unmet: Option<Unmet>,
    },
    /// A retry starts, because criteria are not met.
    Operation {
        /// Which run of the task's prompt this is: 1 is the first one, 2 the first retry.
        attempt: u32,
        /// `retryTimes` of the task.
        retries: u32,
    },
    /// A work continues after the server ended while it ran.
    Interrupted {
        /// How the work continues.
        recovery: Recovery,
    },
    /// A limit of the budget was reached.
    Budget {
        /// The limit that was reached.
        limit: BudgetLimit,
        /// What the budget allows, in the unit of `limit`.
        allowed: f64,
        /// What was used, in the unit of `limit`.
        used: f64,
    },
    /// Tries or retries are used up. On the wire the kind is `Decision`.
    UsedUp(UsedUp),
    /// The task succeeded.
    Succeeded,
    /// The task failed.
    Failed(FailureCause),
    /// The task was stopped. On the wire the kind is `Misc`.
    Stopped,
}

impl Decision {
    /// The tag that its sentence begins with, such as `[CRITERIA]`.
    pub fn prefix(&self) -> &'static str {
        match self {
            Self::SessionStarted { .. } => "[SESSION STARTED]",
            Self::SessionCrashed { .. } => "[SESSION CRASHED]",
            Self::TurnFailed { .. } => "[TURN FAILED]",
            Self::Availability { .. } => "[AVAILABILITY]",
            Self::Criteria { .. } => "[CRITERIA]",
            Self::Operation { .. } => "[OPERATION]",
            Self::Interrupted { .. } => "[INTERRUPTED]",
            Self::Budget { .. } => "[BUDGET]",
            Self::UsedUp(_) => "[DECISION]",
            Self::Succeeded => "[TASK SUCCEEDED]",
            Self::Failed(_) => "[TASK FAILED]",
            Self::Stopped => "[MISC]",
        }
    }
}

impl fmt::Display for SessionRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Driving => "driving",
            Self::Task => "task",
        })
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: ", self.criterion().field())?;
        match self {
            Self::Condition { condition, argument } => {
                write_refusal(f, argument.as_deref())?;
                write!(f, "\n{condition}")
            }
            Self::ToolExecuted { required, missing } => {
                write!(f, "not called: {}\n{}", missing.join(", "), required.join(", "))
            }
        }
    }
}

/// Why a condition does not hold, by the argument of `job_boolean_false`.
fn write_refusal(f: &mut fmt::Formatter<'_>, argument: Option<&str>) -> fmt::Result {
    match argument {
        Some(argument) => write!(f, "{JOB_BOOLEAN_FALSE} was called: {argument}"),
        None => write!(f, "neither {JOB_BOOLEAN_TRUE} nor {JOB_BOOLEAN_FALSE} was called"),
    }
}

impl fmt::Display for UsedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tries { role, crashes: 1, failed_turns: 0 } => {
                write!(f, "the {role} session crashed, and is not tried again")
            }
            Self::Tries { role, crashes, failed_turns: 0 } => {
                write!(f, "the {role} session crashed {crashes} times, which uses up its tries")
            }
            Self::Tries { role, crashes: 0, failed_turns: 1 } => {
                write!(f, "the turn of the {role} session failed, and is not tried again")
            }
            Self::Tries { role, crashes, failed_turns } => write!(
                f,
                "the tries of the {role} session are used up: {crashes} crashes, \
                 {failed_turns} failed turns"
            ),
            Self::Attempt { attempt, setback } => {
                let why = match setback {
                    Setback::SessionCrashed => "session kept crashing",
                    Setback::TurnFailed => "turns kept failing",
                };
                write!(f, "retry #{} failed, because its {why}", retry(*attempt))
            }
            Self::Retries { retries: 0 } => write!(f, "no retry is allowed"),
            Self::Retries { retries } => write!(f, "all {retries} retries are used up"),
        }
    }
}

/// The number of a retry, given the number of the run of the prompt. The first run is no retry.
fn retry(attempt: u32) -> u32 {
    attempt.saturating_sub(1)
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAvailable { .. } => {
                write!(f, "{} does not hold", Criterion::Availability.field())
            }
            Self::CriteriaNotMet { criterion, .. } => write!(f, "{} is not met", criterion.field()),
            Self::SessionCrashed { role, error, .. } => {
                write!(f, "the {role} session crashed: {error}")
            }
            Self::TurnFailed { role, error, .. } => {
                write!(f, "the turn of the {role} session failed: {error}")
            }
            Self::Internal => write!(f, "internal error"),
            Self::Budget { limit, allowed, used } => {
                let reached = Reached { limit: *limit, allowed: *allowed, used: *used };
                write!(f, "{reached}")
            }
            Self::Stopped => write!(f, "the task was stopped"),
            Self::Interrupted => write!(f, "interrupted: the server stopped"),
            Self::CountedAsFailed => {
                write!(f, "interrupted: the server stopped; somebody counts it as failed")
            }
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.prefix())?;
        match self {
            Self::SessionStarted { role, model, .. } => {
                write!(f, "{role} session started with model {model}")
            }
            Self::SessionCrashed { role, model, error, .. } => {
                write!(f, "{role} session with model {model} crashed: {error}")
            }
            Self::TurnFailed { role, model, error, .. } => {
                write!(f, "the turn of the {role} session with model {model} failed: {error}")
            }
            Self::Availability { met: true, argument, .. } => {
                let field = Criterion::Availability.field();
                write!(f, "{field} holds: {}", argument.as_deref().unwrap_or_default())
            }
            Self::Availability { met: false, condition, argument } => {
                write!(f, "{} failed: ", Criterion::Availability.field())?;
                write_refusal(f, argument.as_deref())?;
                write!(f, "\n{condition}\nCounts as job_prerequisite_failed.")
            }
            Self::Criteria { unmet: None, .. } => write!(f, "all criteria are met"),
            Self::Criteria { unmet: Some(unmet), .. } => write!(f, "{unmet}"),
            Self::Operation { attempt, retries } => {
                write!(f, "retry #{} of {retries} starts", retry(*attempt))
            }
            Self::Interrupted { recovery } => f.write_str(recovery.sentence()),
            Self::Budget { limit, allowed, used } => {
                let reached = Reached { limit: *limit, allowed: *allowed, used: *used };
                write!(f, "{reached}")
            }
            Self::UsedUp(what) => write!(f, "{what}"),
            Self::Succeeded => write!(f, "the task succeeded"),
            Self::Failed(cause) => write!(f, "{cause}"),
            Self::Stopped => write!(f, "the task was stopped"),
        }
    }
}
