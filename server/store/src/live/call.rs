//! A reader's call from its beginning to its answer, whatever kind of entries the log has; and calls
//! to many logs at once.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, OnceLock};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::{Instant, sleep_until, timeout_at};
use wire::LiveToken;

use super::delivery::{Delivery, Kind, Progress, Receipt, Responses, Settle};
use super::history::{Piece, Room, Timed};
use super::{LiveShared, PollError, ReaderKey};

/// A log, as calls see it.
pub(super) trait Source: Settle {
    fn shared(&self) -> &LiveShared;

    /// Something was pushed, or the log was closed.
    fn changed(&self) -> &Notify;

    /// An answer was committed or lost, or a call was given up.
    fn settled(&self) -> &Notify;

    /// Makes the reader's call pending. `None` if its last answer is not settled yet.
    fn try_begin(&self, reader: &ReaderKey) -> Result<Option<Begun>, PollError>;

    /// Whether there is anything new for the reader of a pending call.
    fn has_news(&self, reader: &ReaderKey) -> bool;

    /// What is new for the reader of a pending call, if anything, as far as there is room.
    fn take(&self, reader: &ReaderKey, room: &mut Room) -> Option<(Vec<Timed<Piece>>, Progress)>;

    /// Gives a pending call up, which has nothing to deliver.
    fn release(&self, reader: &ReaderKey);

    /// What a reader gets to see.
    fn render(&self, piece: &Piece) -> Arc<str>;
}

/// A call that may wait.
pub(super) struct Begun {
    pub(super) pending: OwnedSemaphorePermit,
    /// The reader was answered just now: not before then, unless it costs nothing.
    pub(super) rationed_until: Option<Instant>,
}

/// The log of an entity of any kind. Cheap to clone.
#[derive(Clone)]
pub struct LiveSource(pub(super) Arc<dyn Source>);

impl fmt::Debug for LiveSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveSource").finish_non_exhaustive()
    }
}

/// Waits for something new for a reader of one log.
pub(super) async fn poll(source: LiveSource, reader: ReaderKey) -> Result<Delivery, PollError> {
    let deadline = Instant::now() + source.0.shared().settings.timeout;
    let call = PendingCall::begin(&source, &reader).await?;
    // Too late or not, what is there is delivered.
    let waiting = timeout_at(deadline, call.ready());
    let _ = source.0.shared().ending.run_until_cancelled(waiting).await;
    let mut room = match reader {
        ReaderKey::Token(_) => Room::for_all(),
        ReaderKey::Implicit => Room::for_one(),
    };
    call.deliver(&mut room).ok_or(PollError::Timeout)
}

/// Waits until there is something for one reader of many logs, and then returns what there is in
/// each, by its place; `None` where nothing is new. Without a log there is nothing to be found.
///
/// Each log sees an ordinary call. They are answered together, which costs less than one by one: so
/// a log whose reader was answered just now delays nothing, and is not left out either.
///
/// Cancel safe: a dropped call frees the reader's places and loses nothing.
pub async fn poll_many(
    shared: &LiveShared,
    token: &LiveToken,
    sources: &[Option<LiveSource>],
) -> Result<Vec<Option<Result<Delivery, PollError>>>, PollError> {
    let deadline = Instant::now() + shared.settings.timeout;
    let reader = ReaderKey::Token(token.clone());
    let slots: Vec<_> = sources.iter().map(|source| Slot::new(source.as_ref(), &reader)).collect();
    if !slots.iter().any(Slot::is_ready) {
        let mut waiting: FuturesUnordered<_> =
            slots.iter().map(|slot| slot.wait(&reader)).collect();
        let waiting = timeout_at(deadline, waiting.next());
        let _ = shared.ending.run_until_cancelled(waiting).await;
    }
    // One answer has room for so much, whatever the number of logs; the rest is for the next one.
    let mut room = Room::for_all();
    let answers: Vec<_> = slots.into_iter().map(|slot| slot.deliver(&mut room)).collect();
    if answers.iter().all(Option::is_none) {
        return Err(PollError::Timeout);
    }
    Ok(answers)
}

