//! The log of the portal itself: decisions that concern no session, task or job, and that hold after
//! a restart. One for each server; opened before anything can be decided.
//!
//! ```text
//!   note, keep ──▶ PortalLog (folds at once) ──▶ waiting ──▶ Journal: notes of Entity::Portal
//!                       │                           ▲              │ durable, or refused
//!   read ◀── PortalFold ┘                           └── again ◀────┘
//! ```
//!
//! - **Nothing grows for ever.** When many notes have gathered, they are replaced by the fewest that
//!   come to the same fold, in the transaction that adds the next ones.
//! - **Notes of a newer portal** are unknown here. They are skipped, and kept as they are.
//! - **What must take effect in any case** (ending a login, withdrawing trust) is noted by
//!   [`PortalLog::note`], which returns at once; if the journal refuses it, it is submitted again.
//!   What must be durable before it takes effect is noted by [`PortalLog::keep`].

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use platform::lifecycle::Lifecycle;
use tokio::sync::watch;

use crate::fold::{PortalFold, PortalNote, to_fact};
use crate::journal::{Append, Entity, Fact, StoreError, check_store, wait_for};
use crate::live::LiveShared;

/// The notes are rewritten when there are this many more than after the last time.
const REWRITE_AFTER: u64 = 500;
/// When to submit again what was refused.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The decisions about this portal, in memory and in the journal.
pub struct PortalLog {
    shared: Arc<LiveShared>,
    state: Mutex<State>,
    /// Changes whenever the journal has answered.
    settled: watch::Sender<()>,
    this: Weak<Self>,
}

#[derive(Default)]
struct State {
    fold: PortalFold,
    /// The stored notes that this version does not know.
    unknown: Vec<Fact>,
    /// How many notes are stored, and at how many they are rewritten.
    stored: u64,
    rewrite_at: u64,
    /// Notes that are not durable yet, and how many of them are submitted.
    waiting: Vec<Fact>,
    submitted: usize,
    /// How many notes were made since the start, and how many of those are durable.
    noted: u64,
    durable: u64,
    /// Why the last notes were refused; they still wait.
    refusal: Option<StoreError>,
}

impl PortalLog {
    /// Reads what was decided before, and tends the log until shutdown.
    pub async fn open(
        shared: Arc<LiveShared>,
        lifecycle: &Lifecycle,
    ) -> Result<Arc<Self>, StoreError> {
        let mut state = State::default();
        for note in shared.journal().notes(Entity::Portal).await? {
            match serde_json::from_str(&note.json) {
                Ok(known) => state.fold.note(note.at, &known),
                Err(_) => state.unknown.push(note.clone()),
            }
            state.stored += 1;
        }
        Ok(Self::with_state(shared, state, lifecycle))
    }

    /// An empty log, for a server whose journal is empty.
    pub fn new(shared: Arc<LiveShared>, lifecycle: &Lifecycle) -> Arc<Self> {
        Self::with_state(shared, State::default(), lifecycle)
    }

    fn with_state(shared: Arc<LiveShared>, mut state: State, lifecycle: &Lifecycle) -> Arc<Self> {
        state.rewrite_at = state.shortest() + REWRITE_AFTER;
        let log = Arc::new_cyclic(|this| Self {
            shared,
            state: Mutex::new(state),
            settled: watch::Sender::default(),
            this: this.clone(),
        });
        let (token, tended) = (lifecycle.token(), log.clone());
        lifecycle.spawn(async move {
            token.run_until_cancelled(tended.submit_refused()).await;
        });
        log
    }

    /// Refuses what would have to be kept while nothing can be.
    pub fn check_store(&self) -> Result<(), StoreError> {
        check_store(&**self.shared.journal())
    }

    /// Looks at what was decided. What is not durable yet is included.
    pub fn read<R>(&self, look: impl FnOnce(&PortalFold) -> R) -> R {
        look(&self.state.lock().fold)
    }

    /// Notes something that holds in any case, and returns at once.
    pub fn note(&self, note: PortalNote) {
        {
            let mut state = self.state.lock();
            let at = self.shared.next_time();
            let note = state.fold.shorten(note);
            state.fold.note(at, &note);
            state.waiting.push(to_fact(at, &note));
            state.noted += 1;
        }
        self.submit();
    }

