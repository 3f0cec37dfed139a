//! Task responses as they are spelt: one flat object with every field that any of them has.
//!
//! A derived tag would bring much code into the browser, as said in `tagged`. Decisions have tags
//! within tags, so they can't be read by the first field. Only [`TaskResponse`] uses it, in both
//! directions.

use serde::{Deserialize, Serialize};

use super::TaskResponse;
use crate::SessionId;
use crate::decision::{
    BudgetLimit, Criterion, Decision, FailedTurn, FailureCause, Recovery, SessionRole, Setback,
    Unmet, UsedUp,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    SessionStarted,
    SessionCrashed,
    TurnFailed,
    Availability,
    Criteria,
    Operation,
    Interrupted,
    Budget,
    Decision,
    Succeeded,
    Failed,
    Misc,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum UsedUpKind {
    Tries,
    Attempt,
    Retries,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum CauseKind {
    NotAvailable,
    CriteriaNotMet,
    SessionCrashed,
    TurnFailed,
    Stopped,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Event {
    Stopped,
}

/// Declares a struct whose fields are all optional, and are not written if they are `None`.
macro_rules! flat {
    ($($name:ident: $type:ty,)*) => {
        #[derive(Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub(super) struct Flat {
            $(#[serde(skip_serializing_if = "Option::is_none")] $name: Option<$type>,)*
        }
    };
}

flat! {
    callback: String,
    task_error: String,
    reason: String,
    kind: Kind,
    role: SessionRole,
    model: String,
    session_id: SessionId,
    is_driving: bool,
    succeeded: bool,
    attempt: u32,
    tries: u32,
    retries: u32,
    outcome: FailedTurn,
    met: bool,
    criterion: Criterion,
    condition: String,
    argument: String,
    required: Vec<String>,
    missing: Vec<String>,
    used_up: UsedUpKind,
    crashes: u32,
    failed_turns: u32,
    setback: Setback,
    cause: CauseKind,
    event: Event,
    recovery: Recovery,
    limit: BudgetLimit,
    allowed: f64,
    used: f64,
    error: String,
}

impl From<TaskResponse> for Flat {
    fn from(response: TaskResponse) -> Self {
        use TaskResponse as R;
        let called =
            |callback: &str| Self { callback: Some(callback.to_owned()), ..Self::default() };
        match response {
            R::TaskSucceeded => called("taskSucceeded"),
            R::TaskFailed => called("taskFailed"),
            R::TaskDecision { reason, decision } => Self {
                callback: Some("taskDecision".to_owned()),
                reason: Some(reason),
                ..decision.into()
            },
            R::TaskSessionStarted { session_id, is_driving } => Self {
                session_id: Some(session_id),
                is_driving: Some(is_driving),
                ..called("taskSessionStarted")
            },
            R::TaskSessionStopped { session_id, succeeded } => Self {
                session_id: Some(session_id),
                succeeded: Some(succeeded),
                ..called("taskSessionStopped")
            },
            R::Error { message } => Self { task_error: Some(message), ..Self::default() },
        }
    }
}

impl TryFrom<Flat> for TaskResponse {
    /// Name of the field that is missing, or a description of what was expected.
    type Error = &'static str;

    fn try_from(mut flat: Flat) -> Result<Self, &'static str> {
        let session_id = flat.session_id.ok_or("sessionId");
        let Some(callback) = flat.callback.take() else {
            return Ok(Self::Error { message: flat.task_error.ok_or("callback")? });
        };
        Ok(match callback.as_str() {
            "taskSucceeded" => Self::TaskSucceeded,
            "taskFailed" => Self::TaskFailed,
            "taskDecision" => Self::TaskDecision {
                reason: flat.reason.take().ok_or("reason")?,
                decision: flat.try_into()?,
            },
            "taskSessionStarted" => Self::TaskSessionStarted {
                session_id: session_id?,
                is_driving: flat.is_driving.ok_or("isDriving")?,
            },
            "taskSessionStopped" => Self::TaskSessionStopped {
                session_id: session_id?,
                succeeded: flat.succeeded.ok_or("succeeded")?,
            },
            _ => return Err("a known callback"),
        })
    }
}

/// Declares how an enum is spelt: which field tells its variants apart, and which fields each has.
///
/// Fields after a semicolon may be absent. `+` adds a field that only repeats what the variant says.
/// Variants that do not fit in are arms of the two matches.
macro_rules! spelling {
    (
        $enum:ident by $flat:ident.$tag:ident: $kind:ident {
            $($variant:ident {
                $($field:ident),* $(; $($optional:ident),*)?
            } $(+ $repeated:ident: $value:expr)?,)*
        }
        $(written { $($written:tt)* })?
        $(read { $($read:tt)* })?
    ) => {
        impl From<$enum> for Flat {
            fn from(value: $enum) -> Self {
                match value {
                    $($enum::$variant { $($field,)* $($($optional,)*)? } => Self {
                        $tag: Some($kind::$variant),
                        $($field: Some($field),)*
                        $($($optional,)*)?
                        $($repeated: Some($value),)?
                        ..Self::default()
                    },)*
                    $($($written)*)?
                }
            }
        }

        impl TryFrom<Flat> for $enum {
            /// Name of the field that is missing, or a description of what was expected.
            type Error = &'static str;

            fn try_from($flat: Flat) -> Result<Self, &'static str> {
                Ok(match $flat.$tag.ok_or(stringify!($tag))? {
                    $($kind::$variant => Self::$variant {
                        $($field: $flat.$field.ok_or(stringify!($field))?,)*
                        $($($optional: $flat.$optional,)*)?
                    },)*
                    $($($read)*)?
                })
            }
        }
    };
}

spelling! {
    Decision by flat.kind: Kind {
        SessionStarted { role, model, session_id },
        SessionCrashed { role, model, tries, error; session_id },
        TurnFailed { role, model, tries, outcome, error; session_id },
        Availability { condition, met; argument } + criterion: Criterion::Availability,
        Operation { attempt, retries },
        Interrupted { recovery },
        Budget { limit, allowed, used },
        Succeeded {},
    }
    written {
        Decision::Criteria { attempt, unmet } => Self {
            kind: Some(Kind::Criteria),
            attempt: Some(attempt),
            met: Some(unmet.is_none()),
            ..unmet.map(Self::from).unwrap_or_default()
        },
        Decision::UsedUp(what) => Self { kind: Some(Kind::Decision), ..what.into() },
        Decision::Failed(cause) => Self { kind: Some(Kind::Failed), ..cause.into() },
        Decision::Stopped => Self {
            kind: Some(Kind::Misc),
            event: Some(Event::Stopped),
            ..Self::default()
        },
    }
    read {
        Kind::Criteria => Self::Criteria {
            attempt: flat.attempt.ok_or("attempt")?,
            unmet: if flat.met.ok_or("met")? { None } else { Some(flat.try_into()?) },
        },
        Kind::Decision => Self::UsedUp(flat.try_into()?),
        Kind::Failed => Self::Failed(flat.try_into()?),
        Kind::Misc => match flat.event.ok_or("event")? {
            Event::Stopped => Self::Stopped,
        },
    }
}

spelling! {
    Unmet by flat.criterion: Criterion {
        Condition { condition; argument },
        ToolExecuted { required, missing },
    }
    read {
        Criterion::Availability => return Err("a criterion of success"),
    }
}

spelling! {
    UsedUp by flat.used_up: UsedUpKind {
        Tries { role, crashes, failed_turns },
        Attempt { attempt, setback },
        Retries { retries },
    }
}

spelling! {
    FailureCause by flat.cause: CauseKind {
        NotAvailable {} + criterion: Criterion::Availability,
        CriteriaNotMet { criterion },
        SessionCrashed { role, error },
        TurnFailed { role, error },
        Stopped {},
    }
}
