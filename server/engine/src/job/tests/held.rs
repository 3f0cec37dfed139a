//! A journal that is slow, and what must not be lost meanwhile.

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use store::journal::{
    Batch, Chunk, Cursor, Entity, Fact, HistoryPage, HistoryQuery, MemoryJournal, OnSettled, Page,
    Record, StoreError,
};
use tokio::time::sleep;

use super::*;

/// A journal that writes only on request, once it is told to hold what comes.
#[derive(Default)]
pub(super) struct Held {
    kept: MemoryJournal,
    waiting: Mutex<Option<Vec<(Batch, OnSettled)>>>,
}

impl Held {
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
            self.kept.submit_then(batch, settled);
        } else {
            settled(Err(StoreError::Unavailable("on purpose".to_owned())));
        }
    }

    pub(super) fn release(&self) {
        for (batch, settled) in self.waiting.lock().take().into_iter().flatten() {
            self.kept.submit_then(batch, settled);
        }
    }
}

#[async_trait]
impl Journal for Held {
    fn submit_then(&self, batch: Batch, settled: OnSettled) {
        if let Some(waiting) = &mut *self.waiting.lock() {
            return waiting.push((batch, settled));
        }
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
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_stopped_while_its_session_is_being_stored_leaves_no_session() {
    let journal = Arc::new(Held::default());
    let live = LiveShared::with_journal(LiveSettings::for_tests(), journal.clone());
    let harness = Harness::with(live);
    let started = harness.jobs.start(entry(), "j", harness.folder(), String::new());
    let job = started.await.expect("a job");
    journal.hold();
    while harness.sessions.list().is_empty() {
        tokio::task::yield_now().await;
    }
    let jobs = harness.jobs.clone();
    let stop = tokio::spawn(async move { jobs.stop(job).await });
    // Time passes once nothing else can happen.
    sleep(Duration::from_secs(1)).await;
    assert_eq!(harness.sessions.list().len(), 0);
    journal.release();
    assert_eq!(stop.await.expect("no panic"), Ok(()));
    assert_eq!(harness.jobs.status(job).await.expect("a job").status, JobStatus::Canceled);
    harness.end().await;
}
