//! The journal alone: how many facts a second it acknowledges.

use anyhow::Context;

use super::Subject;
use crate::bench::figures::{Goal, Outcome, Unit};
use crate::process;

const EXAMPLE: [&str; 6] = ["run", "--release", "-p", "store", "--example", "journal"];

/// Runs the example and reads the last row of its table.
pub(super) fn run(subject: &Subject<'_>) -> anyhow::Result<Outcome> {
    let output = process::capture(&mut subject.workspace.cargo(EXAMPLE))?;
    let rate = last_rate(&output).context("the example printed another table")?;
    let goal = Goal::at_least("acknowledged facts", Unit::PerSecond, 10_000.0).measured(rate);
    Ok(Outcome { goals: vec![goal], details: output.trim_end().replace('\n', "\n    ") })
}

/// Creates a store with a long past in a folder, and returns what the example says about it.
pub(super) fn fill(subject: &Subject<'_>, folder: &str) -> anyhow::Result<String> {
    let mut command = subject.workspace.cargo(EXAMPLE);
    Ok(process::capture(command.args(["fill", folder]))?.trim().to_owned())
}

fn last_rate(output: &str) -> Option<f64> {
    output.lines().last()?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_the_most_appenders_counts() {
        let output = "appenders facts/s p50 ms p99 ms\n  1  300  3.0  4.0\n  64  9000  5.0  9.0\n";
        assert_eq!(last_rate(output), Some(9_000.0));
        assert_eq!(last_rate("nothing"), None);
    }
}
