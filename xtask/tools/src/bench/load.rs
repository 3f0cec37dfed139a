//! `bench load`: the release under load, over HTTP/1.1 on loopback.
//!
//! ```text
//!  scenario ─► Client ×N (one thread, kept-alive connections) ─► copilot-portal --test --port 0
//!      │                                                                 │
//!      └─ ages of deltas, latencies, answers      CPU time and memory ◄──┘ (from /proc)
//! ```
//!
//! Every scenario has its own server, so that no scenario affects another. Client and server share
//! the machine: figures are only meaningful if nothing else runs on it.

pub(super) mod client;
mod idle;
pub(super) mod jobs;
mod requests;
pub(super) mod server;
pub(super) mod streams;
mod vanish;

use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, bail};

use super::figures::{Goal, Outcome};

use server::Server;
use streams::Streams;

/// Time limit of a scenario.
const DEADLINE: Duration = Duration::from_mins(1);

type Running<'a> = Pin<Box<dyn Future<Output = anyhow::Result<Outcome>> + 'a>>;

struct Scenario {
    name: &'static str,
    title: &'static str,
    /// Additional arguments of the server.
    arguments: &'static [&'static str],
    run: fn(&Server) -> Running<'_>,
}

const SCENARIOS: [Scenario; 7] = [
    Scenario {
        name: "streams-100",
        title: "100 sessions × 200 deltas, 10 ms apart",
        arguments: &[],
        run: |server| Box::pin(Streams::HUNDRED.run(server)),
    },
    Scenario {
        name: "streams-500",
        title: "500 sessions × 200 deltas, 10 ms apart",
        arguments: &[],
        run: |server| Box::pin(Streams::FIVE_HUNDRED.run(server)),
    },
    Scenario {
        name: "readers",
        title: "100 sessions × 3 readers, 200 deltas, 10 ms apart",
        arguments: &[],
        run: |server| Box::pin(Streams::THREE_READERS.run(server)),
    },
    Scenario {
        name: "requests",
        title: "api/test, 32 connections, 100,000 requests",
        arguments: &[],
        run: |server| Box::pin(requests::run(server)),
    },
    Scenario {
        name: "idle",
        title: "10,000 idle long polls, api/test meanwhile",
        arguments: &[],
        run: |server| Box::pin(idle::run(server)),
    },
    Scenario {
        name: "vanish",
        title: "1,000 sessions whose clients vanish",
        arguments: &[],
        run: |server| Box::pin(vanish::run(server)),
    },
    Scenario {
        name: "jobs",
        title: "50 jobs × 20 trivial tasks, one after the other",
        arguments: jobs::ARGUMENTS,
        run: |server| Box::pin(jobs::run(server)),
    },
];

/// Whether any scenario's name has this prefix.
pub(super) fn has_scenario(prefix: &str) -> bool {
    SCENARIOS.iter().any(|scenario| scenario.name.starts_with(prefix))
}

/// Runs the scenarios whose names have this prefix and returns their figures. A missed limit is an
/// ordinary result; only a failed measurement is an error.
pub(super) fn run(binary: &Path, prefix: &str) -> anyhow::Result<Vec<Goal>> {
    // One thread: the client uses one core at most and leaves the rest to the server.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut goals = Vec::new();
    let mut broken = Vec::new();
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.name.starts_with(prefix)) {
        println!("{}", scenario.title);
        match runtime.block_on(measure(binary, scenario)) {
            Ok(outcome) => {
                println!("    {}", outcome.details);
                let figures = outcome.goals.into_iter();
                goals.extend(figures.map(|goal| goal.of(scenario.title)));
            }
            Err(error) => {
                println!("    BROKE: {error:#}");
                broken.push(scenario.name);
            }
        }
    }
    if broken.is_empty() {
        return Ok(goals);
    }
    bail!("scenarios that broke: {}", broken.join(", "))
}

async fn measure(binary: &Path, scenario: &Scenario) -> anyhow::Result<Outcome> {
    let mut server = Server::start(binary, scenario.arguments)?;
    let outcome = tokio::time::timeout(DEADLINE, (scenario.run)(&server)).await;
    let stopped = server.stop().await;
    let outcome = outcome.context("it took too long")??;
    stopped?;
    Ok(outcome)
}
