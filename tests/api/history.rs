//! What is kept, and how it is found again.

use std::time::Duration;

use serde_json::{Value, json};
use tests::job::{seq, task};

use tests::transcript::outline;
use tests::{Options, TestApp, unknown_session};
use tokio::time::sleep;

const HISTORY: &str = "/api/copilot/history";

async fn items(app: &TestApp, query: &str) -> Vec<Value> {
    let reply = app.get(&format!("{HISTORY}?{query}")).await.json();
    reply["items"].as_array().expect("items").clone()
}

async fn titles(app: &TestApp, query: &str) -> Vec<String> {
    let items = items(app, query).await;
    items.iter().map(|item| item["title"].as_str().expect("a title").to_owned()).collect()
}

/// Events without what they have beside their responses, whose order is checked.
fn responses(reply: &Value) -> Vec<Value> {
    let mut last = (0, 0);
    let events = reply["events"].as_array().expect("events").iter().map(|event| {
        let mut event = event.as_object().expect("an object").clone();
        let seq = event.remove("seq").and_then(|seq| seq.as_u64()).expect("a seq");
        let at = event.remove("at").and_then(|at| at.as_u64()).expect("a time");
        assert!(last == (0, 0) || seq == last.0 + 1 && at >= last.1, "{last:?} {seq} {at}");
        last = (seq, at);
        Value::Object(event)
    });
    events.collect()
}

