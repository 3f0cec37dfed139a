//! A journal in memory that remembers what it was given, to be cut off anywhere, and that writes late
//! if it is told to.

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use store::journal::{
    Batch, Chunk, Cursor, Entity, Fact, HistoryPage, HistoryQuery, Journal, MemoryJournal,
    OnSettled, Page, Record, StoreError,
};

/// A journal in memory.
#[derive(Default)]
pub(super) struct TestJournal {
    kept: MemoryJournal,
    /// What was written.
    batches: Mutex<Vec<Batch>>,
    /// What waits to be written, if it holds what comes.
    waiting: Mutex<Option<Vec<(Batch, OnSettled)>>>,
    /// Whether it outlives its server.
    pub(super) is_lasting: bool,
}

impl TestJournal {
    /// One that outlives its server.
    pub(super) fn lasting() -> Self {
        Self { is_lasting: true, ..Self::default() }
    }

    /// What a server finds that was killed when so much was stored.
    pub(super) fn cut(batches: &[Batch]) -> Self {
        let journal = Self::lasting();
        for batch in batches {
            journal.kept.submit_then(batch.clone(), Box::new(|stored| stored.expect("stored")));
        }
        journal.batches.lock().extend_from_slice(batches);
        journal
    }

    pub(super) fn batches(&self) -> Vec<Batch> {
        self.batches.lock().clone()
    }

    pub(super) fn len(&self) -> usize {
        self.batches.lock().len()
    }

    fn write(&self, batch: Batch, settled: OnSettled) {
        // Under the lock, so that both have the same order.
        let mut batches = self.batches.lock();
        batches.push(batch.clone());
        self.kept.submit_then(batch, settled);
    }

    /// Writes only on request from now on.
    pub(super) fn hold(&self) {
        self.waiting.lock().get_or_insert_default();
    }

    /// The notes that wait to be stored, with their entities, by the batch that they are in.
    pub(super) fn notes(&self) -> Vec<Vec<(Entity, String)>> {
        let waiting = self.waiting.lock();
        let batches = waiting.iter().flatten().map(|(batch, _)| {
            let notes = batch.appends.iter().flat_map(|append| {
                append.notes.iter().map(|note| {
                    let note: Value = serde_json::from_str(&note.json).expect("a note");
                    (append.entity, note["note"].as_str().expect("its name").to_owned())
                })
            });
            notes.collect()
        });
        batches.collect()
    }

    /// Writes or refuses the batch that has waited longest.
    pub(super) fn settle_first(&self, is_kept: bool) {
        let (batch, settled) = self.waiting.lock().as_mut().expect("it holds").remove(0);
        if is_kept {
            self.write(batch, settled);
        } else {
            settled(Err(StoreError::Unavailable("on purpose".to_owned())));
        }
    }

    pub(super) fn release(&self) {
        for (batch, settled) in self.waiting.lock().take().into_iter().flatten() {
            self.write(batch, settled);
        }
    }
}

#[async_trait]
impl Journal for TestJournal {
    fn submit_then(&self, batch: Batch, settled: OnSettled) {
        if let Some(waiting) = &mut *self.waiting.lock() {
            return waiting.push((batch, settled));
        }
        self.write(batch, settled);
    }

    async fn read(
        &self,
        entity: Entity,
        after: u64,
        max_facts: usize,
        max_bytes: usize,
    ) -> Result<Option<Page>, StoreError> {
        self.kept.read(entity, after, max_facts, max_bytes).await
    }

    async fn notes(&self, entity: Entity) -> Result<Vec<Fact>, StoreError> {
        self.kept.notes(entity).await
    }

    async fn record(&self, entity: Entity) -> Result<Option<(Record, u64, u64)>, StoreError> {
        self.kept.record(entity).await
    }

    async fn chunks(&self, entity: Entity) -> Result<Vec<Chunk>, StoreError> {
        self.kept.chunks(entity).await
    }

    async fn cursors(&self, entity: Entity) -> Result<Vec<Cursor>, StoreError> {
        self.kept.cursors(entity).await
    }

    async fn history(&self, query: HistoryQuery) -> Result<HistoryPage, StoreError> {
        self.kept.history(query).await
    }

    async fn delete(&self, entity: Entity) -> Result<(), StoreError> {
        self.kept.delete(entity).await
    }

    async fn expire(&self, ended_before: u64) -> Result<u64, StoreError> {
        self.kept.expire(ended_before).await
    }

    fn is_lasting(&self) -> bool {
        self.is_lasting
    }
}