    /// Notes something, and returns when it is durable. Refused at once if nothing can be stored; a
    /// note that was not durable in time may become so later. Cancel safe: once it is noted, it is
    /// written whether or not anybody waits.
    pub async fn keep(&self, note: PortalNote) -> Result<(), StoreError> {
        self.check_store()?;
        self.note(note);
        self.durable().await
    }

    /// Waits until everything that was noted so far is durable, but not for long. Cancel safe.
    pub async fn durable(&self) -> Result<(), StoreError> {
        let noted = self.state.lock().noted;
        let mut settled = self.settled.subscribe();
        let durable = async {
            loop {
                match self.state.lock().is_durable(noted) {
                    Ok(false) => {}
                    result => return result.map(drop),
                }
                // The sender is ours, so it is not gone.
                let _ = settled.changed().await;
            }
        };
        wait_for(&**self.shared.journal(), durable).await
    }

    /// Submits what waits, unless something is submitted already: notes are stored in order.
    fn submit(&self) {
        let Some((append, stored)) = self.state.lock().take() else { return };
        let this = self.this.clone();
        let settled = move |result| {
            if let Some(log) = this.upgrade() {
                log.settle(stored, result);
            }
        };
        self.shared.journal().submit_then(append.into(), Box::new(settled));
    }

    /// What was submitted is durable, or was refused.
    fn settle(&self, stored: u64, result: Result<(), StoreError>) {
        let is_stored = self.state.lock().settle(stored, result);
        self.settled.send_replace(());
        if is_stored {
            self.submit();
        }
    }

    /// Submits again what was refused, a while later.
    async fn submit_refused(&self) {
        let mut settled = self.settled.subscribe();
        loop {
            if self.state.lock().refusal.is_some() {
                tokio::time::sleep(AGAIN_AFTER).await;
                self.submit();
            } else {
                // The sender is ours, so it is not gone.
                let _ = settled.changed().await;
            }
        }
    }
}

impl fmt::Debug for PortalLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortalLog").finish_non_exhaustive()
    }
}

impl State {
    /// How many notes a rewritten log has.
    fn shortest(&self) -> u64 {
        (self.fold.notes().len() + self.unknown.len()) as u64
    }

    /// Everything that waits as one append, and how many notes are stored after it. `None` if there
    /// is nothing to submit, or something is submitted already.
    fn take(&mut self) -> Option<(Append, u64)> {
        if self.submitted > 0 || self.waiting.is_empty() {
            return None;
        }
        self.submitted = self.waiting.len();
        self.refusal = None;
        let mut append = Append::new(Entity::Portal, 0, self.stored);
        append.record = Some(self.fold.record());
        append.notes.clone_from(&self.waiting);
        if self.stored + self.waiting.len() as u64 <= self.rewrite_at {
            let stored = self.stored + append.notes.len() as u64;
            return Some((append, stored));
        }
        // The fold includes all that waits.
        append.notes.clone_from(&self.unknown);
        append.notes.extend(self.fold.notes().iter().map(|(at, note)| to_fact(*at, note)));
        append.replaces_notes = true;
        let stored = append.notes.len() as u64;
        self.rewrite_at = stored + REWRITE_AFTER;
        Some((append, stored))
    }

    /// True if what was submitted is durable.
    fn settle(&mut self, stored: u64, result: Result<(), StoreError>) -> bool {
        let submitted = std::mem::take(&mut self.submitted);
        match result {
            Ok(()) => {
                self.waiting.drain(..submitted);
                self.durable += submitted as u64;
                self.stored = stored;
                true
            }
            Err(error) => {
                tracing::error!(%error, "a decision about the portal is not stored yet");
                self.refusal = Some(error);
                false
            }
        }
    }

    /// Whether so many notes are durable; an error if the rest was refused.
    fn is_durable(&self, noted: u64) -> Result<bool, StoreError> {
        match &self.refusal {
            _ if self.durable >= noted => Ok(true),
            Some(error) => Err(error.clone()),
            None => Ok(false),
        }
    }
}
