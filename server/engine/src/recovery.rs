//! After a restart: what ran when the server stopped is brought to an end that everybody can read.
//!
//! A session's turn that was cut off is closed, and the session stays open. A task or a job that
//! ran has failed. Everything is added to what is kept before the server takes its first call.

mod session;

use serde::Serialize;
use serde::de::DeserializeOwned;
use store::fold::{Addition, Fold, JobFold, TaskFold, refold};
use store::journal::{Entity, Journal, StoreError};
use store::live::LiveShared;
use wire::{EntityKind, EntityState, JobResponse, SessionResponse, TaskResponse};

/// Why something ended that nobody ended.
pub(crate) const INTERRUPTED: &str = "interrupted: the server stopped";

/// Ends what was cut off. Says how many sessions, tasks and jobs that were.
pub async fn recover(live: &LiveShared) -> Result<usize, StoreError> {
    let journal = &**live.journal();
    let mut count = 0;
    // From the inside out: who reads that a job has ended finds its tasks ended.
    for (entity, record) in journal.open(EntityKind::Session).await? {
        if matches!(record.state, EntityState::Running | EntityState::Waiting) {
            session::close_turn(live, entity, record.parent.is_some()).await?;
            count += 1;
        } else if record.parent.is_some() {
            session::close(live, entity).await?;
        }
    }
    for (entity, _) in journal.open(EntityKind::Task).await? {
        let facts =
            [TaskResponse::Error { message: INTERRUPTED.to_owned() }, TaskResponse::TaskFailed];
        end::<_, TaskFold>(live, entity, facts.into()).await?;
        count += 1;
    }
    for (entity, _) in journal.open(EntityKind::Job).await? {
        let facts = end_of_job(journal, entity).await?;
        end::<_, JobFold>(live, entity, facts).await?;
        count += 1;
    }
    Ok(count)
}

/// The works that ran have stopped, and the job has failed.
async fn end_of_job(journal: &dyn Journal, entity: Entity) -> Result<Vec<JobResponse>, StoreError> {
    let fold = refold::<JobResponse, JobFold>(journal, entity).await?.unwrap_or_default();
    let running = fold.works().iter().filter(|(_, work)| work.task_id.is_some());
    let mut facts: Vec<_> = running
        .map(|(work_id, _)| JobResponse::WorkStopped { work_id: *work_id, succeeded: false })
        .collect();
    facts.push(JobResponse::Error { message: INTERRUPTED.to_owned() });
    facts.push(JobResponse::JobFailed);
    Ok(facts)
}

async fn end<E, F>(live: &LiveShared, entity: Entity, facts: Vec<E>) -> Result<(), StoreError>
where
    E: Serialize + DeserializeOwned,
    F: Fold<E>,
{
    let facts = facts.into_iter().map(|fact| (live.next_time(), fact)).collect();
    let addition = Addition { facts, notes: Vec::new(), closed_blocks: Vec::new() };
    store::fold::extend::<E, F>(&**live.journal(), entity, addition).await?;
    Ok(())
}

/// The stored responses of a session, with their numbers.
pub(crate) async fn responses(
    journal: &dyn Journal,
    entity: Entity,
) -> Result<Vec<(u64, SessionResponse)>, StoreError> {
    let page = journal.read(entity, 0, usize::MAX, usize::MAX).await?.unwrap_or_default();
    let known = page.facts.into_iter().filter_map(|(seq, fact)| {
        // Written by us. What a newer version added is left out.
        Some((seq, serde_json::from_str(&fact.json).ok()?))
    });
    Ok(known.collect())
}
