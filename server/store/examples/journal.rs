//! The journal in a file: how fast it acknowledges facts, and a store with a long past.
//!
//! - `cargo run --release -p store --example journal` prints how many facts a second are durable,
//!   and how long each of them took, for more and more appenders that wait for each of their facts.
//! - `… --example journal fill FOLDER` creates a store of 10,000 sessions and 1,000,000 facts.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, io};

use store::fold::{Fold, SessionFold, SessionNote};
use store::journal::{Append, Fact, Journal, SqliteJournal, Ticket};
use store::live::LiveEntry;
use tokio::task::JoinSet;
use wire::{Budget, PermissionMode, SessionId, SessionResponse, ToolResult};

const APPENDERS: [usize; 3] = [1, 64, 512];
const MEASURED: Duration = Duration::from_secs(3);

const SESSIONS: usize = 10_000;
const TURNS: usize = 10;
/// How many sessions may wait to be written while the store is filled.
const WAITING: usize = 500;
/// How many words the messages are made of.
const VOCABULARY: usize = 5_000;
const WORDS_PER_MESSAGE: usize = 30;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &*arguments.iter().map(String::as_str).collect::<Vec<_>>() {
        [] => print_rates().await,
        ["fill", folder] => fill(Path::new(folder)).await,
        _ => Err("usage: journal [fill FOLDER]".into()),
    }
}

async fn print_rates() -> Result<(), Box<dyn std::error::Error>> {
    println!("{:>10} {:>10} {:>10} {:>10}", "appenders", "facts/s", "p50 ms", "p99 ms");
    for appenders in APPENDERS {
        let folder = tempfile::tempdir()?;
        let journal = Arc::new(SqliteJournal::open(folder.path())?);
        let begun = Instant::now();
        let mut tasks = JoinSet::new();
        for _ in 0..appenders {
            tasks.spawn(append_for_a_while(journal.clone(), begun + MEASURED));
        }
        let mut latencies = Vec::new();
        while let Some(ended) = tasks.join_next().await {
            latencies.extend(ended?);
        }
        let count = u32::try_from(latencies.len())?;
        let rate = f64::from(count) / begun.elapsed().as_secs_f64();
        latencies.sort_unstable();
        let percentile =
            |percent: usize| latencies[(latencies.len() - 1) * percent / 100].as_secs_f64() * 1e3;
        println!("{appenders:>10} {rate:>10.0} {:>10.2} {:>10.2}", percentile(50), percentile(99));
    }
    Ok(())
}

/// Appends one fact after the other to a session of its own, and returns how long each took.
async fn append_for_a_while(journal: Arc<SqliteJournal>, until: Instant) -> Vec<Duration> {
    let mut session = Session::start(1);
    let mut latencies = Vec::new();
    for number in 0.. {
        let begun = Instant::now();
        if begun >= until {
            break;
        }
        session.say(number, &prompt(number));
        session.submit(&journal).durable().await.expect("the store works");
        latencies.push(begun.elapsed());
    }
    latencies
}

async fn fill(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let journal = SqliteJournal::open(folder)?;
    let month = Duration::from_hours(30 * 24);
    let past = SystemTime::now().duration_since(UNIX_EPOCH)?.saturating_sub(month);
    let mut now = u64::try_from(past.as_micros())?;
    let mut random = Random(1);
    let mut waiting = Vec::new();
    for number in 0..SESSIONS {
        let mut session = Session::start(now);
        for turn in 0..TURNS {
            for response in turn_of(number * TURNS + turn, &mut random) {
                now += 1;
                session.say(now, &response);
            }
        }
        now += 1;
        waiting.push(session.submit(&journal));
        if waiting.len() == WAITING {
            settle(&mut waiting).await?;
        }
    }
    settle(&mut waiting).await?;
    let written = begun.elapsed();
    // Also brings the search index up to date.
    journal.close();
    let info = SqliteJournal::info(folder)?;
    println!(
        "{} facts, {} MB, {:.1} s to write and {:.1} s to index",
        info.facts,
        info.bytes / 1_000_000,
        written.as_secs_f64(),
        begun.elapsed().saturating_sub(written).as_secs_f64(),
    );
    Ok(())
}

