//! What records come to, with many of them and over time.

use std::sync::Arc;

use store::fold::SessionDetail;
use store::journal::{Append, Batch, Entity, Journal, Record, SqliteJournal};
use store::live::{LiveSettings, LiveShared};
use wire::{
    AliveItem, AliveResponse, AliveState, EntityState, InboxItem, InboxKind, JobId, LiveId,
    PermissionId, PermissionMode, SessionId, TaskId, Usage,
};

use super::Alive;
use super::state::{KEEP_ENDED, MAX_IDLE, State};

const SECOND: u64 = 1_000_000;

fn record(state: EntityState, started_at: u64, detail: String) -> Record {
    Record {
        parent: None,
        title: "t".to_owned(),
        folder: "/src".to_owned(),
        model: None,
        state,
        started_at,
        ended_at: None,
        usage: Usage::default(),
        detail,
    }
}

/// The record of a session whose state began at a time.
fn session(state: EntityState, since: u64) -> Record {
    let detail = SessionDetail {
        permissions: Some(PermissionMode::Ask),
        queued: 0,
        continued_from: None,
        project: None,
        reached: None,
        since,
        turn: None,
    };
    record(state, SECOND, serde_json::to_string(&detail).expect("json"))
}

fn ended(state: EntityState, ended_at: u64) -> Record {
    Record { ended_at: Some(ended_at), ..record(state, SECOND, String::new()) }
}

fn changed(item: &AliveItem) -> AliveResponse {
    AliveResponse::AliveChanged { item: Box::new(item.clone()) }
}

#[test]
fn a_record_that_changes_nothing_that_is_shown_is_not_told() {
    let mut state = State::default();
    let id = SessionId::generate();
    state.apply(id.into(), &session(EntityState::Running, 2 * SECOND));
    let item = state.list().remove(0);
    assert_eq!((item.state, item.since, item.started_at), (AliveState::Working, 2_000, 1_000));
    assert_eq!(state.take_news(), [changed(&item)]);
    let used = Usage { input_tokens: 9, ..Usage::default() };
    let record = Record { usage: used, ..session(EntityState::Running, 2 * SECOND) };
    state.apply(id.into(), &record);
    assert_eq!(state.take_news(), []);
    state.apply(id.into(), &session(EntityState::Idle, 3 * SECOND));
    let item = state.list().remove(0);
    assert_eq!((item.state, item.since), (AliveState::Idle, 3_000));
    assert_eq!(state.take_news(), [changed(&item)]);
}

#[test]
fn of_very_many_idle_sessions_those_are_listed_that_were_used_last() {
    let mut state = State::default();
    let ids: Vec<_> = (0..MAX_IDLE + 2).map(|_| SessionId::generate()).collect();
    let busy = SessionId::generate();
    state.apply(busy.into(), &session(EntityState::Running, 1));
    for (id, since) in ids.iter().zip(1..) {
        state.apply((*id).into(), &session(EntityState::Idle, since * SECOND));
    }
    let has = |state: &State, id: SessionId| {
        state.list().iter().any(|item| item.id == LiveId::Session(id))
    };
    assert_eq!(state.list().len(), MAX_IDLE + 1);
    assert!(
        has(&state, busy) && !has(&state, ids[0]) && !has(&state, ids[1]) && has(&state, ids[2])
    );
    let gone = |id: SessionId| AliveResponse::AliveGone { id: id.into() };
    let news = state.take_news();
    assert!(news.contains(&gone(ids[0])) && news.contains(&gone(ids[1])));

    // One that is not listed and stays idle is not told of; once it is used again, it is.
    state.apply(ids[0].into(), &Record { title: "n".to_owned(), ..session(EntityState::Idle, 1) });
    assert_eq!(state.take_news(), []);
    state.apply(ids[0].into(), &session(EntityState::Running, 5_000 * SECOND));
    assert!(has(&state, ids[0]));
    state.apply(ids[0].into(), &session(EntityState::Idle, 5_001 * SECOND));
    assert!(has(&state, ids[0]) && !has(&state, ids[2]));
}

