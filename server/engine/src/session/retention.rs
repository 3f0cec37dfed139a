//! Open sessions that nobody has used for very long.

use store::journal::{Entity, OpenEntities, StoreError};
use wire::{EntityKind, SessionId};

use super::SessionManager;

impl SessionManager {
    /// Closes the open sessions of users in which nothing has happened since a time, in microseconds
    /// since the Unix epoch. Returns how many.
    pub async fn close_unused(&self, since: u64) -> Result<usize, StoreError> {
        let mut closed = 0;
        let mut open = OpenEntities::new(&**self.live().shared().journal(), EntityKind::Session);
        while let Some(page) = open.next().await? {
            for (entity, record) in page {
                let Entity::Session(id) = entity else { continue };
                if record.parent.is_some() || record.started_at >= since || self.is_busy(id) {
                    continue;
                }
                let is_unused = self.last_fact_at(id).await?.is_none_or(|at| at < since);
                // It may have been closed since.
                closed += usize::from(is_unused && self.stop(id).await.is_ok());
            }
        }
        Ok(closed)
    }

    fn is_busy(&self, id: SessionId) -> bool {
        self.get(id).is_ok_and(|session| session.summary().busy)
    }

    /// When something happened in a session last; `None` if nothing ever did.
    async fn last_fact_at(&self, id: SessionId) -> Result<Option<u64>, StoreError> {
        let journal = self.live().shared().journal();
        let Some((_, facts, _)) = journal.record(id.into()).await? else { return Ok(None) };
        let last = journal.read(id.into(), facts.saturating_sub(1), 1, usize::MAX).await?;
        Ok(last.and_then(|page| Some(page.facts.first()?.1.at)))
    }
}
