//! `bench browser`: what a person waits for, in a real browser.
//!
//! `end2end/bench` measures, with the release, and notes one figure a line. Which figures there are,
//! and their limits, stands here.

use std::collections::HashMap;
use std::fs;

use anyhow::Context;
use serde_json::Value;

use super::figures::{Goal, Unit};
use crate::browser;
use crate::download;
use crate::product::Product;
use crate::workspace::Workspace;

/// The folder of the scripts, below `end2end`.
const SCRIPTS: &str = "bench";
const FIGURES_VARIABLE: &str = "PORTAL_FIGURES";

/// Every figure with its limit.
fn goals() -> Vec<Goal> {
    let milliseconds = |name, limit| Goal::new(name, Unit::Milliseconds, limit);
    let download =
        |path| Goal::new(format!("download: {path}"), Unit::Kilobytes, download::LIMIT_KILOBYTES);
    vec![
        // On a slow phone: 1.6 Mbit/s, 150 ms, a quarter of this machine's speed.
        milliseconds("first load: readable", 1_000.0),
        milliseconds("first load: hydrated", 2_700.0),
        Goal::unlimited("first load: longest task", Unit::Milliseconds),
        download("/"),
        download("/jobs.html"),
        download("/inbox.html"),
        download("/bridge.html"),
        download("/jobTracking.html"),
        milliseconds("long session: usable", 1_500.0),
        milliseconds("long session: longest task while it opens", 200.0),
        Goal::unlimited("long session: DOM nodes", Unit::Count),
        milliseconds("long session: typing ten characters", 100.0),
        milliseconds("long session: longest task while typing", 200.0),
        milliseconds("side bar: longest task while it opens", 200.0),
        milliseconds("side bar: longest task while 20 stream", 100.0),
        Goal::unlimited("side bar: DOM nodes", Unit::Count),
        milliseconds("twenty tabs: usable after being shown", 2_000.0),
    ]
}

/// Runs the scripts, or those of them whose files' names begin with `script`. What they could not
/// measure is listed as such.
pub(super) fn run(
    workspace: &Workspace,
    product: &Product,
    script: &str,
) -> anyhow::Result<Vec<Goal>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("figures");
    let server =
        [("PORTAL_BINARY", product.binary.as_os_str()), (FIGURES_VARIABLE, file.as_os_str())];
    // A script that fails has measured less than it should, which the table shows.
    if let Err(error) = browser::install(workspace)?.run(SCRIPTS, &[script], server) {
        eprintln!("{error:#}");
    }
    let figures = fs::read_to_string(&file).unwrap_or_default();
    let measured = parse(&figures).context("the scripts noted what can't be read")?;
    Ok(with_figures(goals(), &measured, !script.is_empty()))
}

/// One figure a line: `{"name":…,"value":…}`.
fn parse(figures: &str) -> anyhow::Result<HashMap<String, f64>> {
    let figure = |line: &str| {
        let figure: Value = serde_json::from_str(line)?;
        let name = figure["name"].as_str().context("no name")?.to_owned();
        Ok((name, figure["value"].as_f64().context("no value")?))
    };
    figures.lines().map(figure).collect()
}

/// The goals with what was measured; if only some scripts ran, without the others' goals.
fn with_figures(goals: Vec<Goal>, measured: &HashMap<String, f64>, only_some: bool) -> Vec<Goal> {
    let figure = |goal: Goal| {
        let value = measured.get(&goal.name).copied();
        goal.measured(value)
    };
    let goals = goals.into_iter().map(figure);
    goals.filter(|goal| goal.measured.is_some() || !only_some).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_find_their_goals_and_missing_ones_are_shown() {
        let measured = parse("{\"name\":\"a\",\"value\":12.5}\n").expect("one figure");
        let goals = || {
            ["a", "b"].map(|name| Goal::new(name, Unit::Milliseconds, 10.0)).into_iter().collect()
        };
        let all = with_figures(goals(), &measured, false);
        assert_eq!((all[0].value(), all[0].is_missed()), ("12.5 ms".to_owned(), true));
        assert_eq!((all.len(), all[1].value()), (2, "not measured".to_owned()));
        assert_eq!(with_figures(goals(), &measured, true).len(), 1);
        assert!(parse("{\"name\":\"a\"}").is_err());
    }

    #[test]
    fn every_goal_has_a_name_of_its_own() {
        let names: std::collections::HashSet<_> =
            goals().into_iter().map(|goal| goal.name).collect();
        assert_eq!(names.len(), goals().len());
    }
}
