//! Tasks that use up their budgets.

use store::fold::{TaskFold, refold};
use tokio::time::{Instant, sleep};
use wire::{FailureCause, Spent};

use super::*;
use crate::budget::Meter;

/// Whether the model counts before it goes on for long.
const COUNT_AND_WAIT: &str =
    "Count 60 input and 50 output tokens at a cost of 2, then wait 30 minutes";

/// A condition that is not met, however often the prompt is sent again.
fn never_done() -> Value {
    json!({ "condition": ["$no"], "failureAction": { "retryTimes": 9 } })
}

fn budget(json: &Value) -> Budget {
    serde_json::from_value(json.clone()).expect("a budget")
}

/// The limit that ended a task, once as a decision and once as the cause of the failure.
fn ended_by(minutes: &Minutes) -> String {
    let is_failed = matches!(minutes.end, TaskEnd::Failed(FailureCause::Budget { .. }));
    assert!(is_failed, "{:?}: {:?}", minutes.end, minutes.decisions());
    let all: Vec<_> = facts(&minutes.responses).collect();
    let [.., budget @ Decision::Budget { limit, allowed, used }, Decision::Failed(cause)] = &*all
    else {
        panic!("{all:?}");
    };
    let same = FailureCause::Budget { limit: *limit, allowed: *allowed, used: *used };
    assert_eq!(*cause, same);
    let sentence = budget.to_string();
    let figures = sentence.strip_prefix("[BUDGET] the budget is used up: ");
    figures.expect("a sentence").to_owned()
}

async fn spent(harness: &Harness, id: TaskId) -> Spent {
    let journal = harness.tasks.live().shared().journal().clone();
    let fold = refold::<TaskResponse, TaskFold>(&*journal, id.into()).await.expect("read");
    fold.expect("kept").spent()
}

