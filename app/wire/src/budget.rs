//! Budgets: how much a task, a job or a session may use, and how much it has used.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::AddAssign;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Usage;
use crate::json::{FromJson, ToJson, Value};
use crate::number::{write_number, write_rounded};

/// How much may be used. What is absent is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, FromJson, ToJson)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Budget {
    /// How long it may run, in minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<Amount>,
    /// How many prompts may be sent to agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(max = u32::MAX)))]
    pub turns: Option<NonZeroU32>,
    /// How many tokens models may read and write.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(max = 9_007_199_254_740_991_u64)))]
    pub tokens: Option<NonZeroU64>,
    /// What requests to models may cost, in the units of their provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Amount>,
}

/// Unlike a derived reader, this one does not take a list of limits without names, nor other names.
impl<'de> Deserialize<'de> for Budget {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(field_identifier, rename_all = "lowercase")]
        enum Field {
            Minutes,
            Turns,
            Tokens,
            Cost,
        }

        struct Limits;

        impl<'de> Visitor<'de> for Limits {
            type Value = Budget;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the limits of a budget by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Budget, A::Error> {
                let mut budget = Budget::default();
                while let Some(field) = fields.next_key()? {
                    match field {
                        Field::Minutes => budget.minutes = fields.next_value()?,
                        Field::Turns => budget.turns = fields.next_value()?,
                        Field::Tokens => budget.tokens = fields.next_value()?,
                        Field::Cost => budget.cost = fields.next_value()?,
                    }
                }
                Ok(budget)
            }
        }

        source.deserialize_map(Limits)
    }
}

/// A finite number greater than 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize)]
#[serde(try_from = "f64")]
pub struct Amount(f64);

// It is never NaN.
impl Eq for Amount {}

/// The number is not finite, or not greater than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be greater than 0")]
pub struct NotAnAmount;

impl TryFrom<f64> for Amount {
    type Error = NotAnAmount;

    fn try_from(number: f64) -> Result<Self, NotAnAmount> {
        if number.is_finite() && number > 0.0 { Ok(Self(number)) } else { Err(NotAnAmount) }
    }
}

impl FromJson for Amount {
    fn from_json(value: Value<'_>) -> Self {
        Self::try_from(f64::from_json(value)).unwrap_or_else(|_| {
            value.fail("a number greater than 0");
            Self(1.0)
        })
    }
}

impl ToJson for Amount {
    fn to_json(&self, text: &mut String) {
        text.push_str(&write_number(self.0));
    }
}

impl Amount {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }

    fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
}

impl Serialize for Amount {
    /// Whole numbers without a fraction, as people write them.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if self.0.fract() == 0.0 && self.0 < EXACT {
            #[expect(clippy::cast_possible_truncation, reason = "whole and small enough")]
            #[expect(clippy::cast_sign_loss, reason = "greater than 0")]
            return serializer.serialize_u64(self.0 as u64);
        }
        serializer.serialize_f64(self.0)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Amount {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number", "exclusiveMinimum": 0 })
    }
}

/// A limit of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum BudgetLimit {
    Minutes,
    Turns,
    Tokens,
    Cost,
}

impl BudgetLimit {
    /// All limits, in the order in which they are shown and checked.
    pub const ALL: [Self; 4] = [Self::Minutes, Self::Turns, Self::Tokens, Self::Cost];

    /// The name of its field in a budget, which is also its unit.
    pub fn name(self) -> &'static str {
        match self {
            Self::Minutes => "minutes",
            Self::Turns => "turns",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
        }
    }
}

impl Budget {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a limit allows; `None` if it does not limit anything.
    pub fn allowed(&self, limit: BudgetLimit) -> Option<f64> {
        match limit {
            BudgetLimit::Minutes => self.minutes.map(Amount::get),
            BudgetLimit::Turns => self.turns.map(|turns| f64::from(turns.get())),
            BudgetLimit::Tokens => self.tokens.map(|tokens| count(tokens.get())),
            BudgetLimit::Cost => self.cost.map(Amount::get),
        }
    }

    /// This budget, with the default's limits where it has none.
    #[must_use]
    pub fn or(self, default: Self) -> Self {
        Self {
            minutes: self.minutes.or(default.minutes),
            turns: self.turns.or(default.turns),
            tokens: self.tokens.or(default.tokens),
            cost: self.cost.or(default.cost),
        }
    }

