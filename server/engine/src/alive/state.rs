//! What the records come to. No clock, no I/O.

use std::collections::{BTreeSet, HashMap, VecDeque};

use store::fold::{QuestionDetail, RunDetail, SessionDetail};
use store::journal::{Entity, Record};
use wire::{
    AliveItem, AliveResponse, AliveState, EntityKind, EntityState, JobId, LiveId, PermissionId,
    SessionId, TaskId, TurnEnding,
};

/// How many idle sessions are listed: those that became idle last. A page can show no more, and there
/// may be very many.
pub(super) const MAX_IDLE: usize = 500;
/// How long a job is listed after its end, in microseconds.
pub(super) const KEEP_ENDED: u64 = 60 * 60 * 1_000_000;
/// How many ended jobs are listed.
const MAX_ENDED: usize = 1_000;
const MICROS_PER_MILLI: u64 = 1_000;

/// What is alive, and what readers have to be told of it.
#[derive(Default)]
pub(super) struct State {
    entries: HashMap<LiveId, Entry>,
    /// The tasks that run: the sessions of jobs name only these.
    tasks: HashMap<TaskId, TaskPart>,
    /// What the items of the inbox are about.
    questions: HashMap<PermissionId, Question>,
    /// The idle sessions by when they became idle.
    idle: BTreeSet<(u64, SessionId)>,
    /// The jobs that have ended, in about the order of their ends.
    ended: VecDeque<(u64, JobId)>,
    news: Vec<AliveResponse>,
}

struct Entry {
    item: AliveItem,
    /// When the item's state began, in microseconds.
    since: u64,
    own: Own,
}

/// The state of a session or job apart from the inbox, and when it began in microseconds.
#[derive(Clone, Copy)]
struct Own {
    state: AliveState,
    since: u64,
}

struct Question {
    asked_at: u64,
    about: [Option<LiveId>; 2],
}

struct TaskPart {
    job: Option<JobId>,
    name: String,
}

impl State {
    /// Takes the newest record of something.
    pub(super) fn apply(&mut self, entity: Entity, record: &Record) {
        match entity {
            Entity::Session(id) => self.apply_session(id, record),
            Entity::Task(id) => self.apply_task(id, record),
            Entity::Job(id) => self.apply_job(id, record),
            Entity::Question(id) => self.apply_question(id, record),
            Entity::Portal => {}
        }
    }

    /// Something was deleted.
    pub(super) fn delete(&mut self, entity: Entity) {
        match entity {
            Entity::Session(id) => self.remove(LiveId::Session(id)),
            Entity::Job(id) => self.remove(LiveId::Job(id)),
            Entity::Task(_) | Entity::Question(_) | Entity::Portal => {}
        }
    }

    fn apply_session(&mut self, id: SessionId, record: &Record) {
        let live_id = LiveId::Session(id);
        if record.ended_at.is_some() {
            return self.remove(live_id);
        }
        let Some(detail) = SessionDetail::read(record) else { return };
        let state = match record.state {
            EntityState::Running => AliveState::Working,
            EntityState::Waiting => AliveState::Waiting,
            _ => match detail.turn {
                Some(TurnEnding::Interrupted) => AliveState::Interrupted,
                Some(TurnEnding::Failed) => AliveState::Failed,
                Some(TurnEnding::Completed | TurnEnding::Aborted) | None => AliveState::Idle,
            },
        };
        let task = match record.parent {
            Some(Entity::Task(task)) => self.tasks.get(&task),
            _ => None,
        };
        let model = record.model.clone().unwrap_or_default();
        let title = if record.title.is_empty() { &model } else { &record.title };
        let item = AliveItem {
            title: title.clone(),
            parent: task.and_then(|task| task.job),
            label: task.map(|task| task.name.clone()),
            model: Some(model),
            ..self.item(live_id, EntityKind::Session, record)
        };
        // Stores of earlier versions do not say when.
        let since = if detail.since == 0 { record.started_at } else { detail.since };
        self.put(item, Own { state, since }, since);
    }

    fn apply_task(&mut self, id: TaskId, record: &Record) {
        if record.ended_at.is_some() {
            self.tasks.remove(&id);
            return;
        }
        self.tasks.entry(id).or_insert_with(|| TaskPart {
            job: match record.parent {
                Some(Entity::Job(job)) => Some(job),
                _ => None,
            },
            name: record.title.clone(),
        });
    }

    fn apply_job(&mut self, id: JobId, record: &Record) {
        if let Some(ended_at) = record.ended_at {
            // The record of one that ended long ago may be written again, when it is retried.
            if !self.entries.contains_key(&LiveId::Job(id)) {
                return;
            }
            if !self.ended.iter().any(|(_, ended)| *ended == id) {
                self.ended.push_back((ended_at, id));
            }
        }
        self.put_job(id, record);
    }

    /// Adds jobs that ended before the server was started.
    pub(super) fn restore_ended(&mut self, jobs: impl Iterator<Item = (Entity, Record)>) {
        let ended = jobs.filter_map(|(entity, record)| match entity {
            Entity::Job(id) => Some((record.ended_at?, id, record)),
            _ => None,
        });
        let mut ended: Vec<_> = ended.collect();
        ended.sort_by_key(|(ended_at, ..)| *ended_at);
        for (ended_at, id, record) in ended {
            self.ended.push_back((ended_at, id));
            self.put_job(id, &record);
        }
    }

