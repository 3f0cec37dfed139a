//! Jobs on simulated models: who is asking when one of their tools needs permission, and what a
//! restart makes of them.

mod budgets;
mod held;
mod journal;
mod prefixes;
mod restart;
mod retry;

use std::iter;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agents::permission::Answer;
use agents::simulated::{Simulated, SimulatedSettings};
use agents::{AgentBackend, Catalog};
use platform::lifecycle::Lifecycle;
use serde_json::json;
use store::fold::RunDetail;
use store::journal::{Journal, SqliteJournal};
use store::live::{LiveSettings, LiveShared};
use wire::entry::Entry;
use wire::{
    Budget, EntityState, InboxItem, JobId, JobStatus, JobStatusReply, PermissionMode, WorkState,
    WorkStatus,
};

use super::*;
use crate::recovery::recover;
use crate::session::{SessionManager, SessionSettings};
use crate::task::{TaskManager, TaskSettings};

const MODEL: &str = "gpt-5-mini";
const CREATE: &str =
    r#"use the createFile tool with the arguments {"path":"made.txt","content":"made"}"#;

/// A server's worth of jobs. Every test ends with [`Harness::end`], which asserts that nothing is
/// left running.
struct Harness {
    sessions: Arc<SessionManager>,
    tasks: Arc<TaskManager>,
    jobs: Arc<JobManager>,
    lifecycle: Lifecycle,
    folder: tempfile::TempDir,
}

impl Harness {
    fn new() -> Self {
        Self::with(LiveShared::new(LiveSettings::for_tests()))
    }

    fn with(live: Arc<LiveShared>) -> Self {
        Self::with_budget(live, Budget::default(), Vec::new())
    }

    /// With a budget for jobs that name none, and further models.
    fn with_budget(
        live: Arc<LiveShared>,
        budget: Budget,
        further: Vec<Arc<dyn AgentBackend>>,
    ) -> Self {
        let permissions = PermissionMode::Ask;
        let settings = JobSettings { permissions, budget, ..JobSettings::default() };
        Self::with_settings(live, settings, further)
    }

    fn with_settings(
        live: Arc<LiveShared>,
        settings: JobSettings,
        further: Vec<Arc<dyn AgentBackend>>,
    ) -> Self {
        let lifecycle = Lifecycle::new();
        let simulated = Arc::new(Simulated::new(SimulatedSettings::for_tests()));
        let catalog = Catalog::new(iter::once(simulated as Arc<_>).chain(further));
        let sessions = SessionSettings::new("/");
        let sessions = SessionManager::new(catalog, sessions, live.clone(), lifecycle.clone());
        let tasks = TaskManager::new(
            sessions.clone(),
            TaskSettings::default(),
            live.clone(),
            lifecycle.clone(),
        );
        let jobs = JobManager::new(tasks.clone(), settings, live, lifecycle.clone());
        let folder = tempfile::tempdir().expect("a folder");
        Self { sessions, tasks, jobs, lifecycle, folder }
    }

    fn folder(&self) -> &str {
        self.folder.path().to_str().expect("a plain path")
    }

