//! What is alive: the one list that every page follows.

use serde_json::{Value, json};
use tests::job::{TestJob, seq, task};
use tests::{MODEL, TestApp, TestSession, unknown_session};

const ALIVE: &str = "/api/copilot/alive";

async fn items(app: &TestApp) -> Vec<Value> {
    let mut reply = app.get(ALIVE).await.json();
    match reply["items"].take() {
        Value::Array(items) => items,
        _ => panic!("{reply}"),
    }
}

/// What is new for a reader; nothing if nothing happens for a while.
async fn follow(app: &TestApp, token: &str) -> Vec<Value> {
    let mut reply = app.post(&format!("/api/copilot/live/{token}"), "alive").await.json();
    if reply["error"] == "HttpRequestTimeout" {
        return Vec::new();
    }
    assert_eq!(reply["live"][0]["id"], "alive", "{reply}");
    match reply["live"][0]["responses"].take() {
        Value::Array(responses) => responses,
        _ => panic!("{reply}"),
    }
}

/// Reads until something is as expected, which is the last thing that was read; returns it and the
/// states of the same item that were told before.
async fn follow_until(
    app: &TestApp,
    token: &str,
    id: &str,
    is_expected: impl Fn(&Value) -> bool,
) -> (Value, Vec<String>) {
    let mut states = Vec::new();
    loop {
        let told = follow(app, token).await;
        let items = told.iter().map(|response| &response["item"]);
        for item in items.filter(|item| item["id"] == id) {
            states.push(item["state"].as_str().expect("a state").to_owned());
            if is_expected(item) {
                return (item.clone(), states);
            }
        }
    }
}

fn changed(item: &Value) -> Value {
    json!({ "callback": "aliveChanged", "item": item })
}

fn gone(id: &str) -> Value {
    json!({ "callback": "aliveGone", "id": id })
}

fn is_state(state: &'static str) -> impl Fn(&Value) -> bool {
    move |item| item["state"] == state
}

