//! `bench live-log`: the cost of a push to a live log, whatever it contains and whoever reads it.

use anyhow::Context;

use super::figures::{Goal, Unit};
use crate::process;
use crate::workspace::Workspace;

/// The largest log of the example's first table, and its number of readers.
const LARGEST: &str = "1000000";

/// Runs the example and reads the most expensive cell of its first table.
pub(super) fn measure(workspace: &Workspace) -> anyhow::Result<Vec<Goal>> {
    let example = ["run", "--release", "-p", "store", "--example", "live_log"];
    let mut output = String::new();
    let mut command = workspace.cargo(example);
    let status = process::run_lines(&mut command, |line| {
        process::echo(line);
        output += line;
        output.push('\n');
    })?;
    process::check(&command, status)?;
    let cost = largest_cost(&output).context("the example printed another table")?;
    let name = "a push to a live log of 1,000,000 entries with 100 readers";
    Ok(vec![Goal::new(name, Unit::Nanoseconds, 1_000.0).measured(cost)])
}

fn largest_cost(output: &str) -> Option<f64> {
    let row = output.lines().find(|line| line.trim_start().starts_with(LARGEST))?;
    row.split_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cell_of_the_largest_log_counts() {
        let output = "entries 0 readers 1 reader 100 readers\n   1000  1.0  2.0  3.0\n1000000  4.0  5.0  6.5\n";
        assert_eq!(largest_cost(output), Some(6.5));
        assert_eq!(largest_cost("nothing"), None);
    }
}
