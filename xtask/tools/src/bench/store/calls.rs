//! Calls that are answered once what they did is durable: how long do they take if many come at
//! once?

use anyhow::bail;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Place, Subject};
use crate::bench::figures::{Goal, Outcome, Sample, Unit, number, thousands};
use crate::bench::load::client::{Client, Target};
use crate::bench::load::streams::start_session;

const CALLERS: usize = 64;
const CALLS_EACH: usize = 200;

pub(super) async fn run(subject: &Subject<'_>) -> anyhow::Result<Outcome> {
    let data = tempfile::tempdir()?;
    let mut server = subject.serve(Place::Sqlite, &data, &[])?;
    let cpu_before = server.cpu_seconds();
    let begun = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        callers.spawn(rename_again_and_again(server.target.clone()));
    }
    let mut latencies = Vec::new();
    while let Some(caller) = callers.join_next().await {
        latencies.extend(caller??);
    }
    let seconds = begun.elapsed().as_secs_f64();
    let usage = server.usage(cpu_before);
    server.stop().await?;

    let latencies = Sample::new(latencies);
    let goal = Goal::new("p99 of a durable call", Unit::Milliseconds, 25.0);
    let details = format!(
        "{} calls/s, {}, {usage}",
        thousands(number(latencies.len()) / seconds),
        latencies.spread(),
    );
    Ok(Outcome { goals: vec![goal.measured(latencies.percentile(99))], details })
}

/// Renames a session of its own, and returns how many milliseconds each call took.
async fn rename_again_and_again(target: Target) -> anyhow::Result<Vec<f64>> {
    let mut client = Client::connect(&target).await?;
    let path = format!("{}/rename", start_session(&mut client).await?);
    let mut latencies = Vec::with_capacity(CALLS_EACH);
    for call in 0..CALLS_EACH {
        let begun = Instant::now();
        let answer = client.post(&path, &format!("title {call}")).await?;
        latencies.push(begun.elapsed().as_secs_f64() * 1e3);
        if answer != "{}" {
            bail!("instead of an acknowledgement: {answer}");
        }
    }
    Ok(latencies)
}
