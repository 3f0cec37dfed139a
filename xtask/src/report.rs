//! Output for people: numbered steps while they run, and a table of the checks at the end.

use std::env;
use std::fmt::Write;
use std::ops::AddAssign;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// When the front end started, in milliseconds since 1970: the tools measure from there.
const START_VARIABLE: &str = "XTASK_START_MS";

/// A known number of steps, announced on standard error.
pub struct Steps {
    count: usize,
    current: usize,
    start: Instant,
}

impl Steps {
    /// Starts the clock for so many steps.
    pub fn new(count: usize) -> Self {
        Self { count, current: 0, start: Instant::now() }
    }

    /// Continues after the one step of the front end.
    pub fn after_front(count: usize) -> Self {
        let start = env::var(START_VARIABLE).ok().and_then(|text| text.parse().ok());
        let start = start.and_then(|start| UNIX_EPOCH.checked_add(Duration::from_millis(start)));
        let passed = start.and_then(|start| SystemTime::now().duration_since(start).ok());
        let start = passed.and_then(|passed| Instant::now().checked_sub(passed));
        Self { count, current: 1, start: start.unwrap_or_else(Instant::now) }
    }

    /// The environment variable by which the tools continue the measurement.
    pub fn environment() -> (&'static str, String) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (START_VARIABLE, now.as_millis().to_string())
    }

    /// Announces a step, runs it and prints how long it took.
    pub fn run<T, E>(&mut self, title: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.announce(title);
        let start = Instant::now();
        let result = work()?;
        eprintln!("      done in {}", seconds(start.elapsed()));
        Ok(result)
    }

    /// Announces a step that has nothing to do.
    pub fn skip(&mut self, title: &str) {
        self.announce(title);
        eprintln!("      nothing changed");
    }

    /// Prints how long everything took.
    pub fn finish(&self, title: &str) {
        eprintln!("{title} in {}", seconds(self.start.elapsed()));
    }

    fn announce(&mut self, title: &str) {
        self.current += 1;
        if self.count == 1 {
            eprintln!("{title}");
        } else {
            eprintln!("[{}/{}] {title}", self.current, self.count);
        }
    }
}

/// How many checks passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of passed checks.
    pub passed: u64,
    /// Number of failed checks.
    pub failed: u64,
}

impl Counts {
    /// One check that passed.
    pub const PASSED: Self = Self { passed: 1, failed: 0 };
    /// One check that failed.
    pub const FAILED: Self = Self { passed: 0, failed: 1 };
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// The outcome of a step.
pub enum Outcome {
    /// It ran to the end.
    Counted(Counts),
    /// It was skipped, for this reason.
    Skipped(String),
}

/// The outcomes of all steps so far.
#[derive(Default)]
pub struct Summary {
    lines: Vec<(&'static str, Outcome, Duration)>,
}

impl Summary {
    /// Adds the outcome of a step.
    pub fn add(&mut self, name: &'static str, outcome: Outcome, time: Duration) {
        self.lines.push((name, outcome, time));
    }

    /// The sum over all steps.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        for (_, outcome, _) in &self.lines {
            if let Outcome::Counted(counts) = outcome {
                total += *counts;
            }
        }
        total
    }

    /// The table. Its last line is only the sum, which other programs read.
    pub fn table(&self) -> String {
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

/// A duration in readable form.
pub fn seconds(time: Duration) -> String {
    let whole = time.as_secs();
    if whole < 60 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

/// An estimated duration, rounded for people.
pub fn about(time: Duration) -> String {
    match time.as_secs() {
        0..20 => format!("about {} s", time.as_secs().max(1)),
        // Rounded up to ten seconds: the estimate is no more accurate.
        seconds @ 20..90 => format!("about {} s", seconds.div_ceil(10) * 10),
        seconds => format!("about {} min", seconds.div_ceil(60)),
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
    #[test]
    fn estimates_are_round() {
        for (time, text) in [
            (0, "about 1 s"),
            (19, "about 19 s"),
            (41, "about 50 s"),
            (90, "about 2 min"),
            (300, "about 5 min"),
        ] {
            assert_eq!(about(Duration::from_secs(time)), text);
        }
    }
}
