//! Decisions as they are spelt: one flat object with every field that any of them has.
//!
//! A derived tag would copy each object first, as said in `tagged`. Decisions have tags
//! within tags, so they can't be read by the first field.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::SessionId;
use crate::budget::BudgetLimit;
use crate::decision::{
    Criterion, Decision, FailedTurn, FailureCause, Recovery, SessionRole, Setback, Unmet, UsedUp,
};
use crate::json::{FromJson, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
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

#[derive(Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
enum UsedUpKind {
    Tries,
    Attempt,
    Retries,
}

#[derive(Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
enum CauseKind {
    NotAvailable,
    CriteriaNotMet,
    SessionCrashed,
    TurnFailed,
    Internal,
    Budget,
    Stopped,
    Interrupted,
    CountedAsFailed,
}

#[derive(Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
enum Event {
    Stopped,
}

/// Declares a struct whose fields are all optional, and are not written if they are `None`.
macro_rules! flat {
    ($($name:ident: $type:ty,)*) => {
        #[derive(Default, Serialize, Deserialize, FromJson)]
        #[serde(rename_all = "camelCase")]
        struct Flat {
            $(#[serde(skip_serializing_if = "Option::is_none")] $name: Option<$type>,)*
        }
    };
}

flat! {
    kind: Kind,
    role: SessionRole,
    model: String,
    session_id: SessionId,
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

/// Spells a type as what it is in a [`Flat`].
macro_rules! spelt_flat {
    ($($type:ident)*) => {
        $(impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Flat::from(self.clone()).serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                let lacks = |missing| de::Error::custom(format_args!("a decision lacks {missing}"));
                Flat::deserialize(source)?.try_into().map_err(lacks)
            }
        })*
    };
}

spelt_flat! { Decision FailureCause }

impl FromJson for Decision {
    fn from_json(value: Value<'_>) -> Self {
        Flat::from_json(value).try_into().unwrap_or_else(|missing| {
            value.fail(missing);
            Self::Stopped
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
        NotAvailable {; argument} + criterion: Criterion::Availability,
        CriteriaNotMet { criterion; argument, missing },
        SessionCrashed { role, error; crashes },
        TurnFailed { role, error; failed_turns },
        Internal {},
        Budget { limit, allowed, used },
        Stopped {},
        Interrupted {},
        CountedAsFailed {},
    }
}
