//! A journal that tells somebody of the records that become durable.

use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;

use super::{
    Batch, Chunk, Cursor, Entity, Fact, HistoryPage, HistoryQuery, Journal, OnSettled, Page,
    Record, StoreError,
};

/// Is told what became of entities. Called on the thread that wrote it, so it must be quick and must
/// not block.
pub trait RecordWatcher: Send + Sync + 'static {
    /// These records are durable. Those of one entity come in the order in which they were written.
    fn written(&self, records: Vec<(Entity, Record)>);

    /// An entity was deleted, and with it all that belonged to it.
    fn deleted(&self, entity: Entity);
}

/// Passes everything on to a journal, and the records also to a watcher once there is one.
pub(crate) struct WatchedJournal {
    inner: Arc<dyn Journal>,
    watcher: OnceLock<Weak<dyn RecordWatcher>>,
}

impl WatchedJournal {
    pub(crate) fn new(inner: Arc<dyn Journal>) -> Arc<Self> {
        Arc::new(Self { inner, watcher: OnceLock::new() })
    }

    /// Names the watcher. Only the first call counts.
    pub(crate) fn watch(&self, watcher: Weak<dyn RecordWatcher>) {
        self.watcher.get_or_init(|| watcher);
    }

    fn watcher(&self) -> Option<Arc<dyn RecordWatcher>> {
        self.watcher.get().and_then(Weak::upgrade)
    }
}

#[async_trait]
impl Journal for WatchedJournal {
    fn submit_then(&self, batch: Batch, settled: OnSettled) {
        let Some(watcher) = self.watcher() else { return self.inner.submit_then(batch, settled) };
        let records = batch.appends.iter();
        let records = records.filter_map(|append| Some((append.entity, append.record.clone()?)));
        let records: Vec<_> = records.collect();
        if records.is_empty() {
            return self.inner.submit_then(batch, settled);
        }
        let told: OnSettled = Box::new(move |result| {
            let is_written = result.is_ok();
            settled(result);
            if is_written {
                watcher.written(records);
            }
        });
        self.inner.submit_then(batch, told);
    }

    async fn read(
        &self,
        entity: Entity,
        after: u64,
        max_facts: usize,
        max_bytes: usize,
    ) -> Result<Option<Page>, StoreError> {
        self.inner.read(entity, after, max_facts, max_bytes).await
    }

    async fn notes(&self, entity: Entity) -> Result<Vec<Fact>, StoreError> {
        self.inner.notes(entity).await
    }

    async fn record(&self, entity: Entity) -> Result<Option<(Record, u64, u64)>, StoreError> {
        self.inner.record(entity).await
    }

    async fn chunks(&self, entity: Entity) -> Result<Vec<Chunk>, StoreError> {
        self.inner.chunks(entity).await
    }

    async fn cursors(&self, entity: Entity) -> Result<Vec<Cursor>, StoreError> {
        self.inner.cursors(entity).await
    }

    async fn history(&self, query: HistoryQuery) -> Result<HistoryPage, StoreError> {
        self.inner.history(query).await
    }

    async fn delete(&self, entity: Entity) -> Result<(), StoreError> {
        self.inner.delete(entity).await?;
        if let Some(watcher) = self.watcher() {
            watcher.deleted(entity);
        }
        Ok(())
    }

    async fn expire(&self, ended_before: u64) -> Result<u64, StoreError> {
        self.inner.expire(ended_before).await
    }

    fn is_lasting(&self) -> bool {
        self.inner.is_lasting()
    }

    fn trouble(&self) -> Option<String> {
        self.inner.trouble()
    }
}
