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

/// Declares the struct with all fields optional, and left out where there is nothing.
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
    /// What is missing or unknown.
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

impl From<Decision> for Flat {
    fn from(decision: Decision) -> Self {
        use Decision as D;
        let of = |kind| Self { kind: Some(kind), ..Self::default() };
        match decision {
            D::SessionStarted { role, model, session_id } => Self {
                role: Some(role),
                model: Some(model),
                session_id: Some(session_id),
                ..of(Kind::SessionStarted)
            },
            D::SessionCrashed { role, model, session_id, tries, error } => Self {
                role: Some(role),
                model: Some(model),
                session_id,
                tries: Some(tries),
                error: Some(error),
                ..of(Kind::SessionCrashed)
            },
            D::TurnFailed { role, model, session_id, tries, outcome, error } => Self {
                role: Some(role),
                model: Some(model),
                session_id,
                tries: Some(tries),
                outcome: Some(outcome),
                error: Some(error),
                ..of(Kind::TurnFailed)
            },
            D::Availability { condition, met, argument } => Self {
                criterion: Some(Criterion::Availability),
                condition: Some(condition),
                met: Some(met),
                argument,
                ..of(Kind::Availability)
            },
            D::Criteria { attempt, unmet } => Self {
                kind: Some(Kind::Criteria),
                attempt: Some(attempt),
                met: Some(unmet.is_none()),
                ..unmet.map(Self::from).unwrap_or_default()
            },
            D::Operation { attempt, retries } => {
                Self { attempt: Some(attempt), retries: Some(retries), ..of(Kind::Operation) }
            }
            D::Interrupted { recovery } => {
                Self { recovery: Some(recovery), ..of(Kind::Interrupted) }
            }
            D::Budget { limit, allowed, used } => Self {
                limit: Some(limit),
                allowed: Some(allowed),
                used: Some(used),
                ..of(Kind::Budget)
            },
            D::UsedUp(what) => Self { kind: Some(Kind::Decision), ..what.into() },
            D::Succeeded => of(Kind::Succeeded),
            D::Failed(cause) => Self { kind: Some(Kind::Failed), ..cause.into() },
            D::Stopped => Self { event: Some(Event::Stopped), ..of(Kind::Misc) },
        }
    }
}

impl TryFrom<Flat> for Decision {
    type Error = &'static str;

    fn try_from(flat: Flat) -> Result<Self, &'static str> {
        let role = flat.role.ok_or("role");
        Ok(match flat.kind.ok_or("kind")? {
            Kind::SessionStarted => Self::SessionStarted {
                role: role?,
                model: flat.model.ok_or("model")?,
                session_id: flat.session_id.ok_or("sessionId")?,
            },
            Kind::SessionCrashed => Self::SessionCrashed {
                role: role?,
                model: flat.model.ok_or("model")?,
                session_id: flat.session_id,
                tries: flat.tries.ok_or("tries")?,
                error: flat.error.ok_or("error")?,
            },
            Kind::TurnFailed => Self::TurnFailed {
                role: role?,
                model: flat.model.ok_or("model")?,
                session_id: flat.session_id,
                tries: flat.tries.ok_or("tries")?,
                outcome: flat.outcome.ok_or("outcome")?,
                error: flat.error.ok_or("error")?,
            },
            Kind::Availability => Self::Availability {
                condition: flat.condition.ok_or("condition")?,
                met: flat.met.ok_or("met")?,
                argument: flat.argument,
            },
            Kind::Criteria => Self::Criteria {
                attempt: flat.attempt.ok_or("attempt")?,
                unmet: if flat.met.ok_or("met")? { None } else { Some(flat.try_into()?) },
            },
            Kind::Operation => Self::Operation {
                attempt: flat.attempt.ok_or("attempt")?,
                retries: flat.retries.ok_or("retries")?,
            },
            Kind::Interrupted => Self::Interrupted { recovery: flat.recovery.ok_or("recovery")? },
            Kind::Budget => Self::Budget {
                limit: flat.limit.ok_or("limit")?,
                allowed: flat.allowed.ok_or("allowed")?,
                used: flat.used.ok_or("used")?,
            },
            Kind::Decision => Self::UsedUp(flat.try_into()?),
            Kind::Succeeded => Self::Succeeded,
            Kind::Failed => Self::Failed(flat.try_into()?),
            Kind::Misc => match flat.event.ok_or("event")? {
                Event::Stopped => Self::Stopped,
            },
        })
    }
}

