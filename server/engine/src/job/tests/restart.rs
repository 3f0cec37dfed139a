//! Jobs that outlive their server: what they had asked, what people decide, what was used.

use serde_json::Value;
use store::fold::{TaskHistory, load};
use store::journal::StoreError;
use wire::{InboxChoice, InboxKind, Recovery, TaskId, TaskResponse};

use super::*;
use crate::inbox::{AnswerError, Reply};

/// A folder for a store, and one for agents.
struct Folders {
    store: tempfile::TempDir,
    work: tempfile::TempDir,
}

impl Folders {
    fn new() -> Self {
        let folder = || tempfile::tempdir().expect("a folder");
        Self { store: folder(), work: folder() }
    }

    fn work(&self) -> &str {
        self.work.path().to_str().expect("a plain path")
    }

    fn has(&self, file: &str) -> bool {
        self.work.path().join(file).exists()
    }

    /// What a kill leaves: the files as they are now.
    fn after_kill(&self) -> tempfile::TempDir {
        let copy = tempfile::tempdir().expect("a folder");
        for file in std::fs::read_dir(self.store.path()).expect("a folder").flatten() {
            std::fs::copy(file.path(), copy.path().join(file.file_name())).expect("copied");
        }
        copy
    }
}

/// A job with one task, or with two of them.
fn entry_of(task: &Value, job: &Value) -> Arc<Entry> {
    let mut task = task.clone();
    task["model"] = json!({ "id": MODEL });
    task["requireUserInput"] = json!(false);
    let work = json!({ "kind": "Ref", "taskId": "t" });
    let mut whole = json!({ "work": { "kind": "Seq", "works": [work, work] } });
    whole.as_object_mut().expect("a job").extend(job.as_object().expect("fields").clone());
    let entry = json!({
        "models": { "driving": MODEL },
        "drivingSessionRetries": [{ "modelId": MODEL, "retries": 1 }],
        "promptVariables": {},
        "tasks": { "t": task },
        "jobs": { "j": whole },
        "grid": [],
    });
    Arc::new(Entry::parse(&entry.to_string()).unwrap_or_else(|problems| panic!("{problems}")))
}

fn creating() -> Value {
    json!({ "prompt": [CREATE] })
}

async fn start(harness: &Harness, entry: Arc<Entry>, folder: &str) -> JobId {
    harness.jobs.start(entry, "j", folder, String::new()).await.expect("a job")
}

async fn answer(
    harness: &Harness,
    item: &InboxItem,
    choice: InboxChoice,
) -> Result<(), AnswerError> {
    let reply = Reply { choice, text: None, by: "tester".into() };
    harness.sessions.inbox().answer(item.id, reply).await
}

async fn question(harness: &Harness) -> InboxItem {
    harness.questions(1).await.remove(0)
}

/// Everything that was told in a task.
async fn told(journal: &SqliteJournal, task: TaskId) -> Result<Vec<TaskResponse>, StoreError> {
    let stored = load::<TaskResponse, TaskHistory>(journal, task.into()).await?;
    let facts = stored.map(|stored| stored.facts).unwrap_or_default();
    Ok(facts.iter().map(|fact| serde_json::from_str(&fact.json).expect("a response")).collect())
}

async fn recoveries(journal: &SqliteJournal, task: TaskId) -> Vec<Recovery> {
    let told = told(journal, task).await.expect("stored");
    let recoveries = told.into_iter().filter_map(|response| match response {
        TaskResponse::TaskDecision {
            decision: wire::Decision::Interrupted { recovery }, ..
        } => Some(recovery),
        _ => None,
    });
    recoveries.collect()
}

#[tokio::test]
async fn what_a_tool_of_a_job_had_asked_is_answered_under_the_same_id_after_a_kill() {
    for (choice, is_made) in [(InboxChoice::Approve, true), (InboxChoice::Deny, false)] {
        let folders = Folders::new();
        let (journal, harness) = open_store(folders.store.path()).await;
        let single = json!({ "work": { "kind": "Ref", "taskId": "t" } });
        let job = start(&harness, entry_of(&creating(), &single), folders.work()).await;
        let before = question(&harness).await;
        let task = before.task_id.expect("a task");
        let killed = folders.after_kill();
        harness.end().await;
        journal.close();

        let (journal, harness) = open_store(killed.path()).await;
        let after = question(&harness).await;
        assert_eq!((after.id, after.kind), (before.id, InboxKind::Interrupted));
        assert_eq!((after.job_id, after.work_id), (Some(job), before.work_id));
        let status = harness.jobs.status(job).await.expect("a job");
        assert_eq!(
            (status.state, status.tasks[0].state),
            (EntityState::Waiting, WorkState::Waiting)
        );
        // The agent may still be on its way back.
        while answer(&harness, &after, choice).await.is_err() {
            tokio::task::yield_now().await;
        }
        assert_eq!(answer(&harness, &after, choice).await, Err(AnswerError::NotPending));
        if is_made {
            let status = harness.ended(job).await;
            harness.jobs.live().durable(job).await.expect("kept");
            assert_eq!(status.status, JobStatus::Succeeded);
            assert_eq!(status.tasks[0].recovery, Some(Recovery::Resumed));
            assert_eq!(recoveries(&journal, task).await, [Recovery::Resumed]);
        } else {
            // A simulated model does not take no for an answer.
            let again = question(&harness).await;
            assert_ne!(again.id, after.id);
            assert_eq!(answer(&harness, &again, InboxChoice::Deny).await, Ok(()));
            harness.ended(job).await;
        }
        assert_eq!(folders.has("made.txt"), is_made);
        harness.end().await;
        journal.close();
    }
}

