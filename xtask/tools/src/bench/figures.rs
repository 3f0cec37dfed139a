//! Figures: percentiles, limits and their formatting.

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    Kilobytes,
    Megabytes,
    Count,
    PerSecond,
    /// A multiple of another figure.
    Times,
}

impl Unit {
    pub(in crate::bench) fn print(self, value: f64) -> String {
        match self {
            Self::Nanoseconds => format!("{value:.0} ns"),
            Self::Microseconds => format!("{value:.1} µs"),
            Self::Milliseconds => format!("{value:.1} ms"),
            Self::Seconds => format!("{value:.2} s"),
            Self::Kilobytes => format!("{value:.1} kB"),
            Self::Megabytes => format!("{value:.1} MB"),
            Self::Count => thousands(value),
            Self::PerSecond => format!("{}/s", thousands(value)),
            Self::Times => format!("{value:.2} ×"),
        }
    }

    /// Limits are round numbers.
    fn print_limit(self, value: f64) -> String {
        match self {
            Self::Nanoseconds => format!("{value:.0} ns"),
            Self::Microseconds => format!("{value:.0} µs"),
            Self::Milliseconds => format!("{value:.0} ms"),
            Self::Seconds => format!("{value:.0} s"),
            Self::Kilobytes => format!("{value:.0} kB"),
            Self::Megabytes => format!("{value:.0} MB"),
            Self::Count | Self::PerSecond | Self::Times => self.print(value),
        }
    }
}

/// The bound that a figure is to keep.
#[derive(Clone, Copy, Debug)]
enum Limit {
    Below(f64),
    AtLeast(f64),
}

/// A figure, with an optional limit.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Goal {
    pub(in crate::bench) name: String,
    pub(in crate::bench) unit: Unit,
    limit: Option<Limit>,
    /// `None` where the system does not provide it.
    pub(in crate::bench) measured: Option<f64>,
}

impl Goal {
    /// A figure that is better if smaller.
    pub(in crate::bench) fn new(name: impl Into<String>, unit: Unit, limit: f64) -> Self {
        Self { limit: Some(Limit::Below(limit)), ..Self::unlimited(name, unit) }
    }

    /// A figure that is better if larger.
    pub(in crate::bench) fn at_least(name: impl Into<String>, unit: Unit, limit: f64) -> Self {
        Self { limit: Some(Limit::AtLeast(limit)), ..Self::unlimited(name, unit) }
    }

    /// A figure without a limit.
    pub(in crate::bench) fn unlimited(name: impl Into<String>, unit: Unit) -> Self {
        Self { name: name.into(), unit, limit: None, measured: None }
    }

    pub(in crate::bench) fn measured(mut self, value: impl Into<Option<f64>>) -> Self {
        self.measured = value.into();
        self
    }

    /// The same figure, prefixed with a title.
    pub(in crate::bench) fn of(mut self, title: &str) -> Self {
        self.name = format!("{title}: {}", self.name);
        self
    }

    /// The limit as text; `-` if there is none.
    pub(in crate::bench) fn limit(&self) -> String {
        match self.limit {
            None => "-".to_owned(),
            Some(Limit::Below(limit)) => format!("< {}", self.unit.print_limit(limit)),
            Some(Limit::AtLeast(limit)) => format!("≥ {}", self.unit.print_limit(limit)),
        }
    }

    pub(in crate::bench) fn value(&self) -> String {
        self.measured.map_or("not measured".to_owned(), |value| self.unit.print(value))
    }

    pub(in crate::bench) fn is_missed(&self) -> bool {
        self.measured.zip(self.limit).is_some_and(|(value, limit)| match limit {
            Limit::Below(limit) => value >= limit,
            Limit::AtLeast(limit) => value < limit,
        })
    }
}

/// The outcome of a scenario.
#[derive(Debug)]
pub(in crate::bench) struct Outcome {
    pub(in crate::bench) goals: Vec<Goal>,
    /// Further figures and notes, on one line.
    pub(in crate::bench) details: String,
}

/// Measurements in ascending order.
#[derive(Debug)]
pub(in crate::bench) struct Sample(Vec<f64>);

impl Sample {
    pub(in crate::bench) fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// The smallest value that `percent` per cent of the measurements do not exceed; 0 if there are
    /// none.
    pub(in crate::bench) fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    pub(in crate::bench) fn spread(&self) -> String {
        let [p50, p99, max] = [50, 99, 100].map(|percent| self.percentile(percent));
        format!("p50 {p50:.1} / p99 {p99:.1} / max {max:.1} ms")
    }

    pub(in crate::bench) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Converts a count for calculations.
#[expect(clippy::cast_precision_loss, reason = "no count here comes near 2^52")]
pub(in crate::bench) fn number(count: usize) -> f64 {
    count as f64
}

/// With thousands separators, without decimals.
pub(in crate::bench) fn thousands(value: f64) -> String {
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
    fn a_goal_is_missed_at_its_limit_and_never_unmeasured_or_without_one() {
        let age = |value: Option<f64>| Goal::new("p99", Unit::Milliseconds, 20.0).measured(value);
        assert!(age(Some(20.0)).is_missed());
        assert!(!age(Some(19.9)).is_missed());
        assert!(!age(None).is_missed());
        assert!(!Goal::unlimited("size", Unit::Megabytes).measured(1e9).is_missed());
        assert_eq!(
            (age(Some(19.94)).limit(), age(Some(19.94)).value()),
            ("< 20 ms".into(), "19.9 ms".into())
        );
        assert_eq!(age(None).value(), "not measured");
    }

    #[test]
    fn a_goal_that_is_better_if_larger_is_missed_below_its_limit() {
        let rate = |value: f64| Goal::at_least("tasks", Unit::PerSecond, 1e3).measured(value);
        assert!(rate(999.0).is_missed());
        assert!(!rate(1e3).is_missed());
        assert_eq!((rate(1e4).limit(), rate(1e4).value()), ("≥ 1,000/s".into(), "10,000/s".into()));
        let share = Goal::at_least("share", Unit::Times, 0.9).measured(0.955);
        assert_eq!((share.limit(), share.value()), ("≥ 0.90 ×".into(), "0.95 ×".into()));
    }
}