#[tokio::test(start_paused = true)]
async fn events_are_the_responses_that_a_late_reader_gets() {
    let app = TestApp::new();
    let session = app.start_with(&["Stream 4 deltas with 50 ms between deltas."]).await;
    session.read_until_idle("in-step").await;
    let late = session.read_until_idle("late").await;
    let reply = app.get(&session.path("events")).await.json();
    assert_eq!(responses(&reply), late);
    assert_eq!((&reply["next"], &reply["end"]), (&json!(late.len()), &json!(true)));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn events_come_in_parts_and_after_the_end_as_well() {
    let app = TestApp::new();
    let session = app.start_with(&["say one", "say two"]).await;
    let seen = session.read_until_idles("reader", 2).await;
    session.stop().await;
    session.read_to_the_end("reader").await;
    // Its log is long gone.
    sleep(Duration::from_hours(1)).await;
    assert_eq!(session.poll("reader").await, json!({"error": "SessionNotFound"}));

    let (mut after, mut told) = (0, Vec::new());
    loop {
        let path = session.path(&format!("events?after={after}&limit=3"));
        let reply = app.get(&path).await.json();
        let part = responses(&reply);
        assert!((1..=3).contains(&part.len()));
        assert_eq!(reply["events"][0]["seq"], after + 1);
        told.extend(part);
        after = reply["next"].as_u64().expect("a seq");
        if reply["end"] == true {
            break;
        }
    }
    assert_eq!(outline(&told), outline(&seen));
    let beyond = app.get(&session.path("events?after=9999")).await.json();
    assert_eq!(beyond, json!({"events": [], "next": 9999, "end": true}));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn tasks_and_jobs_have_events_and_belong_together() {
    let app = TestApp::with_job(seq([task("ok"), task("ok")])).await;
    let job = app.start_job("job").await;
    let seen = job.read_to_the_end("t").await;
    let reply = app.get(&job.path("events")).await.json();
    assert_eq!(responses(&reply), seen);
    let task_id = seen[0]["taskId"].as_str().expect("a task");
    let reply = app.get(&format!("/api/copilot/task/{task_id}/events")).await.json();
    let told = responses(&reply);
    assert_eq!(told.last(), Some(&json!({"callback": "taskSucceeded"})));

    let jobs = items(&app, "kind=job").await;
    assert_eq!(jobs.len(), 1);
    assert_eq!((&jobs[0]["title"], &jobs[0]["state"]), (&json!("job"), &json!("succeeded")));
    assert_eq!((&jobs[0]["id"], &jobs[0]["folder"]), (&json!(job.id), &json!("/")));
    let tasks = items(&app, "kind=task").await;
    assert_eq!(tasks.len(), 2);
    assert!(tasks.iter().all(|task| task["parent"] == job.id && task["state"] == "succeeded"));
    let sessions = items(&app, "kind=session").await;
    assert!(!sessions.is_empty());
    assert!(sessions.iter().all(|session| session["state"] == "closed"));
    let parents = sessions.iter().filter(|session| session["parent"] == task_id);
    assert!(parents.count() > 0, "{sessions:?}");
    assert!(sessions.iter().all(|session| session["parentTitle"] == "ok"), "{sessions:?}");
    assert!(tasks.iter().all(|task| task["parentTitle"] == "job"), "{tasks:?}");
    assert_eq!(jobs[0].get("parentTitle"), None);

    let wholes = items(&app, "parts=false").await;
    assert_eq!(wholes, jobs, "and nothing that belongs to it");
    let all = items(&app, "parts=true").await;
    assert_eq!(all, items(&app, "").await);
    assert_eq!(all.len(), jobs.len() + tasks.len() + sessions.len());
    assert_eq!(items(&app, "parts=false&kind=task").await, Vec::<Value>::new());
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn history_is_newest_first_with_times_states_and_titles() {
    let app = TestApp::new();
    let first = app.start_with(&["say one\nand nothing else"]).await;
    first.read_until_idle("t").await;
    let second = app.start_with(&["wait 60 seconds"]).await;
    let third = app.start().await;
    third.stop().await;
    let found = items(&app, "").await;
    let part = |item: &Value| {
        let field = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        (field("id"), field("title"), field("state"), item.get("endedAt").is_some())
    };
    let expected = [
        (third.id.clone(), String::new(), "closed".to_owned(), true),
        (second.id.clone(), "wait 60 seconds".to_owned(), "running".to_owned(), false),
        (first.id.clone(), "say one".to_owned(), "idle".to_owned(), false),
    ];
    assert_eq!(found.iter().map(part).collect::<Vec<_>>(), expected);
    assert_eq!(found[0]["model"], "gpt-5-mini");
    assert!(found[0]["startedAt"].as_str().is_some_and(|time| time.ends_with('Z')));

    let page = app.get(&format!("{HISTORY}?limit=2")).await.json();
    let next = page["next"].as_u64().expect("more");
    let rest = app.get(&format!("{HISTORY}?limit=2&before={next}")).await.json();
    assert_eq!(rest["items"][0]["id"], first.id);
    assert_eq!(rest.get("next"), None);
    assert_eq!(titles(&app, "state=running").await, ["wait 60 seconds"]);
    assert_eq!(titles(&app, "folder=/nowhere").await, Vec::<String>::new());
    assert_eq!(titles(&app, "kind=&state=&q=&since=").await.len(), 3, "empty is as good as none");
    let since = found[1]["startedAt"].as_str().expect("a time");
    let later = items(&app, &format!("since={since}")).await;
    assert!(later.iter().any(|item| item["id"] == second.id), "from then on");
    assert_eq!(items(&app, "since=2999-01-01T00:00:00Z").await, Vec::<Value>::new());
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn prompts_messages_and_titles_are_searched() {
    let app = TestApp::new();
    let session = app.start_with(&["say \"a ripe banana, please\""]).await;
    session.read_until_idle("t").await;
    let other = app.start_with(&["do nothing"]).await;
    other.read_until_idle("t").await;
    let found = items(&app, "q=banana+ripe").await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["id"], session.id);
    assert_eq!(found[0]["snippet"], "a «ripe» banana, please");
    assert_eq!(items(&app, "q=cherry").await.len(), 0);
    let renamed = app.post(&session.path("rename"), "Cherry pie").await.json();
    assert_eq!(renamed, json!({}));
    assert_eq!(titles(&app, "q=cherry").await, ["Cherry pie"]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_wrong_query_is_told_what_is_accepted() {
    let app = TestApp::new();
    for (query, text) in [
        ("kind=sessions", "kind must be one of session, task, job: `sessions`"),
        ("state=sleeping", "state must be one of idle,"),
        ("limit=many", "limit"),
        ("before=-1", "before"),
        ("since=yesterday", "since must be a time such as 2026-01-02T03:04:05Z: `yesterday`"),
    ] {
        let reply = app.get(&format!("{HISTORY}?{query}")).await;
        assert_eq!(reply.status, 400, "{query}");
        let message = reply.json()["message"].as_str().expect("a message").to_owned();
        assert!(message.contains(text), "{message}");
    }
    let session = app.start().await;
    assert_eq!(app.get(&session.path("events?after=x")).await.status, 400);
    for path in [unknown_session("events"), unknown_session("export.md")] {
        assert_eq!(app.get(&path).await.json(), json!({"error": "SessionNotFound"}));
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_is_renamed_open_or_closed() {
    let app = TestApp::new();
    let session = app.start_with(&["say one"]).await;
    session.read_until_idle("t").await;
    let rename = async |title: &'static str| app.post(&session.path("rename"), title).await.json();
    assert_eq!(rename("  Open one ").await, json!({}));
    assert_eq!(titles(&app, "").await, ["Open one"]);
    for wrong in ["", "  ", "two\nlines"] {
        assert_eq!(rename(wrong).await, json!({"error": "InvalidTitle"}));
    }
    session.stop().await;
    assert_eq!(rename("Closed one").await, json!({}));
    let found = items(&app, "").await;
    assert_eq!((&found[0]["title"], &found[0]["state"]), (&json!("Closed one"), &json!("closed")));
    let unknown = app.post(&unknown_session("rename"), "x").await.json();
    assert_eq!(unknown, json!({"error": "SessionNotFound"}));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn only_what_has_ended_is_deleted() {
    let app = TestApp::with_job(task("ok 60")).await;
    let session = app.start_with(&["say one"]).await;
    session.read_until_idle("t").await;
    let delete = async |path: String| app.post(&path, "").await.json();
    let still_running = json!({"error": "StillRunning"});
    assert_eq!(delete(session.path("delete")).await, still_running);
    let job = app.start_job("job").await;
    assert_eq!(delete(job.path("delete")).await, still_running);
    session.stop().await;
    job.read_to_the_end("t").await;

    assert_eq!(delete(session.path("delete")).await, json!({}));
    assert_eq!(delete(job.path("delete")).await, json!({}));
    assert_eq!(items(&app, "").await, Vec::<Value>::new(), "tasks and their sessions went with it");
    assert_eq!(session.poll("other").await, json!({"error": "SessionNotFound"}));
    assert_eq!(job.status().await, json!({"error": "JobNotFound"}));
    assert_eq!(delete(session.path("delete")).await, json!({"error": "SessionNotFound"}));
    assert_eq!(delete(job.path("delete")).await, json!({"error": "JobNotFound"}));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_closed_session_is_continued_in_a_new_one() {
    let app = TestApp::new();
    let closed = app.start_with(&["say \"A plum.\""]).await;
    closed.read_until_idle("t").await;
    let refused = app.post(&closed.path("continue"), "").await.json();
    assert_eq!(refused, json!({"error": "StillRunning"}));
    closed.stop().await;
    let started = app.post(&closed.path("continue"), "").await.json();
    let id = started["sessionId"].as_str().expect("an id");
    assert_ne!(id, closed.id);
    let query = format!("/api/copilot/session/{id}/query");
    assert_eq!(app.post(&query, "repeat the conversation so far").await.json(), json!({}));
    let live = format!("/api/copilot/session/{id}/live/t");
    let mut text = String::new();
    while !text.contains("onIdle") {
        text.push_str(&app.get(&live).await.text);
    }
    assert!(text.contains("A plum."), "{text}");
    let found = items(&app, "kind=session").await;
    assert_eq!((&found[0]["id"], &found[0]["continuedFrom"]), (&json!(id), &json!(closed.id)));
    assert_eq!(found[0]["folder"], found[1]["folder"]);
    assert_eq!(found[1].get("continuedFrom"), None);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_exported_whole() {
    let app = TestApp::new();
    let prompt = "use the job_boolean_true tool with the argument \"a ``` b\", then say \"done\"";
    let session = app.start_with(&[prompt]).await;
    let seen = session.read_until_idle("t").await;
    let reply = app.get(&session.path("export.md")).await;
    assert_eq!(reply.header("content-type"), "text/markdown; charset=utf-8");
    assert!(reply.header("content-disposition").contains(&session.id));
    let expected = ["# use the job_boolean_true", "## Prompt", "### Tool (job_boolean_true)"];
    for part in expected.into_iter().chain(["````\na ``` b\n````", "### Message\n\ndone\n"]) {
        assert!(reply.text.contains(part), "{part} in {}", reply.text);
    }
    let json = app.get(&session.path("export.json")).await.json();
    assert_eq!((&json["id"], &json["title"]), (&json!(session.id), &json!(prompt)));
    assert_eq!(responses(&json), seen);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn usage_is_summed_up_in_the_list() {
    let app = TestApp::with(Options::default());
    let session = app.start_with(&["say one"]).await;
    let seen = session.read_until_idle("t").await;
    let used = seen.iter().filter(|response| response["callback"] == "onUsage");
    let input: u64 = used.filter_map(|usage| usage["inputTokens"].as_u64()).sum();
    let found = items(&app, "").await;
    assert_eq!(found[0]["usage"]["inputTokens"].as_u64().unwrap_or_default(), input);
    app.finish().await;
}