    /// The stricter limits of both.
    #[must_use]
    pub fn narrowed_by(self, other: Self) -> Self {
        let stricter = self.or(other);
        Self {
            minutes: stricter.minutes.map(|own| other.minutes.map_or(own, |it| own.min(it))),
            turns: stricter.turns.map(|own| other.turns.map_or(own, |it| own.min(it))),
            tokens: stricter.tokens.map(|own| other.tokens.map_or(own, |it| own.min(it))),
            cost: stricter.cost.map(|own| other.cost.map_or(own, |it| own.min(it))),
        }
    }

    /// This budget with one limit raised by what `first` set it to, as often as it takes to leave
    /// something of it. Other limits stay.
    #[must_use]
    pub fn raised(mut self, limit: BudgetLimit, first: &Self, spent: &Spent) -> Self {
        match limit {
            BudgetLimit::Minutes => {
                self.minutes = raised_amount(self.minutes, first.minutes, spent.minutes);
            }
            BudgetLimit::Turns => {
                let first = first.turns.map(NonZeroU64::from);
                let turns = self.turns.map(NonZeroU64::from);
                let turns = raised_count(turns, first, spent.turns.into());
                self.turns = turns.map(|turns| turns.try_into().unwrap_or(NonZeroU32::MAX));
            }
            BudgetLimit::Tokens => {
                self.tokens = raised_count(self.tokens, first.tokens, spent.tokens);
            }
            BudgetLimit::Cost => self.cost = raised_amount(self.cost, first.cost, spent.cost),
        }
        self
    }

    /// The first limit that is used up.
    pub fn reached(&self, spent: &Spent) -> Option<Reached> {
        BudgetLimit::ALL.into_iter().find_map(|limit| self.reached_limit(limit, spent))
    }

    /// Whether a limit is used up.
    pub fn reached_limit(&self, limit: BudgetLimit, spent: &Spent) -> Option<Reached> {
        let (allowed, used) = (self.allowed(limit)?, spent.used(limit));
        (used >= allowed).then_some(Reached { limit, allowed, used })
    }
}

/// What was used, in the units of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, FromJson)]
#[serde(default)]
pub struct Spent {
    /// How long it has run, in minutes.
    pub minutes: f64,
    /// How many prompts were sent to agents.
    pub turns: u32,
    /// Tokens that models read and wrote.
    pub tokens: u64,
    /// What providers said that it cost.
    pub cost: f64,
}

impl Spent {
    /// Whether nothing was used.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What was used of a limit.
    pub fn used(&self, limit: BudgetLimit) -> f64 {
        match limit {
            BudgetLimit::Minutes => self.minutes,
            BudgetLimit::Turns => f64::from(self.turns),
            BudgetLimit::Tokens => count(self.tokens),
            BudgetLimit::Cost => self.cost,
        }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, more: Self) {
        self.minutes += more.minutes;
        self.turns = self.turns.saturating_add(more.turns);
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.cost += more.cost;
    }
}

impl From<Usage> for Spent {
    fn from(usage: Usage) -> Self {
        Self {
            tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            cost: usage.cost.unwrap_or_default(),
            ..Self::default()
        }
    }
}

fn raised_amount(own: Option<Amount>, first: Option<Amount>, used: f64) -> Option<Amount> {
    let own = own?.0;
    let step = first.map_or(own, Amount::get);
    let steps = ((used - own) / step).floor().max(0.0) + 1.0;
    Some(Amount((own + steps * step).min(f64::MAX)))
}

fn raised_count(
    own: Option<NonZeroU64>,
    first: Option<NonZeroU64>,
    used: u64,
) -> Option<NonZeroU64> {
    let own = own?;
    let step = first.unwrap_or(own).get();
    let steps = used.saturating_sub(own.get()) / step + 1;
    Some(own.saturating_add(steps.saturating_mul(step)))
}

#[expect(clippy::cast_precision_loss, reason = "exact up to nine quadrillion tokens")]
fn count(tokens: u64) -> f64 {
    tokens as f64
}

/// A limit that is used up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// The limit that was reached.
    pub limit: BudgetLimit,
    /// What the budget allows, in the unit of `limit`.
    pub allowed: f64,
    /// What was used, in the unit of `limit`.
    pub used: f64,
}

impl Reached {
    /// `120 of 100 tokens`
    pub fn figures(&self) -> String {
        let (used, allowed) = (write_rounded(self.used), write_rounded(self.allowed));
        format!("{used} of {allowed} {}", self.limit.name())
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the budget is used up: {}", self.figures())
    }
}

/// The answer of `session/{id}/budget`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, FromJson)]
pub struct SessionBudget {
    /// How much the session may use.
    pub budget: Budget,
    /// How much its turns have used.
    pub spent: Spent,
}

#[cfg(test)]
mod tests;
