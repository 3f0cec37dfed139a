//! Figures: percentiles, targets and how they are printed.

use std::fmt::Write;

/// How a figure is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Microseconds,
    Milliseconds,
    Seconds,
    Megabytes,
    Count,
}

impl Unit {
    pub(super) fn print(self, value: f64) -> String {
        match self {
            Self::Microseconds => format!("{value:.1} µs"),
            Self::Milliseconds => format!("{value:.1} ms"),
            Self::Seconds => format!("{value:.2} s"),
            Self::Megabytes => format!("{value:.1} MB"),
            Self::Count => thousands(value),
        }
    }

    /// A limit is a round number.
    fn print_limit(self, value: f64) -> String {
        match self {
            Self::Microseconds => format!("{value:.0} µs"),
            Self::Milliseconds => format!("{value:.0} ms"),
            Self::Seconds => format!("{value:.0} s"),
            Self::Megabytes => format!("{value:.0} MB"),
            Self::Count => thousands(value),
        }
    }
}

/// A figure that has to stay below a limit.
#[derive(Debug)]
pub(super) struct Goal {
    name: &'static str,
    unit: Unit,
    limit: f64,
    /// `None` where the system does not tell.
    measured: Option<f64>,
}

impl Goal {
    pub(super) fn new(name: &'static str, unit: Unit, limit: f64) -> Self {
        Self { name, unit, limit, measured: None }
    }

    pub(super) fn measured(mut self, value: impl Into<Option<f64>>) -> Self {
        self.measured = value.into();
        self
    }

    fn is_missed(&self) -> bool {
        self.measured.is_some_and(|value| value >= self.limit)
    }
}

/// What became of a scenario.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) goals: Vec<Goal>,
    /// Further figures and notes, in one line.
    pub(super) details: String,
}

impl Outcome {
    /// Name, target, measured, verdict; the details on a line of their own.
    pub(super) fn row(&self, title: &str) -> String {
        let list = |print: &dyn Fn(&Goal) -> String| {
            self.goals.iter().map(print).collect::<Vec<_>>().join(", ")
        };
        let targets =
            list(&|goal| format!("{} < {}", goal.name, goal.unit.print_limit(goal.limit)));
        let measured = list(&|goal| match goal.measured {
            Some(value) => format!("{} {}", goal.name, goal.unit.print(value)),
            None => format!("{} not measured", goal.name),
        });
        let missed = self.goals.iter().any(Goal::is_missed);
        let verdict = if missed { "MISSED" } else { "ok" };
        let mut row = format!("{title:<52} {targets:<52} {measured:<52} {verdict}");
        let _ = write!(row, "\n    {}", self.details);
        row
    }
}

/// A sample in order of size.
#[derive(Debug)]
pub(super) struct Sample(Vec<f64>);

impl Sample {
    pub(super) fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// The least value that so many of a hundred do not exceed; 0 if there are none.
    pub(super) fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    pub(super) fn spread(&self) -> String {
        let [p50, p99, max] = [50, 99, 100].map(|percent| self.percentile(percent));
        format!("p50 {p50:.1} / p99 {p99:.1} / max {max:.1} ms")
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "no count here comes near 2^52")]
pub(super) fn number(count: usize) -> f64 {
    count as f64
}

/// Grouped by commas, without decimals.
pub(super) fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_the_sample() {
        let sample = Sample::new((1..=200).rev().map(f64::from).collect());
        for (percent, expected) in [(0, 1.0), (1, 2.0), (50, 100.0), (99, 198.0), (100, 200.0)] {
            assert!((sample.percentile(percent) - expected).abs() < 1e-9, "{percent}");
        }
        assert!(Sample::new(vec![]).percentile(99).abs() < 1e-9);
        assert!((Sample::new(vec![7.0]).percentile(99) - 7.0).abs() < 1e-9);
    }

    #[test]
    fn counts_are_grouped() {
        for (value, text) in [(0.0, "0"), (999.0, "999"), (1000.0, "1,000"), (1e6, "1,000,000")] {
            assert_eq!(thousands(value), text);
        }
    }

    #[test]
    fn one_missed_goal_misses_and_an_unmeasured_one_does_not() {
        let age = |value| Goal::new("p99", Unit::Milliseconds, 20.0).measured(value);
        let cpu = || Goal::new("CPU", Unit::Seconds, 2.0);
        let verdict = |goals| Outcome { goals, details: "more".into() }.row("title");
        assert!(verdict(vec![age(19.9), cpu()]).contains("p99 19.9 ms, CPU not measured"));
        assert!(verdict(vec![age(19.9), cpu()]).ends_with(" ok\n    more"));
        assert!(verdict(vec![age(20.0), cpu()]).ends_with(" MISSED\n    more"));
        assert!(verdict(vec![age(1.0), cpu()]).contains("p99 < 20 ms, CPU < 2 s"));
    }
}
