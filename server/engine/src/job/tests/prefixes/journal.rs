//! A journal that remembers what it was given, to be cut off anywhere.

use async_trait::async_trait;
use parking_lot::Mutex;
use store::journal::{
    Batch, Chunk, Cursor, Entity, Fact, HistoryPage, HistoryQuery, Journal, MemoryJournal,
    OnSettled, Page, Record, StoreError,
};

/// A journal in memory that outlives its server.
#[derive(Default)]
pub(super) struct Recording {
    kept: MemoryJournal,
    batches: Mutex<Vec<Batch>>,
}

impl Recording {
    /// What a server finds that was killed when so much was stored.
    pub(super) fn cut(batches: &[Batch]) -> Self {
        let journal = Self::default();
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
}

#[async_trait]
impl Journal for Recording {
    fn submit_then(&self, batch: Batch, settled: OnSettled) {
        // Under the lock, so that both have the same order.
        let mut batches = self.batches.lock();
        batches.push(batch.clone());
        self.kept.submit_then(batch, settled);
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
        true
    }
}