#[test]
fn a_job_is_listed_for_an_hour_after_its_end() {
    let mut state = State::default();
    let (job, other) = (JobId::generate(), JobId::generate());
    let end = 10 * SECOND;
    state.apply(job.into(), &record(EntityState::Running, SECOND, String::new()));
    state.apply(job.into(), &ended(EntityState::Failed, end));
    // The end of this one was not long ago when the server was started.
    let records = [(Entity::Job(other), ended(EntityState::Succeeded, end + 1))];
    state.restore_ended(records.into_iter());
    state.forget_ended(end + KEEP_ENDED - 1);
    let states: Vec<_> = state.list().iter().map(|item| (item.id, item.state)).collect();
    assert!(states.contains(&(job.into(), AliveState::Failed)), "{states:?}");
    assert!(states.contains(&(other.into(), AliveState::Succeeded)), "{states:?}");
    state.take_news();
    state.forget_ended(end + KEEP_ENDED);
    assert_eq!(state.take_news(), [AliveResponse::AliveGone { id: job.into() }]);
    // A retry writes into its record once more.
    state.apply(job.into(), &ended(EntityState::Failed, end));
    assert_eq!(state.take_news(), []);
    assert_eq!(state.list().len(), 1);
}

/// A store in which a server has left something.
async fn kept(folder: &std::path::Path, records: Vec<(Entity, Record)>) -> Arc<LiveShared> {
    let journal = Arc::new(SqliteJournal::open(folder).expect("a store"));
    let mut batch = Batch::default();
    for (entity, record) in records {
        let mut append = Append::new(entity, 0, 0);
        append.record = Some(record);
        batch.appends.push(append);
    }
    journal.submit(batch).durable().await.expect("kept");
    LiveShared::with_journal(LiveSettings::for_tests(), journal)
}

#[tokio::test]
async fn after_a_restart_the_records_are_enough() {
    let folder = tempfile::tempdir().expect("a folder");
    let (job, task, of_job) = (JobId::generate(), TaskId::generate(), SessionId::generate());
    let (question, waits) = (PermissionId::generate(), SessionId::generate());
    let asked = InboxItem {
        id: question,
        kind: InboxKind::Interrupted,
        title: "q".to_owned(),
        detail: None,
        path: None,
        diff: None,
        options: Vec::new(),
        asked_at: String::new(),
        expires_at: None,
        session_id: Some(waits),
        task_id: None,
        job_id: None,
        work_id: None,
        folder: String::new(),
    };
    let asked = serde_json::json!({ "item": asked }).to_string();
    let progress = r#"{"done":2,"total":5}"#.to_owned();
    let mut records = vec![
        (job.into(), record(EntityState::Running, 9 * SECOND, progress)),
        (
            task.into(),
            Record { parent: Some(job.into()), ..record(EntityState::Running, 1, String::new()) },
        ),
        (
            of_job.into(),
            Record { parent: Some(task.into()), ..session(EntityState::Running, 8 * SECOND) },
        ),
        (waits.into(), session(EntityState::Idle, 2)),
        (Entity::Question(question), record(EntityState::Waiting, 7 * SECOND, asked)),
        (JobId::generate().into(), ended(EntityState::Failed, 2 * SECOND)),
    ];
    // More than are listed, all of them idle for less long.
    let idle = (10..).take(2 * MAX_IDLE).map(|since| {
        let id = SessionId::generate();
        (Entity::Session(id), session(EntityState::Idle, since * SECOND))
    });
    let idle: Vec<_> = idle.collect();
    records.extend(idle);
    let live = kept(folder.path(), records).await;
    let alive = Alive::new(live);
    alive.restore().await.expect("restored");

    let items = alive.list().items;
    assert_eq!(items.len(), MAX_IDLE + 3);
    let find = |id: LiveId| items.iter().find(|item| item.id == id).expect("listed");
    assert_eq!((find(job.into()).done, find(job.into()).total), (Some(2), Some(5)));
    let session = find(of_job.into());
    assert_eq!((session.parent, session.label.as_deref()), (Some(job), Some("t")));
    assert_eq!((find(waits.into()).state, find(waits.into()).waiting), (AliveState::Waiting, 1));
    assert_eq!(find(waits.into()).since, 7_000);
    let idle = items.iter().filter(|item| item.state == AliveState::Idle);
    assert_eq!(idle.map(|item| item.since).min(), Some((10 + MAX_IDLE as u64) * 1_000));

    // A reader is told of all of them, and of nothing else.
    let reader = wire::LiveToken::generate();
    let delivery = alive.source().poll(reader.into()).await.expect("responses");
    assert_eq!(delivery.entries().len(), items.len());
}
