//! The inbox: everything that waits for a person, answered from anywhere.

use std::pin::pin;

use axum::body::Body;
use serde_json::{Value, json};
use server::security::access::{AccessKey, Rights, Role};
use tests::job::{entry_of, minutes, options, task};
use tests::{MODEL, Options, TestApp, TestSession, is_pending};

const INBOX: &str = "/api/copilot/inbox";

fn create(path: &str) -> String {
    let arguments = json!({ "path": path, "content": "hello\n" });
    format!("use the createFile tool with the arguments {arguments}")
}

async fn items(app: &TestApp) -> Vec<Value> {
    let mut reply = app.get(INBOX).await.json();
    match reply["items"].take() {
        Value::Array(items) => items,
        _ => panic!("{reply}"),
    }
}

async fn follow(app: &TestApp, token: &str) -> Vec<Value> {
    let mut reply = app.get(&format!("{INBOX}/live/{token}")).await.json();
    match reply["responses"].take() {
        Value::Array(responses) => responses,
        _ => panic!("{reply}"),
    }
}

async fn answer(app: &TestApp, item: &Value, body: &str) -> Value {
    let id = item["id"].as_str().expect("an id");
    app.post(&format!("{INBOX}/{id}"), body.to_owned()).await.json()
}

/// Sends a prompt that asks something, and returns the item.
async fn ask(app: &TestApp, session: &TestSession<'_>, prompt: &str) -> Value {
    session.query(prompt).await;
    session.read_until_asked("asked").await;
    items(app).await.pop().expect("an item")
}

fn result(seen: &[Value]) -> Value {
    let end = seen.iter().find(|response| response["callback"] == "onEndToolExecution");
    let end = end.expect("the tool has ended");
    end.get("result").or(end.get("error")).expect("an outcome").clone()
}