    /// Waits until that many permission requests are pending.
    async fn questions(&self, count: usize) -> Vec<InboxItem> {
        loop {
            let questions = self.sessions.inbox().list().items;
            if questions.len() == count {
                return questions;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Takes up what was running when the server stopped.
    async fn take_up(&self) {
        self.sessions.restore_inbox().await.expect("restored");
        self.tasks.take_up_borrowing().await.expect("taken up");
        self.jobs.take_up().await.expect("taken up");
    }

    /// Waits until a job has ended.
    async fn ended(&self, job: JobId) -> JobStatusReply {
        loop {
            let status = self.jobs.status(job).await.expect("a job");
            if status.end_time.is_some() {
                return status;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn end(self) {
        self.jobs.stop_all().await;
        self.tasks.stop_all().await;
        self.sessions.stop_all().await;
        assert_eq!(self.lifecycle.shutdown(Duration::from_secs(1)).await, 0);
    }
}

/// A job of two works, one after the other, whose tasks create a file.
fn entry() -> Arc<Entry> {
    let work = json!({ "kind": "Ref", "taskId": "t" });
    let entry = json!({
        "models": { "driving": MODEL },
        "drivingSessionRetries": [{ "modelId": MODEL, "retries": 1 }],
        "promptVariables": {},
        "tasks": { "t": { "model": { "id": MODEL }, "prompt": [CREATE], "requireUserInput": false } },
        "jobs": { "j": { "work": { "kind": "Seq", "works": [work, work] } } },
        "grid": [],
    });
    Arc::new(Entry::parse(&entry.to_string()).unwrap_or_else(|problems| panic!("{problems}")))
}

/// A job of three works: one that is judged, and two that create a file. It fails if it is
/// interrupted.
fn judged_entry() -> Arc<Entry> {
    let work = |name: &str| json!({ "kind": "Ref", "taskId": name });
    let task = |prompt: &str| json!({ "model": { "id": MODEL }, "prompt": [prompt], "requireUserInput": false });
    let mut judged = task("use the job_prepare_document tool with a.md");
    judged["criteria"] = json!({
        "toolExecuted": ["job_prepare_document"],
        "failureAction": { "retryTimes": 0 },
    });
    let entry = json!({
        "models": { "driving": MODEL },
        "drivingSessionRetries": [{ "modelId": MODEL, "retries": 1 }],
        "promptVariables": {},
        "tasks": { "judged": judged, "t": task(CREATE) },
        "jobs": { "j": {
            "onInterrupted": "fail",
            "work": { "kind": "Seq", "works": [work("judged"), work("t"), work("t")] },
        } },
        "grid": [],
    });
    Arc::new(Entry::parse(&entry.to_string()).unwrap_or_else(|problems| panic!("{problems}")))
}

#[tokio::test]
async fn a_question_names_the_session_task_and_work_that_it_comes_from() {
    let harness = Harness::new();
    let started = harness.jobs.start(entry(), "j", harness.folder(), String::new());
    let job = started.await.expect("a job");
    let mut works = Vec::new();
    for works_before in 0..2 {
        let [asked] = &*harness.questions(1).await else { panic!("one question") };
        let session = harness.sessions.list()[0].id;
        let status = harness.jobs.status(job).await.expect("a running job");
        let running = &status.tasks[works_before];
        assert!(running.task_id.is_some());
        assert_eq!((status.state, running.state), (EntityState::Waiting, WorkState::Waiting));
        assert_eq!(status.reason.as_deref(), Some("`t` waits for an answer"));
        assert_eq!(status.reason_work_id, Some(running.work_id_in_job));
        assert_eq!(harness.jobs.running().jobs[0].state, EntityState::Waiting);
        assert_eq!((asked.session_id, asked.task_id), (Some(session), running.task_id));
        let work = Some(running.work_id_in_job);
        assert_eq!((asked.job_id, asked.work_id), (Some(job), work));
        works.push(work);
        let answer = Answer::new(wire::PermissionDecision::Deny, "tester");
        let answered = harness
            .sessions
            .get(session)
            .and_then(|session| session.answer_permission(asked.id, &answer));
        answered.expect("it waits");
    }
    assert_ne!(works[0], works[1]);
    harness.end().await;
}

/// Opens a store, and takes up what was cut off.
async fn open_store(folder: &Path) -> (Arc<SqliteJournal>, Harness) {
    let journal = Arc::new(SqliteJournal::open(folder).expect("a store"));
    let live = LiveShared::with_journal(LiveSettings::for_tests(), journal.clone());
    recover(&live).await.expect("recovered");
    let harness = Harness::with(live);
    harness.take_up().await;
    (journal, harness)
}

#[tokio::test]
async fn a_job_that_is_not_to_go_on_is_interrupted_after_a_kill_and_verdicts_are_still_there() {
    let (folder, copy) = (tempfile::tempdir(), tempfile::tempdir());
    let (folder, copy) = (folder.expect("a folder"), copy.expect("a folder"));
    let (journal, harness) = open_store(folder.path()).await;
    let started = harness.jobs.start(judged_entry(), "j", harness.folder(), String::new());
    let job = started.await.expect("a job");
    harness.questions(1).await;
    let before = harness.jobs.verdicts(job).await.expect("a job");
    assert_eq!(before.verdicts.len(), 1);
    let running = harness.jobs.status(job).await.expect("a job").tasks[1].task_id;
    // These files are what a kill leaves.
    for file in std::fs::read_dir(folder.path()).expect("a folder").flatten() {
        std::fs::copy(file.path(), copy.path().join(file.file_name())).expect("copied");
    }
    harness.end().await;
    journal.close();

    let (journal, harness) = open_store(copy.path()).await;
    let status = harness.ended(job).await;
    assert_eq!((status.status, status.state), (JobStatus::Failed, EntityState::Interrupted));
    assert_eq!(status.reason.as_deref(), Some("interrupted: the server stopped"));
    let works: Vec<_> = status.tasks.iter().map(|task| (task.status, task.state)).collect();
    let expected = [
        (Some(WorkStatus::Succeeded), WorkState::Succeeded),
        (Some(WorkStatus::Failed), WorkState::Interrupted),
        (None, WorkState::NotReached),
    ];
    assert_eq!(works, expected);
    assert_eq!(status.tasks[1].reason, status.reason);
    harness.jobs.live().durable(job).await.expect("kept");
    for entity in [job.into(), running.expect("a task").into()] {
        let (record, ..) = journal.record(entity).await.expect("read").expect("kept");
        assert_eq!(record.state, EntityState::Interrupted);
        assert_eq!(RunDetail::read(&record).reason, status.reason);
    }
    assert_eq!(harness.jobs.verdicts(job).await.expect("a job"), before);
    harness.end().await;
    journal.close();
}

#[tokio::test]
async fn a_question_of_a_session_that_a_person_opened_names_only_the_session() {
    let harness = Harness::new();
    let session = harness.sessions.start(MODEL, harness.folder()).await.expect("a session");
    harness
        .sessions
        .get(session)
        .and_then(|session| session.enqueue(CREATE.to_owned()))
        .expect("an open session");
    let questions = harness.questions(1).await;
    let InboxItem { session_id, task_id, job_id, work_id, .. } = questions[0];
    assert_eq!((session_id, task_id, job_id, work_id), (Some(session), None, None, None));
    harness.end().await;
}

#[tokio::test]
async fn a_question_of_a_job_is_refused_when_jobs_may_not_do_anything_any_more() {
    let harness = Harness::new();
    let started = harness.jobs.start(entry(), "j", harness.folder(), String::new());
    let job = started.await.expect("a job");
    harness.questions(1).await;
    harness.jobs.narrow(PermissionMode::Deny, Budget::default());
    // The second work's tool is denied without a request.
    while harness.jobs.status(job).await.expect("a job").end_time.is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(harness.sessions.inbox().list().items, []);
    assert!(!harness.folder.path().join("made.txt").exists());
    harness.end().await;
}
