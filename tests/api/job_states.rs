//! The states of jobs and their works, and the reasons for them.

use serde_json::{Value, json};
use tests::TestApp;
use tests::job::{TestJob, alt, entry_of, options, par, repeat, seq, states, task};
use tokio::time::{Duration, sleep};

/// State and reason of the job.
async fn outcome(job: &TestJob<'_>) -> (String, Option<String>) {
    let status = job.status().await;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    (text(&status["state"]).expect("a state"), text(&status["reason"]))
}

/// The reasons of a job's works, in their order.
async fn reasons(job: &TestJob<'_>) -> Vec<Option<String>> {
    let status = job.status().await;
    let tasks = status["tasks"].as_array().expect("tasks");
    tasks.iter().map(|task| task["reason"].as_str().map(str::to_owned)).collect()
}

/// Runs a job to its end; returns its state, its reason, and the states of its works.
async fn run(work: Value) -> (String, Option<String>, String) {
    let app = TestApp::with_job(work).await;
    let job = app.start_job("job").await;
    job.read_to_the_end("t").await;
    let (state, reason) = outcome(&job).await;
    let live = states(&job).await;
    // The same from the store, once nothing is in memory any more.
    sleep(Duration::from_hours(2)).await;
    assert_eq!(outcome(&job).await, (state.clone(), reason.clone()));
    assert_eq!(states(&job).await, live);
    app.assert_ends().await;
    (state, reason, live)
}

const NEVER_CALLED: &str = "check failed: the agent never called job_boolean_true";

#[tokio::test(start_paused = true)]
async fn a_job_says_which_work_decided_it_and_why() {
    for (work, state, reason, works) in [
        (seq([task("ok"), task("ok")]), "succeeded", None, "succeeded succeeded"),
        (
            seq([task("ok"), task("no"), task("ok 1")]),
            "failed",
            Some(format!("`no` failed: {NEVER_CALLED}")),
            "succeeded failed notReached",
        ),
        (
            par([task("no 2"), task("no 1"), task("ok")]),
            "failed",
            Some(format!("`no 1` failed: {NEVER_CALLED}")),
            "failed failed succeeded",
        ),
        (alt(task("ok"), task("ok 1"), task("ok 2")), "succeeded", None, "true succeeded skipped"),
        (
            alt(task("no"), task("ok 1"), task("no 2")),
            "failed",
            Some(format!("`no 2` failed: {NEVER_CALLED}")),
            "false skipped failed",
        ),
        (
            repeat(json!([true, task("no")]), task("ok"), json!([true, task("ok")])),
            "succeeded",
            None,
            "false skipped skipped",
        ),
        (
            repeat(Value::Null, task("ok"), json!([true, task("ok,no")])),
            "succeeded",
            None,
            "false succeeded",
        ),
    ] {
        let expected = (state.to_owned(), reason, works.to_owned());
        assert_eq!(run(work.clone()).await, expected, "{work:#}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_cancels_its_siblings_and_they_say_so() {
    let app = TestApp::with_job(seq([par([task("ok 60"), task("crash")]), task("ok")])).await;
    let job = app.start_job("job").await;
    job.read_to_the_end("t").await;
    assert_eq!(states(&job).await, "canceled failed notReached");
    let (state, reason) = outcome(&job).await;
    let reason = reason.expect("a reason");
    assert_eq!(state, "failed");
    assert!(reason.starts_with("`crash` failed: the task session crashed 5 times: "), "{reason}");
    assert_eq!(job.status().await["reasonWorkId"], 1);
    let works = reasons(&job).await;
    assert_eq!(works[0].as_deref(), Some("canceled: `crash` crashed"));
    assert_eq!(works[2], None);
    // The old words stay.
    assert_eq!(job.status().await["tasks"][0]["status"], "Failed");
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_crashes_is_neither_true_nor_false() {
    let (state, reason, works) = run(alt(task("crash"), task("ok"), task("ok 1"))).await;
    assert_eq!((&*state, &*works), ("failed", "failed notReached notReached"));
    assert!(reason.is_some_and(|reason| reason.starts_with("`crash` failed: ")));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_job_is_canceled_and_so_are_its_running_works() {
    let app = TestApp::with_job(alt(task("ok 60"), task("ok"), task("ok 1"))).await;
    let job = app.start_job("job").await;
    job.read_until("t", "+0").await;
    assert_eq!(outcome(&job).await, ("running".to_owned(), None));
    assert_eq!(states(&job).await, "running notReached notReached");
    job.stop().await;
    let stopped = Some("stopped by a user".to_owned());
    assert_eq!(outcome(&job).await, ("canceled".to_owned(), stopped));
    // It has chosen no branch.
    assert_eq!(states(&job).await, "canceled notReached notReached");
    assert_eq!(reasons(&job).await[0].as_deref(), Some("canceled: the job was stopped"));
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_task_that_somebody_stops_is_canceled_and_decides_the_job() {
    let app = TestApp::with_job(seq([task("ok 60"), task("ok")])).await;
    let job = app.start_job("job").await;
    let seen = job.read_until("t", "+0").await;
    let id = seen[0]["taskId"].as_str().expect("a task");
    app.get(&format!("/api/copilot/task/{id}/stop")).await.json();
    job.read_to_the_end("t").await;
    assert_eq!(states(&job).await, "canceled notReached");
    let reason = Some("`ok 60` canceled: a user stopped it".to_owned());
    assert_eq!(outcome(&job).await, ("failed".to_owned(), reason));
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_the_end_of_the_server_cuts_off_is_interrupted() {
    let app = TestApp::with_job(seq([task("ok 60"), task("ok")])).await;
    let job = app.start_job("job").await;
    job.read_until("t", "+0").await;
    app.begin_shutdown();
    job.read_to_the_end("t").await;
    let reason = Some("interrupted: the server stopped".to_owned());
    assert_eq!(outcome(&job).await, ("interrupted".to_owned(), reason));
    assert_eq!(states(&job).await, "interrupted notReached");
    assert_eq!(job.status().await["status"], "Canceled");
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn lists_have_the_reason_too() {
    let app = TestApp::with(options());
    app.install(&entry_of(&[("good", task("ok")), ("bad", task("no"))])).await;
    for name in ["good", "bad"] {
        app.start_job(name).await.read_to_the_end("t").await;
    }
    let bad = format!("`no` failed: {NEVER_CALLED}");
    let listed = app.listed_jobs().await;
    let of_job = |job: &Value| (job["state"].clone(), job["reason"].clone());
    assert_eq!(of_job(&listed[0]), (json!("succeeded"), Value::Null));
    assert_eq!(of_job(&listed[1]), (json!("failed"), json!(bad)));
    for (kind, reason) in [("job", &*bad), ("task", NEVER_CALLED)] {
        let path = format!("/api/copilot/history?kind={kind}");
        let history = app.get(&path).await.json();
        let items = history["items"].as_array().expect("items");
        assert_eq!(items[0]["reason"], reason, "{kind}");
        assert_eq!(items[1]["reason"], Value::Null, "{kind}");
    }
    app.assert_ends().await;
}
