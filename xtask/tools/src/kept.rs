//! The stored figures of earlier runs: `xtask/figures.json`. It is committed, so that a change that
//! costs something shows in its own diff.

use std::fmt::Write;
use std::path::PathBuf;
use std::{fs, io, thread};

use anyhow::Context;
use serde_json::{Map, Value, json};

use super::figures::Goal;
use crate::process;
use crate::workspace::Workspace;

const FILE: &str = "xtask/figures.json";

/// Figures of earlier runs, by name.
pub(super) struct Kept(Map<String, Value>);

impl Kept {
    /// Reads the file in the repository; empty if it does not exist.
    pub(super) fn read(workspace: &Workspace) -> anyhow::Result<Self> {
        let path = path(workspace);
        match fs::read_to_string(&path) {
            Ok(text) => {
                let figures = serde_json::from_str(&text);
                figures.map(Self).with_context(|| format!("cannot read {}", path.display()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self(Map::new())),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Every figure with its limit and its stored value.
    pub(super) fn table(&self, goals: &[Goal]) -> String {
        let names = goals.iter().map(|goal| goal.name.chars().count());
        let width = names.max().unwrap_or_default().max("metric".len());
        let mut table = format!(
            "{:<width$} {:>12} {:>14} {:>14} {:>8}\n",
            "metric", "limit", "measured", "kept", "change"
        );
        let mut missed = 0;
        for goal in goals {
            let kept = self.0.get(&goal.name).and_then(|kept| kept["value"].as_f64());
            let change = goal.measured.zip(kept).and_then(|(now, before)| change(now, before));
            let (limit, value) = (goal.limit(), goal.value());
            let kept = kept.map_or("-".to_owned(), |kept| goal.unit.print(kept));
            let change = change.unwrap_or_default();
            let _ = write!(
                table,
                "{:<width$} {limit:>12} {value:>14} {kept:>14} {change:>8}",
                goal.name
            );
            table += if goal.is_missed() { "  MISSED\n" } else { "\n" };
            missed += usize::from(goal.is_missed());
        }
        let _ = write!(table, "{} figures, {missed} beyond their limits", goals.len());
        table
    }

    /// Replaces stored figures by new ones. Other figures stay.
    pub(super) fn keep(&mut self, workspace: &Workspace, goals: &[Goal]) -> anyhow::Result<()> {
        let mut git = process::command("git");
        git.args(["log", "-1", "--format=%h %cs"]).current_dir(&workspace.root);
        let commit = process::capture(&mut git).unwrap_or_default();
        let cores = thread::available_parallelism().map_or(1, usize::from);
        for goal in goals {
            let Some(measured) = goal.measured else { continue };
            let value = (measured * 1e3).round() / 1e3;
            let kept = json!({ "value": value, "commit": commit.trim(), "cores": cores });
            self.0.insert(goal.name.clone(), kept);
        }
        let path = path(workspace);
        fs::write(&path, format!("{:#}\n", Value::Object(self.0.clone())))
            .with_context(|| format!("cannot write {}", path.display()))?;
        println!("kept in {}", path.display());
        Ok(())
    }
}

fn path(workspace: &Workspace) -> PathBuf {
    workspace.root.join(FILE)
}

/// The difference in percent; `None` if the old value is 0.
fn change(now: f64, before: f64) -> Option<String> {
    (before.abs() > f64::EPSILON).then(|| format!("{:+.0} %", (now / before - 1.0) * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figures::Unit;

    #[test]
    fn a_row_has_limit_figure_kept_figure_and_change() {
        let kept = json!({ "age": { "value": 4.0, "commit": "1234567 2026-01-01", "cores": 2 } });
        let Value::Object(kept) = kept else { panic!("an object") };
        let goals = [
            Goal::new("age", Unit::Milliseconds, 20.0).measured(5.0),
            Goal::new("size", Unit::Kilobytes, 350.0).measured(444.4),
            Goal::unlimited("binary", Unit::Megabytes).measured(12.0),
        ];
        let table = Kept(kept).table(&goals);
        let rows: Vec<Vec<&str>> =
            table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["age", "<", "20", "ms", "5.0", "ms", "4.0", "ms", "+25", "%"]);
        assert_eq!(rows[2], ["size", "<", "350", "kB", "444.4", "kB", "-", "MISSED"]);
        assert_eq!(rows[3], ["binary", "-", "12.0", "MB", "-"]);
        assert_eq!(table.lines().last(), Some("3 figures, 1 beyond their limits"));
    }
}
