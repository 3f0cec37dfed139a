//! The journal: stores what happened.
//!
//! Every session, task and job is a stream of *facts*: the responses that readers see, numbered
//! from 1 without gaps. Beside them are *notes*, which only the portal reads (how a session was
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
//! - An append names the fact that it expects to be the last one. If it isn't, the whole batch is
//!   refused: somebody else is writing to the same stream.
//!
//! [`MemoryJournal`] keeps everything in memory, [`SqliteJournal`] in one file. One suite of tests
//! runs over both.

mod entity;
mod memory;
mod position;
mod search;
mod sqlite;
mod watched;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot;
use tokio::time::timeout;
use wire::{EntityKind, EntityState, LiveToken, Usage};

pub use entity::{Entity, ParseEntityError};
pub use memory::MemoryJournal;
pub use position::{ParsePositionError, Position};
pub use sqlite::{FILE_NAME, Info, OpenError, Problem, SqliteJournal};
pub use watched::RecordWatcher;
pub(crate) use watched::WatchedJournal;

/// A stored response, or a note: both have the same form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Microseconds since the Unix epoch; strictly increasing within a server.
    pub at: u64,
    /// The response as it goes over the wire, or the note.
    pub json: Arc<str>,
    /// Whether the full-text search covers it.
    pub is_searchable: bool,
}

/// What a batch adds to one stream.
#[derive(Clone, Debug)]
pub struct Append {
    /// The entity that owns the stream.
    pub entity: Entity,
    /// Number of the last fact before these; 0 for the first ones.
    pub after: u64,
    /// New facts: responses that readers see.
    pub facts: Vec<Fact>,
    /// Number of the last note before these; 0 for the first ones.
    pub after_note: u64,
    /// New notes, which only the portal reads.
    pub notes: Vec<Fact>,
    /// Whether these notes replace all earlier ones, which are deleted. They are numbered from 1.
    pub replaces_notes: bool,
    /// The fold of all facts and notes up to here. A new entity needs one.
    pub record: Option<Record>,
    /// The blocks that these facts close, by the number of the fact that opened each. Their chunks
    /// are deleted.
    pub closed_blocks: Vec<u64>,
}

impl Append {
    /// An empty append to a stream that has `after` facts and `after_note` notes.
    pub fn new(entity: impl Into<Entity>, after: u64, after_note: u64) -> Self {
        Self {
            entity: entity.into(),
            after,
            facts: Vec::new(),
            after_note,
            notes: Vec::new(),
            replaces_notes: false,
            record: None,
            closed_blocks: Vec::new(),
        }
    }
}

/// A piece of the text of a block that is still open, stored so that a crash loses little of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The entity that owns the stream.
    pub entity: Entity,
    /// Number of the fact that opened the block.
    pub block: u64,
    /// Where the piece begins in the block's text, in bytes.
    pub from: u64,
    /// The text that follows the pieces before it.
    pub text: String,
}

/// How far a reader has read a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The entity that owns the stream.
    pub entity: Entity,
    /// Token that the reader identifies itself by.
    pub reader: LiveToken,
    /// How far it has come.
    pub position: Position,
    /// Whether it knows that the stream has ended.
    pub is_finished: bool,
}

/// What becomes durable together or not at all.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Facts, notes and records.
    pub appends: Vec<Append>,
    /// Pieces of open blocks.
    pub chunks: Vec<Chunk>,
    /// Positions of readers; each replaces the reader's previous one.
    pub cursors: Vec<Cursor>,
    /// Readers whose positions are not needed any more.
    pub forgotten: Vec<(Entity, LiveToken)>,
}

impl From<Append> for Batch {
    fn from(append: Append) -> Self {
        Self { appends: vec![append], ..Self::default() }
    }
}

/// Summary of an entity for lists, and what its owner needs to continue it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What it belongs to: the task of a session, or the job of a task.
    pub parent: Option<Entity>,
    /// Title for lists; can be empty.
    pub title: String,
    /// The folder that its agents work in.
    pub folder: String,
    /// The model it was started with, if it has one.
    pub model: Option<String>,
    /// Whether it is running, waiting or over, and how it ended.
    pub state: EntityState,
    /// Microseconds since the Unix epoch.
    pub started_at: u64,
    /// Microseconds since the Unix epoch; `None` while it is open.
    pub ended_at: Option<u64>,
    /// What its models have used.
    pub usage: Usage,
    /// Further fields of its kind, as JSON.
    pub detail: String,
}

