//! The order of works in a job: every kind of work, each position, branch and loop path.

use serde_json::{Value, json};
use tests::TestApp;
use tests::job::{alt, assert_in_order, minutes, par, repeat, seq, task};

/// Runs a job to its end, and returns its log in short form.
async fn run(work: Value) -> String {
    let app = TestApp::with_job(work).await;
    let job = app.start_job("job").await;
    let seen = job.read_to_the_end("t").await;
    assert_in_order(&seen);
    let minutes = minutes(&seen);
    let status = job.status().await;
    let ending = minutes.split(' ').next_back().expect("an ending");
    assert_eq!(status["status"].as_str().expect("a status").to_lowercase(), ending, "{status}");
    for work in status["tasks"].as_array().expect("tasks") {
        assert_ne!(work["status"], "Running", "{status}");
        assert_eq!(work["taskId"], Value::Null, "{status}");
    }
    app.assert_ends().await;
    minutes
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident: $($work:expr => $minutes:literal),+ $(,)?;)*) => {
        $($(#[$doc])* #[tokio::test(start_paused = true)]
        async fn $name() {
            $(let work = $work;
            assert_eq!(run(work.clone()).await, $minutes, "{work:#}");)+
        })*
    };
}

fn when(result: bool, name: &str) -> Value {
    json!([result, task(name)])
}

const NONE: Value = Value::Null;

rules! {
    a_single_task_decides:
        task("ok") => "+0 -0 succeeded",
        task("no") => "+0 !0 failed";

    a_sequence_ends_with_its_first_failure:
        seq([task("ok"), task("ok"), task("ok")]) => "+0 -0 +1 -1 +2 -2 succeeded",
        seq([task("no"), task("ok"), task("ok")]) => "+0 !0 failed",
        seq([task("ok"), task("no"), task("ok")]) => "+0 -0 +1 !1 failed",
        seq([task("ok"), task("ok"), task("no")]) => "+0 -0 +1 -1 +2 !2 failed";

    parallel_works_start_at_once_and_all_are_waited_for:
        par([task("ok 3"), task("ok 1"), task("ok 2")]) => "+0 +1 +2 -1 -2 -0 succeeded",
        par([task("ok 3"), task("no 1"), task("ok 2")]) => "+0 +1 +2 !1 -2 -0 failed",
        par([task("no 3"), task("ok 1"), task("ok 2")]) => "+0 +1 +2 -1 -2 !0 failed",
        par([task("no 3"), task("no 1"), task("no 2")]) => "+0 +1 +2 !1 !2 !0 failed";

    a_condition_chooses_its_branch:
        alt(task("ok"), task("ok 1"), task("ok 2")) => "+0 -0 +1 -1 succeeded",
        alt(task("no"), task("ok 1"), task("ok 2")) => "+0 !0 +2 -2 succeeded",
        alt(task("ok"), task("no 1"), task("ok 2")) => "+0 -0 +1 !1 failed",
        alt(task("no"), task("ok 1"), task("no 2")) => "+0 !0 +2 !2 failed";

    a_missing_branch_succeeds:
        alt(task("ok"), NONE, task("no")) => "+0 -0 succeeded",
        alt(task("no"), task("no 1"), NONE) => "+0 !0 succeeded",
        alt(task("no"), NONE, NONE) => "+0 !0 succeeded";

    a_loop_without_conditions_runs_once:
        repeat(NONE, task("ok"), NONE) => "+0 -0 succeeded",
        repeat(NONE, task("no"), NONE) => "+0 !0 failed";

    a_loop_is_not_entered_unless_its_precondition_says_so:
        repeat(when(true, "ok"), task("ok 1"), NONE) => "+0 -0 +1 -1 succeeded",
        repeat(when(true, "no"), task("ok 1"), NONE) => "+0 !0 succeeded",
        repeat(when(false, "ok"), task("ok 1"), NONE) => "+0 -0 succeeded",
        repeat(when(false, "no"), task("ok 1"), NONE) => "+0 !0 +1 -1 succeeded";

    a_loop_goes_round_while_its_postcondition_says_so:
        repeat(NONE, task("ok"), when(true, "ok,ok,no"))
            => "+1 -1 +0 -0 +1 -1 +0 -0 +1 -1 +0 !0 succeeded",
        repeat(NONE, task("ok"), when(false, "no,ok")) => "+1 -1 +0 !0 +1 -1 +0 -0 succeeded",
        repeat(NONE, task("ok"), when(true, "no")) => "+1 -1 +0 !0 succeeded";

    a_loop_asks_both_conditions_each_time:
        repeat(when(true, "ok,ok,no"), task("ok"), when(true, "ok 1"))
            => "+0 -0 +2 -2 +1 -1 +0 -0 +2 -2 +1 -1 +0 !0 succeeded";

    the_failure_of_a_body_fails_its_loop:
        repeat(NONE, task("ok,no"), when(true, "ok")) => "+1 -1 +0 -0 +1 !1 failed",
        seq([repeat(NONE, task("no"), NONE), task("ok")]) => "+0 !0 failed";

    works_nest:
        seq([par([seq([task("ok 1"), task("ok 2")]), task("ok 5")]), task("ok")])
            => "+0 +2 -0 +1 -1 -2 +3 -3 succeeded",
        par([seq([task("no 1"), task("ok")]), alt(task("no 2"), NONE, task("ok 3"))])
            => "+0 +2 !0 !2 +3 -3 failed",
        alt(seq([task("ok"), task("no")]), task("ok 1"), par([task("ok 2"), task("ok 3")]))
            => "+0 -0 +1 !1 +3 +4 -3 -4 succeeded",
        repeat(json!([true, par([task("ok 1"), task("ok 2,no 2")])]), task("ok"), when(true, "ok"))
            => "+0 +1 -0 -1 +3 -3 +2 -2 +0 +1 -0 !1 succeeded",
        repeat(NONE, repeat(NONE, task("ok"), when(true, "ok 1,no 1")), when(true, "ok 2,no 2"))
            => "+2 -2 +1 -1 +2 -2 +1 !1 +0 -0 +2 -2 +1 !1 +0 !0 succeeded";
}

