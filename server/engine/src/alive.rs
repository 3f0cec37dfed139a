//! What is alive: the open sessions, the running jobs, and those that ended not long ago.
//!
//! ```text
//!   sessions, tasks, jobs, questions ──▶ Journal ── records, once durable ──▶ Alive ──▶ LiveBoard
//!                                                                              │           │
//!                                                      GET copilot/alive ◀─────┘   readers ◀
//! ```
//!
//! It follows the records that are written anyway, so nothing reports to it and nothing is polled: a
//! change costs the same however much is alive, and after a restart the stored records are enough.
//! Deltas change no record. A record that changes nothing of an item is not told.

mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use parking_lot::Mutex;
use store::journal::{Entity, HistoryQuery, OpenEntities, Record, RecordWatcher, StoreError};
use store::live::{LiveBoard, LiveShared, LiveSource};
use wire::{AliveResponse, EntityKind};

use state::State;

/// How many of the newest jobs are looked at after a restart for those that have just ended.
const RECENT_JOBS: usize = 200;

/// The list of what is alive.
pub struct Alive {
    shared: Arc<LiveShared>,
    board: LiveBoard<AliveResponse>,
    state: Mutex<State>,
}

impl Alive {
    /// An empty list, which fills with what happens from now on.
    pub fn new(shared: Arc<LiveShared>) -> Arc<Self> {
        let board = LiveBoard::new(shared.clone());
        let alive = Arc::new(Self { shared, board, state: Mutex::default() });
        let watcher: Arc<dyn RecordWatcher> = alive.clone();
        alive.shared.watch(Arc::downgrade(&watcher));
        alive
    }

    /// Adds what was alive when the server stopped, from its records. Called after the recovery and
    /// before anything else happens.
    pub async fn restore(&self) -> Result<(), StoreError> {
        let journal = &**self.shared.journal();
        // What sessions belong to comes before them.
        for kind in [EntityKind::Task, EntityKind::Job] {
            self.take_all(OpenEntities::new(journal, kind)).await?;
        }
        // Nor would a session that waits be left out for having been idle for long.
        self.take_all(OpenEntities::questions(journal)).await?;
        self.take_all(OpenEntities::new(journal, EntityKind::Session)).await?;
        let kind = Some(EntityKind::Job);
        let query = HistoryQuery { kind, limit: RECENT_JOBS, ..HistoryQuery::default() };
        let recent = journal.history(query).await?.items.into_iter();
        let mut state = self.state.lock();
        state.restore_ended(recent.map(|found| (found.entity, found.record)));
        state.forget_ended(self.shared.next_time());
        state.take_news();
        for item in state.list().into_iter().rev() {
            self.board.push(&AliveResponse::AliveChanged { item: Box::new(item) });
        }
        Ok(())
    }

    async fn take_all(&self, mut open: OpenEntities<'_>) -> Result<(), StoreError> {
        while let Some(page) = open.next().await? {
            self.take(page);
        }
        Ok(())
    }

    /// Takes records without telling readers.
    fn take(&self, records: Vec<(Entity, Record)>) {
        let mut state = self.state.lock();
        for (entity, record) in records {
            state.apply(entity, &record);
        }
        state.take_news();
    }

    /// What is alive now, what started last first.
    pub fn list(&self) -> wire::Alive {
        self.change(|_| ());
        wire::Alive { items: self.state.lock().list() }
    }

    /// Its stream of changes, which begins with what is alive.
    pub fn source(&self) -> LiveSource {
        self.change(|_| ());
        self.board.source()
    }

    /// Changes something and tells readers, under the lock, so that they learn it in that order.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        change(&mut state);
        state.forget_ended(self.shared.next_time());
        for response in state.take_news() {
            self.board.push(&response);
        }
    }
}

impl RecordWatcher for Alive {
    fn written(&self, records: Vec<(Entity, Record)>) {
        self.change(|state| {
            for (entity, record) in records {
                state.apply(entity, &record);
            }
        });
    }

    fn deleted(&self, entity: Entity) {
        self.change(|state| state.delete(entity));
    }
}
