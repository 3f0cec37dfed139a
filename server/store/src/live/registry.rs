//! The logs of one kind of entity, by id.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use platform::lifecycle::Lifecycle;
use platform::memory::shrink;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::log::Kept;
use super::{LiveEntry, LiveLog, LiveShared, LiveSource, Note};
use crate::fold;
use crate::journal::{Batch, Entity, StoreError, check_store, wait_for};

/// Finds logs, and frees those that have ended and that nobody can read any more. Those that nobody
/// reads or writes at the moment are freed as well, and loaded again when they are needed.
pub struct LiveRegistry<Id, E: LiveEntry> {
    shared: Arc<LiveShared>,
    logs: RwLock<HashMap<Id, Arc<LiveLog<E>>>>,
    /// How often logs were freed that can be loaded again.
    freed: AtomicU64,
    on_free: OnFree<Id>,
}

/// How much of an open block a crash may lose.
const SAVE_EVERY: Duration = Duration::from_secs(1);

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
        let registry =
            Arc::new(Self { shared, logs: RwLock::default(), freed: AtomicU64::new(0), on_free });
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
        // Known before it is in any list, or a reader could load it a second time.
        self.add(id, log.clone());
        log.begin(started);
        log
    }

    /// A log that nobody can find until it is [added](Self::add): for an entity that may yet fail
    /// to start.
    pub fn prepare(&self, id: Id) -> Arc<LiveLog<E>> {
        LiveLog::prepare(self.shared.clone(), id.into())
    }

    /// The log of an entity, which is loaded if the journal has it and it can still be read: it goes
    /// on, or ended shortly before the server was started.
    ///
    /// Cancel safe.
    pub async fn load(&self, id: Id) -> Option<Arc<LiveLog<E>>> {
        loop {
            if let Some(log) = self.get(id) {
                return Some(log);
            }
            let freed = self.freed.load(Ordering::Relaxed);
            let kept = self.read(id).await?;
            let mut logs = self.logs.write();
            // What was read may be outdated if a log was freed since.
            let is_current = self.freed.load(Ordering::Relaxed) == freed;
            // Somebody else may have been quicker: an entity has one log.
            match logs.entry(id) {
                Entry::Occupied(known) => return Some(known.get().clone()),
                Entry::Vacant(place) if is_current => {
                    let log = LiveLog::restore(self.shared.clone(), id.into(), kept);
                    return Some(place.insert(log).clone());
                }
                Entry::Vacant(_) => {}
            }
        }
    }

    /// Reads what the journal has of an entity, if it can still be read.
    async fn read(&self, id: Id) -> Option<Kept<E::Fold>> {
        let journal = &**self.shared.journal();
        // Most ids that are asked for in vain name what ended long ago, which the record tells.
        let (record, ..) = journal.record(id.into()).await.ok()??;
        let ended = record.ended_at.map(|at| self.shared.time_since(at));
        if ended
            .is_some_and(|ago| !journal.is_lasting() || ago >= self.shared.settings.forget_after)
        {
            return None;
        }
        let cursors = journal.cursors(id.into()).await.ok()?;
        let is_over = ended.is_some_and(|ago| ago >= self.shared.settings.count_down);
        if is_over && cursors.iter().all(|cursor| cursor.is_finished) {
            return None;
        }
        let stored = fold::load::<E, E::Fold>(journal, id.into()).await.ok()??;
        Some(Kept { stored, cursors, ended })
    }

    /// Makes a prepared log known.
    pub fn add(&self, id: Id, log: Arc<LiveLog<E>>) {
        self.logs.write().insert(id, log);
    }

    /// The log of an entity that is running, or that ended not long ago.
    pub fn get(&self, id: Id) -> Option<Arc<LiveLog<E>>> {
        self.logs.read().get(&id).cloned()
    }

    /// Something that can be read, or `None`.
    pub async fn source(&self, id: Id) -> Option<LiveSource> {
        self.load(id).await.map(|log| log.source())
    }

    /// Refuses what would have to be kept while nothing can be.
    pub fn check_store(&self) -> Result<(), StoreError> {
        check_store(&*self.shared.journal)
    }

    /// Waits until everything that happened to an entity so far is durable, but not for long.
    /// Cancel safe.
    pub async fn durable(&self, id: Id) -> Result<(), StoreError> {
        let Some(log) = self.get(id) else { return Ok(()) };
        wait_for(&*self.shared.journal, log.durable()).await
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
        let (mut over, mut unread, mut batch) = (Vec::new(), Vec::new(), Batch::default());
        for (id, log) in logs {
            if log.sweep(now, &mut batch) {
                over.push(id);
            } else if log.is_unread() && Arc::strong_count(&log) == 2 {
                unread.push(id);
            }
        }
        if self.shared.journal.is_lasting() && !batch.forgotten.is_empty() {
            drop(self.shared.journal.submit(batch));
        }
        if over.is_empty() && unread.is_empty() {
            return;
        }
        {
            let mut logs = self.logs.write();
            for id in &over {
                logs.remove(id);
            }
            for id in &unread {
                // While the list is locked nobody can get hold of it, so there will never be two
                // logs of one entity in use.
                let is_unused =
                    |log: &Arc<LiveLog<E>>| Arc::strong_count(log) == 1 && log.is_unread();
                if logs.get(id).is_some_and(is_unused) {
                    logs.remove(id);
                    self.freed.fetch_add(1, Ordering::Relaxed);
                }
            }
            shrink(&mut logs);
        }
        if !over.is_empty() {
            (self.on_free)(&over);
        }
    }

    /// Stores what has happened since the last time and is no fact: what was said in open blocks,
    /// and how far readers have come. A crash loses no more of that.
    pub fn save(&self) {
        let logs: Vec<_> = self.logs.read().values().cloned().collect();
        let mut batch = Batch::default();
        for log in logs {
            log.take_unsaved(&mut batch);
        }
        if !batch.chunks.is_empty() || !batch.cursors.is_empty() {
            // Nobody waits for it: what is not stored is stored with the end of its block, and a
            // reader that is ahead of the store is repeated a little.
            drop(self.shared.journal.submit(batch));
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
            self.save();
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
