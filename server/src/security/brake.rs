//! Slows down clients that try keys: the wait after a wrong key doubles, per address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// So many wrong keys cost nothing, because people mistype.
const FREE: u32 = 5;
const LONGEST: Duration = Duration::from_mins(1);
/// After this time without another wrong key, an address is forgotten.
const FORGET: Duration = Duration::from_mins(15);
/// How many addresses are remembered. An attacker with more of them is not stopped by a table.
const MOST: usize = 4096;
/// Shortest interval between two log lines about wrong keys.
const TOLD: Duration = Duration::from_mins(1);

/// The addresses that have recently presented wrong keys.
#[derive(Debug, Default)]
pub struct Brake(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: HashMap<IpAddr, Failures>,
    untold: u64,
    told: Option<Instant>,
}

#[derive(Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Failures {
    fn wait(&self, now: Instant) -> Option<Duration> {
        let over = self.count.checked_sub(FREE)?;
        let wait = Duration::from_secs(1 << over.min(6)).min(LONGEST);
        (self.last + wait).checked_duration_since(now).filter(|wait| !wait.is_zero())
    }
}

impl Brake {
    /// Records a wrong key from an address.
    pub fn failed(&self, from: Option<IpAddr>) {
        let now = Instant::now();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(from) = from {
            if state.failures.len() >= MOST && !state.failures.contains_key(&from) {
                state.make_room(now);
            }
            let failures = state.failures.entry(from).or_insert(Failures { count: 0, last: now });
            if now.duration_since(failures.last) >= FORGET {
                failures.count = 0;
            }
            failures.count = failures.count.saturating_add(1);
            failures.last = now;
        }
        state.untold += 1;
        if state.told.is_none_or(|told| now.duration_since(told) >= TOLD) {
            tracing::warn!(failed = state.untold, last = ?from, "wrong access keys");
            state.untold = 0;
            state.told = Some(now);
        }
    }

    /// How long this address has to wait before its next attempt; `None` if it need not wait.
    pub fn wait(&self, from: Option<IpAddr>) -> Option<Duration> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures.get(&from?)?.wait(Instant::now())
    }
}

impl State {
    /// Forgets addresses without recent attempts, or else the one with the oldest attempt.
    fn make_room(&mut self, now: Instant) {
        self.failures.retain(|_, failures| now.duration_since(failures.last) < FORGET);
        if self.failures.len() >= MOST
            && let Some(oldest) =
                self.failures.iter().min_by_key(|(_, one)| one.last).map(|(from, _)| *from)
        {
            self.failures.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u32) -> IpAddr {
        std::net::Ipv4Addr::from(0x0a00_0000 + last).into()
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_doubles_up_to_a_minute_and_is_forgotten() {
        let brake = Brake::default();
        let mut waits = Vec::new();
        for _ in 0..14 {
            brake.failed(Some(address(1)));
            waits.push(brake.wait(Some(address(1))).map_or(0, |wait| wait.as_secs()));
        }
        assert_eq!(waits, [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(brake.wait(Some(address(2))), None, "others do not wait");
        tokio::time::advance(LONGEST).await;
        assert_eq!(brake.wait(Some(address(1))), None);
        tokio::time::advance(FORGET).await;
        brake.failed(Some(address(1)));
        assert_eq!(brake.wait(Some(address(1))), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_table_is_bounded() {
        let brake = Brake::default();
        for last in 0..5000 {
            brake.failed(Some(address(last)));
        }
        assert_eq!(brake.0.lock().expect("no panic").failures.len(), MOST);
    }
}
