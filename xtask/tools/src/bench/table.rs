//! The table of figures, beside those of earlier runs.

use std::fmt::Write;
use std::thread;

use serde_json::json;

use super::figures::Goal;
use crate::kept::Kept;
use crate::process;
use crate::workspace::Workspace;

/// Every figure with its limit and its stored value.
pub(super) fn table(kept: &Kept, goals: &[Goal]) -> String {
    let names = goals.iter().map(|goal| goal.name.chars().count());
    let width = names.max().unwrap_or_default().max("metric".len());
    let mut table = format!(
        "{:<width$} {:>12} {:>14} {:>14} {:>8}\n",
        "metric", "limit", "measured", "kept", "change"
    );
    let mut missed = 0;
    for goal in goals {
        let before = kept.value(&goal.name);
        let change = goal.measured.zip(before).and_then(|(now, before)| change(now, before));
        let (limit, value) = (goal.limit(), goal.value());
        let before = before.map_or("-".to_owned(), |kept| goal.unit.print(kept));
        let change = change.unwrap_or_default();
        let _ =
            write!(table, "{:<width$} {limit:>12} {value:>14} {before:>14} {change:>8}", goal.name);
        table += if goal.is_missed() { "  MISSED\n" } else { "\n" };
        missed += usize::from(goal.is_missed());
    }
    let _ = write!(table, "{} figures, {missed} beyond their limits", goals.len());
    table
}

/// Replaces stored figures by new ones. Other figures stay.
pub(super) fn keep(kept: &mut Kept, workspace: &Workspace, goals: &[Goal]) -> anyhow::Result<()> {
    let mut git = process::command("git");
    git.args(["log", "-1", "--format=%h %cs"]).current_dir(&workspace.root);
    let commit = process::capture(&mut git).unwrap_or_default();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    for goal in goals {
        let Some(measured) = goal.measured else { continue };
        let value = (measured * 1e3).round() / 1e3;
        let figure = json!({ "value": value, "commit": commit.trim(), "cores": cores });
        kept.0.insert(goal.name.clone(), figure);
    }
    kept.write(workspace)
}

/// The difference in percent; `None` if the old value is 0.
fn change(now: f64, before: f64) -> Option<String> {
    (before.abs() > f64::EPSILON).then(|| format!("{:+.0} %", (now / before - 1.0) * 100.0))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

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
        let table = table(&Kept(kept), &goals);
        let rows: Vec<Vec<&str>> =
            table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["age", "<", "20", "ms", "5.0", "ms", "4.0", "ms", "+25", "%"]);
        assert_eq!(rows[2], ["size", "<", "350", "kB", "444.4", "kB", "-", "MISSED"]);
        assert_eq!(rows[3], ["binary", "-", "12.0", "MB", "-"]);
        assert_eq!(table.lines().last(), Some("3 figures, 1 beyond their limits"));
    }
}
