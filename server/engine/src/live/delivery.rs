//! An answer on its way to a reader.

use std::fmt::{self, Write};
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use wire::ErrorName;

use super::ReaderKey;
use super::history::Position;

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
    content: Content,
    receipt: Receipt,
}

#[derive(Debug)]
pub(super) enum Content {
    /// Several responses, for a reader with a token.
    Batch(Vec<Arc<str>>),
    /// One response, for the reader without.
    Single(Arc<str>),
    /// The entity has ended and the reader has read everything.
    Closed,
}

impl Delivery {
    pub(super) fn new(content: Content, receipt: Receipt) -> Self {
        Self { content, receipt }
    }

    /// True if this tells the reader that there will be nothing more.
    pub fn is_closed(&self) -> bool {
        matches!(self.content, Content::Closed)
    }

    /// The responses, each as JSON.
    pub fn entries(&self) -> &[Arc<str>] {
        match &self.content {
            Content::Batch(entries) => entries,
            Content::Single(entry) => std::slice::from_ref(entry),
            Content::Closed => &[],
        }
    }

    /// The body of the answer. `closed` is how the end of this kind of entity is called.
    pub fn to_json(&self, closed: ErrorName) -> String {
        match &self.content {
            Content::Single(entry) => entry.as_ref().to_owned(),
            Content::Batch(_) | Content::Closed => {
                let mut json = String::with_capacity(self.length_of_fields() + 2);
                json.push('{');
                self.write_fields(closed, &mut json);
                json.push('}');
                json
            }
        }
    }

    /// What [`write_fields`](Self::write_fields) writes at most, but for the name of an error.
    fn length_of_fields(&self) -> usize {
        let entries = self.entries().iter().map(|entry| entry.len() + 1);
        "\"responses\":[]".len() + entries.sum::<usize>()
    }

    /// The fields of the body, for an answer that has others besides: `"responses":[…]`, or the
    /// error.
    pub fn write_fields(&self, closed: ErrorName, json: &mut String) {
        if self.is_closed() {
            // Writing into a string can't fail.
            let _ = write!(json, "\"error\":\"{closed}\"");
            return;
        }
        json.reserve(self.length_of_fields());
        json.push_str("\"responses\":[");
        for (index, entry) in self.entries().iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(entry);
        }
        json.push(']');
    }

    /// Parts the body from the receipt, for a response that outlives the handler.
    pub fn into_json(self, closed: ErrorName) -> (String, Receipt) {
        (self.to_json(closed), self.receipt)
    }

    /// The right to say that it has arrived, without the body.
    pub fn into_receipt(self) -> Receipt {
        self.receipt
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
