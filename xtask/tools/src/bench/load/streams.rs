//! Many sessions that stream concurrently: how old is a delta when a reader sees it?

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use tokio::task::JoinSet;

use super::client::{Client, Target};
use super::server::Server;
use crate::bench::figures::{Goal, Outcome, Sample, Unit, number, thousands};

/// A free model that every server in test mode has.
const MODEL: &str = "gpt-5-mini";

/// How many sessions stream how much to how many readers, and the limits.
pub(in crate::bench) struct Streams {
    sessions: usize,
    readers: usize,
    deltas: usize,
    milliseconds_apart: u32,
    max_age: f64,
    max_cpu: Option<f64>,
    max_responses: Option<f64>,
}

impl Streams {
    pub(in crate::bench) const HUNDRED: Self = Self {
        sessions: 100,
        readers: 1,
        deltas: 200,
        milliseconds_apart: 10,
        max_age: 20.0,
        max_cpu: None,
        max_responses: None,
    };

    pub(in crate::bench) const FIVE_HUNDRED: Self = Self {
        sessions: 500,
        max_age: 100.0,
        max_cpu: Some(2.0),
        max_responses: Some(20_000.0),
        ..Self::HUNDRED
    };

    /// The number of readers lies between those of the two scenarios above.
    pub(in crate::bench) const THREE_READERS: Self =
        Self { readers: 3, max_age: 100.0, ..Self::HUNDRED };

    pub(in crate::bench) async fn run(&self, server: &Server) -> anyhow::Result<Outcome> {
        let cpu_before = server.cpu_seconds();
        let Streamed { ages, cpu, deltas_per_second } = self.measure(server).await?;
        let age = Goal::new("age p99", Unit::Milliseconds, self.max_age);
        let mut goals = vec![age.measured(ages.percentile(99))];
        if let Some(limit) = self.max_cpu {
            goals.push(Goal::new("CPU", Unit::Seconds, limit).measured(cpu));
        }
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let responses = server.target.responses() as f64;
        if let Some(limit) = self.max_responses {
            goals.push(Goal::new("responses", Unit::Count, limit).measured(responses));
        }
        let details = format!(
            "{} deltas/s, age {}, {} responses, {}",
            thousands(deltas_per_second),
            ages.spread(),
            thousands(responses),
            server.usage(cpu_before),
        );
        Ok(Outcome { goals, details })
    }

    /// Runs all sessions from their start to their end.
    pub(in crate::bench) async fn measure(&self, server: &Server) -> anyhow::Result<Streamed> {
        let cpu_before = server.cpu_seconds();
        let prompt = measuring_prompt(self.deltas, self.milliseconds_apart);
        let mut tasks = JoinSet::new();
        for _ in 0..self.sessions {
            let session = converse(server.target.clone(), prompt.clone(), self.readers);
            tasks.spawn(session);
        }
        let mut seen = Seen::default();
        while let Some(session) = tasks.join_next().await {
            seen.merge(session??);
        }
        let expected = self.sessions * self.readers * self.deltas;
        if seen.ages.len() != expected {
            bail!("{} deltas arrived of {expected}", seen.ages.len());
        }
        Ok(Streamed {
            cpu: server.cpu_seconds().zip(cpu_before).map(|(now, before)| now - before),
            deltas_per_second: number(seen.ages.len()) * 1_000.0 / (seen.last - seen.first),
            ages: Sample::new(seen.ages),
        })
    }
}

/// What was measured while the sessions streamed.
pub(in crate::bench) struct Streamed {
    /// How old each delta was when its reader had it, in milliseconds.
    pub(in crate::bench) ages: Sample,
    /// CPU time of the server in seconds, if the system provides it.
    pub(in crate::bench) cpu: Option<f64>,
    deltas_per_second: f64,
}

/// The prompt that makes a simulated model stream timestamps.
pub(in crate::bench) fn measuring_prompt(deltas: usize, milliseconds_apart: u32) -> String {
    // Enough time for all sessions to start before the first delta.
    format!("Stream {deltas} deltas with {milliseconds_apart} ms between deltas after 500 ms.")
}