/// A part of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Facts with their numbers, which have no gaps.
    pub facts: Vec<(u64, Fact)>,
    /// Whether these are the latest facts of the stream.
    pub is_end: bool,
}

/// Which entities to list.
#[derive(Clone, Debug, Default)]
pub struct HistoryQuery {
    /// Questions, instead of sessions, tasks and jobs.
    pub questions: bool,
    /// Only entities of this kind; all if `None`.
    pub kind: Option<EntityKind>,
    /// Only entities in this state.
    pub state: Option<EntityState>,
    /// Only entities that have not ended.
    pub is_open: bool,
    /// Only entities that are no part of another one.
    pub is_whole: bool,
    /// Only entities with exactly this folder.
    pub folder: Option<String>,
    /// Only entities that have all of these words in one text.
    pub words: Option<String>,
    /// Only entities that started at this time or later, in microseconds since the Unix epoch.
    pub since: Option<u64>,
    /// Only entities older than this position, from [`HistoryPage::next`].
    pub before: Option<u64>,
    /// The most entities to return.
    pub limit: usize,
}

impl HistoryQuery {
    /// Whether an entity passes the filters, apart from the words.
    fn takes(&self, entity: Entity, record: &Record) -> bool {
        let is_listed = match entity.kind() {
            Some(kind) => !self.questions && self.kind.is_none_or(|wanted| wanted == kind),
            None => self.questions && matches!(entity, Entity::Question(_)),
        };
        is_listed
            && self.state.is_none_or(|wanted| wanted == record.state)
            && !(self.is_open && record.ended_at.is_some())
            && !(self.is_whole && record.parent.is_some())
            && self.since.is_none_or(|since| record.started_at >= since)
            && self.folder.as_ref().is_none_or(|wanted| *wanted == record.folder)
    }
}

/// Goes through the entities of a kind that have not ended, newest first and page by page: there may
/// be very many.
pub struct OpenEntities<'a> {
    journal: &'a dyn Journal,
    query: Option<HistoryQuery>,
}

impl<'a> OpenEntities<'a> {
    /// How many entities are in memory at a time.
    const PAGE: usize = 500;

    /// All open entities of a kind.
    pub fn new(journal: &'a dyn Journal, kind: EntityKind) -> Self {
        Self::with(journal, HistoryQuery { kind: Some(kind), ..HistoryQuery::default() })
    }

    /// The open entities of a kind that are in this state.
    pub fn in_state(journal: &'a dyn Journal, kind: EntityKind, state: EntityState) -> Self {
        let (kind, state) = (Some(kind), Some(state));
        Self::with(journal, HistoryQuery { kind, state, ..HistoryQuery::default() })
    }

    /// All questions that were not answered.
    pub fn questions(journal: &'a dyn Journal) -> Self {
        Self::with(journal, HistoryQuery { questions: true, ..HistoryQuery::default() })
    }

    fn with(journal: &'a dyn Journal, query: HistoryQuery) -> Self {
        Self { journal, query: Some(HistoryQuery { is_open: true, limit: Self::PAGE, ..query }) }
    }

    /// The next page; `None` after the last one.
    pub async fn next(&mut self) -> Result<Option<Vec<(Entity, Record)>>, StoreError> {
        let Some(query) = self.query.take() else { return Ok(None) };
        let page = self.journal.history(query.clone()).await?;
        self.query = page.next.map(|next| HistoryQuery { before: Some(next), ..query });
        Ok(Some(page.items.into_iter().map(|found| (found.entity, found.record)).collect()))
    }
}

/// A page of entities, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryPage {
    /// The entities on this page.
    pub items: Vec<Found>,
    /// Position of the next page, if there may be one.
    pub next: Option<u64>,
}

