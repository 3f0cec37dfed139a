//! After a restart: ends what was running when the server stopped, in a way that every reader sees.
//!
//! A turn that was cut off is closed; its session stays open, and so do its questions. A task or job
//! that was running has failed. All of this is stored before the server takes its first request.

mod session;

use serde::Serialize;
use serde::de::DeserializeOwned;
use store::fold::{
    Addition, Fold, INTERRUPTED, JobFold, JobNote, TaskFold, TaskNote, WorkEnd, refold,
};
use store::journal::{Entity, Journal, OpenEntities, StoreError};
use store::live::LiveShared;
use wire::{EntityKind, EntityState, JobResponse, SessionResponse, TaskResponse, Timed};

/// Ends what was cut off, and returns how many sessions, tasks and jobs that were.
pub async fn recover(live: &LiveShared) -> Result<usize, StoreError> {
    let journal = &**live.journal();
    let mut count = 0;
    // From the inside out: once a reader sees that a job has ended, its tasks have ended too.
    let mut sessions = OpenEntities::new(journal, EntityKind::Session);
    while let Some(page) = sessions.next().await? {
        for (entity, record) in page {
            let closes_session = record.parent.is_some();
            if matches!(record.state, EntityState::Running | EntityState::Waiting) {
                count += usize::from(session::close_turn(live, entity, closes_session).await?);
            } else if closes_session {
                session::close(live, entity).await?;
            }
        }
    }
    let mut tasks = OpenEntities::new(journal, EntityKind::Task);
    while let Some(page) = tasks.next().await? {
        for (entity, _) in page {
            let failed = TaskResponse::Error { message: INTERRUPTED.to_owned() };
            let facts = vec![failed, TaskResponse::TaskFailed];
            end::<_, TaskFold>(live, entity, vec![TaskNote::Interrupted], facts).await?;
            count += 1;
        }
    }
    let mut jobs = OpenEntities::new(journal, EntityKind::Job);
    while let Some(page) = jobs.next().await? {
        for (entity, _) in page {
            let (notes, facts) = end_of_job(journal, entity).await?;
            end::<_, JobFold>(live, entity, notes, facts).await?;
            count += 1;
        }
    }
    Ok(count)
}

/// What ends a job: its running works were interrupted and have stopped, and it has failed.
async fn end_of_job(
    journal: &dyn Journal,
    entity: Entity,
) -> Result<(Vec<JobNote>, Vec<JobResponse>), StoreError> {
    let fold = refold::<JobResponse, JobFold>(journal, entity).await?.unwrap_or_default();
    let works = fold.works().iter();
    let running = works.filter(|(_, work)| work.task_id.is_some()).map(|(work_id, _)| *work_id);
    let interrupted = |work_id| JobNote::Unsuccessful { work_id, end: WorkEnd::Interrupted };
    let notes = [JobNote::Interrupted].into_iter().chain(running.clone().map(interrupted));
    let stopped = |work_id| JobResponse::WorkStopped { work_id, succeeded: false };
    let mut facts: Vec<_> = running.map(stopped).collect();
    facts.push(JobResponse::Error { message: INTERRUPTED.to_owned() });
    facts.push(JobResponse::JobFailed);
    Ok((notes.collect(), facts))
}

/// Ends a stream with notes, and then facts.
async fn end<E, F>(
    live: &LiveShared,
    entity: Entity,
    notes: Vec<F::Note>,
    facts: Vec<E>,
) -> Result<(), StoreError>
where
    E: Serialize + DeserializeOwned,
    F: Fold<E>,
{
    let notes = notes.into_iter().map(|note| (live.next_time(), note)).collect();
    let facts = facts.into_iter().map(|fact| (live.next_time(), fact)).collect();
    let addition = Addition { facts, notes, closed_blocks: Vec::new() };
    store::fold::extend::<E, F>(&**live.journal(), entity, addition).await?;
    Ok(())
}

/// The facts of a session, parsed, with their numbers and times.
pub(crate) async fn responses(
    journal: &dyn Journal,
    entity: Entity,
) -> Result<Vec<(u64, Timed<SessionResponse>)>, StoreError> {
    let page = journal.read(entity, 0, usize::MAX, usize::MAX).await?.unwrap_or_default();
    let known = page.facts.into_iter().filter_map(|(seq, fact)| {
        // We wrote it, so it parses unless a newer version added its kind.
        let response = serde_json::from_str(&fact.json).ok()?;
        Some((seq, Timed { at: fact.at, response }))
    });
    Ok(known.collect())
}
