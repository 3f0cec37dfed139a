//! Tasks in a session that a user has opened.

use tokio::time::sleep;

use super::*;

impl Harness {
    pub(super) async fn open(&self) -> SessionId {
        self.sessions.start(TASK_MODEL, "").await.expect("a session")
    }

    pub(super) async fn borrow(&self, session: SessionId, task: &Value) -> TaskId {
        let input = "the input".to_owned();
        let started = self.tasks.start_borrowing(entry(task), "t", session, input).await;
        started.expect("session and task are there")
    }
}

fn criteria(condition: &str, retries: u32) -> Value {
    json!({
        "availability": { "condition": ["$no"] },
        "criteria": {
            "condition": [condition],
            "runConditionInSameSession": false,
            "failureAction": { "retryTimes": retries },
        },
    })
}

#[tokio::test(start_paused = true)]
async fn everything_goes_to_the_session_and_it_stays_open() {
    let harness = Harness::new();
    let session = harness.open().await;
    let id = harness
        .borrow(session, &task("Do $user-input with $task-model.", criteria("$yes", 0)))
        .await;
    let seen = harness.read_task(id).await;
    check_order(&seen, &TaskEnd::Succeeded);
    assert_eq!(
        decisions(&seen),
        ["[CRITERIA] all criteria are met", "[TASK SUCCEEDED] the task succeeded"]
    );
    let own = |one: &&TaskResponse| {
        matches!(
            one,
            TaskResponse::TaskSessionStarted { .. } | TaskResponse::TaskSessionStopped { .. }
        )
    };
    assert_eq!(seen.iter().find(own), None, "it has no sessions of its own");
    assert_eq!(harness.sessions.list().len(), 1, "nothing was opened or closed");
    harness.sessions.stop(session).await.expect("still open");
    let prompts = generated_prompts(&harness.read_session(session).await);
    assert_eq!(prompts.len(), 2, "the availability is not asked for");
    assert_eq!(prompts[0], "Do the input with gpt-5.2.");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_criterion_that_is_not_met_is_retried_in_the_same_session() {
    let harness = Harness::new();
    let session = harness.open().await;
    let id = harness.borrow(session, &task("say hi", criteria("$no", 2))).await;
    let seen = harness.read_task(id).await;
    check_order(&seen, &TaskEnd::Failed(FailureCause::NotAvailable { argument: None }));
    let decisions = decisions(&seen);
    assert_eq!(decisions.iter().filter(|text| text.starts_with("[OPERATION]")).count(), 2);
    assert_eq!(harness.sessions.list().len(), 1);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_fails_the_task_at_once() {
    for (prompt, condition) in [("Crash once.", "$yes"), ("say hi", "$yes Crash once.")] {
        let harness = Harness::new();
        let session = harness.open().await;
        let id = harness.borrow(session, &task(prompt, criteria(condition, 3))).await;
        let seen = harness.read_task(id).await;
        check_order(&seen, &TaskEnd::Crashed(FailureCause::Internal));
        let crashes = decisions(&seen).into_iter().filter(|text| text.contains("SESSION CRASHED"));
        assert_eq!(crashes.count(), 1);
        assert!(!harness.sessions.has_running());
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn it_cannot_be_stopped_but_ends_with_its_session() {
    let harness = Harness::new();
    let session = harness.open().await;
    let id = harness.borrow(session, &task("Wait 10 seconds.", criteria("$yes", 3))).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(harness.tasks.stop(id).await, Err(TaskError::TaskCannotClose));
    harness.sessions.stop(session).await.expect("open");
    check_order(&harness.read_task(id).await, &TaskEnd::Crashed(FailureCause::Internal));
    assert_eq!(harness.tasks.stop(id).await, Err(TaskError::TaskCannotClose), "still known");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_aborted_turn_fails_the_task_and_keeps_the_session() {
    let harness = Harness::new();
    let session = harness.open().await;
    let id = harness.borrow(session, &task("Wait 10 seconds.", criteria("$yes", 3))).await;
    sleep(Duration::from_secs(1)).await;
    harness.sessions.get(session).expect("open").abort();
    let seen = harness.read_task(id).await;
    check_order(&seen, &TaskEnd::Crashed(FailureCause::Internal));
    let aborted = facts(&seen).any(|decision| {
        let Decision::TurnFailed { session_id, outcome, .. } = decision else { return false };
        *outcome == FailedTurn::Aborted && *session_id == Some(session)
    });
    assert!(aborted, "{seen:?}");
    assert!(!decisions(&seen).iter().any(|text| text.contains("[SESSION CRASHED]")), "{seen:?}");
    assert_eq!(harness.sessions.list().len(), 1);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_others_ask_meanwhile_is_not_taken_for_the_task_s() {
    let harness = Harness::new();
    let session = harness.open().await;
    let id =
        harness.borrow(session, &task("Wait 1 second.", criteria("Wait 1 second. $no", 0))).await;
    sleep(Duration::from_millis(500)).await;
    let query = "Use the job_boolean_true tool with the argument \"mine\".".to_owned();
    harness.sessions.get(session).and_then(|session| session.enqueue(query)).expect("open");
    let seen = harness.read_task(id).await;
    check_order(&seen, &TaskEnd::Failed(FailureCause::NotAvailable { argument: None }));
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_cannot_be_started() {
    let harness = Harness::new();
    let session = harness.open().await;
    let entry = entry(&task("say hi", json!({})));
    let start = async |name: &str, session| {
        harness.tasks.start_borrowing(entry.clone(), name, session, String::new()).await
    };
    assert_eq!(start("constructor", session).await, Err(TaskError::TaskNotFound));
    assert_eq!(start("t", SessionId::generate()).await, Err(TaskError::SessionNotFound));
    assert_eq!(start("x", SessionId::generate()).await, Err(TaskError::SessionNotFound), "first");
    harness.sessions.stop(session).await.expect("open");
    assert_eq!(start("t", session).await, Err(TaskError::SessionNotFound), "it is stopped");
    harness.end().await;
}