/// Starts a session and returns its path.
pub(in crate::bench) async fn start_session(client: &mut Client) -> anyhow::Result<String> {
    let answer = client.post(&format!("copilot/session/start/{MODEL}"), "").await?;
    let json: serde_json::Value = serde_json::from_str(answer)?;
    let id = json["sessionId"].as_str().with_context(|| format!("no session: {answer}"))?;
    Ok(format!("copilot/session/{id}"))
}

/// One session from its start to its end, read by several readers.
async fn converse(target: Target, prompt: String, readers: usize) -> anyhow::Result<Seen> {
    let mut client = Client::connect(&target).await?;
    let path = start_session(&mut client).await?;
    let mut others = JoinSet::new();
    for reader in 1..readers {
        let (target, live) = (target.clone(), live_path(&path, reader));
        others.spawn(async move {
            let mut client = Client::connect(&target).await?;
            read_turn(&mut client, &live).await
        });
    }
    client.post(&format!("{path}/query"), &prompt).await?;
    let live = live_path(&path, 0);
    let mut seen = read_turn(&mut client, &live).await?;
    while let Some(other) = others.join_next().await {
        seen.merge(other??);
    }
    client.post(&format!("{path}/stop"), "").await?;
    let end = client.get(&live).await?;
    if !end.contains("SessionClosed") {
        bail!("instead of the end of the session: {end}");
    }
    Ok(seen)
}

/// The live path of a reader; tokens only need to differ within a session.
pub(in crate::bench) fn live_path(session: &str, reader: usize) -> String {
    format!("{session}/live/00000000-0000-4000-8000-{reader:012x}")
}

/// Reads until the session is idle.
async fn read_turn(client: &mut Client, live: &str) -> anyhow::Result<Seen> {
    let mut seen = Seen::default();
    loop {
        let answer = client.get(live).await?;
        if answer.starts_with("{\"error\"") && !answer.contains("HttpRequestTimeout") {
            bail!("instead of responses: {answer}");
        }
        seen.note(answer, epoch_milliseconds())?;
        if answer.contains("\"onIdle\"") {
            return Ok(seen);
        }
    }
}

fn epoch_milliseconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1_000.0
}

/// The deltas that a reader has seen.
#[derive(Debug)]
struct Seen {
    /// The age of each, in milliseconds.
    ages: Vec<f64>,
    first: f64,
    last: f64,
}

impl Default for Seen {
    fn default() -> Self {
        Self { ages: Vec::new(), first: f64::INFINITY, last: 0.0 }
    }
}

impl Seen {
    /// Records the new deltas `<SEQ:EPOCH_MS>` of an answer. The end of a message repeats all of
    /// them, and those seen before do not count again.
    fn note(&mut self, answer: &str, now: f64) -> anyhow::Result<()> {
        for part in answer.split('<').skip(1) {
            let delta = part.split_once('>').and_then(|(delta, _)| delta.split_once(':'));
            let (number, time) = delta.with_context(|| format!("not a delta: <{part}"))?;
            let (number, produced): (usize, f64) = (number.parse()?, time.parse()?);
            if number > self.ages.len() {
                bail!("delta {number} came before delta {}", self.ages.len());
            }
            if number == self.ages.len() {
                self.ages.push(now - produced);
                self.first = self.first.min(now);
                self.last = now;
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: Self) {
        self.ages.extend(other.ages);
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_deltas_count_each_and_repeated_ones_once() {
        let mut seen = Seen::default();
        seen.note(r#"{"delta":"<0:100.5>"}"#, 101.0).expect("a delta");
        seen.note(
            r#"{"delta":"<1:110><2:120>"},{"completeContent":"<0:100.5><1:110><2:120>"}"#,
            130.0,
        )
        .expect("two deltas");
        assert_eq!(seen.ages, [0.5, 20.0, 10.0]);
        assert_eq!((seen.first, seen.last), (101.0, 130.0));
    }

    #[test]
    fn a_lost_delta_is_noticed() {
        let mut seen = Seen::default();
        assert!(seen.note("<1:100>", 100.0).is_err());
        assert!(seen.note("<0:1", 100.0).is_err());
    }
}
