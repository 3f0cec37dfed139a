//! `bench store`: the cost of keeping what happens, and of having kept a lot.
//!
//! ```text
//!  streams ─► a server that keeps, and one that does not, in turns
//!  calls   ─► 64 clients, each of which waits until what it did is durable
//!  facts   ─► the journal alone (an example of the crate `store`)
//!  jobs    ─► 20,000 tasks, one wave of jobs after the other
//!  past    ─► a server over 10,000 sessions, and one over none
//! ```
//!
//! Every server has a data folder of its own. Figures are only meaningful if nothing else runs.

mod calls;
mod facts;
mod jobs;
mod past;
mod streams;

use std::path::Path;

use anyhow::{Context, bail};
use tempfile::TempDir;

use super::figures::{Goal, Outcome};
use super::load::server::Server;
use crate::workspace::Workspace;

/// What is measured.
struct Subject<'a> {
    workspace: &'a Workspace,
    /// The release of the server.
    binary: &'a Path,
}

struct Scenario {
    name: &'static str,
    title: &'static str,
    run: fn(&Subject<'_>) -> anyhow::Result<Outcome>,
}

const SCENARIOS: [Scenario; 5] = [
    Scenario {
        name: "streams",
        title: "store on, 100 sessions × 200 deltas",
        run: |subject| block_on(streams::run(subject)),
    },
    Scenario {
        name: "calls",
        title: "store on, 64 callers",
        run: |subject| block_on(calls::run(subject)),
    },
    Scenario { name: "facts", title: "journal", run: facts::run },
    Scenario {
        name: "jobs",
        title: "store on, 50 jobs × 20 tasks",
        run: |subject| block_on(jobs::run(subject)),
    },
    Scenario {
        name: "past",
        title: "10,000 sessions, 1,000,000 facts",
        run: |subject| block_on(past::run(subject)),
    },
];

/// Whether any scenario's name has this prefix.
pub(super) fn has_scenario(prefix: &str) -> bool {
    SCENARIOS.iter().any(|scenario| scenario.name.starts_with(prefix))
}

/// Runs the scenarios whose names have this prefix and returns their figures. A missed limit is an
/// ordinary result; only a failed measurement is an error.
pub(super) fn run(workspace: &Workspace, binary: &Path, prefix: &str) -> anyhow::Result<Vec<Goal>> {
    let subject = Subject { workspace, binary };
    let mut goals = Vec::new();
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.name.starts_with(prefix)) {
        println!("{}", scenario.title);
        let outcome = (scenario.run)(&subject);
        let outcome = outcome.with_context(|| format!("store:{} broke", scenario.name))?;
        println!("    {}", outcome.details);
        goals.extend(outcome.goals.into_iter().map(|goal| goal.of(scenario.title)));
    }
    Ok(goals)
}

/// On one thread: the client uses one core at most and leaves the rest to the server.
fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(future)
}

/// Where a server keeps what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Memory,
    Sqlite,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
        }
    }
}

impl Subject<'_> {
    /// Starts a server on a data folder.
    fn serve(&self, place: Place, data: &TempDir, arguments: &[&str]) -> anyhow::Result<Server> {
        let Some(folder) = data.path().to_str() else { bail!("the temporary folder is not UTF-8") };
        let keeping = ["--data-dir", folder, "--store", place.name()];
        Server::start(self.binary, &[&keeping, arguments].concat())
    }
}
