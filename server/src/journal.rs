//! The journal of a running server: opened before anything happens, relieved of what is too old, and
//! closed when nothing happens any more.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use engine::session::SessionManager;
use platform::lifecycle::Lifecycle;
use store::journal::{FILE_NAME, Journal, MemoryJournal, OpenError, SqliteJournal};
use tokio::time::{Instant, MissedTickBehavior};

use crate::config::{StorePlace, StoreSettings};

const DELETE_EVERY: Duration = Duration::from_hours(1);
const MICROS_PER_DAY: u64 = 24 * 60 * 60 * 1_000_000;

/// The journal that the settings ask for.
pub struct OpenJournal {
    kind: Kind,
    keep_days: u32,
}

enum Kind {
    Memory(Arc<MemoryJournal>),
    Sqlite(Arc<SqliteJournal>),
}

impl OpenJournal {
    /// Opens it. Blocks, and changes nothing if it fails.
    pub fn open(settings: &StoreSettings) -> Result<Self, OpenError> {
        let kind = match &settings.place {
            StorePlace::Memory => Kind::Memory(Arc::default()),
            StorePlace::Sqlite(folder) => {
                let journal = SqliteJournal::open(folder)?;
                tracing::info!(file = %folder.join(FILE_NAME).display(), "the store is open");
                Kind::Sqlite(Arc::new(journal))
            }
        };
        Ok(Self { kind, keep_days: settings.keep_days })
    }

    /// To read and to write.
    pub fn journal(&self) -> Arc<dyn Journal> {
        match &self.kind {
            Kind::Memory(journal) => journal.clone(),
            Kind::Sqlite(journal) => journal.clone(),
        }
    }

    /// Deletes what ended too long ago, and closes the sessions that were not used for as long, now
    /// and every hour, until the server ends.
    pub fn delete_old(&self, sessions: Arc<SessionManager>, lifecycle: &Lifecycle) {
        if self.keep_days > 0 {
            delete_old(self.journal(), sessions, self.keep_days, lifecycle);
        }
    }

    /// Writes what was submitted, but not past the deadline. Nothing is kept afterwards.
    pub async fn close(self, deadline: Instant) {
        let Kind::Sqlite(journal) = self.kind else { return };
        let closing = tokio::task::spawn_blocking(move || journal.close());
        match tokio::time::timeout_at(deadline, closing).await {
            Ok(Ok(())) => tracing::debug!("the store is closed"),
            Ok(Err(error)) => tracing::error!(%error, "closing the store has crashed"),
            Err(_) => tracing::error!("the store did not take everything in time"),
        }
    }
}

fn delete_old(
    journal: Arc<dyn Journal>,
    sessions: Arc<SessionManager>,
    keep_days: u32,
    lifecycle: &Lifecycle,
) {
    let ending = lifecycle.token();
    let mut ticks = tokio::time::interval(DELETE_EVERY);
    // A machine that slept need not catch up.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    lifecycle.spawn(async move {
        let deleting = async {
            loop {
                ticks.tick().await;
                match sessions.close_unused(days_ago(keep_days)).await {
                    Ok(0) => {}
                    Ok(closed) => tracing::info!(closed, keep_days, "closed unused sessions"),
                    Err(error) => tracing::warn!(%error, "unused sessions were not closed"),
                }
                match journal.expire(days_ago(keep_days)).await {
                    Ok(0) => {}
                    Ok(deleted) => tracing::info!(deleted, keep_days, "deleted what was too old"),
                    Err(error) => tracing::warn!(%error, "what is too old was not deleted"),
                }
                if let Err(error) = sessions.delete_orphans().await {
                    tracing::warn!(%error, "attachments of deleted sessions were not deleted");
                }
            }
        };
        ending.run_until_cancelled(deleting).await;
    });
}

/// Microseconds since the Unix epoch.
fn days_ago(days: u32) -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX);
    now.saturating_sub(u64::from(days).saturating_mul(MICROS_PER_DAY))
}

#[cfg(test)]
mod tests {
    use agents::Catalog;
    use engine::session::SessionSettings;
    use store::journal::{Append, Entity, Record};
    use store::live::{LiveSettings, LiveShared};
    use wire::{EntityState, SessionId, Usage};

    use super::*;

    /// A session that ended so long ago.
    async fn keep(journal: &dyn Journal, days: u32) -> Entity {
        let entity = Entity::from(SessionId::generate());
        let record = Record {
            parent: None,
            title: "a session".to_owned(),
            folder: "/".to_owned(),
            model: None,
            state: EntityState::Closed,
            started_at: 1,
            ended_at: Some(days_ago(days)),
            usage: Usage::default(),
            detail: "{}".to_owned(),
        };
        let append = Append { record: Some(record), ..Append::new(entity, 0, 0) };
        journal.submit(append.into()).durable().await.expect("kept");
        entity
    }

    async fn has(journal: &dyn Journal, entity: Entity) -> bool {
        journal.record(entity).await.expect("read").is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_too_old_is_deleted_at_the_start_and_every_hour() {
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        let (old, young) = (keep(&*journal, 8).await, keep(&*journal, 6).await);
        let lifecycle = Lifecycle::new();
        delete_old(journal.clone(), sessions(&journal, &lifecycle), 7, &lifecycle);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!((has(&*journal, old).await, has(&*journal, young).await), (false, true));

        let old = keep(&*journal, 8).await;
        tokio::time::sleep(DELETE_EVERY / 2).await;
        assert!(has(&*journal, old).await, "not yet");
        tokio::time::sleep(DELETE_EVERY / 2).await;
        assert_eq!((has(&*journal, old).await, has(&*journal, young).await), (false, true));
        assert_eq!(lifecycle.shutdown(Duration::from_secs(1)).await, 0);
    }

    fn sessions(journal: &Arc<dyn Journal>, lifecycle: &Lifecycle) -> Arc<SessionManager> {
        let live = LiveShared::with_journal(LiveSettings::for_tests(), journal.clone());
        let settings = SessionSettings::new("/");
        SessionManager::new(Catalog::new([]), settings, live, lifecycle.clone())
    }

    #[tokio::test(start_paused = true)]
    async fn zero_days_are_for_ever() {
        let settings = StoreSettings { place: StorePlace::Memory, keep_days: 0 };
        let opened = OpenJournal::open(&settings).expect("in memory");
        let journal = opened.journal();
        let old = keep(&*journal, 20_000).await;
        let lifecycle = Lifecycle::new();
        opened.delete_old(sessions(&journal, &lifecycle), &lifecycle);
        tokio::time::sleep(2 * DELETE_EVERY).await;
        assert!(has(&*journal, old).await);
    }

    #[tokio::test]
    async fn what_was_submitted_is_written_when_it_is_closed() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let place = StorePlace::Sqlite(folder.path().to_owned());
        let settings = StoreSettings { place, keep_days: 90 };
        let opened = OpenJournal::open(&settings).expect("a store");
        let entity = keep(&*opened.journal(), 1).await;
        opened.close(Instant::now() + Duration::from_secs(30)).await;
        let opened = OpenJournal::open(&settings).expect("the folder is free again");
        assert!(has(&*opened.journal(), entity).await);
    }
}
