//! How jobs end prematurely: canceled, crashed, or with the server.

use std::num::NonZeroU16;

use engine::job::JobSettings;
use serde_json::{Value, json};
use tests::job::{
    TestJob, assert_in_order, entry_of, minutes, options, par, repeat, seq, states, task,
};
use tests::{Options, TestApp};
use tokio::task::yield_now;
use tokio::time::{Duration, sleep};

fn closed() -> Value {
    json!({"result": "Closed"})
}

/// Tasks that are stopped together end in any order: sorted here by work, except for one failure of
/// `first`.
fn sorted(minutes: &str, first: &str) -> String {
    let mut words: Vec<&str> = minutes.split(' ').collect();
    for run in words.chunk_by_mut(|one, next| {
        let is_stop = |word: &str| word.starts_with('!') && word != first;
        is_stop(one) && is_stop(next)
    }) {
        run.sort_unstable();
    }
    words.join(" ")
}

/// The status of a job, without the time of the request.
async fn lasting_status(job: &TestJob<'_>) -> Value {
    let mut status = job.status().await;
    status["serverTime"].take();
    status
}

/// Reads the rest, and asserts that the job was canceled and has nothing running.
async fn minutes_of_canceled(app: &TestApp, job: &TestJob<'_>) -> String {
    assert!(app.open_sessions().await.is_empty(), "a session is open");
    let status = lasting_status(job).await;
    assert_eq!(status["status"], "Canceled");
    assert!(!status.to_string().contains("Running"), "{status}");
    let seen = job.read_to_the_end("t").await;
    assert_in_order(&seen);
    assert_eq!(job.stop().await, closed(), "again");
    assert_eq!(lasting_status(job).await, status);
    sorted(&minutes(&seen), "")
}

