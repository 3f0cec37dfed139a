//! One live call for many entities.

use std::pin::pin;

use axum::body::Body;
use serde_json::{Value, json};
use store::live::LiveSettings;
use tests::job::{options, par, seq, task};
use tests::{Options, TestApp, TestSession, is_pending};
use tokio::time::{Duration, Instant, sleep};

const UUID: &str = "00000000-0000-4000-8000-000000000000";

/// The items of a call, by the id of their entity, without their times. Null if nothing happened.
async fn poll(app: &TestApp, token: &str, ids: &[&str]) -> Value {
    let reply = app.post(&format!("/api/copilot/live/{token}"), ids.join("\n")).await.json();
    let Value::Array(items) = &reply["live"] else {
        assert_eq!(reply, json!({"error": "HttpRequestTimeout"}));
        return Value::Null;
    };
    assert!(!items.is_empty(), "{reply}");
    let items = items.iter().map(|item| {
        let mut item = item.clone();
        let id = item["id"].take().as_str().expect("an id").to_owned();
        let fields = item.as_object_mut().expect("an object");
        fields.remove("id");
        let times = fields.remove("at").map(|at| at.as_array().map(Vec::len));
        let responses = fields.get("responses").map(|said| said.as_array().map(Vec::len));
        assert_eq!(times, responses, "one time for each response: {fields:?}");
        let position = fields.remove("position");
        assert_eq!(position.is_some(), responses.is_some(), "{fields:?}");
        (id, item)
    });
    items.collect()
}

/// Two idle sessions, fully read by the reader `t`.
async fn two_sessions(app: &TestApp) -> [TestSession<'_>; 2] {
    let sessions = [app.start().await, app.start().await];
    for session in &sessions {
        session.query("do nothing").await;
        session.read_until_idle("t").await;
    }
    // The pacing of answers is over.
    sleep(Duration::from_secs(1)).await;
    sessions
}

#[tokio::test(start_paused = true)]
async fn times_order_what_happened_across_entities() {
    let app = TestApp::with_job(task("ok")).await;
    let job = app.start_job("job").await;
    let mut open = vec![job.id.clone()];
    let mut happened: Vec<(u64, String)> = Vec::new();
    while !open.is_empty() {
        let reply = app.post("/api/copilot/live/t", open.join("\n")).await.json();
        for item in reply["live"].as_array().into_iter().flatten() {
            let id = item["id"].as_str().expect("an id");
            let Value::Array(responses) = &item["responses"] else {
                assert!(item.get("at").is_none(), "an error has no time: {item}");
                open.retain(|other| other != id);
                continue;
            };
            let at = item["at"].as_array().expect("times");
            assert_eq!(at.len(), responses.len(), "{item}");
            for (at, response) in at.iter().zip(responses) {
                let name = response["kind"].as_str().or(response["callback"].as_str());
                if let Some("workStarted" | "taskSessionStarted") = name {
                    let started = response["taskId"].as_str().or(response["sessionId"].as_str());
                    open.push(started.expect("an id").to_owned());
                }
                let kind = id.split('-').next().unwrap_or_default();
                let name = format!("{kind} {}", name.unwrap_or_default());
                happened.push((at.as_u64().expect("a number"), name));
            }
        }
    }
    happened.sort();
    assert!(happened.is_sorted_by(|one, other| one.0 < other.0), "two at a time: {happened:?}");
    let expected = [
        "job workStarted",
        "task taskSessionStarted",
        "task SessionStarted",
        "session onGeneratedUserPrompt",
        "session onIdle",
        "task taskSessionStopped",
        "task Succeeded",
        "job workStopped",
        "job jobSucceeded",
    ];
    happened.retain(|(_, name)| expected.contains(&name.as_str()));
    let names: Vec<&str> = happened.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, expected);
    app.assert_ends().await;
}

fn last(item: &Value) -> &Value {
    item["responses"].as_array().and_then(|responses| responses.last()).unwrap_or(&Value::Null)
}

