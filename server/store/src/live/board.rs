//! What comes and goes, such as the items of the inbox.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{LiveEntry, LiveLog, LiveShared, LiveSource};
use crate::journal::Batch;

/// How often readers are forgotten, and what they have all seen come and go.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// A log of its own that is not kept and never ends. A reader gets what is there when it joins, then
/// what changes. It holds what is there and what some reader has not seen go yet, however much came
/// and went before.
///
/// Whoever uses it also tends it, so it needs no future of its own.
pub struct LiveBoard<E: LiveEntry> {
    log: Arc<LiveLog<E>>,
    swept: Mutex<Instant>,
}

impl<E: LiveEntry> LiveBoard<E> {
    /// An empty board.
    pub fn new(shared: Arc<LiveShared>) -> Self {
        Self { log: LiveLog::begin_anew(shared), swept: Mutex::new(Instant::now()) }
    }

    /// Shows an entry to all readers.
    pub fn push(&self, entry: &E) {
        self.log.push(entry);
        self.tend();
    }

    /// What can be read of it.
    pub fn source(&self) -> LiveSource {
        self.tend();
        self.log.source()
    }

    /// How many entries are in memory.
    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        self.log.entries()
    }

    fn tend(&self) {
        let now = Instant::now();
        let mut swept = self.swept.lock();
        if now >= *swept + SWEEP_EVERY {
            *swept = now;
            // Nothing of its readers is stored.
            self.log.sweep(now, &mut Batch::default());
        }
    }
}

impl<E: LiveEntry> fmt::Debug for LiveBoard<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveBoard").finish_non_exhaustive()
    }
}
