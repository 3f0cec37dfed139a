//! What a person reads: numbered steps while they run, a table of the checks at the end.

use std::fmt::Write;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// Steps of known number, announced on standard error.
pub(crate) struct Steps {
    count: usize,
    current: usize,
    start: Instant,
}

impl Steps {
    /// Starts the clock.
    pub(crate) fn new(count: usize) -> Self {
        Self { count, current: 0, start: Instant::now() }
    }

    /// Announces a step, runs it and says how long it took.
    pub(crate) fn run<T>(
        &mut self,
        title: &str,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        self.announce(title);
        let start = Instant::now();
        let result = work()?;
        eprintln!("      done in {}", seconds(start.elapsed()));
        Ok(result)
    }

    /// Announces a step that has nothing to do.
    pub(crate) fn skip(&mut self, title: &str) {
        self.announce(title);
        eprintln!("      nothing changed");
    }

    /// Says how long all of it took.
    pub(crate) fn finish(&self, title: &str) {
        eprintln!("{title} in {}", seconds(self.start.elapsed()));
    }

    fn announce(&mut self, title: &str) {
        self.current += 1;
        eprintln!("[{}/{}] {title}", self.current, self.count);
    }
}

/// How many checks passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Counts {
    /// One check that passed.
    pub(crate) const PASSED: Self = Self { passed: 1, failed: 0 };
    /// One check that failed.
    pub(crate) const FAILED: Self = Self { passed: 0, failed: 1 };
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// How a step ended.
pub(crate) enum Outcome {
    /// It ran to its end.
    Counted(Counts),
    /// It did not run, and why.
    Skipped(String),
}

/// The steps so far.
#[derive(Default)]
pub(crate) struct Summary {
    lines: Vec<(&'static str, Outcome, Duration)>,
}

impl Summary {
    /// Remembers how a step ended.
    pub(crate) fn add(&mut self, name: &'static str, outcome: Outcome, time: Duration) {
        self.lines.push((name, outcome, time));
    }

    /// The sum over all steps.
    pub(crate) fn total(&self) -> Counts {
        let mut total = Counts::default();
        for (_, outcome, _) in &self.lines {
            if let Outcome::Counted(counts) = outcome {
                total += *counts;
            }
        }
        total
    }

    /// The table, whose last line is the sum alone: other programs read it.
    pub(crate) fn table(&self) -> String {
        let mut table = format!("{:<12} {:>7} {:>7} {:>12}\n", "step", "passed", "failed", "time");
        for (name, outcome, time) in &self.lines {
            let line = match outcome {
                Outcome::Counted(Counts { passed, failed }) => {
                    format!("{name:<12} {passed:>7} {failed:>7} {:>12}", seconds(*time))
                }
                Outcome::Skipped(reason) => format!("{name:<12} skipped: {reason}"),
            };
            table += &line;
            table.push('\n');
        }
        let Counts { passed, failed } = self.total();
        let _ = write!(table, "\n{passed} passed, {failed} failed");
        table
    }
}

/// A time as a person says it.
pub(crate) fn seconds(time: Duration) -> String {
    let whole = time.as_secs();
    if whole < 60 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_sum() {
        let mut summary = Summary::default();
        let counts = Counts { passed: 12, failed: 1 };
        summary.add("fmt", Outcome::Counted(Counts::PASSED), Duration::from_millis(800));
        summary.add("test", Outcome::Counted(counts), Duration::from_secs(83));
        summary.add("leptos", Outcome::Skipped("not asked for".to_owned()), Duration::ZERO);
        let table = summary.table();
        assert_eq!(table.lines().last(), Some("13 passed, 1 failed"));
        assert!(table.contains("test              12       1   1 min 23 s"), "{table}");
        assert!(table.contains("leptos       skipped: not asked for"), "{table}");
    }
}
