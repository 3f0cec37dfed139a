//! What was used of a budget, in words and figures; and the form in which people set one.

use wire::number::{parse_number, write_number, write_rounded};
use wire::{Amount, Budget, BudgetLimit, Spent};

use super::spending::count;

/// From this share on, a limit is nearly used up.
const NEAR: f64 = 0.8;

/// How much of a limit is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Less than four fifths are used.
    Enough,
    Little,
    Nothing,
}

impl Left {
    /// The class of its meter.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Enough => "enough",
            Self::Little => "little",
            Self::Nothing => "nothing",
        }
    }
}

/// One limit, and what was used of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LimitMeter {
    pub(crate) limit: BudgetLimit,
    pub(crate) allowed: f64,
    pub(crate) used: f64,
    pub(crate) left: Left,
}

impl LimitMeter {
    /// `3 of 5 turns`, with a warning if little or nothing is left.
    pub(crate) fn text(&self) -> String {
        let name = self.limit.name();
        let (used, allowed) = (figure(self.limit, self.used), figure(self.limit, self.allowed));
        let warning = match self.left {
            Left::Enough => "",
            Left::Little => ": nearly used up",
            Left::Nothing => ": used up",
        };
        match self.limit {
            BudgetLimit::Cost => format!("{name} {used} of {allowed}{warning}"),
            _ => format!("{used} of {allowed} {name}{warning}"),
        }
    }
}

/// A figure that is short enough for a line.
#[expect(clippy::cast_possible_truncation, reason = "shown with three digits")]
#[expect(clippy::cast_sign_loss, reason = "never negative")]
fn figure(limit: BudgetLimit, number: f64) -> String {
    match limit {
        BudgetLimit::Tokens => count(number as u64),
        _ => write_rounded(number),
    }
}

/// The limits of a budget, in their usual order.
pub(crate) fn meters(budget: &Budget, spent: &Spent) -> Vec<LimitMeter> {
    let limited = BudgetLimit::ALL.into_iter().filter_map(|limit| {
        let (allowed, used) = (budget.allowed(limit)?, spent.used(limit));
        let left = match used / allowed {
            share if share >= 1.0 => Left::Nothing,
            share if share >= NEAR => Left::Little,
            _ => Left::Enough,
        };
        Some(LimitMeter { limit, allowed, used, left })
    });
    limited.collect()
}

/// The text of the field for a limit: empty if there is none.
pub(crate) fn field(budget: &Budget, limit: BudgetLimit) -> String {
    // Not shortened, because it is read again.
    budget.allowed(limit).map(write_number).unwrap_or_default()
}

/// Reads the fields, in the order of [`BudgetLimit::ALL`]. The error is for people.
pub(crate) fn read_fields(fields: &[String; 4]) -> Result<Budget, String> {
    let [minutes, turns, tokens, cost] = fields.each_ref().map(|field| field.trim());
    Ok(Budget {
        minutes: read_amount("Minutes", minutes)?,
        turns: read_count("Turns", turns)?,
        tokens: read_count("Tokens", tokens)?,
        cost: read_amount("Cost", cost)?,
    })
}

fn read_amount(name: &str, text: &str) -> Result<Option<Amount>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let amount = parse_number(text).and_then(|number| Amount::try_from(number).ok());
    amount.map(Some).ok_or_else(|| format!("{name} must be a number above 0, or empty."))
}

fn read_count<T: std::str::FromStr>(name: &str, text: &str) -> Result<Option<T>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let count = text.parse::<T>().ok();
    count.map(Some).ok_or_else(|| format!("{name} must be a whole number above 0, or empty."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(texts: [&str; 4]) -> [String; 4] {
        texts.map(str::to_owned)
    }

    #[test]
    fn every_limit_says_what_was_used_and_warns_in_words() {
        let budget = read_fields(&fields(["2", "5", "100000", "10"])).expect("a budget");
        let spent = Spent { minutes: 0.504, turns: 4, tokens: 123_456, cost: 7.99 };
        let meters = meters(&budget, &spent);
        let told: Vec<_> = meters.iter().map(|meter| (meter.text(), meter.left)).collect();
        let told: Vec<_> = told.iter().map(|(text, left)| (text.as_str(), *left)).collect();
        assert_eq!(
            told,
            [
                ("0.5 of 2 minutes", Left::Enough),
                ("4 of 5 turns: nearly used up", Left::Little),
                ("123.4k of 100k tokens: used up", Left::Nothing),
                ("cost 7.99 of 10", Left::Enough),
            ]
        );
        assert_eq!(super::meters(&Budget::default(), &spent), []);
    }

    #[test]
    fn the_form_gives_back_what_it_shows() {
        for texts in [["", "", "", ""], ["0.5", "3", "250000", "1.25"], ["", "12", "", ""]] {
            let texts = fields(texts);
            let budget = read_fields(&texts).expect("a budget");
            assert_eq!(BudgetLimit::ALL.map(|limit| field(&budget, limit)), texts);
        }
        assert_eq!(
            read_fields(&fields([" 5 ", "", "", ""])),
            read_fields(&fields(["5", "", "", ""]))
        );
    }

    #[test]
    fn mistakes_name_their_field() {
        for (texts, sentence) in [
            (["0", "", "", ""], "Minutes must be a number above 0, or empty."),
            (["", "1.5", "", ""], "Turns must be a whole number above 0, or empty."),
            (["", "", "-1", ""], "Tokens must be a whole number above 0, or empty."),
            (["", "", "", "inf"], "Cost must be a number above 0, or empty."),
            (["five", "", "", ""], "Minutes must be a number above 0, or empty."),
        ] {
            assert_eq!(read_fields(&fields(texts)), Err(sentence.to_owned()));
        }
    }
}
