//! Jobs that are kept: how fast tasks run, and whether they stay as fast while the store grows.

use super::{Place, Subject};
use crate::bench::figures::{Goal, Outcome, Unit, number, thousands};
use crate::bench::load::client::Client;
use crate::bench::load::jobs::{ARGUMENTS, TASKS, install_entry, run_wave};

/// Together 20,000 tasks.
const WAVES: usize = 20;

pub(super) async fn run(subject: &Subject<'_>) -> anyhow::Result<Outcome> {
    let data = tempfile::tempdir()?;
    let mut server = subject.serve(Place::Sqlite, &data, ARGUMENTS)?;
    let mut client = Client::connect(&server.target).await?;
    install_entry(&mut client).await?;
    let cpu_before = server.cpu_seconds();
    let mut rates = Vec::with_capacity(WAVES);
    for _ in 0..WAVES {
        rates.push(number(TASKS) / run_wave(&mut client).await?);
    }
    let usage = server.usage(cpu_before);
    server.stop().await?;

    let (first, last) = (rates[0], rates[WAVES - 1]);
    let goals = vec![
        Goal::at_least("tasks", Unit::PerSecond, 1_000.0).measured(first),
        Goal::at_least("the last 1,000 of 20,000, times the first", Unit::Times, 0.9)
            .measured(last / first),
    ];
    let rates: Vec<_> = rates.into_iter().map(thousands).collect();
    let details = format!("{} tasks/s from 1,000 to 1,000, {usage}", rates.join(", "));
    Ok(Outcome { goals, details })
}
