//! Readers inside the server, which keep their position themselves.
//!
//! A log knows nothing of them: they can neither block nor forget anything there, and cost what
//! their owner keeps of their responses.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use super::LiveLog;
use super::call::Source;
use super::delivery::Responses;
use super::entry::LiveEntry;
use super::history::{Place, Room};

/// Reads a log from its first response on.
pub struct Follower<E: LiveEntry> {
    log: Arc<LiveLog<E>>,
    place: Place,
}

impl<E: LiveEntry> Follower<E> {
    /// A follower that has read nothing yet.
    pub fn new(log: Arc<LiveLog<E>>) -> Self {
        Self { log, place: Place::default() }
    }

    /// The log that it reads.
    pub fn log(&self) -> &Arc<LiveLog<E>> {
        &self.log
    }

    /// What is new, up to the size of one answer. `None` if nothing is, for the moment.
    pub fn read(&mut self) -> Option<Responses> {
        let (pieces, next) = self.log.read_after(&self.place, &mut Room::for_all());
        self.place = next;
        (!pieces.is_empty()).then(|| Responses::new(self.log.source(), pieces))
    }

    /// Whether everything was read and nothing more will come.
    pub fn is_at_end(&self) -> bool {
        self.log.is_over() && !self.log.has_more(&self.place)
    }

    /// Waits until there is something to read, or nothing more will come. Cancel safe.
    pub async fn ready(&self) {
        loop {
            // Subscribe before checking, or a push in between is missed.
            let mut changed = pin!(self.log.changed().notified());
            changed.as_mut().enable();
            if self.log.has_more(&self.place) || self.log.is_over() {
                return;
            }
            changed.await;
        }
    }
}

impl<E: LiveEntry> fmt::Debug for Follower<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}
