//! Retries of jobs, as scripts use them.

use axum::body::Body;
use serde_json::{Value, json};
use tests::TestApp;
use tests::job::{
    TestJob, alt, assert_in_order, entry_of, minutes, par, repeat, seq, states, task,
};
use tokio::time::{Duration, sleep};

/// Retries a job; returns the new run.
async fn retry<'a>(app: &'a TestApp, job: &TestJob<'a>, body: &str) -> TestJob<'a> {
    let reply = app.post(&job.path("retry"), body.to_owned()).await;
    let id = reply.json()["jobId"].as_str().unwrap_or_else(|| panic!("{}", reply.text)).to_owned();
    assert_eq!((reply.status.as_u16(), reply.text), (200, format!(r#"{{"jobId":"{id}"}}"#)));
    app.job(id)
}

/// The works that were carried over.
fn carried(status: &Value) -> Vec<u64> {
    let tasks = status["tasks"].as_array().expect("tasks").iter();
    let carried = tasks.filter(|task| task.get("carried").is_some_and(|it| *it == true));
    carried.map(|task| task["workIdInJob"].as_u64().expect("an id")).collect()
}

fn without(mut status: Value, fields: &[&str]) -> Value {
    for field in fields {
        status.as_object_mut().expect("an object").remove(*field);
    }
    status
}

#[tokio::test(start_paused = true)]
async fn a_job_goes_on_from_what_failed() {
    let arms = par([task("ok"), task("no,ok"), seq([task("ok 1"), task("ok 2")])]);
    let app = TestApp::with_job(seq([task("ok"), arms, task("ok 3")])).await;
    let original = app.start_job_in("job", "/tmp").await;
    let seen = original.read_to_the_end("t").await;
    assert!(minutes(&seen).ends_with(" failed"));
    let before = original.status().await;
    assert_eq!((&before["folder"], &before["userInput"]), (&json!("/tmp"), &json!("input")));
    for absent in ["retriedFrom", "retries"] {
        assert_eq!(before.get(absent), None);
    }
    assert!(!before.to_string().contains("carried"));

    let again = retry(&app, &original, "").await;
    let seen = again.read_to_the_end("t").await;
    assert_in_order(&seen);
    assert_eq!(minutes(&seen), "+2 -2 +5 -5 succeeded");
    let status = again.status().await;
    assert_eq!(states(&again).await, "succeeded succeeded succeeded succeeded succeeded succeeded");
    assert_eq!(carried(&status), [0, 1, 3, 4]);
    for field in ["jobName", "folder", "userInput"] {
        assert_eq!(status[field], before[field]);
    }
    assert_eq!(status["retriedFrom"], json!(original.id));
    for work in [0, 1, 3, 4] {
        let expected = without(status["tasks"][work].clone(), &["carried"]);
        assert_eq!(expected, before["tasks"][work], "what was carried over is what it was");
    }
    let after = original.status().await;
    assert_eq!(after["retries"], json!([again.id]));
    assert_eq!(
        without(after, &["retries", "serverTime"]),
        without(before, &["serverTime"]),
        "nothing else has changed"
    );
    assert_eq!(minutes(&original.read_to_the_end("u").await).split(' ').next(), Some("+0"));
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_work_is_retried_with_all_that_followed_from_it() {
    for (work, body, expected, taken) in [
        (seq([task("ok"), task("ok 1"), task("ok 2")]), "1", "+1 -1 +2 -2 succeeded", vec![0]),
        (par([task("ok"), task("no")]), " 0\r\n", "+0 -0 failed", vec![1]),
        (par([task("no"), task("no 1")]), "", "+0 +1 !0 !1 failed", vec![]),
        // The condition has changed its mind.
        (alt(task("ok,no"), task("no 1"), task("ok 2")), "0", "+0 !0 +2 -2 succeeded", vec![]),
        (alt(task("no,ok"), task("no 1"), task("ok 2")), "2", "+2 -2 succeeded", vec![0]),
        // Its second iteration failed, and goes on. The first one is taken over.
        (
            repeat(Value::Null, task("ok,no,ok"), json!([true, task("ok,no")])),
            "001",
            "+1 -1 +0 !0 succeeded",
            vec![],
        ),
    ] {
        let app = TestApp::with_job(work).await;
        let original = app.start_job("job").await;
        original.read_to_the_end("t").await;
        let again = retry(&app, &original, body).await;
        assert_eq!(minutes(&again.read_to_the_end("t").await), expected);
        let status = again.status().await;
        let expected: Vec<u64> = taken;
        assert_eq!(carried(&status), expected, "{status}");
        app.assert_ends().await;
    }
}

#[tokio::test(start_paused = true)]
async fn retries_can_be_retried_as_long_as_they_are_kept() {
    let app = TestApp::with_job(seq([task("ok"), task("no,ok"), task("no,no,ok")])).await;
    let mut jobs = vec![app.start_job("job").await];
    jobs[0].read_to_the_end("t").await;
    for expected in ["+1 -1 +2 !2 failed", "+2 !2 failed", "+2 -2 succeeded"] {
        let last = jobs.last().expect("a job");
        // By then it is in no list any more, and the entry has another job of that name.
        sleep(Duration::from_hours(2)).await;
        assert!(app.listed_jobs().await.is_empty());
        app.install(&entry_of(&[("job", task("crash"))])).await;
        let again = retry(&app, last, "").await;
        assert_eq!(minutes(&again.read_to_the_end("t").await), expected);
        jobs.push(again);
    }
    sleep(Duration::from_hours(2)).await;
    for pair in jobs.windows(2) {
        assert_eq!(pair[0].status().await["retries"], json!([pair[1].id]));
        assert_eq!(pair[1].status().await["retriedFrom"], json!(pair[0].id));
    }
    assert_eq!(carried(&jobs[3].status().await), [0, 1]);
    // All of them are in the history, each with its own events.
    let history = app.get("/api/copilot/history?kind=job").await.json();
    assert_eq!(history["items"].as_array().map(Vec::len), Some(4), "{history}");
    let events = app.get(&jobs[3].path("events?after=0")).await.json();
    let events = events["events"].as_array().expect("events").clone();
    assert_eq!(minutes(&events), "+2 -2 succeeded");
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_stopped_job_goes_on_with_what_had_no_result() {
    let app = TestApp::with_job(seq([task("ok"), par([task("ok 1"), task("ok 60")])])).await;
    let original = app.start_job("job").await;
    original.read_until("t", "-1").await;
    assert_eq!(original.stop().await, json!({"result": "Closed"}));
    // By GET, too, as scripts call everything.
    let reply = app.get(&original.path("retry")).await.json();
    let again = app.job(reply["jobId"].as_str().expect("an id").to_owned());
    assert_eq!(minutes(&again.read_to_the_end("t").await), "+2 -2 succeeded");
    assert_eq!(states(&original).await, "succeeded succeeded canceled");
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_is_refused_starts_nothing() {
    let app = TestApp::with_job(alt(task("no"), task("ok"), task("ok 1"))).await;
    let job = app.start_job("job").await;
    job.read_to_the_end("t").await;
    let before = without(job.status().await, &["serverTime"]);
    for (body, error) in [
        ("", "NothingToRetry"),
        ("1", "NothingToRetry"),
        ("3", "WorkNotFound"),
        ("4294967295", "WorkNotFound"),
        ("-1", "WorkNotFound"),
        ("0 1", "WorkNotFound"),
        ("{}", "WorkNotFound"),
        ("\u{0}", "WorkNotFound"),
    ] {
        let reply = app.post(&job.path("retry"), body).await;
        assert_eq!(
            (reply.status.as_u16(), reply.json()),
            (200, json!({ "error": error })),
            "{body:?}"
        );
    }
    let not_utf8 = app.call("POST", &job.path("retry"), &[], Body::from(vec![0xff])).await;
    assert_eq!(not_utf8.status, 400);
    let head = app.call("HEAD", &job.path("retry"), &[], Body::empty()).await;
    assert_eq!(head.status, 405);
    assert_eq!(app.listed_jobs().await.len(), 1);
    assert_eq!(without(job.status().await, &["serverTime"]), before);
    // A deleted job is none, and neither is one that is not there.
    assert_eq!(app.post(&job.path("delete"), "").await.json(), json!({}));
    assert_eq!(app.post(&job.path("retry"), "0").await.json(), json!({ "error": "JobNotFound" }));
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_outlives_the_job_that_it_retries() {
    let app = TestApp::with_job(seq([task("ok"), task("no,ok")])).await;
    let original = app.start_job("job").await;
    original.read_to_the_end("t").await;
    let again = retry(&app, &original, "").await;
    again.read_to_the_end("t").await;
    assert_eq!(app.post(&original.path("delete"), "").await.json(), json!({}));
    let status = again.status().await;
    assert_eq!((&status["retriedFrom"], carried(&status)), (&json!(original.id), vec![0]));
    let third = retry(&app, &again, "0").await;
    assert_eq!(minutes(&third.read_to_the_end("t").await), "+0 -0 +1 -1 succeeded");
    app.assert_ends().await;
}
