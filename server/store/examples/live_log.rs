//! What a push costs: for 0, 1 and 100 readers, and for a log that grows to a million entries.
//!
//! `cargo run --release -p engine --example live_log`. Both tables should be flat to the right and
//! downwards: neither lagging readers nor the length of the log may make a push more expensive.

use std::time::{Duration, Instant};

use store::live::{LiveLog, LiveSettings, LiveShared, ReaderKey};
use wire::{LiveToken, SessionResponse};

const READERS: [usize; 3] = [0, 1, 100];
const ENTRIES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("nanoseconds per push, readers that have read the first entry and then stay away");
    table(|readers, entries| async move { measure(readers, entries, delta).await }).await;
    println!("\nthe same, entries that are not deltas");
    table(|readers, entries| async move { measure(readers, entries, |_| prompt()).await }).await;
    println!("\nmicroseconds per push and all readers' answers, every reader in step");
    println!("{:>10} {:>12}", "readers", "µs");
    for readers in [1, 10, 100] {
        let cost = measure_in_step(readers, 1_000).await;
        println!("{readers:>10} {:>12.2}", cost.as_secs_f64() * 1e6);
    }
}

async fn table<F: Future<Output = Duration>>(cost: impl Fn(usize, usize) -> F) {
    println!("{:>10} {:>12} {:>12} {:>12}", "entries", "0 readers", "1 reader", "100 readers");
    for entries in ENTRIES {
        print!("{entries:>10}");
        for readers in READERS {
            print!(" {:>12.1}", cost(readers, entries).await.as_secs_f64() * 1e9);
        }
        println!();
    }
}

async fn measure(
    readers: usize,
    entries: usize,
    entry: impl Fn(usize) -> SessionResponse,
) -> Duration {
    let log = LiveLog::new(LiveShared::new(LiveSettings::default()));
    log.push(&start());
    for _ in 0..readers {
        let answer = log.poll(ReaderKey::Token(LiveToken::generate())).await;
        answer.expect("an answer").commit();
    }
    let begun = Instant::now();
    for index in 0..entries {
        log.push(&entry(index));
    }
    per(begun, entries)
}

async fn measure_in_step(readers: usize, entries: usize) -> Duration {
    let mut settings = LiveSettings::default();
    settings.pace.min_interval = Duration::ZERO;
    settings.pace.max_interval = Duration::ZERO;
    let log = LiveLog::new(LiveShared::new(settings));
    log.push(&start());
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..readers {
        let log = log.clone();
        let token = LiveToken::generate();
        tasks.spawn(async move {
            while let Ok(delivery) = log.poll(ReaderKey::Token(token.clone())).await {
                std::hint::black_box(delivery.entries());
                delivery.commit();
            }
        });
    }
    let begun = Instant::now();
    for index in 0..entries {
        log.push(&delta(index));
        // Lets every reader take its answer and call again.
        tokio::task::yield_now().await;
    }
    let cost = per(begun, entries);
    log.close();
    tasks.join_all().await;
    cost
}

fn per(begun: Instant, entries: usize) -> Duration {
    begun.elapsed() / u32::try_from(entries).expect("a small number")
}

fn start() -> SessionResponse {
    SessionResponse::StartMessage { message_id: "message".to_owned() }
}

fn delta(index: usize) -> SessionResponse {
    SessionResponse::Message { message_id: "message".to_owned(), delta: format!("word {index} ") }
}

fn prompt() -> SessionResponse {
    SessionResponse::UserPrompt { prompt: "a short prompt".to_owned() }
}
