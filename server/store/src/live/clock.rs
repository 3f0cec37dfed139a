//! The clock of all logs: it orders entries across the entities of a server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Gives each entry its time. Logs call it while holding their own lock, so times increase within
/// each log as well.
#[derive(Debug, Default)]
pub(super) struct Clock {
    last: AtomicU64,
}

impl Clock {
    /// Microseconds since the Unix epoch, but always later than any time before: two entries of a
    /// server never have the same time, even if the machine's clock is set back.
    pub(super) fn next(&self) -> u64 {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.after(u64::try_from(since_epoch.as_micros()).unwrap_or_default())
    }

    fn after(&self, now: u64) -> u64 {
        let later = |last: u64| now.max(last.saturating_add(1));
        let update = |last| Some(later(last));
        match self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update) {
            Ok(last) | Err(last) => later(last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_increase_even_if_the_clock_stands_or_goes_back() {
        let clock = Clock::default();
        let times = [10, 10, 7, 20, 12].map(|now| clock.after(now));
        assert_eq!(times, [10, 11, 12, 20, 21]);
        assert!(clock.next() > 1_700_000_000_000_000, "microseconds");
    }
}
