//! Very many readers that wait for something that never happens, and a client that must not notice
//! them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::client::{Client, Target};
use super::server::Server;
use super::streams::{live_path, start_session};
use crate::bench::figures::{Goal, Outcome, Sample, Unit, number, thousands};

const POLLS: usize = 10_000;
const SESSIONS: usize = 10;
/// File handles reserved for everything else in this program and the server.
const OTHER_FILES: u64 = 500;
/// The readers arrive spread over the time for which a poll is held, so that their calls also end
/// one after the other.
const ARRIVAL: Duration = Duration::from_secs(5);
/// Long enough for two polls of every reader.
const WATCH: Duration = Duration::from_secs(10);
const BETWEEN_TESTS: Duration = Duration::from_millis(5);

pub(super) async fn run(server: &Server) -> anyhow::Result<Outcome> {
    // The server does the same, and inherits the same hard limit.
    let files = rlimit::increase_nofile_limit(u64::MAX).unwrap_or_default();
    let allowed = usize::try_from(files.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX);
    let polls = if cfg!(unix) { POLLS.min(allowed) } else { POLLS };

    let mut client = Client::connect(&server.target).await?;
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(start_session(&mut client).await?);
    }
    let memory_before = server.memory();
    let cpu_before = server.cpu_seconds();
    let held = Arc::new(AtomicUsize::new(0));
    let mut readers = JoinSet::new();
    let begun = Instant::now();
    for index in 0..polls {
        let live = live_path(&sessions[index % SESSIONS], index);
        let arrival = begun + ARRIVAL.mul_f64(number(index) / number(polls));
        readers.spawn(wait_for_ever(server.target.clone(), live, arrival, held.clone()));
    }
    sleep_until(begun + ARRIVAL).await;
    // The last ones may still be connecting.
    while held.load(Ordering::Relaxed) < polls * 99 / 100 {
        check(&mut readers)?;
        sleep(BETWEEN_TESTS).await;
    }

    let mut latencies = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < WATCH {
        let sent = Instant::now();
        client.get("test").await?;
        latencies.push(sent.elapsed().as_secs_f64() * 1e3);
        check(&mut readers)?;
        sleep(BETWEEN_TESTS).await;
    }

    let latencies = Sample::new(latencies);
    let peak = server.peak_memory();
    let goals = vec![
        Goal::new("peak memory", Unit::Megabytes, 300.0).measured(peak),
        Goal::new("api/test p99", Unit::Milliseconds, 50.0).measured(latencies.percentile(99)),
    ];
    let each = peak.zip(memory_before).map(|(peak, before)| (peak - before) * 1e3 / number(polls));
    let mut details = format!(
        "{} held at once, {}, api/test {}, {}",
        thousands(number(polls)),
        each.map_or("memory not measured".to_owned(), |each| format!("{each:.1} kB each")),
        latencies.spread(),
        server.usage(cpu_before),
    );
    if polls < POLLS {
        details.push_str("; fewer than meant: the limit of file handles is too low");
    }
    Ok(Outcome { goals, details })
}

/// Fails if a reader has failed: none ends on its own.
fn check(readers: &mut JoinSet<anyhow::Result<()>>) -> anyhow::Result<()> {
    match readers.try_join_next() {
        None => Ok(()),
        Some(ended) => ended?.context("a reader ended"),
    }
}

async fn wait_for_ever(
    target: Target,
    live: String,
    arrival: Instant,
    held: Arc<AtomicUsize>,
) -> anyhow::Result<()> {
    sleep_until(arrival).await;
    let mut client = Client::connect(&target).await?;
    loop {
        held.fetch_add(1, Ordering::Relaxed);
        let answer = client.get(&live).await?;
        held.fetch_sub(1, Ordering::Relaxed);
        if !answer.contains("HttpRequestTimeout") {
            bail!("instead of nothing: {answer}");
        }
    }
}