#[tokio::test(start_paused = true)]
async fn a_stopped_job_stops_its_tasks_and_starts_no_other() {
    let app = TestApp::with_job(seq([par([task("ok 60"), task("no 70")]), task("ok")])).await;
    let job = app.start_job("job").await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(app.open_sessions().await.len(), 2);
    assert_eq!(job.stop().await, closed());
    assert_eq!(minutes_of_canceled(&app, &job).await, "+0 +1 !0 !1 canceled");
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn works_that_wait_for_a_place_never_start_in_a_stopped_job() {
    let one = NonZeroU16::MIN;
    let jobs = JobSettings { max_tasks: one, ..JobSettings::default() };
    let app = TestApp::with(Options { jobs, ..options() });
    let work = par([task("ok 60"), task("ok 61"), task("ok 62")]);
    app.install(&entry_of(&[("job", work)])).await;
    let running = app.start_job("job").await;
    let waiting = app.start_job("job").await;
    sleep(Duration::from_secs(1)).await;
    let queued = |work: u32| json!({ "workIdInJob": work, "name": format!("ok {}", 60 + work), "state": "queued" });
    assert_eq!(waiting.status().await["tasks"], json!([queued(0), queued(1), queued(2)]));
    assert_eq!(states(&running).await, "running queued queued");
    assert_eq!(waiting.stop().await, closed());
    let seen = waiting.read_to_the_end("t").await;
    assert_eq!(minutes(&seen), "canceled");
    assert_eq!(states(&waiting).await, "notReached notReached notReached");
    assert_eq!(running.stop().await, closed());
    assert_eq!(minutes_of_canceled(&app, &running).await, "+0 !0 canceled");
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_stops_while_a_session_is_being_opened() {
    let app = TestApp::with_job(seq([task("starts slowly"), task("ok")])).await;
    let job = app.start_job("job").await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(job.status().await["tasks"][0]["status"], "Running");
    assert!(app.open_sessions().await.is_empty(), "not open yet");
    assert_eq!(job.stop().await, closed());
    assert_eq!(minutes_of_canceled(&app, &job).await, "+0 !0 canceled");
    app.assert_ends().await;
}

/// Stops jobs after an increasing number of scheduler steps: before, in and between their works.
#[tokio::test(start_paused = true)]
async fn a_stop_at_any_moment_gives_one_ending() {
    let work = seq([task("ok"), par([task("ok"), task("no")]), task("ok")]);
    let app = TestApp::with_job(work).await;
    let mut endings = [0; 2];
    for steps in 0..400 {
        let job = app.start_job("job").await;
        for _ in 0..steps {
            yield_now().await;
        }
        assert_eq!(job.stop().await, closed());
        assert!(app.open_sessions().await.is_empty(), "a session is open after {steps} steps");
        let seen = job.read_to_the_end("t").await;
        assert_in_order(&seen);
        let ending = job.status().await["status"].as_str().expect("a status").to_lowercase();
        assert!(minutes(&seen).ends_with(&ending), "{ending}: {}", minutes(&seen));
        endings[usize::from(ending == "canceled")] += 1;
    }
    assert!(endings.iter().all(|times| *times > 0), "{endings:?}");
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_finished_job_keeps_its_status() {
    for (name, status) in [("ok", "Succeeded"), ("no", "Failed"), ("crash", "Failed")] {
        let app = TestApp::with_job(task(name)).await;
        let job = app.start_job("job").await;
        let seen = job.read_to_the_end("t").await;
        assert_eq!(job.stop().await, closed());
        assert_eq!(job.status().await["status"], status);
        assert_eq!(job.read_to_the_end("u").await, seen);
        app.assert_ends().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_stops_the_rest_and_fails_the_job() {
    let works = [task("ok 60"), task("crash"), seq([task("ok 61"), task("ok")])];
    let app = TestApp::with_job(seq([par(works), task("ok")])).await;
    let job = app.start_job("job").await;
    let seen = job.read_to_the_end("t").await;
    assert_in_order(&seen);
    assert_eq!(sorted(&minutes(&seen), "!1"), "+0 +1 +2 !1 !0 !2 error failed");
    let error = seen[6]["jobError"].as_str().expect("an error");
    assert!(error.contains("`crash`") && error.contains("crashed"), "{error}");
    let status = job.status().await;
    assert_eq!(status["status"], "Failed");
    assert!(!status.to_string().contains("Running"), "{status}");
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_counts_wherever_a_failure_would_not() {
    let condition = repeat(json!([true, task("crash")]), task("ok"), Value::Null);
    for (work, expected) in [
        (condition, "+0 !0 error failed"),
        (tests::job::alt(task("crash"), task("ok"), task("ok 1")), "+0 !0 error failed"),
        (seq([task("ok"), task("crash"), task("ok")]), "+0 -0 +1 !1 error failed"),
        (par([task("crash"), task("crash")]), "+0 +1 !0 !1 error failed"),
    ] {
        let app = TestApp::with_job(work).await;
        let seen = app.start_job("job").await.read_to_the_end("t").await;
        assert_in_order(&seen);
        // Of two that crash together, one may be stopped before it crashes.
        let minutes = minutes(&seen).replace("error error", "error");
        assert_eq!(sorted(&minutes, ""), expected);
        app.assert_ends().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_somebody_stops_is_a_work_that_failed() {
    let work = tests::job::alt(task("ok 60"), task("ok 1"), task("ok 2"));
    let app = TestApp::with_job(work).await;
    let job = app.start_job("job").await;
    let seen = job.read_until("t", "+0").await;
    let id = seen[0]["taskId"].as_str().expect("a task");
    let stopped = app.get(&format!("/api/copilot/task/{id}/stop")).await.json();
    assert_eq!(stopped, closed());
    assert_eq!(minutes(&job.read_to_the_end("t").await), "!0 +2 -2 succeeded");
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_somebody_stops_is_replaced() {
    let app = TestApp::with_job(task("no 60,ok")).await;
    let job = app.start_job("job").await;
    sleep(Duration::from_secs(1)).await;
    let sessions = app.open_sessions().await;
    let id = sessions[0]["sessionId"].as_str().expect("an id");
    assert_eq!(app.get(&format!("/api/copilot/session/{id}/stop")).await.json(), closed());
    let seen = job.read_to_the_end("t").await;
    assert_in_order(&seen);
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_server_cancels_jobs_and_tells_their_readers() {
    for by_api in [true, false] {
        let app = TestApp::with_job(seq([par([task("ok 60"), task("ok 61")]), task("ok")])).await;
        let job = app.start_job("job").await;
        job.read_until("t", "+1").await;
        let (seen, ()) = tokio::join!(job.read_to_the_end("t"), async {
            sleep(Duration::from_millis(10)).await;
            if by_api {
                assert_eq!(app.get("/api/stop").await.json(), json!({}));
            } else {
                app.begin_shutdown();
            }
        });
        assert_eq!(sorted(&minutes(&seen), ""), "!0 !1 canceled", "by the API: {by_api}");
        assert_eq!(job.status().await["status"], "Canceled");
        app.assert_ends().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_started_while_the_server_ends_is_canceled() {
    let app = TestApp::with_job(task("ok")).await;
    app.begin_shutdown();
    let job = app.start_job("job").await;
    assert_eq!(minutes(&job.read_to_the_end("t").await), "canceled");
    app.assert_ends().await;
}