#[tokio::test(start_paused = true)]
async fn everything_of_a_job_comes_in_one_call() {
    let app = TestApp::with_job(seq([task("ok"), task("no")])).await;
    let job = app.start_job("job").await;
    let mut ids = vec![job.id.clone()];
    let mut seen: Vec<(String, Vec<Value>)> = Vec::new();
    while !ids.is_empty() {
        let open: Vec<&str> = ids.iter().map(String::as_str).collect();
        let Value::Object(items) = poll(&app, "t", &open).await else { continue };
        for (id, item) in items {
            let Value::Array(responses) = &item["responses"] else {
                let closed = ["SessionClosed", "TaskClosed", "JobsClosed"];
                assert!(closed.iter().any(|name| item["error"] == *name), "{item}");
                ids.retain(|other| *other != id);
                continue;
            };
            let started = responses.iter().filter(|response| {
                let callback = response["callback"].as_str();
                matches!(callback, Some("workStarted" | "taskSessionStarted"))
            });
            ids.extend(started.map(|response| {
                let id = response["taskId"].as_str().or(response["sessionId"].as_str());
                id.expect("an id").to_owned()
            }));
            match seen.iter_mut().find(|(other, _)| *other == id) {
                Some((_, before)) => before.extend(responses.iter().cloned()),
                None => seen.push((id, responses.clone())),
            }
        }
    }
    let kinds = |prefix: &str| seen.iter().filter(|(id, _)| id.starts_with(prefix)).count();
    assert_eq!((kinds("job-"), kinds("task-"), kinds("session-")), (1, 2, 2));
    for (id, responses) in &seen {
        let (kind, _) = id.split_once('-').expect("a prefix");
        let alone = app.get(&format!("/api/copilot/{kind}/{id}/live/other")).await.json();
        let callbacks = |responses: &[Value]| -> Vec<Value> {
            let whole = responses.iter().filter(|response| response["delta"].is_null());
            whole.cloned().collect()
        };
        let alone = alone["responses"].as_array().expect("responses");
        assert_eq!(callbacks(responses), callbacks(alone), "{id}");
    }
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_the_first_entity_that_has_something() {
    let app = TestApp::new();
    let sessions = two_sessions(&app).await;
    let [quiet, busy] = [&sessions[0], &sessions[1]];
    let ids = [quiet.id.as_str(), busy.id.as_str()];
    let before = Instant::now();
    assert_eq!(poll(&app, "t", &ids).await, Value::Null);
    assert_eq!(before.elapsed(), Duration::from_secs(5));

    let mut call = pin!(poll(&app, "t", &ids));
    assert!(is_pending(&mut call).await);
    busy.query("Stream 50 deltas with 20 ms between deltas after 20 ms.").await;
    let mut items = call.await;
    let mut text = String::new();
    let mut answers = 0;
    let begun = Instant::now();
    loop {
        assert_eq!(items[&quiet.id], Value::Null, "it is quiet");
        for response in items[&busy.id]["responses"].as_array().expect("responses") {
            text += response["delta"].as_str().unwrap_or_default();
        }
        if last(&items[&busy.id])["callback"] == "onIdle" {
            break;
        }
        items = poll(&app, "t", &ids).await;
        answers += 1;
    }
    assert!(answers >= 50, "as they happen: {answers}");
    assert!(begun.elapsed() < Duration::from_millis(1100), "without a delay");
    assert_eq!(text.matches('<').count(), 50);
    quiet.query("say hello").await;
    assert!(poll(&app, "t", &ids).await[&quiet.id]["responses"].is_array());
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_brings_all_that_have_something() {
    let app = TestApp::new();
    let sessions = two_sessions(&app).await;
    let ids = sessions.each_ref().map(|session| session.id.as_str());
    // The first one was answered just now, but is still part of an answer caused by the other.
    sessions[0].query("do nothing").await;
    sessions[0].read_until_idle("t").await;
    sessions[0].query("do nothing").await;
    sessions[1].query("do nothing").await;
    sleep(Duration::from_micros(1)).await;
    let items = poll(&app, "t", &ids).await;
    for id in ids {
        assert_eq!(last(&items[id])["callback"], "onIdle", "{items}");
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn ends_and_what_is_not_there_stand_beside_responses() {
    let app = TestApp::new();
    let [ended, open] = two_sessions(&app).await;
    ended.stop().await;
    open.query("do nothing").await;
    sleep(Duration::from_millis(1)).await;
    let unknown = ["session-", "task-", "job-"].map(|prefix| format!("{prefix}{UUID}"));
    let mut ids = vec![ended.id.as_str(), open.id.as_str()];
    ids.extend(unknown.iter().map(String::as_str));
    let items = poll(&app, "t", &ids).await;
    assert_eq!(items.as_object().expect("items").len(), 5);
    assert_eq!(items[&ended.id], json!({"error": "SessionClosed"}));
    assert_eq!(last(&items[&open.id])["callback"], "onIdle");
    for (id, error) in unknown.iter().zip(["SessionNotFound", "TaskNotFound", "JobNotFound"]) {
        assert_eq!(items[id], json!({"error": error}));
    }
    // Reported only once.
    let items = poll(&app, "t", &[&ended.id, &open.id]).await;
    assert_eq!(items, json!({ended.id: {"error": "SessionNotFound"}}));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn readers_and_positions_are_those_of_single_calls() {
    let app = TestApp::new();
    let [one, other] = two_sessions(&app).await;
    one.query("do nothing").await;
    one.read_until_idle("t").await;
    assert_eq!(poll(&app, "t", &[&one.id, &other.id]).await, Value::Null);
    let all = poll(&app, "new", &[&one.id, &other.id]).await;
    assert_eq!(all[&one.id]["responses"][0]["callback"], "onUserPrompt");
    assert_eq!(one.poll("new").await, json!({"error": "HttpRequestTimeout"}));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn an_entity_with_a_call_pending_is_refused_and_the_others_served() {
    let app = TestApp::new();
    let [one, other] = two_sessions(&app).await;
    let refused = json!({"error": "ParallelCallNotSupported"});
    {
        let mut single = pin!(one.poll("t"));
        assert!(is_pending(&mut single).await);
        other.query("do nothing").await;
        sleep(Duration::from_millis(1)).await;
        let items = poll(&app, "t", &[&one.id, &other.id]).await;
        assert_eq!(items[&one.id], refused);
        assert_eq!(last(&items[&other.id])["callback"], "onIdle");
        one.query("do nothing").await;
        assert!(single.await["responses"].is_array(), "the first is not disturbed");
    }
    let ids = [one.id.as_str(), other.id.as_str()];
    let mut both = pin!(poll(&app, "t", &ids));
    assert!(is_pending(&mut both).await);
    assert_eq!(other.poll("t").await, refused);
    let twice = poll(&app, "t", &[&other.id, &other.id]).await;
    assert_eq!(twice, json!({other.id.clone(): refused}));
    let alone = poll(&app, "u", &[&other.id, &other.id]).await;
    assert!(alone[&other.id]["responses"].is_array(), "an id that is said twice is one id");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_loses_nothing() {
    let app = TestApp::new();
    let sessions = two_sessions(&app).await;
    let ids = sessions.each_ref().map(|session| session.id.as_str());
    {
        // Before there is an answer.
        let mut call = pin!(poll(&app, "t", &ids));
        assert!(is_pending(&mut call).await);
    }
    for session in &sessions {
        session.query("say hello").await;
    }
    sleep(Duration::from_millis(1)).await;
    for _ in 0..3 {
        // With an answer that is not read.
        let body = Body::from(ids.join("\n"));
        let response = app.send("POST", "/api/copilot/live/t", &[], body).await;
        assert_eq!(response.status(), 200);
    }
    let items = poll(&app, "t", &ids).await;
    for id in ids {
        assert_eq!(items[id]["responses"][0]["callback"], "onUserPrompt", "{items}");
        assert_eq!(last(&items[id])["callback"], "onIdle", "{items}");
    }
    assert_eq!(poll(&app, "t", &ids).await, Value::Null, "and nothing comes twice");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_the_answer_before_it_to_be_written() {
    let app = TestApp::new();
    let sessions = two_sessions(&app).await;
    let ids = sessions.each_ref().map(|session| session.id.as_str());
    for session in &sessions {
        session.query("do nothing").await;
    }
    sleep(Duration::from_millis(1)).await;
    let body = || Body::from(ids.join("\n"));
    let unread = app.send("POST", "/api/copilot/live/t", &[], body()).await;
    let mut next = pin!(poll(&app, "t", &ids));
    assert!(is_pending(&mut next).await);
    // Its content was lost, and comes with the pending call.
    drop(unread);
    let items = next.await;
    assert!(ids.iter().any(|id| last(&items[*id])["callback"] == "onIdle"), "{items}");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn every_id_counts_as_a_pending_call() {
    let live = LiveSettings { max_pending_calls: 2, ..LiveSettings::for_tests() };
    let app = TestApp::with(Options { live, ..Options::default() });
    let [one, other] = two_sessions(&app).await;
    let third = app.start().await;
    let ids = [one.id.as_str(), other.id.as_str(), third.id.as_str()];
    let items = poll(&app, "t", &ids).await;
    assert_eq!(items, json!({third.id.clone(): {"error": "TooManyPendingCalls"}}));
    {
        let mut call = pin!(poll(&app, "t", &ids[..2]));
        assert!(is_pending(&mut call).await);
        assert_eq!(third.poll("t").await, json!({"error": "TooManyPendingCalls"}));
    }
    assert_eq!(poll(&app, "t", &ids[1..]).await, Value::Null, "given back");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_list_of_ids_is_refused() {
    let app = TestApp::new();
    let id = format!("task-{UUID}");
    for (body, word) in [
        (String::new(), "no ids"),
        ("nonsense".to_owned(), "line 1"),
        (format!("{id}\nnonsense"), "line 2"),
        (format!("{id}\n").repeat(513), "512"),
    ] {
        let reply = app.post("/api/copilot/live/t", body.clone()).await;
        assert_eq!(reply.refusal(), (400, "UnreadableRequest".into()), "{body}");
        assert!(reply.json()["message"].as_str().expect("a message").contains(word), "{body}");
    }
    let reply = app.post(&format!("/api/copilot/live/{}", "t".repeat(201)), id.clone()).await;
    assert_eq!(reply.refusal(), (400, "UnreadableRequest".into()));
    assert_eq!(app.get("/api/copilot/live/t").await.status, 405);
    assert_eq!(
        poll(&app, "t", &[&id]).await,
        json!({id.clone(): {"error": "TaskNotFound"}}),
        "without an entry, too"
    );
}

#[tokio::test(start_paused = true)]
async fn many_entities_that_stream_share_answers() {
    let app = TestApp::with(options());
    let mut sessions = Vec::new();
    for _ in 0..50 {
        let prompt = "Stream 100 deltas with 10 ms between deltas after 10 ms.";
        sessions.push(app.start_with(&[prompt]).await);
    }
    let ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    let (mut idle, mut answers) = (0, 0);
    while idle < sessions.len() {
        let items = poll(&app, "t", &ids).await;
        answers += 1;
        let items = items.as_object().expect("something is always going on");
        idle += items.values().filter(|item| last(item)["callback"] == "onIdle").count();
    }
    assert!(answers < 300, "not one for each: {answers}");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_server_answers_a_call() {
    let app = TestApp::with_job(par([task("ok 60"), task("ok 61")])).await;
    let job = app.start_job("job").await;
    job.read_until("t", "+1").await;
    sleep(Duration::from_secs(1)).await;
    let ids = [job.id.as_str()];
    let (items, ()) = tokio::join!(poll(&app, "t", &ids), async {
        sleep(Duration::from_millis(10)).await;
        app.begin_shutdown();
    });
    assert!(items[&job.id]["responses"].is_array(), "{items}");
    job.read_to_the_end("t").await;
    app.assert_ends().await;
}