#[tokio::test(start_paused = true)]
async fn what_a_session_asks_is_in_the_inbox_until_it_is_answered() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    let session = app.start_in(folder.path()).await;
    assert_eq!(app.get(INBOX).await.json(), json!({ "items": [] }));
    let item = ask(&app, &session, &create("src/a.txt")).await;
    let (asked, expires) = (item["askedAt"].clone(), item["expiresAt"].clone());
    assert!(asked.as_str() < expires.as_str(), "{item}");
    let expected = json!({
        "id": item["id"], "kind": "permission", "title": "Create src/a.txt", "detail": "hello\n",
        "path": "src/a.txt", "askedAt": asked, "expiresAt": expires, "sessionId": session.id,
        "folder": folder.path(),
        "options": [
            { "id": "approve", "label": "Approve once" },
            { "id": "approve-always", "label": "Always: new files in src/" },
            { "id": "deny", "label": "Deny" },
        ],
    });
    assert_eq!(item, expected);

    assert_eq!(answer(&app, &item, "approve").await, json!({}));
    assert_eq!(items(&app).await, [Value::Null; 0]);
    let seen = session.read_until_idle("asked").await;
    assert_eq!(result(&seen)["content"], "created src/a.txt: 6 bytes");
    assert!(folder.path().join("src/a.txt").exists());
    assert_eq!(answer(&app, &item, "deny").await, json!({ "error": "NotPending" }));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_gets_what_waits_and_then_what_changes() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    let one = app.start_in(folder.path()).await;
    let first = ask(&app, &one, &create("a")).await;
    let added = |item: &Value| {
        let mut added = item.clone();
        added["callback"] = "inboxAdded".into();
        added
    };
    let resolved = |item: &Value, decision: &str, by: &str| json!({ "callback": "inboxResolved", "id": item["id"], "decision": decision, "by": by });
    assert_eq!(follow(&app, "early").await, [added(&first)]);
    let quiet = app.get(&format!("{INBOX}/live/early")).await.json();
    assert_eq!(quiet, json!({ "error": "HttpRequestTimeout" }));

    let early = format!("{INBOX}/live/early");
    let mut waiting = pin!(app.call("GET", &early, &[], Body::empty()));
    assert!(is_pending(&mut waiting).await);
    let two = app.start_in(folder.path()).await;
    two.query(&create("b")).await;
    let told = waiting.await.json();
    let second = items(&app).await.into_iter().find(|item| item["path"] == "b").expect("an item");
    assert_eq!(told, json!({ "responses": [added(&second)] }));

    assert_eq!(answer(&app, &first, "deny\nnot now").await, json!({}));
    one.read_until_idle("asked").await;
    two.abort().await;
    two.read_until_idle("reader").await;
    let ends = [resolved(&first, "deny", "local"), resolved(&second, "withdrawn", "portal")];
    assert_eq!(follow(&app, "early").await, ends);
    // One that comes later has missed nothing that matters.
    let late = follow(&app, "late").await;
    let of_first = late.iter().filter(|response| response["id"] == first["id"]).count();
    assert!(of_first == 0 || of_first == 2, "{late:?}");

    // The same by the call for many.
    let third = ask(&app, &one, &create("c")).await;
    let batch = app.post("/api/copilot/live/page", format!("inbox\n{}", one.id)).await.json();
    let of_inbox = &batch["live"][0];
    assert_eq!(of_inbox["id"], "inbox");
    let last = of_inbox["responses"].as_array().and_then(|all| all.last()).cloned();
    assert_eq!(last, Some(added(&third)));
    // A position leads another token to the same place.
    let position = of_inbox["position"].as_str().expect("a position");
    answer(&app, &third, "deny").await;
    let path = format!("{INBOX}/live/another?after={position}");
    let rest = app.get(&path).await.json();
    assert_eq!(rest["responses"], json!([resolved(&third, "deny", "local")]));
    assert_eq!(app.get(&format!("{INBOX}/live/x?after=nonsense")).await.status, 400);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_counts_wherever_it_is_given() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    for inbox_first in [true, false] {
        let session = app.start_in(folder.path()).await;
        let item = ask(&app, &session, &create(&inbox_first.to_string())).await;
        let question = json!({ "requestId": item["id"] });
        let (by_inbox, by_session) = if inbox_first {
            (answer(&app, &item, "approve").await, session.decide(&question, "deny").await)
        } else {
            let by_session = session.decide(&question, "deny").await;
            (answer(&app, &item, "approve").await, by_session)
        };
        let (refused_by, accepted) =
            if inbox_first { (by_session, by_inbox) } else { (by_inbox, by_session) };
        assert_eq!(accepted, json!({}));
        assert!(refused_by["error"].as_str().is_some_and(|error| error.ends_with("NotPending")));
        session.read_until_idle("asked").await;
        assert_eq!(folder.path().join(inbox_first.to_string()).exists(), inbox_first);
        session.stop().await;
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_wrong_answer_leaves_the_question_as_it_is() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    let session = app.start_in(folder.path()).await;
    let item = ask(&app, &session, &create("a")).await;
    for wrong in ["", "perhaps", "answer\nyes", "raise", "approve yes"] {
        assert_eq!(
            answer(&app, &item, wrong).await,
            json!({ "error": "InvalidAnswer" }),
            "{wrong}"
        );
    }
    let path = format!("{INBOX}/{}", item["id"].as_str().expect("an id"));
    let reply = app.post(&path, "answer").await;
    let told = reply.header("portal-message");
    assert!(told.contains("approve, approve-always, deny"), "{told}");
    assert_eq!(app.post(&format!("{INBOX}/nonsense"), "deny").await.json()["error"], "NotPending");
    assert_eq!(items(&app).await.len(), 1);
    // A refusal can say why, and the model reads it.
    assert_eq!(answer(&app, &item, "deny\r\nuse src instead\n").await, json!({}));
    let seen = session.read_until_idle("asked").await;
    assert_eq!(result(&seen)["message"], "refused by the user: use src instead");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_asks_and_gets_the_text_of_the_answer() {
    let app = TestApp::new();
    let session = app.start().await;
    let prompt =
        r#"use the ask_user tool with the arguments {"question":"Which name?\nOne word."}"#;
    let item = ask(&app, &session, prompt).await;
    assert_eq!((&item["kind"], &item["title"]), (&json!("question"), &json!("Which name?")));
    assert_eq!(item["detail"], "Which name?\nOne word.");
    let offered: Vec<_> = item["options"].as_array().expect("options").iter().collect();
    let ids: Vec<_> = offered.iter().map(|option| option["id"].as_str()).collect();
    assert_eq!(ids, [Some("answer"), Some("decline")]);
    // No mode answers for a person.
    for mode in ["approve-all", "deny", "ask"] {
        app.post(&session.path("permissions"), mode).await;
        assert_eq!(items(&app).await.len(), 1, "{mode}");
    }
    for wrong in ["answer", "answer\n  ", "approve"] {
        assert_eq!(answer(&app, &item, wrong).await["error"], "InvalidAnswer", "{wrong:?}");
    }
    assert_eq!(answer(&app, &item, "answer\nMargaret\nor Ada\n").await, json!({}));
    let seen = session.read_until_idle("asked").await;
    assert_eq!(result(&seen)["content"], "Margaret\nor Ada");

    session.query(prompt).await;
    let item = loop {
        session.responses("asked").await;
        if let Some(item) = items(&app).await.pop() {
            break item;
        }
    };
    assert_eq!(answer(&app, &item, "decline\nguess").await, json!({}));
    let seen = session.read_until_idle("asked").await;
    assert_eq!(result(&seen)["message"], "refused by the user: guess");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn what_nobody_answers_expires() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    let session = app.start_in(folder.path()).await;
    let item = ask(&app, &session, &create("a")).await;
    // An hour of virtual time passes, as there is nothing else to wait for.
    loop {
        if session.poll("asked").await["error"].is_null() {
            break;
        }
    }
    assert_eq!(items(&app).await, [Value::Null; 0]);
    let answered = app.get(&format!("{INBOX}/answered")).await.json();
    let [ended] = answered["items"].as_array().expect("items").as_slice() else { panic!() };
    assert_eq!(
        (&ended["id"], &ended["decision"], &ended["by"]),
        (&item["id"], &json!("timed-out"), &json!("portal"))
    );
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn it_is_recorded_who_answered_what_and_when() {
    let viewer = Rights { role: Role::Viewer, may_answer: true };
    let app = TestApp::with(Options {
        access_key: Some("correct-horse-battery"),
        further_keys: vec![
            AccessKey::named("phone", viewer, "phone-horse-battery"),
            AccessKey::named(
                "screen",
                Rights { may_answer: false, ..viewer },
                "screen-horse-battery",
            ),
        ],
        ..Options::default()
    });
    let call = async |key: &str, method: &str, path: &str, body: &str| {
        let key = format!("Bearer {key}-horse-battery");
        let headers = [("authorization", key.as_str())];
        app.call(method, path, &headers, Body::from(body.to_owned())).await
    };
    let folder = tempfile::tempdir().expect("a folder");
    let start = format!("/api/copilot/session/start/{MODEL}");
    let started = call("correct", "POST", &start, &folder.path().display().to_string()).await;
    let session = started.json()["sessionId"].as_str().expect("an id").to_owned();
    let wait_for_item = async || loop {
        let reply = call("screen", "GET", &format!("{INBOX}/live/watch"), "").await.json();
        let added = |response: &&Value| response["callback"] == "inboxAdded";
        let responses = reply["responses"].as_array().expect("responses");
        if let Some(item) = responses.iter().find(added) {
            return item.clone();
        }
    };
    let mut expected = Vec::new();
    for (key, name, answer, decision, text) in [
        ("correct", "operator", "approve", "approve", Value::Null),
        ("phone", "phone", "deny\nnot here", "deny", json!("not here")),
    ] {
        let query = format!("/api/copilot/session/{session}/query");
        call("correct", "POST", &query, &create(name)).await;
        let item = wait_for_item().await;
        let path = format!("{INBOX}/{}", item["id"].as_str().expect("an id"));
        assert_eq!(call("screen", "POST", &path, "approve").await.status, 403);
        assert_eq!(call(key, "POST", &path, answer).await.json(), json!({}));
        expected.push((item["id"].clone(), json!(name), json!(decision), text));
    }
    let answered = call("screen", "GET", &format!("{INBOX}/answered?limit=1"), "").await.json();
    let next = answered["next"].as_u64().expect("a next page");
    let path = format!("{INBOX}/answered?limit=1&before={next}");
    let rest = call("screen", "GET", &path, "").await.json();
    let both: Vec<_> = [&rest, &answered].iter().map(|page| page["items"][0].clone()).collect();
    for (item, (id, by, decision, text)) in both.iter().zip(&expected) {
        let told = (&item["id"], &item["by"], &item["decision"], &item["text"]);
        assert_eq!(told, (id, by, decision, text));
        assert!(item["askedAt"].as_str() <= item["answeredAt"].as_str(), "{item}");
        assert_eq!(item["sessionId"], session);
    }
    let stop = format!("/api/copilot/session/{session}/stop");
    assert_eq!(call("correct", "POST", &stop, "").await.json(), json!({ "result": "Closed" }));
}

#[tokio::test(start_paused = true)]
async fn what_a_job_asks_names_its_work() {
    let app = TestApp::with(options());
    let folder = tempfile::tempdir().expect("a folder");
    let mut entry = entry_of(&[("job", task("ok"))]);
    entry["jobs"]["job"]["permissions"] = "ask".into();
    entry["tasks"]["ok"]["prompt"] = json!([create("a"), ", then use the job_boolean_true tool"]);
    app.install(&entry).await;
    let job = app.start_job_in("job", &folder.path().display().to_string()).await;
    let item = follow(&app, "reader").await.pop().expect("an item");
    assert_eq!((&item["jobId"], &item["workId"]), (&json!(job.id), &json!(0)));
    assert!(item["taskId"].is_string() && item["sessionId"].is_string(), "{item}");
    assert_eq!(item["folder"], json!(folder.path()));
    assert_eq!(answer(&app, &item, "approve").await, json!({}));
    assert_eq!(minutes(&job.read_to_the_end("reader").await), "+0 -0 succeeded");
    assert!(folder.path().join("a").exists());
    app.finish().await;
}