/// An ended task, without its times and reason.
fn untimed(task: &Value) -> Value {
    let mut task = task.clone();
    let fields = task.as_object_mut().expect("an object");
    fields.remove("reason");
    let (start, end) = (fields.remove("startTime"), fields.remove("endTime"));
    let (start, end) = (start.expect("a start"), end.expect("an end"));
    assert!(start.as_str() <= end.as_str(), "{start} {end}");
    task
}

#[tokio::test(start_paused = true)]
async fn the_last_run_of_a_work_is_the_one_that_counts() {
    let app = TestApp::with_job(repeat(NONE, task("ok 2"), when(true, "ok 1,no 1"))).await;
    let job = app.start_job("job").await;
    let body = json!({"workIdInJob": 1, "name": "ok 2", "status": "Succeeded", "state": "succeeded", "attempts": 1});
    let condition = |status: &str, state: &str| json!({"workIdInJob": 0, "name": "ok 1,no 1", "status": status, "state": state, "attempts": 1});
    job.read_until("t", "+0").await;
    let status = job.status().await;
    assert_eq!(status["tasks"][0]["status"], "Running");
    assert_eq!(status["tasks"][0]["endTime"], Value::Null);
    assert_eq!(status["tasks"][0]["attempts"], Value::Null);
    assert_eq!(untimed(&status["tasks"][1]), body);
    let seen = job.read_until("t", "+1").await;
    let started = seen.iter().rfind(|response| response["callback"] == "workStarted");
    let status = job.status().await;
    assert_eq!(untimed(&status["tasks"][0]), condition("Succeeded", "true"));
    assert_eq!(status["tasks"][1]["status"], "Running");
    assert_eq!(status["tasks"][1]["taskId"], started.expect("a work")["taskId"]);
    job.read_to_the_end("t").await;
    let status = job.status().await;
    assert_eq!(untimed(&status["tasks"][0]), condition("Failed", "false"));
    assert_eq!(untimed(&status["tasks"][1]), body);
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_task_of_a_job_can_be_followed_and_has_the_users_input() {
    let app = TestApp::with_job(task("asks")).await;
    let job = app.start_job("job").await;
    let seen = job.read_to_the_end("t").await;
    let task = seen[0]["taskId"].as_str().expect("a task");
    let log = app.get(&format!("/api/copilot/task/{task}/live/t")).await.json();
    let names: Vec<_> = log["responses"].as_array().expect("responses").iter().collect();
    assert_eq!(names.last().expect("an end")["callback"], "taskSucceeded");
    let started = names.iter().find(|response| response["callback"] == "taskSessionStarted");
    let session = started.expect("a session")["sessionId"].as_str().expect("an id");
    let log = app.get(&format!("/api/copilot/session/{session}/live/t")).await.text;
    assert!(log.contains("use the job_boolean_true tool with input"), "{log}");
    app.assert_ends().await;
}