async fn answer_with_deny(session: &TestSession<'_>) {
    let (_, question) = session.read_until_asked("asked").await;
    assert_eq!(session.decide(&question, "deny").await, json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_session_is_alive_from_its_start_to_its_end() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(app.get(ALIVE).await.json(), json!({ "items": [] }));
    let session = app.start_in(folder.path()).await;
    let id = &*session.id;
    let [item] = &*items(&app).await else { panic!("one item") };
    let expected = json!({
        "id": id, "kind": "session", "title": MODEL, "folder": folder.path(), "model": MODEL,
        "state": "idle", "since": item["startedAt"], "startedAt": item["startedAt"], "waiting": 0,
    });
    assert_eq!(*item, expected);
    assert!(item["since"].as_u64() > Some(1_700_000_000_000), "milliseconds: {item}");
    assert_eq!(follow(&app, "page").await, [changed(item)]);

    session.query("wait 2 seconds, then say \"done\"").await;
    let (item, _) = follow_until(&app, "page", id, is_state("working")).await;
    assert_eq!(item["title"], "wait 2 seconds, then say \"done\"");
    let (_, states) = follow_until(&app, "page", id, is_state("idle")).await;
    assert_eq!(states, ["idle"]);
    session.read_until_idle("reader").await;

    let arguments = json!({ "path": "a", "content": "" });
    session.query(&format!("use the createFile tool with the arguments {arguments}")).await;
    let asks = |item: &Value| item["state"] == "waiting" && item["waiting"] == 1;
    follow_until(&app, "page", id, asks).await;
    answer_with_deny(&session).await;
    let rests = |item: &Value| item["state"] == "idle" && item["waiting"] == 0;
    follow_until(&app, "page", id, rests).await;

    app.post(&session.path("rename"), "Plums").await;
    let (item, _) = follow_until(&app, "page", id, |item| item["title"] == "Plums").await;
    assert_eq!(items(&app).await, [item]);
    assert_eq!(app.open_sessions().await[0]["title"], "Plums");

    session.stop().await;
    assert_eq!(follow(&app, "page").await, [gone(id)]);
    assert_eq!(items(&app).await, [Value::Null; 0]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn deltas_tell_nothing() {
    let app = TestApp::new();
    let session = app.start().await;
    follow(&app, "page").await;
    let text = "plum ".repeat(500);
    session.query(&format!("wait 2 seconds, then say \"{text}\"")).await;
    let mut states = Vec::new();
    // Idle with its title, at most; then the turn.
    while states.last().is_none_or(|state| state != "working") {
        states.extend(follow_until(&app, "page", &session.id, |_| true).await.1);
    }
    states.extend(follow_until(&app, "page", &session.id, is_state("idle")).await.1);
    let turn: Vec<_> = states.iter().skip_while(|state| *state == "idle").collect();
    assert_eq!(turn, ["working", "idle"]);
    assert!(states.len() <= 3, "{states:?}");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_comes_late_is_told_how_things_are_once() {
    let app = TestApp::new();
    let (closed, busy) = (app.start().await, app.start().await);
    assert_eq!(follow(&app, "slow").await.len(), 2);
    for number in 0..20 {
        busy.query(&format!("say {number}")).await;
        busy.read_until_idle("reader").await;
    }
    closed.stop().await;
    let now = items(&app).await;
    let of_busy = |told: Vec<Value>| {
        told.into_iter().filter(|told| told["item"]["id"] == *busy.id).collect::<Vec<_>>()
    };
    assert_eq!(of_busy(follow(&app, "late").await), [changed(&now[0])]);
    // The same for one that has not come back for a while.
    let told = follow(&app, "slow").await;
    assert!(told.contains(&gone(&closed.id)), "{told:?}");
    assert_eq!(of_busy(told), [changed(&now[0])]);
    app.finish().await;
}

fn of_kind(items: &[Value], kind: &str) -> Vec<Value> {
    items.iter().filter(|item| item["kind"] == kind).cloned().collect()
}

async fn end(job: &TestJob<'_>) {
    job.read_to_the_end("t").await;
}

#[tokio::test(start_paused = true)]
async fn a_job_is_alive_with_its_sessions_and_stays_for_a_while_with_its_end() {
    let app = TestApp::with_job(seq([task("ok 5"), task("no 5")])).await;
    let job = app.start_job("job").await;
    let id = &*job.id;
    job.read_until("t", "+0").await;
    let (item, _) = follow_until(&app, "page", id, is_state("working")).await;
    let expected = json!({
        "id": id, "kind": "job", "title": "job", "folder": "/", "state": "working",
        "since": item["startedAt"], "startedAt": item["startedAt"], "done": 0, "total": 2,
        "waiting": 0,
    });
    assert_eq!(item, expected);
    let session = loop {
        if let Some(session) = of_kind(&items(&app).await, "session").pop() {
            break session;
        }
        follow(&app, "sessions").await;
    };
    assert_eq!((&session["parent"], &session["label"]), (&json!(id), &json!("ok 5")));
    follow_until(&app, "page", id, |item| item["done"] == 1).await;
    let (item, _) = follow_until(&app, "page", id, is_state("failed")).await;
    assert_eq!((&item["done"], &item["total"]), (&json!(1), &json!(2)));
    end(&job).await;
    assert_eq!(items(&app).await, [item], "its sessions have ended");

    app.get(&job.path("delete")).await;
    assert_eq!(items(&app).await, [Value::Null; 0]);
    app.assert_ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_tells_what_stands_above_its_conversation() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    let git = folder.path().join(".git");
    std::fs::create_dir(&git).expect("a repository");
    std::fs::write(git.join("HEAD"), "ref: refs/heads/side-bar\n").expect("HEAD");
    let session = app.start_in(folder.path()).await;
    let info = app.get(&session.path("info")).await.json();
    let expected = json!({
        "sessionId": session.id, "title": MODEL, "modelId": MODEL,
        "workingDirectory": folder.path(), "branch": "side-bar", "state": "idle",
        "permissions": "ask", "startedAt": info["startedAt"], "takesImages": true,
    });
    assert_eq!(info, expected);
    session.query("say \"A plum.\"\nand no more").await;
    session.read_until_idle("t").await;
    session.stop().await;
    std::fs::remove_file(git.join("HEAD")).expect("HEAD");
    let info = app.get(&session.path("info")).await.json();
    assert_eq!((&info["title"], &info["state"]), (&json!("say \"A plum.\""), &json!("closed")));
    assert_eq!(info.get("branch"), None);

    let next = app.get(&session.path("continue")).await.json();
    let next = next["sessionId"].as_str().expect("an id");
    let info = app.get(&format!("/api/copilot/session/{next}/info")).await.json();
    assert_eq!(info["continuedFrom"], *session.id);
    let unknown = app.get(&unknown_session("info")).await.json();
    assert_eq!(unknown, json!({ "error": "SessionNotFound" }));
    app.finish().await;
}
