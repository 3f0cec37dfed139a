//! The journal: what happened, kept.
//!
//! Every session, task and job is a stream of *facts*: the responses that readers see, numbered
//! from 1 without gaps. Beside them stand *notes*, which only the portal reads (how a session was
//! started, which prompts wait in it), and one *record*, the fold of both, for lists and status.
//!
//! ```text
//!   engine ──submit(Batch)──▶ Journal ──▶ durable ──▶ the ticket resolves
//!                               │
//!   events, history, restart ◀──┴── read, notes, record, history (never wait for a writer)
//! ```
//!
//! - A batch is atomic, over as many entities as it names.
//! - Batches become durable in the order in which they were submitted.
//! - An append says which fact it expects to be the last one. If it is not, the whole batch is
//!   refused: somebody else writes the same stream.
//!
//! [`MemoryJournal`] keeps everything in memory, [`SqliteJournal`] in one file. One suite of tests
//! runs over both.

mod entity;
mod memory;
mod search;
mod sqlite;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::oneshot;
use wire::{EntityKind, EntityState, LiveToken, Usage};

pub use entity::{Entity, ParseEntityError};
pub use memory::MemoryJournal;
pub use sqlite::{FILE_NAME, Info, OpenError, Problem, SqliteJournal};

/// Something that happened, as it goes over the wire, or as the portal notes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Microseconds since the Unix epoch; strictly increasing within a server.
    pub at: u64,
    /// The JSON of it.
    pub json: Arc<str>,
    /// Whether the full-text search looks at it.
    pub is_searchable: bool,
}

/// What a batch adds to one stream.
#[derive(Clone, Debug)]
pub struct Append {
    /// Whose stream.
    pub entity: Entity,
    /// Number of the last fact before these; 0 for the first ones.
    pub after: u64,
    /// What readers see.
    pub facts: Vec<Fact>,
    /// Number of the last note before these.
    pub after_note: u64,
    /// What only the portal reads.
    pub notes: Vec<Fact>,
    /// The fold of all facts and notes up to here. A new entity needs one.
    pub record: Option<Record>,
    /// Blocks that these facts close, by the number of the fact that opened them: their checkpoints
    /// are not needed any more.
    pub closed_blocks: Vec<u64>,
}

impl Append {
    /// Nothing yet, for a stream that has as many facts and notes as said.
    pub fn new(entity: impl Into<Entity>, after: u64, after_note: u64) -> Self {
        Self {
            entity: entity.into(),
            after,
            facts: Vec::new(),
            after_note,
            notes: Vec::new(),
            record: None,
            closed_blocks: Vec::new(),
        }
    }
}

/// A further piece of a block that is still open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// In whose stream.
    pub entity: Entity,
    /// Number of the fact that opened the block.
    pub block: u64,
    /// Where the piece begins in the block's text, in bytes.
    pub from: u64,
    /// The piece.
    pub text: String,
}

/// How far a reader has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// In whose stream.
    pub entity: Entity,
    /// The reader.
    pub reader: LiveToken,
    /// Number of the last fact that it has read.
    pub seq: u64,
    /// The blocks that it is inside of: number of the fact that opened it, and bytes read.
    pub inside: Vec<(u64, u64)>,
    /// It was told that there will be nothing more.
    pub is_finished: bool,
}

/// What becomes durable together or not at all.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Facts, notes and records.
    pub appends: Vec<Append>,
    /// Pieces of open blocks.
    pub chunks: Vec<Chunk>,
    /// Positions of readers; each replaces the last one of its reader.
    pub cursors: Vec<Cursor>,
}

impl From<Append> for Batch {
    fn from(append: Append) -> Self {
        Self { appends: vec![append], ..Self::default() }
    }
}

/// An entity at a glance, and what its owner needs to go on with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What it belongs to: a session to its task, a task to its job.
    pub parent: Option<Entity>,
    /// For people.
    pub title: String,
    /// Where it works.
    pub folder: String,
    /// The model it was started with, if it has one.
    pub model: Option<String>,
    /// How it stands.
    pub state: EntityState,
    /// Microseconds since the Unix epoch.
    pub started_at: u64,
    /// Once it has ended. An entity without is open.
    pub ended_at: Option<u64>,
    /// What its models took.
    pub usage: Usage,
    /// What else its owner folds, as JSON.
    pub detail: String,
}

/// A part of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// With their numbers, which increase by one.
    pub facts: Vec<(u64, Fact)>,
    /// Whether these are the last ones so far.
    pub is_end: bool,
}

