//! `copilot-portal validate`: checks an entry before it is installed.

use std::path::Path;

use wire::entry::{Entry, Problems};

/// Checks the entry in a file. Both results are lines to print; the error lists the problems.
pub fn validate(file: &Path) -> Result<String, String> {
    let name = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("{name}: the file can't be read: {error}"))?;
    match Entry::parse(&text) {
        Ok(entry) => {
            let tasks = count(entry.tasks.len(), "task");
            let jobs = count(entry.jobs.len(), "job");
            Ok(format!("{name}: valid, {tasks}, {jobs}"))
        }
        Err(problems @ Problems::NotJson { .. }) => Err(format!("{name}: {problems}")),
        Err(problems @ Problems::Invalid { .. }) => Err(problems.to_string()),
    }
}

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