impl From<Unmet> for Flat {
    fn from(unmet: Unmet) -> Self {
        let flat = Self { criterion: Some(unmet.criterion()), ..Self::default() };
        match unmet {
            Unmet::Condition { condition, argument } => {
                Self { condition: Some(condition), argument, ..flat }
            }
            Unmet::ToolExecuted { required, missing } => {
                Self { required: Some(required), missing: Some(missing), ..flat }
            }
        }
    }
}

impl TryFrom<Flat> for Unmet {
    type Error = &'static str;

    fn try_from(flat: Flat) -> Result<Self, &'static str> {
        Ok(match flat.criterion.ok_or("criterion")? {
            Criterion::Condition => Self::Condition {
                condition: flat.condition.ok_or("condition")?,
                argument: flat.argument,
            },
            Criterion::ToolExecuted => Self::ToolExecuted {
                required: flat.required.ok_or("required")?,
                missing: flat.missing.ok_or("missing")?,
            },
            Criterion::Availability => return Err("a criterion of success"),
        })
    }
}

impl From<UsedUp> for Flat {
    fn from(what: UsedUp) -> Self {
        let of = |what| Self { used_up: Some(what), ..Self::default() };
        match what {
            UsedUp::Tries { role, crashes, failed_turns } => Self {
                role: Some(role),
                crashes: Some(crashes),
                failed_turns: Some(failed_turns),
                ..of(UsedUpKind::Tries)
            },
            UsedUp::Attempt { attempt, setback } => {
                Self { attempt: Some(attempt), setback: Some(setback), ..of(UsedUpKind::Attempt) }
            }
            UsedUp::Retries { retries } => {
                Self { retries: Some(retries), ..of(UsedUpKind::Retries) }
            }
        }
    }
}

impl TryFrom<Flat> for UsedUp {
    type Error = &'static str;

    fn try_from(flat: Flat) -> Result<Self, &'static str> {
        Ok(match flat.used_up.ok_or("usedUp")? {
            UsedUpKind::Tries => Self::Tries {
                role: flat.role.ok_or("role")?,
                crashes: flat.crashes.ok_or("crashes")?,
                failed_turns: flat.failed_turns.ok_or("failedTurns")?,
            },
            UsedUpKind::Attempt => Self::Attempt {
                attempt: flat.attempt.ok_or("attempt")?,
                setback: flat.setback.ok_or("setback")?,
            },
            UsedUpKind::Retries => Self::Retries { retries: flat.retries.ok_or("retries")? },
        })
    }
}

impl From<FailureCause> for Flat {
    fn from(cause: FailureCause) -> Self {
        let of = |cause| Self { cause: Some(cause), ..Self::default() };
        match cause {
            FailureCause::NotAvailable => {
                Self { criterion: Some(Criterion::Availability), ..of(CauseKind::NotAvailable) }
            }
            FailureCause::CriteriaNotMet { criterion } => {
                Self { criterion: Some(criterion), ..of(CauseKind::CriteriaNotMet) }
            }
            FailureCause::SessionCrashed { role, error } => {
                Self { role: Some(role), error: Some(error), ..of(CauseKind::SessionCrashed) }
            }
            FailureCause::TurnFailed { role, error } => {
                Self { role: Some(role), error: Some(error), ..of(CauseKind::TurnFailed) }
            }
            FailureCause::Stopped => of(CauseKind::Stopped),
        }
    }
}

impl TryFrom<Flat> for FailureCause {
    type Error = &'static str;

    fn try_from(flat: Flat) -> Result<Self, &'static str> {
        let (role, error) = (flat.role.ok_or("role"), flat.error.ok_or("error"));
        Ok(match flat.cause.ok_or("cause")? {
            CauseKind::NotAvailable => Self::NotAvailable,
            CauseKind::CriteriaNotMet => {
                Self::CriteriaNotMet { criterion: flat.criterion.ok_or("criterion")? }
            }
            CauseKind::SessionCrashed => Self::SessionCrashed { role: role?, error: error? },
            CauseKind::TurnFailed => Self::TurnFailed { role: role?, error: error? },
            CauseKind::Stopped => Self::Stopped,
        })
    }
}