#[tokio::test(start_paused = true)]
async fn each_limit_ends_a_task_within_a_second_and_without_a_retry() {
    for (limits, reached, seconds) in [
        (json!({ "tokens": 100 }), "110 of 100 tokens", 0),
        (json!({ "cost": 1.5 }), "2 of 1.5 cost", 0),
        (json!({ "minutes": 2 }), "2 of 2 minutes", 120),
    ] {
        let harness = Harness::new();
        let before = Instant::now();
        let rest = json!({ "budget": limits, "criteria": never_done() });
        let minutes = harness.run(task(COUNT_AND_WAIT, rest)).await;
        let took = before.elapsed();
        let least = Duration::from_secs(seconds);
        assert!(took >= least && took < least + Duration::from_secs(1), "{limits}: {took:?}");
        assert_eq!(ended_by(&minutes), reached);
        assert_eq!(minutes.prompts.len(), 1, "{limits}");
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn exactly_as_many_turns_as_allowed_begin_conditions_included() {
    for same_session in [true, false] {
        let harness = Harness::new();
        let mut criteria = never_done();
        criteria["runConditionInSameSession"] = json!(same_session);
        let rest = json!({ "budget": { "turns": 3 }, "criteria": criteria });
        let minutes = harness.run(task("say hi", rest)).await;
        assert_eq!(ended_by(&minutes), "3 of 3 turns");
        assert_eq!(minutes.prompts.len(), 3, "prompt, condition, prompt");
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_over_counts_and_the_next_one_does_not_begin() {
    let harness = Harness::new();
    let limits = json!({ "tokens": 100 });
    let count = "Count 90 input and 10 output tokens";
    let alone = harness.run(task(count, json!({ "budget": limits }))).await;
    assert_eq!(alone.end, TaskEnd::Succeeded);
    let criteria = json!({ "condition": ["$yes"], "failureAction": { "retryTimes": 0 } });
    let judged = task(count, json!({ "budget": limits, "criteria": criteria }));
    let minutes = harness.run(judged).await;
    assert_eq!(ended_by(&minutes), "100 of 100 tokens");
    assert_eq!(minutes.prompts.len(), 1);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn limits_that_a_task_does_not_name_are_those_of_the_settings() {
    let harness = Harness::with_budget(budget(&json!({ "turns": 2, "tokens": 1000 })));
    let run = |limits: Value| harness.run(task(COUNT_AND_WAIT, json!({ "budget": limits })));
    assert_eq!(ended_by(&run(json!({ "tokens": 100 })).await), "110 of 100 tokens");
    let rest = json!({ "criteria": never_done() });
    assert_eq!(ended_by(&harness.run(task("say hi", rest)).await), "2 of 2 turns");

    // Lowered while the server runs.
    harness.tasks.narrow(budget(&json!({ "turns": 5, "tokens": 50 })));
    assert_eq!(ended_by(&run(json!({})).await), "110 of 50 tokens");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_task_that_has_nothing_left_at_its_start_opens_no_session() {
    for (limits, used, reached) in [
        (json!({ "turns": 1 }), Spent { turns: 1, ..Spent::default() }, "1 of 1 turns"),
        (json!({ "tokens": 9 }), Spent { tokens: 9, ..Spent::default() }, "9 of 9 tokens"),
        (json!({ "cost": 1 }), Spent { cost: 1.5, ..Spent::default() }, "1.5 of 1 cost"),
        (json!({ "minutes": 5 }), Spent { minutes: 6.0, ..Spent::default() }, "6 of 5 minutes"),
    ] {
        let harness = Harness::new();
        // A job that goes on after a restart.
        let job_meter = Some(Arc::new(Meter::new(budget(&limits), used)));
        let managed = ManagedTask { job_meter, ..managed(&task("say hi", json!({}))) };
        let mut running = harness.tasks.start_managed(managed, |_| {}).expect("the task is there");
        let end = running.outcome().await;
        let minutes = harness.minutes(running.id, end).await;
        assert_eq!(ended_by(&minutes), reached);
        assert_eq!(minutes.prefixes(), "[BUDGET]\n[TASK FAILED]");
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_task_has_used_is_kept() {
    let harness = Harness::new();
    let prompt = "Count 5 input and 2 output tokens at a cost of 0.5, then wait 90 seconds";
    let mut running = harness.start(&task(prompt, json!({})));
    sleep(Duration::from_secs(30)).await;
    let so_far = spent(&harness, running.id).await;
    assert_eq!((so_far.turns, so_far.tokens, so_far.cost), (1, 7, 0.5), "in the middle of a turn");
    running.outcome().await;
    let Spent { minutes, turns, tokens, cost } = spent(&harness, running.id).await;
    assert_eq!((turns, tokens, cost), (1, 7, 0.5));
    assert!((minutes - 1.5).abs() < 0.01, "{minutes}");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_borrowed_session_stays_open_when_the_tasks_budget_ends_its_turn() {
    let harness = Harness::new();
    let session = harness.open().await;
    let id = harness
        .borrow(session, &task(COUNT_AND_WAIT, json!({ "budget": { "tokens": 100 } })))
        .await;
    let seen = harness.read_task(id).await;
    check_order(&seen, &TaskEnd::Stopped);
    let decided = decisions(&seen);
    let sentence = "the budget is used up: 110 of 100 tokens";
    assert_eq!(decided, [format!("[BUDGET] {sentence}"), format!("[TASK FAILED] {sentence}")]);
    let open = harness.sessions.get(session).expect("still open");
    open.query("say hi".to_owned()).await.expect("its own budget is not concerned");
    harness.sessions.stop(session).await.expect("still open");
    let errors = harness.read_session(session).await.into_iter().filter_map(|one| match one {
        SessionResponse::Error { message } => Some(message),
        _ => None,
    });
    let errors: Vec<_> = errors.collect();
    assert_eq!(errors, ["budget of the task used up: 110 of 100 tokens"]);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_time_in_the_queue_of_a_borrowed_session_counts() {
    let harness = Harness::new();
    let session = harness.open().await;
    let open = harness.sessions.get(session).expect("open");
    open.query("wait 30 minutes".to_owned()).await.expect("taken");
    let before = Instant::now();
    let waiting = task("say hi", json!({ "budget": { "minutes": 3 } }));
    let id = harness.borrow(session, &waiting).await;
    let seen = harness.read_task(id).await;
    assert!(before.elapsed() < Duration::from_secs(181), "{:?}", before.elapsed());
    assert_eq!(decisions(&seen)[0], "[BUDGET] the budget is used up: 3 of 3 minutes");
    drop(open);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_task_in_a_session_without_budget_fails_or_does_not_start() {
    let harness = Harness::new();
    let session = harness.open().await;
    let open = harness.sessions.get(session).expect("open");
    open.set_budget(budget(&json!({ "tokens": 100 })), "tester").await.expect("set");
    let long = task(COUNT_AND_WAIT, json!({}));
    let id = harness.borrow(session, &long).await;
    let seen = harness.read_task(id).await;
    assert_eq!(decisions(&seen)[0], "[BUDGET] the budget is used up: 110 of 100 tokens");
    let refused = harness.tasks.start_borrowing(entry(&long), "t", session, String::new()).await;
    assert_eq!(refused, Err(TaskError::BudgetExceeded));
    drop(open);
    harness.end().await;
}