/// An entity in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Which entity it is.
    pub entity: Entity,
    /// Its record at the time of the query.
    pub record: Record,
    /// Title of its parent, if it has one.
    pub parent_title: Option<String>,
    /// If words were searched for: the text around the first hit, with the hit between `«` and `»`.
    pub snippet: Option<String>,
}

/// Why the journal refused a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The stream is not as the caller expected: somebody else writes to it, or it was deleted.
    #[error("{entity} was changed by somebody else: it has {found} facts, not {expected}")]
    Conflict {
        /// The entity that owns the stream.
        entity: Entity,
        /// How many facts or notes the caller expected.
        expected: u64,
        /// How many facts or notes there are.
        found: u64,
    },
    /// The batch can never be written: a bug in the portal.
    #[error("the store takes no such thing: {0}")]
    Rejected(String),
    /// The disk is full, or the file can't be written or read.
    #[error("the store is not available: {0}")]
    Unavailable(String),
}

/// How long a call waits for what it did to become durable. Callers have time-outs of their own.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until something is durable, but not for long.
pub async fn wait_for(
    journal: &dyn Journal,
    durable: impl Future<Output = Result<(), StoreError>>,
) -> Result<(), StoreError> {
    timeout(PATIENCE, durable).await.unwrap_or_else(|_| {
        let reason = journal.trouble();
        Err(StoreError::Unavailable(reason.unwrap_or_else(|| "it is too slow".to_owned())))
    })
}

/// Refuses what would have to be kept while nothing can be.
pub fn check_store(journal: &dyn Journal) -> Result<(), StoreError> {
    journal.trouble().map_or(Ok(()), |reason| Err(StoreError::Unavailable(reason)))
}

/// Resolves when a batch is durable, or has failed.
#[derive(Debug)]
pub struct Ticket(oneshot::Receiver<Result<(), StoreError>>);

impl Ticket {
    /// Waits for the batch. Cancel safe: it is written whether or not anybody waits.
    pub async fn durable(self) -> Result<(), StoreError> {
        let result = self.0.await;
        result.unwrap_or_else(|_| Err(StoreError::Unavailable("it was closed".to_owned())))
    }
}

/// Called with the result of a batch, on the thread that wrote it. Must be quick and must not
/// block.
pub type OnSettled = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Stores what happened.
///
/// All reads are cancel safe, and see batches only as a whole.
#[async_trait]
pub trait Journal: Send + Sync + 'static {
    /// Accepts a batch and returns at once. Batches are written in the order of these calls.
    fn submit_then(&self, batch: Batch, settled: OnSettled);

    /// Like [`Self::submit_then`], but returns a ticket to wait with.
    fn submit(&self, batch: Batch) -> Ticket {
        let (sender, receiver) = oneshot::channel();
        // Nobody may be waiting.
        self.submit_then(batch, Box::new(move |result| drop(sender.send(result))));
        Ticket(receiver)
    }

    /// The facts after a number: at most `max_facts`, and no more once `max_bytes` are reached, so
    /// at least one if there is one. `None` if the entity is unknown.
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

    /// The pieces of an entity's open blocks, in order.
    async fn chunks(&self, entity: Entity) -> Result<Vec<Chunk>, StoreError>;

    /// How far the readers of an entity have read.
    async fn cursors(&self, entity: Entity) -> Result<Vec<Cursor>, StoreError>;

    /// Entities by age or by words, newest first.
    async fn history(&self, query: HistoryQuery) -> Result<HistoryPage, StoreError>;

    /// Deletes an entity with all that belongs to it. An unknown entity is not an error. The portal
    /// itself is not deleted.
    async fn delete(&self, entity: Entity) -> Result<(), StoreError>;

    /// Deletes the entities that ended before a time, with all that belongs to them, and returns
    /// how many there were. What belongs to others is not counted.
    async fn expire(&self, ended_before: u64) -> Result<u64, StoreError>;

    /// Whether stored data outlives the process.
    fn is_lasting(&self) -> bool {
        false
    }

    /// Why nothing can be stored at the moment; `None` if all is well.
    fn trouble(&self) -> Option<String> {
        None
    }
}