async fn settle(waiting: &mut Vec<Ticket>) -> io::Result<()> {
    for ticket in waiting.drain(..) {
        ticket.durable().await.map_err(io::Error::other)?;
    }
    Ok(())
}

/// A session, with what is not submitted yet.
struct Session {
    fold: SessionFold,
    append: Append,
}

impl Session {
    fn start(now: u64) -> Self {
        let started = SessionNote::Started {
            model: "gpt-5-mini".to_owned(),
            folder: "/home/somebody/source/project".to_owned(),
            permissions: PermissionMode::Ask,
            task: None,
            continued_from: None,
            replaced: 0,
            project: None,
            budget: Budget::default(),
        };
        let mut fold = SessionFold::default();
        fold.note(now, &started);
        let mut append = Append::new(SessionId::generate(), 0, 0);
        append.notes.push(to_fact(now, &started, false));
        append.record = Some(fold.record());
        Self { fold, append }
    }

    fn say(&mut self, now: u64, response: &SessionResponse) {
        if self.fold.apply(now, response) {
            self.append.record = Some(self.fold.record());
        }
        self.append.facts.push(to_fact(now, response, response.is_searchable()));
    }

    fn submit(&mut self, journal: &SqliteJournal) -> Ticket {
        let Append { entity, after, after_note, .. } = self.append;
        let (facts, notes) = (self.append.facts.len() as u64, self.append.notes.len() as u64);
        let next = Append::new(entity, after + facts, after_note + notes);
        journal.submit(std::mem::replace(&mut self.append, next).into())
    }
}

fn to_fact(at: u64, what: &impl serde::Serialize, is_searchable: bool) -> Fact {
    let json = serde_json::to_string(what).expect("structs of strings and numbers").into();
    Fact { at, json, is_searchable }
}

/// A turn with one call of a tool. Each of its texts has the word `everywhere`; one turn in the
/// whole store has the word `once`.
fn turn_of(number: usize, random: &mut Random) -> [SessionResponse; 10] {
    let rare = if number == SESSIONS * TURNS / 2 { " once" } else { "" };
    let (turn_id, id) = (format!("turn-{number}"), format!("block-{number}"));
    let tool_arguments = format!("{{ \"path\": \"src/module_{}.rs\" }}", random.below(VOCABULARY));
    let result = ToolResult { content: random.text(WORDS_PER_MESSAGE), detailed_content: None };
    [
        prompt(number as u64),
        SessionResponse::AgentStart { turn_id: turn_id.clone() },
        SessionResponse::StartReasoning { reasoning_id: id.clone() },
        SessionResponse::EndReasoning {
            reasoning_id: id.clone(),
            complete_content: random.text(WORDS_PER_MESSAGE),
        },
        SessionResponse::StartToolExecution {
            tool_call_id: id.clone(),
            parent_tool_call_id: None,
            tool_name: "read_file".to_owned(),
            tool_arguments,
        },
        SessionResponse::EndToolExecution {
            tool_call_id: id.clone(),
            result: Some(result),
            error: None,
        },
        SessionResponse::StartMessage { message_id: id.clone() },
        SessionResponse::EndMessage {
            message_id: id,
            complete_content: format!("{}{rare} everywhere", random.text(WORDS_PER_MESSAGE)),
        },
        SessionResponse::AgentEnd { turn_id },
        SessionResponse::Idle,
    ]
}

fn prompt(number: u64) -> SessionResponse {
    SessionResponse::UserPrompt { prompt: format!("look everywhere for cause {number}") }
}

/// A small generator, so that every store has the same texts.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        // The step of a well-known generator (xorshift).
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("small")
    }

    fn text(&mut self, words: usize) -> String {
        let words: Vec<_> = (0..words).map(|_| format!("word{}", self.below(VOCABULARY))).collect();
        words.join(" ")
    }
}
