//! The job endpoints: starting, listing, following.

use std::num::NonZeroU16;

use engine::job::JobSettings;
use serde_json::{Value, json};
use tests::job::{assert_in_order, entry_of, minutes, options, par, seq, task};
use tests::{Options, TestApp};
use tokio::time::{Duration, sleep};

const UNKNOWN: &str = "/api/copilot/job/job-00000000-0000-4000-8000-000000000000";

#[tokio::test(start_paused = true)]
async fn without_an_entry_there_is_no_list_and_no_start() {
    let app = TestApp::new();
    let reply = json!({"error": "EntryNotInstalled"});
    for path in ["/api/copilot/job", "/api/copilot/job/running", "/api/copilot/job/start/job"] {
        assert_eq!(app.get(path).await.json(), reply, "{path}");
    }
    for action in ["status", "stop", "live", "live/t"] {
        let reply = app.get(&format!("{UNKNOWN}/{action}")).await.json();
        assert_eq!(reply, json!({"error": "JobNotFound"}), "{action}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_overview_has_grid_jobs_and_charts_and_nothing_else() {
    let app = TestApp::with_job(seq([task("ok"), task("no")])).await;
    let reply = app.get("/api/copilot/job").await.json();
    let fields: Vec<&String> = reply.as_object().expect("an object").keys().collect();
    assert_eq!(fields, ["grid", "jobs", "chart"]);
    assert_eq!(
        reply["grid"],
        json!([{"keyword": "test", "jobs": [{"name": "job", "jobName": "job"}]}])
    );
    assert_eq!(
        reply["jobs"]["job"],
        json!({"requireUserInput": false, "work": {"kind": "Seq", "works": [
            {"kind": "Ref", "taskId": "ok", "workIdInJob": 0},
            {"kind": "Ref", "taskId": "no", "workIdInJob": 1},
        ]}})
    );
    assert_eq!(
        reply["chart"]["job"],
        json!({"nodes": [
            {"id": 0, "hint": ["TaskNode", 0], "label": "ok", "arrows": [{"to": 1, "loopBack": false}]},
            {"id": 1, "hint": ["TaskNode", 1], "label": "no"},
        ]})
    );
}

#[tokio::test(start_paused = true)]
async fn a_start_that_makes_no_sense_is_refused() {
    let app = TestApp::with(options());
    app.install(&entry_of(&[("plain", task("ok")), ("asking", task("asks"))])).await;
    for (job, body, error) in [
        ("nothing", "/", "JobNotFound"),
        ("constructor", "/", "JobNotFound"),
        ("__proto__", "/", "JobNotFound"),
        ("Plain", "/", "JobNotFound"),
        ("nothing", "relative", "JobNotFound"),
        ("plain", "", "WorkingDirectoryNotAbsolutePath"),
        ("plain", "\n/", "WorkingDirectoryNotAbsolutePath"),
        ("plain", "relative/path", "WorkingDirectoryNotAbsolutePath"),
        ("plain", "/no/such/folder", "WorkingDirectoryNotExists"),
        ("plain", "/proc/version\ninput", "WorkingDirectoryNotExists"),
        ("asking", "relative", "WorkingDirectoryNotAbsolutePath"),
        ("asking", "/", "UserInputRequired"),
        ("asking", "/\n", "UserInputRequired"),
        ("asking", "/\r\n \t\r\n", "UserInputRequired"),
    ] {
        let reply = app.post(&format!("/api/copilot/job/start/{job}"), body).await;
        assert_eq!(reply.refusal(), (200, error.into()), "{job} {body:?}");
    }
    assert_eq!(app.listed_jobs().await, [Value::Null; 0]);
    let started = app.post("/api/copilot/job/start/asking", "/\r\nthis").await.json();
    assert!(started["jobId"].is_string(), "{started}");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn names_are_decoded() {
    let names = ["two words", "a/b", "ü", "constructor", "__proto__", "100%", "live"];
    let app = TestApp::with(options());
    app.install(&entry_of(&names.map(|name| (name, task("ok"))))).await;
    let paths = ["two%20words", "a%2Fb", "%C3%BC", "constructor", "__proto__", "100%25", "live"];
    for (name, path) in names.iter().zip(paths) {
        let job = app.start_job(path).await;
        assert_eq!(job.status().await["jobName"], **name);
        assert_eq!(minutes(&job.read_to_the_end("t").await), "+0 -0 succeeded");
    }
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_job_is_not_found() {
    let app = TestApp::with_job(task("ok")).await;
    let not_found = json!({"error": "JobNotFound"});
    for id in [UNKNOWN, "/api/copilot/job/nonsense", "/api/copilot/job/running"] {
        for action in ["status", "stop", "live", "live/t"] {
            assert_eq!(app.get(&format!("{id}/{action}")).await.json(), not_found, "{id}/{action}");
        }
    }
    for path in ["/api/copilot/job/", "/api/copilot/job/start/", "/api/copilot/job/start/a/b"] {
        assert_eq!(app.get(path).await.refusal(), (404, "Unknown API endpoint".into()), "{path}");
    }
    for path in ["/api/copilot/job", "/api/copilot/job/running", &format!("{UNKNOWN}/status")] {
        assert_eq!(app.post(path, "").await.status, 405, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_list_names_running_and_finished_jobs_in_the_order_of_their_start() {
    let app = TestApp::with(options());
    app.install(&entry_of(&[
        ("long", task("ok 60")),
        ("good", task("ok")),
        ("bad", task("no")),
        ("dead", task("crash")),
    ]))
    .await;
    let mut jobs = Vec::new();
    for name in ["long", "good", "bad", "dead", "long"] {
        jobs.push((name, app.start_job(name).await));
    }
    let (_, last) = jobs.last().expect("a job");
    assert_eq!(last.stop().await, json!({"result": "Closed"}));
    sleep(Duration::from_secs(5)).await;
    let listed = app.listed_jobs().await;
    for (job, status) in ["Running", "Succeeded", "Failed", "Failed", "Canceled"].iter().enumerate()
    {
        let (name, started) = &jobs[job];
        let info = &listed[job];
        assert_eq!(info["jobId"], started.id);
        assert_eq!((&info["jobName"], &info["status"]), (&json!(name), &json!(status)));
        let time = info["startTime"].as_str().expect("a time");
        assert!(time.len() == 24 && time.starts_with("20") && time.ends_with('Z'), "{time}");
        let mut whole = started.status().await;
        assert!(whole["tasks"].is_array(), "{whole}");
        let fields = whole.as_object_mut().expect("an object");
        fields.remove("tasks");
        fields.remove("reasonWorkId");
        assert_eq!(fields.remove("folder"), Some(json!("/")));
        fields.remove("userInput");
        let spent = fields.remove("spent").expect("what was used");
        assert!(spent["turns"].is_u64() && spent["minutes"].is_f64(), "{spent}");
        // Times compare as text.
        let now = fields.remove("serverTime").expect("the server's time");
        let end = fields.remove("endTime");
        assert_eq!(end.is_some(), *status != "Running");
        let end = end.unwrap_or(now.clone());
        assert!(Some(time) <= end.as_str() && end.as_str() <= now.as_str(), "{time} {end} {now}");
        assert_eq!(whole, *info);
    }
    assert_eq!(listed.len(), jobs.len());
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_finished_job_is_listed_for_an_hour_from_its_end() {
    let hours = seq([task("ok 3000"), task("ok 3001")]);
    let app = TestApp::with_job(hours).await;
    let job = app.start_job("job").await;
    assert_eq!(minutes(&job.read_to_the_end("t").await), "+0 -0 +1 -1 succeeded");
    sleep(Duration::from_secs(3595)).await;
    assert_eq!(app.listed_jobs().await.len(), 1);
    assert_eq!(job.status().await["status"], "Succeeded");
    assert_eq!(job.poll("t").await, json!({"error": "JobNotFound"}), "its log is long gone");
    assert_eq!(job.stop().await, json!({"result": "Closed"}));
    sleep(Duration::from_secs(6)).await;
    assert_eq!(app.listed_jobs().await.len(), 0);
    assert_eq!(job.status().await["status"], "Succeeded", "it is kept");
    assert_eq!(job.stop().await, json!({"error": "JobNotFound"}));
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn only_so_many_jobs_run_and_only_so_many_are_remembered() {
    let jobs = JobSettings { max_jobs: 2, max_finished: 3, ..JobSettings::default() };
    let app = TestApp::with(Options { jobs, ..options() });
    app.install(&entry_of(&[("long", task("ok 60")), ("short", task("ok"))])).await;
    let long = app.start_job("long").await;
    let second = app.start_job("long").await;
    let refused = app.post("/api/copilot/job/start/short", "/").await.json();
    assert_eq!(refused, json!({"error": "TooManyJobs"}));
    second.stop().await;
    let mut ended = vec![second.id];
    for _ in 0..5 {
        let job = app.start_job("short").await;
        job.read_to_the_end("t").await;
        ended.push(job.id);
    }
    let listed = app.listed_jobs().await;
    let ids: Vec<_> = listed.iter().map(|job| job["jobId"].as_str().expect("an id")).collect();
    assert_eq!(ids[0], long.id);
    assert_eq!(ids[1..], ended[ended.len() - 3..]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn viewers_see_everything_whenever_they_join() {
    let app = TestApp::with_job(seq([task("ok 1"), task("ok 2"), task("ok 3")])).await;
    let job = app.start_job("job").await;
    let mut early = job.read_until("early", "-0").await;
    let mut midway = job.read_until("midway", "+2").await;
    assert_eq!(minutes(&midway), "+0 -0 +1 -1 +2");
    early.extend(job.read_to_the_end("early").await);
    midway.extend(job.read_to_the_end("midway").await);
    let late = job.read_to_the_end("late").await;
    assert_eq!(minutes(&late), "+0 -0 +1 -1 +2 -2 succeeded");
    assert_eq!(early, late);
    assert_eq!(midway, late);
    assert_eq!(job.poll("late").await, json!({"error": "JobNotFound"}), "told once");
    assert_eq!(app.get(&job.path("live")).await.json(), late[0], "one response a call");
    assert_eq!(app.get(&job.path("live")).await.json(), late[1]);
    sleep(Duration::from_secs(6)).await;
    assert_eq!(job.poll("too-late").await, json!({"error": "JobNotFound"}));
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn no_more_tasks_of_a_job_run_at_once_than_its_bound() {
    let jobs = JobSettings {
        max_tasks_per_job: NonZeroU16::new(3).expect("not zero"),
        ..JobSettings::default()
    };
    let app = TestApp::with(Options { jobs, ..options() });
    let works = (0..20).map(|work| task(["ok 2", "no 1", "ok 3"][work % 3]));
    app.install(&entry_of(&[("job", par(works))])).await;
    let job = app.start_job("job").await;
    let seen = job.read_to_the_end("t").await;
    assert_in_order(&seen);
    let (mut running, mut most, mut started) = (0, 0, Vec::new());
    for word in minutes(&seen).split(' ') {
        match word.split_at(1) {
            ("+", id) => {
                running += 1;
                started.push(id.parse::<u32>().expect("a number"));
            }
            ("-" | "!", _) => running -= 1,
            _ => assert_eq!(word, "failed"),
        }
        most = most.max(running);
    }
    assert_eq!(most, 3);
    assert_eq!(started, (0..20).collect::<Vec<_>>(), "in order");
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn no_more_tasks_of_all_jobs_run_at_once_than_the_servers_bound() {
    let jobs =
        JobSettings { max_tasks: NonZeroU16::new(4).expect("not zero"), ..JobSettings::default() };
    let app = TestApp::with(Options { jobs, ..options() });
    app.install(&entry_of(&[("job", par((0..6).map(|_| task("ok 2"))))])).await;
    let mut jobs = Vec::new();
    for _ in 0..3 {
        jobs.push(app.start_job("job").await);
    }
    let mut most = 0;
    for _ in 0..220 {
        most = most.max(app.open_sessions().await.len());
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(most, 4);
    for job in jobs {
        assert_eq!(job.status().await["status"], "Succeeded");
    }
    app.assert_ends().await;
}
