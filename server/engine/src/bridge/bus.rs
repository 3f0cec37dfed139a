//! Numbered events and their readers.
//!
//! Events are stored once, in a ring buffer that is bounded by number and size. A reader is a
//! position in it: a slow one costs no more than that. If it falls behind the ring it is told so,
//! and continues with the oldest event.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, watch};
use wire::bridge::Event;

/// The size of the ring, for readers that are slow or were away.
const MAX_EVENTS: usize = 20_000;
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The size of one batch for a reader.
const BATCH_EVENTS: usize = 256;
const BATCH_BYTES: usize = 64 * 1024;

/// An event as it is sent to clients.
#[derive(Debug)]
pub struct EventRecord {
    /// Its number, one greater than that of the event before.
    pub id: u64,
    /// The value of the `event:` line.
    pub name: &'static str,
    /// The value of the `data:` line.
    pub data: String,
    session: Option<String>,
}

/// Where a reader starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the next event.
    Now,
    /// After the event of that number, the last one it has read.
    After(u64),
    /// After an unknown event, so with the oldest in the ring.
    AfterUnknown,
}

/// New events for a reader.
#[derive(Debug)]
pub struct Batch {
    /// Set if the reader has missed events: the number of the oldest in the ring, or of the next
    /// one.
    pub missed: Option<u64>,
    /// In order. May be empty.
    pub events: Vec<Arc<EventRecord>>,
    /// Number of the last event that the reader has seen or skipped.
    pub read_up_to: u64,
}

/// All events of a server.
#[derive(Debug)]
pub(super) struct Bus {
    ring: Mutex<Ring>,
    news: watch::Sender<()>,
}

#[derive(Debug)]
struct Ring {
    events: VecDeque<Arc<EventRecord>>,
    /// The number of the next event; those in the ring end just before it.
    next: u64,
    bytes: usize,
    closed: bool,
    max_events: usize,
    max_bytes: usize,
}

impl Ring {
    fn oldest(&self) -> u64 {
        self.next - self.events.len() as u64
    }

    fn trim(&mut self) {
        while self.events.len() > self.max_events || self.bytes > self.max_bytes {
            let Some(oldest) = self.events.pop_front() else { return };
            self.bytes -= oldest.data.len();
        }
    }
}

impl Bus {
    /// A bus whose first event will have a given number.
    pub(super) fn new(first: u64) -> Arc<Self> {
        Self::with_limits(first, MAX_EVENTS, MAX_BYTES)
    }

    fn with_limits(first: u64, max_events: usize, max_bytes: usize) -> Arc<Self> {
        let ring = Ring {
            events: VecDeque::new(),
            next: first,
            bytes: 0,
            closed: false,
            max_events,
            max_bytes,
        };
        Arc::new(Self { ring: Mutex::new(ring), news: watch::Sender::new(()) })
    }

    /// Publishes an event to all readers.
    pub(super) fn push(&self, event: &Event) {
        let (name, data) = (event.name(), event.data());
        let session = event.session_id().map(str::to_owned);
        {
            let mut ring = self.ring.lock();
            let record = EventRecord { id: ring.next, name, data, session };
            ring.bytes += record.data.len();
            ring.next += 1;
            ring.events.push_back(Arc::new(record));
            ring.trim();
        }
        self.news.send_replace(());
    }

    /// Ends the bus: readers get the remaining events, then `None`.
    pub(super) fn close(&self) {
        self.ring.lock().closed = true;
        self.news.send_replace(());
    }

    /// The number of the newest event, or of the one before the first.
    pub(super) fn last_id(&self) -> u64 {
        self.ring.lock().next - 1
    }

    /// A reader of one project, or of all. `place` is held as long as it reads.
    pub(super) fn subscribe(
        self: &Arc<Self>,
        session: Option<String>,
        start: Start,
        place: OwnedSemaphorePermit,
    ) -> Subscription {
        let ring = self.ring.lock();
        let next = match start {
            Start::Now => ring.next,
            Start::After(id) if id < ring.next => id + 1,
            // A number from before a restart: everything in the ring is new.
            Start::After(_) | Start::AfterUnknown => 0,
        };
        Subscription {
            bus: Arc::clone(self),
            news: self.news.subscribe(),
            session,
            next,
            _place: place,
        }
    }
}

/// A reader's position in the events of a bus.
#[derive(Debug)]
pub struct Subscription {
    bus: Arc<Bus>,
    news: watch::Receiver<()>,
    session: Option<String>,
    next: u64,
    _place: OwnedSemaphorePermit,
}

impl Subscription {
    /// Waits for new events; `None` once the bus has ended. Cancel safe.
    pub async fn next(&mut self) -> Option<Batch> {
        loop {
            self.news.borrow_and_update();
            let (batch, closed) = self.take();
            if batch.missed.is_some() || !batch.events.is_empty() {
                return Some(batch);
            }
            if closed {
                return None;
            }
            // We hold the bus, so its sender is alive.
            self.news.changed().await.ok()?;
        }
    }

    /// Number of the last event that was read.
    pub fn read_up_to(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    fn take(&mut self) -> (Batch, bool) {
        let ring = self.bus.ring.lock();
        let oldest = ring.oldest();
        let missed = (self.next < oldest).then_some(oldest);
        self.next = self.next.max(oldest);
        let unread = usize::try_from(self.next - oldest).expect("within the ring");
        let (mut events, mut bytes) = (Vec::new(), 0);
        for event in ring.events.iter().skip(unread) {
            if events.len() >= BATCH_EVENTS || bytes >= BATCH_BYTES {
                break;
            }
            self.next = event.id + 1;
            if self.session.is_none() || event.session.is_none() || event.session == self.session {
                bytes += event.data.len();
                events.push(Arc::clone(event));
            }
        }
        let at_the_end = ring.closed && self.next == ring.next;
        (Batch { missed, events, read_up_to: self.next - 1 }, at_the_end)
    }
}

#[cfg(test)]
mod tests;
