//! An answer on its way to a reader.

use std::fmt;
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::ReaderKey;
use super::call::LiveSource;
use super::history::{Piece, Position, Timed};

/// Where a receipt goes back to. Hides what kind of entries the log has.
pub(super) trait Settle: Send + Sync {
    /// Ends a reader's call. It moves on if the answer arrived, else it stays where it is.
    fn settle(&self, reader: &ReaderKey, arrived: Option<Progress>);
}

/// What an answer that has arrived means to its reader.
#[derive(Debug)]
pub(super) enum Progress {
    Read(Position),
    Closed,
}

/// An answer, and the right to say that it has arrived.
///
/// While it (or its [`Receipt`]) is alive the reader's call is pending. Dropping it gives the
/// reader the same again.
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
    /// One response, for the reader without.
    Single,
    /// The entity has ended and the reader has read everything.
    Closed,
}

/// Responses that become JSON one after the other, as they are written: a client that does not read
/// its answer must not cost us the whole of it. A clone says the same.
#[derive(Clone)]
pub struct Responses {
    source: LiveSource,
    pieces: std::vec::IntoIter<Timed<Piece>>,
}

impl Responses {
    pub(super) fn new(source: LiveSource, pieces: Vec<Timed<Piece>>) -> Self {
        Self { source, pieces: pieces.into_iter() }
    }

    /// When those happened that were not taken yet: microseconds since the Unix epoch, different for
    /// all entries of a server and increasing in the order in which they were pushed. Deltas that
    /// came merged have the time of the first of them.
    pub fn times(&self) -> impl Iterator<Item = u64> + '_ {
        self.pieces.as_slice().iter().map(|piece| piece.at)
    }
}

impl Iterator for Responses {
    type Item = Arc<str>;

    fn next(&mut self) -> Option<Arc<str>> {
        self.pieces.next().map(|piece| self.source.0.render(&piece.what))
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

/// What an answer says.
#[derive(Debug)]
pub enum Said {
    /// `{"responses":[…]}`
    Batch(Responses),
    /// One response, bare.
    Single(Responses),
    /// There will be nothing more.
    Closed,
}

impl Delivery {
    pub(super) fn new(kind: Kind, responses: Responses, receipt: Receipt) -> Self {
        Self { kind, responses, receipt }
    }

    /// True if this tells the reader that there will be nothing more.
    pub fn is_closed(&self) -> bool {
        self.kind == Kind::Closed
    }

    /// The responses, each as JSON.
    pub fn entries(&self) -> Vec<Arc<str>> {
        let render = |piece: &Timed<Piece>| self.responses.source.0.render(&piece.what);
        self.responses.pieces.as_slice().iter().map(render).collect()
    }

    /// When the responses happened, as [`Responses::times`] says.
    pub fn times(&self) -> Vec<u64> {
        self.responses.times().collect()
    }

    /// Parts what the answer says from the receipt, for a response that outlives the handler.
    pub fn into_parts(self) -> (Said, Receipt) {
        let said = match self.kind {
            Kind::Batch => Said::Batch(self.responses),
            Kind::Single => Said::Single(self.responses),
            Kind::Closed => Said::Closed,
        };
        (said, self.receipt)
    }

    /// The answer has arrived: the reader moves on.
    pub fn commit(self) {
        self.receipt.commit();
    }
}

/// The right to say that an answer has arrived. Dropped without that, the answer counts as lost.
pub struct Receipt {
    log: Arc<dyn Settle>,
    reader: ReaderKey,
    progress: Option<Progress>,
    committed: bool,
    /// Given back with the receipt: the call is pending until then.
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

    /// The answer was handed over completely: the reader moves on.
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
