//! Places for tasks: how many run at once, in a job and in the whole server.
//!
//! ```text
//!   job A   9 8 7 6 5 ─► 4 ─┐ (a place of the job first)
//!   job B         2 1 ─► 0 ─┼─► places of the server, in the order of asking
//!   job C           1 ─► 0 ─┘
//! ```
//!
//! Of each job, only the first in line asks the server for a place. So jobs are served in rotation,
//! and one with hundreds of works delays another by one task, not by hundreds.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;

/// The places of one server. Cheap to clone; clones share the places.
#[derive(Clone, Debug)]
pub struct Places {
    server: Arc<Semaphore>,
    per_job: NonZeroU16,
}

impl Places {
    /// `in_all` places, of which one job gets at most `per_job`.
    pub fn new(in_all: NonZeroU16, per_job: NonZeroU16) -> Self {
        Self { server: semaphore(in_all), per_job }
    }

    /// The queue of a new job.
    pub fn queue<T>(&self) -> PlaceQueue<T> {
        PlaceQueue {
            waiting: VecDeque::new(),
            job: PollSemaphore::new(semaphore(self.per_job)),
            server: PollSemaphore::new(Arc::clone(&self.server)),
        }
    }
}

fn semaphore(places: NonZeroU16) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(places.get().into()))
}

/// The place of a running task. Dropping it frees the place.
#[derive(Debug)]
pub struct Place {
    _job: OwnedSemaphorePermit,
    _server: OwnedSemaphorePermit,
}

/// The works of one job that wait for a place. Dropping the queue leaves the server's line.
pub struct PlaceQueue<T> {
    waiting: VecDeque<T>,
    job: PollSemaphore,
    server: PollSemaphore,
}

impl<T> PlaceQueue<T> {
    /// Adds something at the end.
    pub fn push(&mut self, item: T) {
        self.waiting.push_back(item);
    }

    /// How many items wait for a place.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Waits for a place and returns it with the first item; waits forever if the queue is empty.
    ///
    /// Cancel safe, and a cancelled call keeps the job's position in the server's line. So after
    /// cancelling, call again soon or drop the queue: it may already hold a place.
    pub async fn next(&mut self) -> (T, Place) {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<(T, Place)> {
        if self.waiting.is_empty() {
            // Nothing can be pushed before this call is dropped, so no waker is needed.
            return Poll::Pending;
        }
        // Released again if the server has no place; nobody else competes for it.
        let job = ready!(poll_permit(&mut self.job, context));
        let server = ready!(poll_permit(&mut self.server, context));
        let item = self.waiting.pop_front().expect("it was not empty above");
        Poll::Ready((item, Place { _job: job, _server: server }))
    }
}

fn poll_permit(
    semaphore: &mut PollSemaphore,
    context: &mut Context<'_>,
) -> Poll<OwnedSemaphorePermit> {
    semaphore.poll_acquire(context).map(|permit| permit.expect("these are never closed"))
}

impl<T> fmt::Debug for PlaceQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaceQueue").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}
