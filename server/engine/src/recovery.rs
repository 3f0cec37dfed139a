//! After a restart: closes what was cut off when the server stopped, in a way that every reader sees.
//!
//! A turn that was cut off is closed; its session stays open, and so do its questions. Tasks and jobs
//! that were running go on once their managers take them up; those of earlier versions, of which not
//! enough is stored, have failed. All of this is stored before the server takes its first request.
//!
//! ```text
//!   jobs that can go on ─▶ their tasks ─▶ the session that each has open
//!   everything else that is open below a task or a job is ended
//! ```

mod session;

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use store::fold::{
    Addition, Fold, INTERRUPTED, JobFold, JobHistory, JobNote, TaskEvent, TaskFold, TaskHistory,
    TaskNote, WorkEnd, load, refold,
};
use store::journal::{Entity, Journal, OpenEntities, Record, StoreError};
use store::live::LiveShared;
use wire::{
    EntityKind, EntityState, JobResponse, SessionId, SessionResponse, TaskId, TaskResponse, Timed,
};

/// Ends what can't go on, and returns how many sessions, tasks and jobs were cut off.
pub async fn recover(live: &LiveShared) -> Result<usize, StoreError> {
    let journal = &**live.journal();
    let lasting = Lasting::find(journal).await?;
    let mut count = 0;
    // From the inside out: once a reader sees that a job has ended, its tasks have ended too.
    let mut sessions = OpenEntities::new(journal, EntityKind::Session);
    while let Some(page) = sessions.next().await? {
        for (entity, record) in page {
            let closes_session = !lasting.keeps_session(entity, &record);
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
            count += 1;
            if !lasting.keeps_task(entity) {
                let failed = TaskResponse::Error { message: INTERRUPTED.to_owned() };
                let facts = vec![failed, TaskResponse::TaskFailed];
                end::<_, TaskFold>(live, entity, vec![TaskNote::Interrupted], facts).await?;
            }
        }
    }
    let mut jobs = OpenEntities::new(journal, EntityKind::Job);
    while let Some(page) = jobs.next().await? {
        for (entity, _) in page {
            count += 1;
            if !lasting.jobs.contains(&entity) {
                let (notes, facts) = end_of_job(journal, entity).await?;
                end::<_, JobFold>(live, entity, notes, facts).await?;
            }
        }
    }
    Ok(count)
}

/// What goes on after the restart.
#[derive(Default)]
struct Lasting {
    jobs: HashSet<Entity>,
    /// The tasks, each with the session of its own that it has open.
    tasks: HashMap<TaskId, Option<SessionId>>,
}

impl Lasting {
    async fn find(journal: &dyn Journal) -> Result<Self, StoreError> {
        let mut lasting = Self::default();
        // A task that its job does not know has done nothing yet: the job starts another one.
        let mut known = HashSet::new();
        let mut jobs = OpenEntities::new(journal, EntityKind::Job);
        while let Some(page) = jobs.next().await? {
            for (entity, _) in page {
                let stored = load::<JobResponse, JobHistory>(journal, entity).await?;
                let Some(history) = stored.map(|stored| stored.fold) else { continue };
                if history.entry.is_some() {
                    lasting.jobs.insert(entity);
                    known.extend(history.running.values().filter_map(|run| run.task_id));
                }
            }
        }
        let mut tasks = OpenEntities::new(journal, EntityKind::Task);
        while let Some(page) = tasks.next().await? {
            for (entity, _) in page {
                let Entity::Task(id) = entity else { continue };
                let stored = load::<TaskResponse, TaskHistory>(journal, entity).await?;
                let Some(history) = stored.map(|stored| stored.fold) else { continue };
                if known.contains(&id) || history.origin.is_some() {
                    lasting.tasks.insert(id, opened_last(&history.events));
                }
            }
        }
        Ok(lasting)
    }

    fn keeps_task(&self, entity: Entity) -> bool {
        matches!(entity, Entity::Task(id) if self.tasks.contains_key(&id))
    }

    /// Whether a session stays open: those of users do, and the one that a task has open. The task
    /// may have been about to learn of another one, in which nothing has happened.
    fn keeps_session(&self, entity: Entity, record: &Record) -> bool {
        match (entity, record.parent) {
            (Entity::Session(id), Some(Entity::Task(task))) => {
                self.tasks.get(&task).is_some_and(|open| *open == Some(id))
            }
            (_, parent) => parent.is_none(),
        }
    }
}

/// The session that a task has opened last.
pub(crate) fn opened_last(events: &[TaskEvent]) -> Option<SessionId> {
    events.iter().rev().find_map(|event| match event {
        TaskEvent::Opened { session_id } => Some(*session_id),
        _ => None,
    })
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
