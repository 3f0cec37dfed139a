//! A server with a long past, and one without: how soon it answers, what it needs, and how fast it
//! finds something.

use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::{Place, Subject, facts};
use crate::bench::figures::{Goal, Outcome, Sample, Unit};
use crate::bench::load::client::Client;
use crate::bench::load::server::Server;
use crate::bench::load::streams::live_path;

/// What a list is asked for: all, and each filter.
const LISTS: [&str; 5] = [
    "limit=50",
    "limit=50&before=5000",
    "limit=50&kind=session&state=idle",
    "limit=50&folder=/home/somebody/source/project",
    "limit=50&state=failed",
];
/// A word of every text and of one, of many and of none.
const SEARCHES: [&str; 5] =
    ["q=everywhere", "q=everywhere&before=100", "q=once", "q=word42+everywhere", "q=nowhere"];
/// The beginning of nearly all words.
const BEGINNING: [&str; 1] = ["q=word"];
/// Sessions from the beginning of the past, by their positions in the list.
const OLD: [u64; 10] = [2, 20, 37, 99, 444, 800, 1_300, 2_021, 3_333, 5_000];
/// How often each request is made; the median counts.
const REPEATS: usize = 5;
/// How long a server rests before its memory is read.
const REST: Duration = Duration::from_secs(1);

pub(super) async fn run(subject: &Subject<'_>) -> anyhow::Result<Outcome> {
    let [empty, full] = [tempfile::tempdir()?, tempfile::tempdir()?];
    let folder = full.path().to_str().context("the temporary folder is not UTF-8")?;
    let filled = facts::fill(subject, folder)?;

    let mut without = Started::start(subject, &empty).await?;
    without.server.stop().await?;
    let mut with = Started::start(subject, &full).await?;
    let mut client = Client::connect(&with.server.target).await?;
    let lists = slowest(&mut client, &LISTS).await?;
    let searches = slowest(&mut client, &SEARCHES).await?;
    let beginning = slowest(&mut client, &BEGINNING).await?;
    let old = first_answers(&mut client).await?;
    let memory_after = with.server.memory();
    with.server.stop().await?;

    let more = with.memory.zip(without.memory).map(|(with, without)| with - without);
    let goals = vec![
        Goal::new("first answer after the start", Unit::Milliseconds, 1_000.0)
            .measured(with.first_answer),
        Goal::new("first history after the start", Unit::Milliseconds, 1_000.0)
            .measured(with.first_history),
        Goal::new("memory more than with none", Unit::Megabytes, 10.0).measured(more),
        Goal::new("history", Unit::Milliseconds, 20.0).measured(lists.time),
        Goal::new("search", Unit::Milliseconds, 50.0).measured(searches.time),
        Goal::unlimited("search for the beginning of 5,000 words", Unit::Milliseconds)
            .measured(beginning.time),
        Goal::new("an old session", Unit::Milliseconds, 100.0).measured(old),
    ];
    let memory = |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.1}"));
    let details = format!(
        "{filled}; with none {:.0} and {:.0} ms after the start, {} MB; with all {} MB, {} after \
         the requests; each {}; each {}",
        without.first_answer,
        without.first_history,
        memory(without.memory),
        memory(with.memory),
        memory(memory_after),
        lists.each,
        searches.each,
    );
    Ok(Outcome { goals, details })
}

/// A server that has answered.
struct Started {
    server: Server,
    /// From the start of the process to the answer of `api/test`, in milliseconds.
    first_answer: f64,
    /// The same for the newest sessions.
    first_history: f64,
    /// In MB, at rest.
    memory: Option<f64>,
}

impl Started {
    async fn start(subject: &Subject<'_>, data: &TempDir) -> anyhow::Result<Self> {
        let begun = Instant::now();
        let server = subject.serve(Place::Sqlite, data, &[])?;
        let mut client = Client::connect(&server.target).await?;
        client.get("test").await?;
        let first_answer = milliseconds(begun);
        client.get("copilot/history").await?;
        let first_history = milliseconds(begun);
        sleep(REST).await;
        let memory = server.memory();
        Ok(Self { server, first_answer, first_history, memory })
    }
}

/// The slowest of some requests.
struct Slowest {
    /// In milliseconds.
    time: f64,
    /// All of them, as text.
    each: String,
}

async fn slowest(client: &mut Client, queries: &[&str]) -> anyhow::Result<Slowest> {
    let mut times = Vec::new();
    let mut each = Vec::new();
    for query in queries {
        let path = format!("copilot/history?{query}");
        let time = median_time(client, &path, is_newest_first).await?;
        each.push(format!("{query} {time:.1} ms"));
        times.push(time);
    }
    Ok(Slowest { time: Sample::new(times).percentile(100), each: each.join(", ") })
}

/// The time until old sessions can be read, live and as a list; the slowest.
async fn first_answers(client: &mut Client) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    for before in OLD {
        let answer = client.get(&format!("copilot/history?limit=1&before={before}")).await?;
        let page: Value = serde_json::from_str(answer)?;
        let id = page["items"][0]["id"].as_str().with_context(|| format!("no session: {page}"))?;
        let session = format!("copilot/session/{id}");
        // The first one loads its log.
        for path in [live_path(&session, 0), format!("{session}/events")] {
            let begun = Instant::now();
            let answer = client.get(&path).await?;
            times.push(milliseconds(begun));
            if !answer.contains("onUserPrompt") {
                bail!("instead of what was said: {answer}");
            }
        }
    }
    Ok(Sample::new(times).percentile(100))
}

async fn median_time(
    client: &mut Client,
    path: &str,
    is_right: fn(&Value) -> bool,
) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let begun = Instant::now();
        let answer = client.get(path).await?;
        times.push(milliseconds(begun));
        let answer = serde_json::from_str(answer)?;
        if !is_right(&answer) {
            bail!("{path}: {answer}");
        }
    }
    Ok(Sample::new(times).percentile(50))
}

/// Times are in ISO 8601, so they are in the order of their texts.
fn is_newest_first(page: &Value) -> bool {
    let times = page["items"].as_array().map(|items| items.iter().map(|item| &item["startedAt"]));
    times.is_some_and(|times| times.rev().is_sorted_by_key(|time| time.as_str()))
}

fn milliseconds(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_that_begins_with_something_old_is_noticed() {
        let page = |times: &[&str]| {
            let items: Vec<_> = times.iter().map(|time| json!({ "startedAt": time })).collect();
            json!({ "items": items })
        };
        assert!(is_newest_first(&page(&["3", "2", "1"])) && is_newest_first(&page(&[])));
        assert!(!is_newest_first(&page(&["1", "2"])));
        assert!(!is_newest_first(&json!({ "error": "x" })));
    }
}
