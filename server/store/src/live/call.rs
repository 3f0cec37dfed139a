//! A reader's call from start to answer, for any kind of log, and calls to many logs at once.

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
use crate::journal::Position;

/// A log of any kind, as calls see it.
pub(super) trait Source: Settle {
    fn shared(&self) -> &LiveShared;

    /// Notified when something is pushed, or the log is closed.
    fn changed(&self) -> &Notify;

    /// Notified when an answer is committed or lost, or a call is given up.
    fn settled(&self) -> &Notify;

    /// Makes the reader's call pending. `None` if its previous answer is not settled yet. A new
    /// reader begins after the position, or at the start.
    fn try_begin(
        &self,
        reader: &ReaderKey,
        after: Option<&Position>,
    ) -> Result<Option<Begun>, PollError>;

    /// Whether there is anything new for the reader of a pending call.
    fn has_news(&self, reader: &ReaderKey) -> bool;

    /// What is new for the reader of a pending call, if anything, up to the available room.
    fn take(&self, reader: &ReaderKey, room: &mut Room) -> Option<(Vec<Timed<Piece>>, Progress)>;

    /// Gives up a pending call that has nothing to deliver.
    fn release(&self, reader: &ReaderKey);

    /// The JSON that readers get for a piece.
    fn render(&self, piece: &Piece) -> Arc<str>;
}

/// A call that has become pending.
pub(super) struct Begun {
    pub(super) pending: OwnedSemaphorePermit,
    /// If the reader was answered recently: when it may be answered again, unless the answer is
    /// shared with other logs.
    pub(super) rationed_until: Option<Instant>,
}

/// The log of an entity of any kind, and where new readers begin in it. Clones are cheap and share
/// the log.
#[derive(Clone)]
pub struct LiveSource {
    pub(super) log: Arc<dyn Source>,
    after: Option<Position>,
}

impl LiveSource {
    pub(super) fn new(log: Arc<dyn Source>) -> Self {
        Self { log, after: None }
    }

    /// A reader that is not known yet begins after this position.
    #[must_use]
    pub fn after(self, position: Option<Position>) -> Self {
        Self { after: position, ..self }
    }

    /// Waits for something new for a reader. Cancel safe.
    pub async fn poll(self, reader: ReaderKey) -> Result<Delivery, PollError> {
        poll(self, reader).await
    }
}

impl fmt::Debug for LiveSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveSource").finish_non_exhaustive()
    }
}

/// Waits for something new for a reader of one log.
async fn poll(source: LiveSource, reader: ReaderKey) -> Result<Delivery, PollError> {
    let deadline = Instant::now() + source.log.shared().settings.timeout;
    let call = PendingCall::begin(&source, &reader).await?;
    // After a timeout too, whatever is there is delivered.
    let waiting = timeout_at(deadline, call.ready());
    let _ = source.log.shared().ending.run_until_cancelled(waiting).await;
    let mut room = match reader {
        ReaderKey::Token(_) => Room::for_all(),
        ReaderKey::Implicit => Room::for_one(),
    };
    call.deliver(&mut room).ok_or(PollError::Timeout)
}

/// Waits until there is something for one reader of many logs, then returns what is new in each, in
/// the order of `sources`; `None` where nothing is. A missing source is answered with `NotFound`.
///
/// Each log sees an ordinary call. Answering them together costs less than one by one, so a log
/// whose reader was answered recently neither delays the others nor is left out.
///
/// Cancel safe: dropping it releases the reader's pending calls and loses nothing.
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
    // The room of one answer is shared by all logs; the rest comes with the next answer.
    let mut room = Room::for_all();
    let answers: Vec<_> = slots.into_iter().map(|slot| slot.deliver(&mut room)).collect();
    if answers.iter().all(Option::is_none) {
        return Err(PollError::Timeout);
    }
    Ok(answers)
}

/// The call to one of many logs.
struct Slot<'a> {
    source: Option<&'a LiveSource>,
    /// Empty until the reader's previous answer is settled.
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
            // Can't fail: it is still empty.
            let _ = call.set(begun);
        }
        Self { source, call }
    }

    /// Whether it can be answered without waiting.
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

/// A reader's pending call. If dropped before it delivers, the reader can call again.
struct PendingCall {
    source: LiveSource,
    reader: ReaderKey,
    rationed_until: Option<Instant>,
    pending: Option<OwnedSemaphorePermit>,
}

impl PendingCall {
    /// `None` if the reader's previous answer is not settled yet.
    fn try_begin(source: &LiveSource, reader: &ReaderKey) -> Result<Option<Self>, PollError> {
        let begun = source.log.try_begin(reader, source.after.as_ref())?;
        Ok(begun.map(|Begun { pending, rationed_until }| Self {
            source: source.clone(),
            reader: reader.clone(),
            rationed_until,
            pending: Some(pending),
        }))
    }

    async fn begin(source: &LiveSource, reader: &ReaderKey) -> Result<Self, PollError> {
        let grace = Instant::now() + source.log.shared().settings.settle_grace;
        loop {
            let mut settled = pin!(source.log.settled().notified());
            settled.as_mut().enable();
            if let Some(call) = Self::try_begin(source, reader)? {
                return Ok(call);
            }
            // The previous answer is still being written.
            timeout_at(grace, settled).await.map_err(|_| PollError::Parallel)?;
        }
    }

    fn has_news(&self) -> bool {
        self.source.log.has_news(&self.reader)
    }

    /// Waits until there is something to deliver.
    async fn ready(&self) {
        if let Some(until) = self.rationed_until {
            sleep_until(until).await;
        }
        loop {
            // Subscribe before checking, or a push in between is missed.
            let mut changed = pin!(self.source.log.changed().notified());
            changed.as_mut().enable();
            if self.has_news() {
                return;
            }
            changed.await;
        }
    }

    /// What is new, if anything, up to the available room.
    fn deliver(mut self, room: &mut Room) -> Option<Delivery> {
        let (pieces, progress) = self.source.log.take(&self.reader, room)?;
        let pending = self.pending.take()?;
        let log: Arc<dyn Settle> = self.source.log.clone();
        // From here on the receipt ends the pending call.
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
            self.source.log.release(&self.reader);
        }
    }
}