/// Which entities to list.
#[derive(Clone, Debug, Default)]
pub struct HistoryQuery {
    /// Only these; all if none is named.
    pub kind: Option<EntityKind>,
    /// Only those that stand so.
    pub state: Option<EntityState>,
    /// Only those that work exactly there.
    pub folder: Option<String>,
    /// Only those in which all of these words occur in one text.
    pub words: Option<String>,
    /// Only those that come after this place in the list.
    pub before: Option<u64>,
    /// How many at most.
    pub limit: usize,
}

impl HistoryQuery {
    /// Whether an entity is to be listed, apart from the words.
    fn takes(&self, entity: Entity, record: &Record) -> bool {
        entity.kind().is_some_and(|kind| self.kind.is_none_or(|wanted| wanted == kind))
            && self.state.is_none_or(|wanted| wanted == record.state)
            && self.folder.as_ref().is_none_or(|wanted| *wanted == record.folder)
    }
}

/// Entities, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryPage {
    /// What was found.
    pub items: Vec<Found>,
    /// The place to go on from, if there may be more.
    pub next: Option<u64>,
}

/// An entity in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its id.
    pub entity: Entity,
    /// Its record.
    pub record: Record,
    /// Where the words were found: the text around the first hit, which stands between `«` and `»`.
    pub snippet: Option<String>,
}

/// Why the journal did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The stream has other facts than the caller knows: somebody else writes it, or it is gone.
    #[error("{entity} was changed by somebody else: it has {found} facts, not {expected}")]
    Conflict {
        /// Whose stream.
        entity: Entity,
        /// What the caller expected.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// It can't be written as it is, now or later: a mistake of the portal's.
    #[error("the store takes no such thing: {0}")]
    Rejected(String),
    /// The disk is full, or the file can't be written or read.
    #[error("the store is not available: {0}")]
    Unavailable(String),
}

/// Resolves when a batch is durable, or will not be.
#[derive(Debug)]
pub struct Ticket(oneshot::Receiver<Result<(), StoreError>>);

impl Ticket {
    /// Waits. Cancel safe: the batch is written whether or not anybody waits.
    pub async fn durable(self) -> Result<(), StoreError> {
        let result = self.0.await;
        result.unwrap_or_else(|_| Err(StoreError::Unavailable("it was closed".to_owned())))
    }
}

/// Is told what became of a batch, on the thread that wrote it: it must be quick and must not block.
pub type OnSettled = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Keeps what happened.
///
/// Everything that reads is cancel safe and sees whole batches only.
#[async_trait]
pub trait Journal: Send + Sync + 'static {
    /// Takes a batch and returns at once. Batches are written in this order.
    fn submit_then(&self, batch: Batch, settled: OnSettled);

    /// The same, with a ticket.
    fn submit(&self, batch: Batch) -> Ticket {
        let (sender, receiver) = oneshot::channel();
        // Nobody may wait for it.
        self.submit_then(batch, Box::new(move |result| drop(sender.send(result))));
        Ticket(receiver)
    }

    /// Facts after a number, at most so many, and not many more bytes than said; at least one if
    /// there is one. `None` if the entity is unknown.
    async fn read(
        &self,
        entity: Entity,
        after: u64,
        max_facts: usize,
        max_bytes: usize,
    ) -> Result<Option<Page>, StoreError>;

    /// All notes of an entity, in order.
    async fn notes(&self, entity: Entity) -> Result<Vec<Fact>, StoreError>;

    /// The record of an entity, and how many facts and notes it has.
    async fn record(&self, entity: Entity) -> Result<Option<(Record, u64, u64)>, StoreError>;

    /// The pieces of the blocks of an entity that were open when it was last written, in order.
    async fn chunks(&self, entity: Entity) -> Result<Vec<Chunk>, StoreError>;

    /// How far the readers of an entity have come.
    async fn cursors(&self, entity: Entity) -> Result<Vec<Cursor>, StoreError>;

    /// Entities that have not ended, the oldest first.
    async fn open(&self, kind: EntityKind) -> Result<Vec<(Entity, Record)>, StoreError>;

    /// Entities by age or by words, newest first.
    async fn history(&self, query: HistoryQuery) -> Result<HistoryPage, StoreError>;

    /// Forgets an entity with all that belongs to it. Unknown ones are forgotten already.
    async fn delete(&self, entity: Entity) -> Result<(), StoreError>;

    /// Forgets what ended before a time, with all that belongs to it, and says how many that were.
    async fn expire(&self, ended_before: u64) -> Result<u64, StoreError>;

    /// Whether what is kept outlives the process.
    fn is_lasting(&self) -> bool {
        false
    }

    /// Why nothing can be kept at the moment, if so.
    fn trouble(&self) -> Option<String> {
        None
    }
}
