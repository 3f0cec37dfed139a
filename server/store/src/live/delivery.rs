//! An answer on its way to a reader.

use std::fmt;
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::ReaderKey;
use super::call::LiveSource;
use super::history::{Piece, Place, Timed};
use crate::journal::Position;

/// The log that a receipt reports to, whatever its kind of entries.
pub(super) trait Settle: Send + Sync {
    /// Ends a reader's call. The reader advances if the answer arrived, else it keeps its position.
    fn settle(&self, reader: &ReaderKey, arrived: Option<Progress>);
}

/// How a reader advances when its answer has arrived.
#[derive(Debug)]
pub(super) enum Progress {
    Read(Place),
    Closed,
}

/// An answer, and the means to confirm that it has arrived.
///
/// While it (or its [`Receipt`]) is alive, the reader's call is pending. If it is dropped
/// unconfirmed, the reader's next answer repeats it.
#[derive(Debug)]
pub struct Delivery {
    kind: Kind,
    responses: Responses,
    receipt: Receipt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Several responses, for a reader with a token.
    Batch,
    /// One response, for the reader without a token.
    Single,
    /// The entity has ended and the reader has read everything.
    Closed,
}

/// Responses that are serialised one by one as they are written, so that a client that doesn't read
/// its answer doesn't cost the memory for all of it. A clone yields the same responses.
#[derive(Clone)]
pub struct Responses {
    source: LiveSource,
    pieces: std::vec::IntoIter<Timed<Piece>>,
}

impl Responses {
    pub(super) fn new(source: LiveSource, pieces: Vec<Timed<Piece>>) -> Self {
        Self { source, pieces: pieces.into_iter() }
    }

    /// The times of the remaining responses, in microseconds since the Unix epoch. They are unique
    /// within a server and increase in the order of pushes. Merged deltas have the time of the
    /// first one.
    pub fn times(&self) -> impl Iterator<Item = u64> + '_ {
        self.pieces.as_slice().iter().map(|piece| piece.at)
    }
}

impl Iterator for Responses {
    type Item = Arc<str>;

    fn next(&mut self) -> Option<Arc<str>> {
        self.pieces.next().map(|piece| self.source.log.render(&piece.what))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.pieces.size_hint()
    }
}

impl fmt::Debug for Responses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responses").field("left", &self.pieces.len()).finish_non_exhaustive()
    }
}

/// The content of an answer.
#[derive(Debug)]
pub enum Said {
    /// For readers with a token: an object, `{"responses":[…]}`.
    Batch(Responses),
    /// For the reader without a token: one response, not wrapped in an object.
    Single(Responses),
    /// The stream has ended: there will be no more responses.
    Closed,
}

impl Delivery {
    pub(super) fn new(kind: Kind, responses: Responses, receipt: Receipt) -> Self {
        Self { kind, responses, receipt }
    }

    /// True if this tells the reader that the stream has ended.
    pub fn is_closed(&self) -> bool {
        self.kind == Kind::Closed
    }

    /// The responses, each serialised as JSON.
    pub fn entries(&self) -> Vec<Arc<str>> {
        let render = |piece: &Timed<Piece>| self.responses.source.log.render(&piece.what);
        self.responses.pieces.as_slice().iter().map(render).collect()
    }

    /// The times of the responses, as in [`Responses::times`].
    pub fn times(&self) -> Vec<u64> {
        self.responses.times().collect()
    }

    /// How far the reader will have come with this answer; `None` if it tells of the end.
    pub fn position(&self) -> Option<Position> {
        match &self.receipt.progress {
            Some(Progress::Read(place)) => Some(place.position()),
            Some(Progress::Closed) | None => None,
        }
    }

    /// Separates the content from the receipt, for an HTTP response that outlives its handler.
    pub fn into_parts(self) -> (Said, Receipt) {
        let said = match self.kind {
            Kind::Batch => Said::Batch(self.responses),
            Kind::Single => Said::Single(self.responses),
            Kind::Closed => Said::Closed,
        };
        (said, self.receipt)
    }

    /// Confirms that the answer has arrived: the reader advances.
    pub fn commit(self) {
        self.receipt.commit();
    }
}

/// Confirms that an answer has arrived. If dropped unconfirmed, the answer counts as lost.
pub struct Receipt {
    log: Arc<dyn Settle>,
    reader: ReaderKey,
    progress: Option<Progress>,
    committed: bool,
    /// The call stays pending until the receipt is dropped.
    _pending: OwnedSemaphorePermit,
}

impl Receipt {
    pub(super) fn new(
        log: Arc<dyn Settle>,
        reader: ReaderKey,
        progress: Progress,
        pending: OwnedSemaphorePermit,
    ) -> Self {
        Self { log, reader, progress: Some(progress), committed: false, _pending: pending }
    }

    /// Confirms that the answer was sent completely: the reader advances.
    pub fn commit(mut self) {
        self.committed = true;
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        let progress = self.progress.take().filter(|_| self.committed);
        self.log.settle(&self.reader, progress);
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receipt").field("reader", &self.reader).finish_non_exhaustive()
    }
}