    fn put_job(&mut self, id: JobId, record: &Record) {
        let live_id = LiveId::Job(id);
        let state = match record.state {
            EntityState::Running | EntityState::Idle => AliveState::Working,
            EntityState::Waiting => AliveState::Waiting,
            EntityState::Interrupted => AliveState::Interrupted,
            EntityState::Succeeded => AliveState::Succeeded,
            EntityState::Failed => AliveState::Failed,
            EntityState::Canceled | EntityState::Closed => AliveState::Canceled,
        };
        let detail = RunDetail::read(record);
        let item = AliveItem {
            done: detail.done,
            total: detail.total,
            ..self.item(live_id, EntityKind::Job, record)
        };
        let since = record.ended_at.unwrap_or(record.started_at);
        self.put(item, Own { state, since }, since);
    }

    /// What records of both kinds have in common.
    fn item(&self, id: LiveId, kind: EntityKind, record: &Record) -> AliveItem {
        let waiting = self.entries.get(&id).map(|entry| entry.item.waiting);
        AliveItem {
            id,
            kind,
            title: record.title.clone(),
            folder: record.folder.clone(),
            model: None,
            state: AliveState::Idle,
            since: 0,
            started_at: record.started_at / MICROS_PER_MILLI,
            parent: None,
            label: None,
            done: None,
            total: None,
            waiting: waiting.unwrap_or_else(|| self.waiting(id).0),
        }
    }

    /// How many items of the inbox are about something, and when the first of them was asked.
    fn waiting(&self, id: LiveId) -> (u32, Option<u64>) {
        let about = |question: &&Question| question.about.contains(&Some(id));
        let asked = self.questions.values().filter(about).map(|question| question.asked_at);
        (u32::try_from(asked.clone().count()).unwrap_or(u32::MAX), asked.min())
    }

    fn apply_question(&mut self, id: PermissionId, record: &Record) {
        let (about, at) = if let Some(ended_at) = record.ended_at {
            let Some(Question { about, .. }) = self.questions.remove(&id) else { return };
            (about, ended_at)
        } else {
            if self.questions.contains_key(&id) {
                return;
            }
            let Some(QuestionDetail { item, .. }) = QuestionDetail::read(record) else { return };
            let about = [item.session_id.map(LiveId::Session), item.job_id.map(LiveId::Job)];
            self.questions.insert(id, Question { asked_at: record.started_at, about });
            (about, record.started_at)
        };
        for id in about.into_iter().flatten() {
            let Some(entry) = self.entries.get(&id) else { continue };
            let (own, mut item) = (entry.own, entry.item.clone());
            item.waiting = match record.ended_at {
                Some(_) => item.waiting.saturating_sub(1),
                None => item.waiting.saturating_add(1),
            };
            self.put(item, own, at);
        }
    }

    /// Adds or replaces an item, whose state follows from its own one and the inbox. If that changes
    /// it, it changes at this time.
    fn put(&mut self, mut item: AliveItem, own: Own, at: u64) {
        let id = item.id;
        let before = self.entries.remove(&id);
        let has_ended = item.kind == EntityKind::Job
            && matches!(
                own.state,
                AliveState::Succeeded | AliveState::Failed | AliveState::Canceled
            );
        let waits = item.waiting > 0 && !has_ended;
        item.state = if waits { AliveState::Waiting } else { own.state };
        let begun = if item.state == own.state { own.since } else { 0 };
        let since = match &before {
            Some(before) if before.item.state == item.state => before.since.max(begun),
            // It waited before it was known here.
            None if waits => self.waiting(id).1.unwrap_or(at),
            _ => begun.max(at),
        };
        item.since = since / MICROS_PER_MILLI;
        if let Some(key) = before.as_ref().and_then(Entry::idle_key) {
            self.idle.remove(&key);
        }
        let is_changed = before.as_ref().is_none_or(|before| before.item != item);
        let entry = Entry { item, since, own };
        self.idle.extend(entry.idle_key());
        let changed = is_changed.then(|| Box::new(entry.item.clone()));
        self.entries.insert(id, entry);
        while self.idle.len() > MAX_IDLE
            && let Some((_, oldest)) = self.idle.pop_first()
        {
            let oldest = LiveId::Session(oldest);
            self.entries.remove(&oldest);
            if oldest != id || before.is_some() {
                self.news.push(AliveResponse::AliveGone { id: oldest });
            }
        }
        if let Some(item) = changed.filter(|_| self.entries.contains_key(&id)) {
            self.news.push(AliveResponse::AliveChanged { item });
        }
    }

    fn remove(&mut self, id: LiveId) {
        let Some(entry) = self.entries.remove(&id) else { return };
        if let Some(key) = entry.idle_key() {
            self.idle.remove(&key);
        }
        self.news.push(AliveResponse::AliveGone { id });
    }

    /// Drops jobs that ended too long ago. Called with every use, so it needs no timer.
    pub(super) fn forget_ended(&mut self, now: u64) {
        while let Some((ended_at, id)) = self.ended.front() {
            let is_old = now >= ended_at.saturating_add(KEEP_ENDED);
            if !is_old && self.ended.len() <= MAX_ENDED {
                return;
            }
            let id = LiveId::Job(*id);
            self.ended.pop_front();
            self.remove(id);
        }
    }

    /// What readers have to be told since the last time.
    pub(super) fn take_news(&mut self) -> Vec<AliveResponse> {
        std::mem::take(&mut self.news)
    }

    /// Everything, what started last first.
    pub(super) fn list(&self) -> Vec<AliveItem> {
        let mut items: Vec<_> = self.entries.values().map(|entry| entry.item.clone()).collect();
        items.sort_by_cached_key(|item| (std::cmp::Reverse(item.started_at), item.id.to_string()));
        items
    }
}

impl Entry {
    /// Its place among the idle sessions, if it is one.
    fn idle_key(&self) -> Option<(u64, SessionId)> {
        let LiveId::Session(id) = self.item.id else { return None };
        let is_idle = !matches!(self.item.state, AliveState::Working | AliveState::Waiting);
        is_idle.then_some((self.since, id))
    }
}
