//! The logs of one kind of entity, by id.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use platform::lifecycle::Lifecycle;
use platform::memory::shrink;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::{Delivery, LiveEntry, LiveLog, LiveShared, LiveSource, Note, PollError, ReaderKey};
use crate::fold::Stored;
use crate::journal::{Batch, Entity, StoreError};

/// Finds logs, and frees those that have ended and that nobody can read any more.
pub struct LiveRegistry<Id, E: LiveEntry> {
    shared: Arc<LiveShared>,
    logs: RwLock<HashMap<Id, Arc<LiveLog<E>>>>,
    on_free: OnFree<Id>,
}

/// How much of an open block a crash may lose.
const SAVE_EVERY: Duration = Duration::from_secs(1);
/// How long a call waits for what it did to become durable. Callers have time-outs of their own.
const STORE_PATIENCE: Duration = Duration::from_secs(5);

/// Is told of what was freed.
type OnFree<Id> = Box<dyn Fn(&[Id]) + Send + Sync>;

impl<Id, E> LiveRegistry<Id, E>
where
    Id: Copy + Eq + Hash + Into<Entity> + Send + Sync + 'static,
    E: LiveEntry,
{
    /// An empty registry, and the one future that sweeps it until shutdown.
    pub fn new(shared: Arc<LiveShared>, lifecycle: &Lifecycle) -> Arc<Self> {
        Self::with_owner(shared, lifecycle, |_| {})
    }

    /// A registry that tells its owner which logs it has freed, for the owner to forget them, too.
    pub fn with_owner(
        shared: Arc<LiveShared>,
        lifecycle: &Lifecycle,
        on_free: impl Fn(&[Id]) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let on_free = Box::new(on_free);
        let registry = Arc::new(Self { shared, logs: RwLock::default(), on_free });
        let token = lifecycle.token();
        let swept = registry.clone();
        lifecycle.spawn(async move {
            let tended = async { tokio::join!(swept.sweep_for_ever(), swept.save_for_ever()) };
            token.run_until_cancelled(tended).await;
        });
        registry
    }

    /// A new log for a new entity, which was started as the note says.
    pub fn open(&self, id: Id, started: &Note<E>) -> Arc<LiveLog<E>> {
        let log = self.prepare(id);
        log.begin(started);
        self.add(id, log.clone());
        log
    }

    /// A log that nobody can find until it is [added](Self::add): for an entity that may yet fail
    /// to start.
    pub fn prepare(&self, id: Id) -> Arc<LiveLog<E>> {
        LiveLog::prepare(self.shared.clone(), id.into())
    }

    /// Makes the log of an entity known that is kept and goes on. `Err` with the one that is known
    /// already, if there is one: an entity has one log.
    pub fn restore(
        &self,
        id: Id,
        stored: Stored<E::Fold>,
    ) -> Result<Arc<LiveLog<E>>, Arc<LiveLog<E>>> {
        match self.logs.write().entry(id) {
            Entry::Occupied(known) => Err(known.get().clone()),
            Entry::Vacant(place) => {
                let log = LiveLog::restore(self.shared.clone(), id.into(), stored);
                Ok(place.insert(log).clone())
            }
        }
    }

    /// Makes a prepared log known.
    pub fn add(&self, id: Id, log: Arc<LiveLog<E>>) {
        self.logs.write().insert(id, log);
    }

    /// The log of an entity that is running, or that ended not long ago.
    pub fn get(&self, id: Id) -> Option<Arc<LiveLog<E>>> {
        self.logs.read().get(&id).cloned()
    }

    /// Waits for something new for a reader of an entity. Cancel safe.
    pub async fn poll(&self, id: Id, reader: ReaderKey) -> Result<Delivery, PollError> {
        let log = self.get(id).ok_or(PollError::NotFound)?;
        log.poll(reader).await
    }

    /// An entity among others, for [`poll_many`](super::poll_many).
    pub fn source(&self, id: Id) -> Option<LiveSource> {
        self.logs.read().get(&id).map(LiveLog::source)
    }

    /// Refuses what would have to be kept while nothing can be.
    pub fn check_store(&self) -> Result<(), StoreError> {
        match self.shared.journal.trouble() {
            Some(reason) => Err(StoreError::Unavailable(reason)),
            None => Ok(()),
        }
    }

    /// Waits until everything that happened to an entity so far is durable, but not for long.
    /// Cancel safe.
    pub async fn durable(&self, id: Id) -> Result<(), StoreError> {
        let Some(log) = self.get(id) else { return Ok(()) };
        timeout(STORE_PATIENCE, log.durable()).await.unwrap_or_else(|_| {
            let reason = self.shared.journal.trouble();
            Err(StoreError::Unavailable(reason.unwrap_or_else(|| "it is too slow".to_owned())))
        })
    }

    /// What the logs have in common.
    pub fn shared(&self) -> &Arc<LiveShared> {
        &self.shared
    }

    /// Forgets a log that is not to be read any more.
    pub fn remove(&self, id: Id) {
        self.logs.write().remove(&id);
    }

    /// How many logs are kept.
    pub fn len(&self) -> usize {
        self.logs.read().len()
    }

    /// True if no log is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets readers and frees logs.
    pub fn sweep(&self) {
        let now = Instant::now();
        let logs: Vec<_> = self.logs.read().iter().map(|(id, log)| (*id, log.clone())).collect();
        let mut over = Vec::new();
        for (id, log) in logs {
            if log.sweep(now) {
                over.push(id);
            }
        }
        if over.is_empty() {
            return;
        }
        {
            let mut logs = self.logs.write();
            for id in &over {
                logs.remove(id);
            }
            shrink(&mut logs);
        }
        (self.on_free)(&over);
    }

    /// Stores what was said in open blocks since the last time: a crash loses no more of them.
    pub fn save_open_blocks(&self) {
        let logs: Vec<_> = self.logs.read().values().cloned().collect();
        let chunks: Vec<_> = logs.iter().flat_map(|log| log.take_chunks()).collect();
        if !chunks.is_empty() {
            // Nobody waits for it: what is not stored is stored with the end of its block.
            drop(self.shared.journal.submit(Batch { chunks, ..Batch::default() }));
        }
    }

    async fn save_for_ever(&self) {
        if !self.shared.journal.is_lasting() {
            return;
        }
        let mut ticks = interval(SAVE_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.save_open_blocks();
        }
    }

    /// Rules about time are kept to the moment by the calls themselves; sweeping only frees
    /// memory, so it need not be often.
    async fn sweep_for_ever(&self) {
        let period = self.shared.settings.count_down / 10;
        let mut ticks = interval(period.clamp(Duration::from_millis(100), Duration::from_secs(5)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.sweep();
        }
    }
}
