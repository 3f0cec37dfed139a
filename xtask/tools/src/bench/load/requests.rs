//! The cheapest endpoint at its highest rate: the basic cost of a request.

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::client::Client;
use super::server::Server;
use crate::bench::figures::{Goal, Outcome, Sample, Unit, number, thousands};

const CONNECTIONS: usize = 32;
const REQUESTS_EACH: usize = 3_125;

pub(super) async fn run(server: &Server) -> anyhow::Result<Outcome> {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(Client::connect(&server.target).await?);
    }
    let cpu_before = server.cpu_seconds();
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for mut client in clients {
        tasks.spawn(async move { call_again_and_again(&mut client).await });
    }
    let mut latencies = Vec::new();
    while let Some(client) = tasks.join_next().await {
        latencies.extend(client??);
    }

    let seconds = begun.elapsed().as_secs_f64();
    let latencies = Sample::new(latencies);
    let requests = number(latencies.len());
    let cpu = server.cpu_seconds().zip(cpu_before);
    let cpu_each = cpu.map(|(now, before)| (now - before) * 1e6 / requests);
    let goal = Goal::new("CPU per request", Unit::Microseconds, 15.0).measured(cpu_each);
    let details = format!(
        "{} requests/s, {}, {}",
        thousands(requests / seconds),
        latencies.spread(),
        server.usage(cpu_before),
    );
    Ok(Outcome { goals: vec![goal], details })
}

async fn call_again_and_again(client: &mut Client) -> anyhow::Result<Vec<f64>> {
    let mut latencies = Vec::with_capacity(REQUESTS_EACH);
    for _ in 0..REQUESTS_EACH {
        let begun = Instant::now();
        client.get("test").await?;
        latencies.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(latencies)
}
