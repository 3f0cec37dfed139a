//! Clients that start sessions, use them and vanish: is the memory freed?
//!
//! Half of them never read, half hang up in the middle of a poll. The server remembers the latter
//! for ten minutes, in case they reconnect, and with them the responses of their sessions: the
//! memory measured after the countdown still contains those.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::client::{Client, Target};
use super::server::Server;
use super::streams::{live_path, measuring_prompt, start_session};
use crate::bench::figures::{Goal, Outcome, Unit};

const SESSIONS: usize = 1_000;
/// How many of them are active at a time. With all of them at once some 46 MB stayed, probably kept
/// by the system's allocator after the higher peak: more waves did not add to it.
const AT_A_TIME: usize = 100;
const DELTAS: usize = 200;
const MILLISECONDS_APART: u32 = 10;
/// How long the sessions stream before they are stopped: almost to their end.
const USE: Duration = Duration::from_millis(2_300);
/// The countdown of a server in test mode, plus time for its clean-up.
const COUNT_DOWN: Duration = Duration::from_secs(7);

pub(super) async fn run(server: &Server) -> anyhow::Result<Outcome> {
    Client::connect(&server.target).await?.get("test").await?;
    let cpu_before = server.cpu_seconds();
    let memory_before = server.memory();
    let mut clients = JoinSet::new();
    for index in 0..SESSIONS {
        if clients.len() == AT_A_TIME
            && let Some(client) = clients.join_next().await
        {
            client??;
        }
        clients.spawn(use_and_vanish(server.target.clone(), index % 2 == 1));
    }
    while let Some(client) = clients.join_next().await {
        client??;
    }
    let memory_stopped = server.memory();
    sleep(COUNT_DOWN).await;

    let memory_after = server.memory();
    let growth = memory_after.zip(memory_before).map(|(after, before)| after - before);
    let goals = vec![Goal::new("memory kept", Unit::Megabytes, 20.0).measured(growth)];
    let memory = |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.1}"));
    let details = format!(
        "memory {} MB at the start, {} when all were stopped, {} after the count-down with {} \
         sessions still held for readers that hung up, {}",
        memory(memory_before),
        memory(memory_stopped),
        memory(memory_after),
        SESSIONS / 2,
        server.usage(cpu_before),
    );
    Ok(Outcome { goals, details })
}

async fn use_and_vanish(target: Target, reads: bool) -> anyhow::Result<()> {
    let mut client = Client::connect(&target).await?;
    let path = start_session(&mut client).await?;
    client.post(&format!("{path}/query"), &measuring_prompt(DELTAS, MILLISECONDS_APART)).await?;
    let live = live_path(&path, 0);
    let until = Instant::now() + USE;
    if reads {
        // The time ends in the middle of a poll.
        while let Ok(answer) = timeout_at(until, client.get(&live)).await {
            answer?;
        }
    }
    sleep_until(until).await;
    drop(client);
    let mut client = Client::connect(&target).await?;
    client.send("POST", &format!("{path}/stop"), "").await?;
    // The stop request must be read before the connection closes, or it may be lost.
    sleep(Duration::from_millis(500)).await;
    Ok(())
}