#[tokio::test]
async fn a_person_who_is_to_be_asked_is_asked_once_however_often_the_server_is_started() {
    for choice in [InboxChoice::Continue, InboxChoice::Redo, InboxChoice::Done, InboxChoice::Fail] {
        let folders = Folders::new();
        let (journal, harness) = open_store(folders.store.path()).await;
        let task = json!({ "prompt": ["wait 60 minutes, then say done"] });
        let entry = entry_of(&task, &json!({ "onInterrupted": "ask" }));
        let job = start(&harness, entry, folders.work()).await;
        let running = running_task(&harness, job).await;
        harness.end().await;
        journal.close();

        let (journal, harness) = open_store(folders.store.path()).await;
        let first = question(&harness).await;
        assert_eq!((first.kind, first.session_id), (InboxKind::Interrupted, None));
        assert_eq!((first.task_id, first.job_id), (Some(running), Some(job)));
        let status = harness.jobs.status(job).await.expect("a job");
        assert_eq!(status.state, EntityState::Waiting);
        assert_eq!(status.tasks[0].recovery, Some(Recovery::Asked));
        assert!(matches!(
            answer(&harness, &first, InboxChoice::Approve).await,
            Err(AnswerError::Invalid(_))
        ));
        harness.end().await;
        journal.close();

        let (journal, harness) = open_store(folders.store.path()).await;
        let second = question(&harness).await;
        assert_eq!((second.id, &second.asked_at), (first.id, &first.asked_at));
        assert_eq!(answer(&harness, &second, choice).await, Ok(()));
        assert_eq!(answer(&harness, &second, choice).await, Err(AnswerError::NotPending));
        let decided = match choice {
            InboxChoice::Continue => Recovery::Resumed,
            InboxChoice::Redo => Recovery::SentAgain,
            InboxChoice::Done => Recovery::CountedAsDone,
            _ => Recovery::CountedAsFailed,
        };
        assert_eq!(recoveries(&journal, running).await, [Recovery::Asked, decided]);
        match choice {
            InboxChoice::Done => {
                // Its work has succeeded, so the next one begins.
                while harness.jobs.status(job).await.expect("a job").tasks[1].status.is_none() {
                    tokio::task::yield_now().await;
                }
            }
            InboxChoice::Fail => {
                let status = harness.ended(job).await;
                assert_eq!(status.state, EntityState::Failed);
                assert_eq!(status.tasks[0].state, WorkState::Failed);
                let reason = status.tasks[0].reason.as_deref().unwrap_or_default();
                assert!(reason.contains("somebody counts it as failed"), "{reason}");
            }
            _ => {
                let status = harness.jobs.status(job).await.expect("a job");
                assert_eq!(status.tasks[0].task_id, Some(running));
                assert_eq!(status.tasks[0].recovery, Some(decided));
            }
        }
        harness.end().await;
        journal.close();
    }
}

/// The task of the first work, once its agent has its prompt.
async fn running_task(harness: &Harness, job: JobId) -> TaskId {
    turn_begun(harness).await;
    let status = harness.jobs.status(job).await.expect("a job");
    status.tasks[0].task_id.expect("a running task")
}

/// Waits until a turn has begun for good: a prompt that no agent has seen is not interrupted.
async fn turn_begun(harness: &Harness) {
    let busy = || harness.sessions.list().into_iter().find(|session| session.busy);
    let session = loop {
        match busy() {
            Some(session) => break session.id,
            None => tokio::task::yield_now().await,
        }
    };
    harness.sessions.live().durable(session).await.expect("kept");
}

