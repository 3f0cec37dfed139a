//! Live responses: the one mechanism behind every live endpoint.
//!
//! A [`LiveLog`] keeps what happened to one entity (a session, a task, a job) in order, and hands
//! it to any number of readers, each at its own position. It knows nothing of what it carries but
//! its JSON and the blocks that it forms ([`LiveEntry`]). A [`LiveRegistry`] finds the logs by id
//! and frees them. Sessions, tasks and jobs push; the HTTP layer polls.
//!
//! ```text
//!   session ──push──▶ LiveLog ── History (entries once, as JSON; text of open blocks)
//!                        │  └─── Reader per token, and one without: position, pending or not
//!                        │ wakes the pending calls only
//!                        ▼
//!   HTTP ────poll────▶ call ──▶ Delivery ──body──▶ socket
//!        (dropped: the place        │ commit: the reader moves on
//!         is free again)            └ dropped: the reader stays, the next call gets it again
//!
//!   LiveRegistry ─ id ▶ LiveLog        sweeper: forgets readers, frees what has ended
//!   LiveShared   ─ settings, Clock, Pace and the limit of pending calls, one for all logs
//! ```
//!
//! **Nothing is lost.** A reader's position moves only when its answer is committed, so a client
//! that vanished in between gets the same again, the final "closed" included.
//!
//! **Nothing piles up.** The text of a block is kept once, as one growing string, and a reader's
//! position inside it is an offset: unread deltas come merged by construction, and pushing one
//! costs the same whatever was pushed before and whoever reads. When a block ends with an entry
//! that repeats its text, the string lives on only as long as a reader is in the middle of it;
//! all others get start and end.
//!
//! **One call can follow many entities.** [`poll_many`] has one call pending at each of them, for the
//! same reader, and answers with all that have something as soon as one has.
//!
//! **Some things come and go.** A [`LiveBoard`] belongs to no entity and never ends: readers get what
//! is there when they join, then what changes, of each thing only the newest version.
//!
//! **Everything has its time.** One clock for all logs gives each entry a time of its own, which
//! orders what happened across entities. Times travel beside the entries, never in them.
//!
//! **Answers are rationed, not delayed.** See [`Pace`].

mod board;
mod call;
mod clock;
mod delivery;
mod entry;
mod follow;
mod history;
mod keeping;
mod log;
mod pace;
mod registry;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use wire::{ErrorName, LiveEntity, LiveToken};

use crate::journal::{Journal, MemoryJournal, RecordWatcher, WatchedJournal};

pub use board::LiveBoard;
pub use call::{LiveSource, poll_many};
use clock::Clock;
pub use delivery::{Delivery, Receipt, Responses, Said};
pub use entry::{BlockRef, LiveEntry, Part};
pub use follow::Follower;
pub use log::{LiveItem, LiveLog, Note};
pub use pace::{Pace, PaceSettings};
pub use registry::LiveRegistry;

/// Who reads: a token, or the one reader that needs none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReaderKey {
    /// Gets everything that is new in one answer.
    Token(LiveToken),
    /// Shared by all calls without a token. Gets one response a call.
    Implicit,
}

impl From<LiveToken> for ReaderKey {
    fn from(token: LiveToken) -> Self {
        Self::Token(token)
    }
}

/// Why a call has no answer. The end of an entity is not among them: it is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PollError {
    /// Never there, or not there any more for this reader.
    #[error("no such entity")]
    NotFound,
    /// Nothing happened for as long as a call may wait.
    #[error("nothing happened in time")]
    Timeout,
    /// This reader has another call pending.
    #[error("the reader has a call pending")]
    Parallel,
    /// The entity has as many readers as it may have.
    #[error("too many readers")]
    TooManyReaders,
    /// The server has as many calls pending as it may have.
    #[error("too many pending calls")]
    TooManyPendingCalls,
}

impl PollError {
    /// The name on the wire, for the kind of entity that was asked for.
    pub fn name<Id: LiveEntity>(self) -> ErrorName {
        match self {
            Self::NotFound => Id::NOT_FOUND,
            Self::Timeout => ErrorName::HttpRequestTimeout,
            Self::Parallel => ErrorName::ParallelCallNotSupported,
            Self::TooManyReaders => ErrorName::TooManyReaders,
            Self::TooManyPendingCalls => ErrorName::TooManyPendingCalls,
        }
    }
}

/// The times and limits of live responses.
#[derive(Clone, Debug)]
pub struct LiveSettings {
    /// How long a call waits for something to happen.
    pub timeout: Duration,
    /// How long after the end new readers may join.
    pub count_down: Duration,
    /// How long a reader is remembered that makes no call.
    pub forget_after: Duration,
    /// How long a call waits for the same reader's last answer to be settled. A client can have
    /// read its answer, and call again, before the server knows that it was written.
    pub settle_grace: Duration,
    /// Readers of one entity.
    pub max_readers: usize,
    /// Pending calls of all entities.
    pub max_pending_calls: usize,
    /// How answers are rationed.
    pub pace: PaceSettings,
}

impl Default for LiveSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(5),
            count_down: Duration::from_mins(1),
            forget_after: Duration::from_mins(10),
            settle_grace: Duration::from_millis(250),
            max_readers: 16_384,
            max_pending_calls: 32_768,
            pace: PaceSettings::default(),
        }
    }
}

impl LiveSettings {
    /// As in test mode: the count-down is short.
    pub fn for_tests() -> Self {
        Self { count_down: Duration::from_secs(5), ..Self::default() }
    }
}

/// What all logs of a server have in common.
pub struct LiveShared {
    settings: LiveSettings,
    journal: Arc<dyn Journal>,
    watched: Arc<WatchedJournal>,
    clock: Clock,
    pace: Pace,
    pending_calls: Arc<Semaphore>,
    /// Cancelled when no call may wait any longer.
    ending: CancellationToken,
}

impl LiveShared {
    /// For a server that keeps nothing.
    pub fn new(settings: LiveSettings) -> Arc<Self> {
        Self::with_journal(settings, Arc::new(MemoryJournal::default()))
    }

    /// One for the whole server, with the journal that its logs are kept in.
    pub fn with_journal(settings: LiveSettings, journal: Arc<dyn Journal>) -> Arc<Self> {
        let watched = WatchedJournal::new(journal);
        Arc::new(Self {
            journal: watched.clone(),
            watched,
            clock: Clock::default(),
            pace: Pace::new(settings.pace.clone()),
            ending: CancellationToken::new(),
            pending_calls: Arc::new(Semaphore::new(settings.max_pending_calls)),
            settings,
        })
    }

    /// The times and limits.
    pub fn settings(&self) -> &LiveSettings {
        &self.settings
    }

    /// The next time of the clock that orders what happens in this server: microseconds since the
    /// Unix epoch.
    pub fn next_time(&self) -> u64 {
        self.clock.next()
    }

    /// How long ago a time of that clock was.
    fn time_since(&self, at: u64) -> Duration {
        Duration::from_micros(self.clock.next().saturating_sub(at))
    }

    /// The server stops: calls that wait are answered as if their time was over, and none waits
    /// from now on.
    pub fn end_calls(&self) {
        self.ending.cancel();
    }

    /// Where logs are kept.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// Names who is told of the records of all entities, whoever writes them. Only the first call
    /// counts.
    pub fn watch(&self, watcher: Weak<dyn RecordWatcher>) {
        self.watched.watch(watcher);
    }

    /// How many calls wait for an answer, or for their answer to be written.
    pub fn pending_calls(&self) -> usize {
        self.settings.max_pending_calls - self.pending_calls.available_permits()
    }
}
