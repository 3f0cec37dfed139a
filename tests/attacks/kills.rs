//! The program is killed at random moments, again and again, and loses nothing that it acknowledged
//! or showed.
//!
//! ```text
//!   writers ×4 ─► starts, prompts, renames, questions, tasks, jobs ─► Acknowledged ─┐
//!   readers ×4 ─► live responses, with the same tokens after a restart ─► Shown ────┤
//!                                                                                   ▼
//!   kill -9 ─► restart ─────────────────────────────────────────────────► checks: all there,
//!                                                                         once, without gaps
//! ```
//!
//! Bounded here; `KILLS=100` makes it more, `SEED=…` repeats a run.

mod acknowledged;
mod bridge;
mod budgets;
mod checks;
#[cfg(feature = "copilot")]
mod copilot;
mod jobs;
mod readers;
mod writers;

use std::env;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tests::program::{Program, Running, try_call};

use acknowledged::Acknowledged;
use readers::Reader;

const KILLS: usize = 8;
const WRITERS: usize = 4;
const READERS: usize = 4;
/// Every so many lives the program lives long enough for open blocks to be saved.
const LONG_LIFE_EVERY: usize = 8;

/// A small generator of our own, so that a seed means the same moments.
struct Random(u64);

impl Random {
    /// One whose numbers are others than those of the generator that its seed is from.
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        // The step of a well-known generator (xorshift).
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// One of several; `None` of none.
    fn choose<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.below(from.len().max(1) as u64);
        from.get(usize::try_from(index).expect("small"))
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// How often the program is killed, and the generator of the moments.
fn begin() -> (usize, Random) {
    let kills = number("KILLS").and_then(|kills| usize::try_from(kills).ok()).unwrap_or(KILLS);
    let seed = number("SEED").unwrap_or_else(|| u64::from(std::process::id()) + 1);
    println!("SEED={seed} KILLS={kills}");
    (kills, Random::new(seed))
}

/// A call that may be cut off by the kill; its answer if it came whole.
fn try_post(port: u16, path: &str, body: &str) -> Option<Value> {
    let (_, answer) = try_call(port, "POST", path, "", body)?;
    serde_json::from_str(&answer).ok()
}

/// The same for a GET.
fn try_get(port: u16, path: &str) -> Option<Value> {
    let (_, answer) = try_call(port, "GET", path, "", "")?;
    serde_json::from_str(&answer).ok()
}

/// Lets threads use the program until it is killed at that moment, starts it again, and returns when
/// it was killed.
fn live_and_die<'env>(
    server: &mut Running,
    life: Duration,
    begin: impl for<'scope> FnOnce(&'scope thread::Scope<'scope, 'env>, u16),
) -> Instant {
    let killed = thread::scope(|scope| {
        begin(scope, server.port);
        // The random moment of the kill: there is nothing to wait for.
        thread::sleep(life);
        let killed = Instant::now();
        server.child.kill().expect("it runs");
        killed
    });
    server.kill_and_restart();
    killed
}

#[test]
fn nothing_that_was_acknowledged_or_shown_is_lost_in_a_kill() {
    let (kills, mut random) = begin();
    let mut program = Program::new(&["--store", "sqlite", "--simulated-delta-ms", "1"]);
    writers::install_entry(&mut program);
    let known = Acknowledged::new(&program.work());
    let mut server = program.start();
    let mut readers: Vec<_> = (0..READERS).map(Reader::new).collect();
    for kill in 1..=kills {
        let long = if kill.is_multiple_of(LONG_LIFE_EVERY) { 3_000 } else { 0 };
        let life = Duration::from_millis(long + random.below(400));
        let seeds: Vec<u64> = (0..WRITERS + READERS).map(|_| random.below(u64::MAX)).collect();
        let (for_writers, for_readers) = seeds.split_at(WRITERS);
        let (known, followers) = (&known, &mut readers);
        let killed = live_and_die(&mut server, life, |scope, port| {
            for seed in for_writers {
                scope.spawn(move || writers::use_program(port, &mut Random::new(*seed), known));
            }
            for (seed, reader) in for_readers.iter().zip(followers) {
                scope.spawn(move || reader.follow(port, &mut Random::new(*seed), known));
            }
        });
        println!("kill {kill} after {life:?}");
        let scope = if kill == kills { checks::Scope::All } else { checks::Scope::Used };
        checks::check(&mut server, known, &mut readers, killed, scope);
    }
    println!("{}", known.summary());
    assert!(known.acknowledged_prompts() > kills, "it was used");
    checks::check_store(&mut server);
}