#[tokio::test]
async fn a_job_that_waits_for_a_person_can_be_stopped() {
    let folders = Folders::new();
    let (journal, harness) = open_store(folders.store.path()).await;
    let task = json!({ "prompt": ["wait 60 minutes"] });
    let entry = entry_of(&task, &json!({ "onInterrupted": "ask" }));
    let job = start(&harness, entry, folders.work()).await;
    running_task(&harness, job).await;
    harness.end().await;
    journal.close();

    let (journal, harness) = open_store(folders.store.path()).await;
    let asked = question(&harness).await;
    harness.jobs.stop(job).await.expect("a job");
    let status = harness.jobs.status(job).await.expect("a job");
    assert_eq!((status.status, status.state), (JobStatus::Canceled, EntityState::Canceled));
    assert_eq!(harness.sessions.inbox().list().items, []);
    assert_eq!(answer(&harness, &asked, InboxChoice::Done).await, Err(AnswerError::NotPending));
    harness.end().await;
    journal.close();

    // It stays stopped.
    let (journal, harness) = open_store(folders.store.path()).await;
    let status = harness.jobs.status(job).await.expect("a job");
    assert_eq!(status.status, JobStatus::Canceled);
    assert!(harness.jobs.running().jobs.is_empty());
    harness.end().await;
    journal.close();
}

#[tokio::test]
async fn an_orderly_stop_neither_ends_jobs_nor_costs_them_anything() {
    let folders = Folders::new();
    let (journal, harness) = open_store(folders.store.path()).await;
    // It may have two turns, and has begun the first one.
    let limits = json!({ "budget": { "turns": 2 }, "permissions": "approve-all" });
    let task = json!({ "prompt": [format!("wait 200 ms, then {CREATE}")] });
    let job = start(&harness, entry_of(&task, &limits), folders.work()).await;
    let task = running_task(&harness, job).await;
    harness.lifecycle.begin_shutdown();
    harness.end().await;
    let (record, ..) = journal.record(job.into()).await.expect("read").expect("kept");
    assert_eq!((record.state, record.ended_at), (EntityState::Running, None));
    journal.close();

    let (journal, harness) = open_store(folders.store.path()).await;
    let status = harness.jobs.status(job).await.expect("a job");
    assert_eq!(status.status, JobStatus::Running);
    assert_eq!(harness.jobs.running().jobs[0].job_id, job);
    let status = harness.ended(job).await;
    // What was used before counts: the turn that goes on is the second one.
    assert_eq!(status.state, EntityState::Failed);
    assert_eq!(status.tasks[0].state, WorkState::Succeeded);
    assert_eq!(recoveries(&journal, task).await, [Recovery::Resumed]);
    assert_eq!(status.spent.turns, 2);
    assert!(folders.has("made.txt"));
    harness.jobs.live().durable(job).await.expect("kept");
    let told = told(&journal, task).await.expect("stored");
    assert_eq!(told.last(), Some(&TaskResponse::TaskSucceeded));
    harness.end().await;
    journal.close();
}

#[tokio::test]
async fn a_stop_that_was_acknowledged_counts_although_the_server_stops_as_well() {
    let folders = Folders::new();
    let (journal, harness) = open_store(folders.store.path()).await;
    let entry = entry_of(&json!({ "prompt": ["wait 60 minutes"] }), &json!({}));
    let job = start(&harness, entry, folders.work()).await;
    running_task(&harness, job).await;
    let stopping = harness.jobs.stop(job);
    harness.lifecycle.begin_shutdown();
    stopping.await.expect("a job");
    harness.end().await;
    journal.close();

    let (journal, harness) = open_store(folders.store.path()).await;
    let status = harness.jobs.status(job).await;
    // Either it was stopped, or its stop was not acknowledged.
    let status = status.expect("a job").status;
    assert_eq!(status, JobStatus::Canceled);
    harness.end().await;
    journal.close();
}

#[tokio::test]
async fn a_task_in_a_users_session_goes_on_there() {
    let folders = Folders::new();
    let (journal, harness) = open_store(folders.store.path()).await;
    let mut task =
        json!({ "prompt": ["wait 200 ms, then use the job_prepare_document tool with a"] });
    task["criteria"] = json!({
        "toolExecuted": ["job_prepare_document"],
        "failureAction": { "retryTimes": 0 },
    });
    let entry = entry_of(&task, &json!({}));
    let session = harness.sessions.start(MODEL, folders.work()).await.expect("a session");
    let started = harness.tasks.start_borrowing(entry, "t", session, String::new()).await;
    let task = started.expect("a task");
    turn_begun(&harness).await;
    harness.end().await;
    journal.close();

    let (journal, harness) = open_store(folders.store.path()).await;
    loop {
        let (record, ..) = journal.record(task.into()).await.expect("read").expect("kept");
        if record.ended_at.is_some() {
            assert_eq!(record.state, EntityState::Succeeded);
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(recoveries(&journal, task).await, [Recovery::Resumed]);
    let open: Vec<_> = harness.sessions.list().iter().map(|session| session.id).collect();
    assert_eq!(open, [session], "it is the user's");
    harness.end().await;
    journal.close();
}
