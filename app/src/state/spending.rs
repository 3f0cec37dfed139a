//! Usage of sessions, added up and formatted.

use wire::Usage;
use wire::number::write_rounded;

/// The usage of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spending {
    /// The last turn that used anything.
    pub(crate) turn: Usage,
    pub(crate) total: Usage,
    /// A turn has begun and used nothing yet.
    is_new_turn: bool,
}

impl Spending {
    /// Usage from now on belongs to another turn.
    pub(crate) fn begin_turn(&mut self) {
        self.is_new_turn = true;
    }

    /// Adds the usage of one model round.
    pub(crate) fn add(&mut self, usage: Usage) {
        if std::mem::take(&mut self.is_new_turn) {
            self.turn = Usage::default();
        }
        self.turn += usage;
        self.total += usage;
    }

    /// The sum of both; `later` provides the last turn.
    pub(crate) fn and_then(mut self, later: &Self) -> Self {
        self.total += later.total;
        if !later.turn.is_empty() {
            self.turn = later.turn;
        }
        self
    }

    /// One line about the last turn and the total; `None` if nothing is known.
    pub(crate) fn describe(&self) -> Option<String> {
        let total = describe(&self.total)?;
        match describe(&self.turn) {
            Some(turn) if self.turn != self.total => {
                Some(format!("Last turn: {turn} · In all: {total}"))
            }
            _ => Some(total),
        }
    }
}

/// `12.3k tokens`: what was used in all, for where there is little room.
pub(crate) fn tokens(usage: &Usage) -> Option<String> {
    let all = usage.input_tokens + usage.output_tokens;
    (all > 0).then(|| format!("{} tokens", count(all)))
}

/// `12.3k tokens in, 456 out, cost 1.5`; `None` if nothing was used.
pub(crate) fn describe(usage: &Usage) -> Option<String> {
    if usage.is_empty() {
        return None;
    }
    let (read, written) = (count(usage.input_tokens), count(usage.output_tokens));
    let cost = usage.cost.map(|cost| format!(", cost {}", write_rounded(cost))).unwrap_or_default();
    Some(format!("{read} tokens in, {written} out{cost}"))
}

/// A number of tokens, abbreviated.
#[expect(clippy::cast_precision_loss, reason = "three digits of it are shown")]
pub(super) fn count(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", write_rounded((tokens / 100) as f64 / 10.0)),
        _ => format!("{}M", write_rounded((tokens / 100_000) as f64 / 10.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(input_tokens: u64, output_tokens: u64, cost: Option<f64>) -> Usage {
        Usage { input_tokens, output_tokens, cost, ..Usage::default() }
    }

    #[test]
    fn usage_is_said_in_few_words() {
        for (usage, words) in [
            (used(0, 0, None), None),
            (used(12, 0, None), Some("12 tokens in, 0 out")),
            (used(999, 1000, Some(1.0)), Some("999 tokens in, 1k out, cost 1")),
            (used(12_345, 2_000_000, Some(0.33)), Some("12.3k tokens in, 2M out, cost 0.33")),
            (used(999_999, 1_550_000, Some(0.0)), Some("999.9k tokens in, 1.5M out, cost 0")),
        ] {
            assert_eq!(describe(&usage).as_deref(), words);
        }
    }

    #[test]
    fn where_there_is_little_room_tokens_are_summed_up() {
        assert_eq!(tokens(&used(0, 0, None)), None);
        assert_eq!(tokens(&used(8_000, 500, Some(1.0))).as_deref(), Some("8.5k tokens"));
    }

    #[test]
    fn a_turn_is_told_of_until_the_next_one_uses_something() {
        let mut spending = Spending::default();
        assert_eq!(spending.describe(), None);
        spending.begin_turn();
        spending.add(used(10, 1, None));
        spending.add(used(20, 2, None));
        assert_eq!(spending.describe().as_deref(), Some("30 tokens in, 3 out"));
        spending.begin_turn();
        assert_eq!(spending.turn, used(30, 3, None));
        spending.add(used(5, 5, None));
        let line = "Last turn: 5 tokens in, 5 out · In all: 35 tokens in, 8 out";
        assert_eq!(spending.describe().as_deref(), Some(line));
    }

    #[test]
    fn the_last_session_that_used_anything_had_the_last_turn() {
        let mut first = Spending::default();
        first.add(used(10, 1, Some(1.0)));
        let mut second = Spending::default();
        second.add(used(1, 1, None));
        let both = first.and_then(&second);
        assert_eq!((both.turn, both.total), (used(1, 1, None), used(11, 2, Some(1.0))));
        assert_eq!(first.and_then(&Spending::default()).turn, first.turn);
    }
}