/// One of many calls.
struct Slot<'a> {
    source: Option<&'a LiveSource>,
    /// Empty as long as the reader's last answer is not settled.
    call: OnceLock<Result<PendingCall, PollError>>,
}

impl<'a> Slot<'a> {
    fn new(source: Option<&'a LiveSource>, reader: &ReaderKey) -> Self {
        let call = OnceLock::new();
        let begun = match source {
            Some(source) => PendingCall::try_begin(source, reader).transpose(),
            None => Some(Err(PollError::NotFound)),
        };
        if let Some(begun) = begun {
            // The first one.
            let _ = call.set(begun);
        }
        Self { source, call }
    }

    /// Whether there is something to say without any waiting.
    fn is_ready(&self) -> bool {
        match self.call.get() {
            Some(Ok(call)) => call.rationed_until.is_none() && call.has_news(),
            Some(Err(_)) => true,
            None => false,
        }
    }

    async fn wait(&self, reader: &ReaderKey) {
        if self.call.get().is_none()
            && let Some(source) = self.source
        {
            let begun = PendingCall::begin(source, reader).await;
            let _ = self.call.set(begun);
        }
        if let Some(Ok(call)) = self.call.get() {
            call.ready().await;
        }
    }

    fn deliver(self, room: &mut Room) -> Option<Result<Delivery, PollError>> {
        match self.call.into_inner()? {
            Ok(_) if !room.is_left() => None,
            Ok(call) => call.deliver(room).map(Ok),
            Err(error) => Some(Err(error)),
        }
    }
}

/// A reader's pending call. Dropped before it has something to deliver, it frees the place.
struct PendingCall {
    source: LiveSource,
    reader: ReaderKey,
    rationed_until: Option<Instant>,
    pending: Option<OwnedSemaphorePermit>,
}

impl PendingCall {
    /// `None` if the reader's last answer is not settled yet.
    fn try_begin(source: &LiveSource, reader: &ReaderKey) -> Result<Option<Self>, PollError> {
        let begun = source.0.try_begin(reader)?;
        Ok(begun.map(|Begun { pending, rationed_until }| Self {
            source: source.clone(),
            reader: reader.clone(),
            rationed_until,
            pending: Some(pending),
        }))
    }

    async fn begin(source: &LiveSource, reader: &ReaderKey) -> Result<Self, PollError> {
        let grace = Instant::now() + source.0.shared().settings.settle_grace;
        loop {
            let mut settled = pin!(source.0.settled().notified());
            settled.as_mut().enable();
            if let Some(call) = Self::try_begin(source, reader)? {
                return Ok(call);
            }
            // The last answer is still being written.
            timeout_at(grace, settled).await.map_err(|_| PollError::Parallel)?;
        }
    }

    fn has_news(&self) -> bool {
        self.source.0.has_news(&self.reader)
    }

    /// Waits until there is something to deliver.
    async fn ready(&self) {
        if let Some(until) = self.rationed_until {
            sleep_until(until).await;
        }
        loop {
            // Subscribe before the look, or a push in between is missed.
            let mut changed = pin!(self.source.0.changed().notified());
            changed.as_mut().enable();
            if self.has_news() {
                return;
            }
            changed.await;
        }
    }

    /// What is new, if anything, as far as there is room.
    fn deliver(mut self, room: &mut Room) -> Option<Delivery> {
        let (pieces, progress) = self.source.0.take(&self.reader, room)?;
        let pending = self.pending.take()?;
        let log: Arc<dyn Settle> = self.source.0.clone();
        // From here on the receipt frees the place.
        let receipt = Receipt::new(log, self.reader.clone(), progress, pending);
        let kind = match self.reader {
            _ if pieces.is_empty() => Kind::Closed,
            ReaderKey::Token(_) => Kind::Batch,
            ReaderKey::Implicit => Kind::Single,
        };
        let responses = Responses::new(self.source.clone(), pieces);
        Some(Delivery::new(kind, responses, receipt))
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        if self.pending.is_some() {
            self.source.0.release(&self.reader);
        }
    }
}
