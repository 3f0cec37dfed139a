//! What was judged in tasks: as it happens, and in the list of a job.

use serde_json::{Value, json};
use tests::job::{TestJob, entry_of, options, repeat, seq, task};
use tests::{MODEL, TestApp};
use tokio::time::{Duration, sleep};

const UNKNOWN: &str = "/api/copilot/job/job-00000000-0000-4000-8000-000000000000/verdicts";

async fn verdicts(app: &TestApp, job: &TestJob<'_>) -> Vec<Value> {
    let reply = app.get(&job.path("verdicts")).await.json();
    reply["verdicts"].as_array().unwrap_or_else(|| panic!("{reply}")).clone()
}

/// Work, attempt, criterion, result and reason of each.
fn outline(verdicts: &[Value]) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned();
    let line = |verdict: &Value| {
        let [criterion, met, reason] =
            ["criterion", "met", "reason"].map(|field| word(&verdict[field]));
        format!("{} #{} {criterion} {met}: {reason}", verdict["workId"], verdict["attempt"])
    };
    verdicts.iter().map(line).collect()
}

/// An entry with one job, whose task has these conditions.
fn judged(availability: &str, condition: &str, retries: u32) -> Value {
    let mut entry = entry_of(&[("job", task("ok"))]);
    let condition_of =
        |text: &str| json!([format!("{text}."), "(job_boolean_true or job_boolean_false)"]);
    entry["tasks"]["ok"] = json!({
        "model": { "id": MODEL },
        "prompt": ["use the job_prepare_document tool with a.md"],
        "requireUserInput": false,
        "availability": { "condition": condition_of(availability) },
        "criteria": {
            "toolExecuted": ["job_prepare_document"],
            "condition": condition_of(condition),
            "runConditionInSameSession": false,
            "failureAction": { "retryTimes": retries },
        },
    });
    entry
}

const YES: &str = "use the job_boolean_true tool with it is fine";
const NO: &str = "use the job_boolean_false tool with no test for step 2";

#[tokio::test(start_paused = true)]
async fn every_criterion_is_judged_in_each_attempt() {
    let nothing = "neither job_boolean_true nor job_boolean_false was called";
    let tool = |attempt| format!("0 #{attempt} tool:job_prepare_document yes: a.md");
    for (availability, condition, retries, expected) in [
        (NO, YES, 0, vec!["0 #1 availability no: no test for step 2".to_owned()]),
        ("say perhaps", YES, 0, vec![format!("0 #1 availability unknown: {nothing}")]),
        (
            YES,
            YES,
            0,
            vec![
                "0 #1 availability yes: it is fine".to_owned(),
                tool(1),
                "0 #1 condition yes: it is fine".to_owned(),
            ],
        ),
        (
            YES,
            NO,
            1,
            vec![
                "0 #1 availability yes: it is fine".to_owned(),
                tool(1),
                "0 #1 condition no: no test for step 2".to_owned(),
                tool(2),
                "0 #2 condition no: no test for step 2".to_owned(),
            ],
        ),
    ] {
        let app = TestApp::with(options());
        app.install(&judged(availability, condition, retries)).await;
        let job = app.start_job("job").await;
        job.read_to_the_end("t").await;
        let found = verdicts(&app, &job).await;
        assert_eq!(outline(&found), expected);
        let attempts = expected.iter().filter(|line| line.contains("tool:")).count();
        assert_eq!(job.status().await["tasks"][0]["attempts"], attempts);
        for verdict in &found {
            let is_tool = verdict["criterion"] == "tool:job_prepare_document";
            assert_eq!(verdict["judge"].is_null(), is_tool, "{verdict}");
            assert!(is_tool || verdict["judge"]["model"] == MODEL, "{verdict}");
        }
        app.assert_ends().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_crashes_leaves_it_unknown_and_then_the_task_fails() {
    let app = TestApp::with(options());
    app.install(&judged(YES, "crash", 0)).await;
    let job = app.start_job("job").await;
    job.read_to_the_end("t").await;
    let found = verdicts(&app, &job).await;
    let last = found.last().expect("a verdict");
    assert_eq!((&last["criterion"], &last["met"]), (&json!("condition"), &json!("unknown")));
    let reason = last["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("the driving session crashed 2 times: "), "{reason}");
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_verdict_stands_in_the_stream_of_its_task_before_the_decision() {
    let app = TestApp::with(options());
    app.install(&judged(YES, NO, 0)).await;
    let job = app.start_job("job").await;
    let seen = job.read_to_the_end("t").await;
    let task = seen[0]["taskId"].as_str().expect("a task");
    let events = app.get(&format!("/api/copilot/task/{task}/events")).await.json();
    let events = events["events"].as_array().expect("events");
    let kinds = events.iter().filter_map(|event| match event["callback"].as_str()? {
        "taskVerdict" => event["criterion"].as_str(),
        "taskDecision" => event["kind"].as_str().filter(|kind| *kind != "SessionStarted"),
        _ => None,
    });
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [
            "availability",
            "Availability",
            "tool:job_prepare_document",
            "condition",
            "Criteria",
            "Decision",
            "Failed",
        ]
    );
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_lists_the_verdicts_of_all_runs_in_their_order() {
    let again = repeat(Value::Null, task("ok"), json!([true, task("ok,ok,no")]));
    let app = TestApp::with_job(seq([again, task("ok 60")])).await;
    let job = app.start_job("job").await;
    job.read_until("t", "+2").await;
    // Its works are numbered: the condition, the body, and the one that is running.
    let running = verdicts(&app, &job).await;
    let works: Vec<_> = running.iter().map(|verdict| verdict["workId"].as_u64()).collect();
    assert_eq!(works, [1, 0, 1, 0, 1, 0].map(Some));
    let met: Vec<_> = running.iter().map(|verdict| verdict["met"] == "yes").collect();
    assert_eq!(met, [true, true, true, true, true, false]);
    assert_eq!(
        outline(&running)[5],
        "0 #1 tool:job_boolean_true no: the agent never called job_boolean_true"
    );
    let times: Vec<_> = running.iter().map(|verdict| verdict["at"].as_str()).collect();
    assert!(times.is_sorted() && times[0] < times[5], "{times:?}");
    assert_ne!(running[0]["taskId"], running[2]["taskId"]);

    job.stop().await;
    // Neither logs nor status are in memory any more.
    sleep(Duration::from_hours(2)).await;
    assert_eq!(verdicts(&app, &job).await, running);
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_job_has_no_verdicts() {
    let app = TestApp::new();
    for path in [UNKNOWN, "/api/copilot/job/nonsense/verdicts"] {
        assert_eq!(app.get(path).await.json(), json!({"error": "JobNotFound"}));
    }
}
