//! The bridge's sessions and messages.

use axum::body::Body;
use engine::bridge::{BridgeSettings, WorkspaceFolder};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tests::events::told;
use tests::{Options, TestApp};

fn two_folders() -> TestApp {
    let folders = ["/src/project", "/src/other one"].map(WorkspaceFolder::new);
    let bridge = Some(BridgeSettings::new(folders));
    TestApp::with(Options { bridge, ..Options::default() })
}

#[tokio::test(start_paused = true)]
async fn sessions_are_listed_and_found_by_id_and_by_path() {
    let app = two_folders();
    let list = app.get("/sessions").await.json();
    assert_eq!(list.as_array().expect("a list").len(), 2);
    assert_eq!((&list[0]["name"], &list[1]["name"]), (&json!("project"), &json!("other one")));
    assert_eq!(list[0]["count"], 0);
    assert!(list[0]["created"].as_str().expect("a time").ends_with('Z'));
    let keys: Vec<_> = list[0].as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["id", "name", "created", "count"]);
    let id = list[1]["id"].as_str().expect("an id");
    for path in [id, "%2Fsrc%2Fother%20one", "src/other%20one", "src%2Fother%20one"] {
        let reply = app.get(&format!("/sessions/{path}")).await;
        assert_eq!(reply.json()["id"], list[1]["id"], "{path}");
        assert_eq!(reply.json()["messages"], json!([]), "{path}");
    }
    for path in ["nothing", "src/nothing", "%2Fsrc", "project"] {
        let reply = app.get(&format!("/sessions/{path}")).await;
        assert_eq!(reply.refusal(), (404, "SessionNotFound".into()), "{path}");
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_is_accepted_answered_and_remembered_until_it_is_cleared() {
    let app = two_folders();
    let id = app.get("/sessions").await.json()[1]["id"].clone();
    let mut events = app.events("", None).await;
    let body = json!({ "text": "say hello", "sessionId": "/src/other one" });
    let reply = app.post_json("/message", &body).await;
    assert_eq!(reply.status, 202);
    let accepted = reply.json();
    assert_eq!(accepted, json!({ "accepted": true, "id": accepted["id"], "sessionId": id }));
    let read = events.until("done").await;
    assert_eq!(read[0].name, "inbound");
    assert_eq!(read[0].data["text"], "say hello");
    assert_eq!(read[0].data["source"], "http");
    assert_eq!(told(&read), "hello");
    let done = &read.last().expect("done").data;
    let expected =
        json!({ "id": accepted["id"], "model": "gpt-5.2", "sessionId": id, "reason": "done" });
    assert_eq!(*done, expected);
    let path = format!("/sessions/{}", id.as_str().expect("an id"));
    let messages = app.get(&path).await.json()["messages"].clone();
    let (question, answer) = (&messages[0], &messages[1]);
    assert_eq!((&question["role"], &question["text"]), (&json!("user"), &json!("say hello")));
    assert_eq!((&answer["role"], &answer["text"]), (&json!("assistant"), &json!("hello")));
    assert_eq!((&answer["id"], &answer["mode"]), (&accepted["id"], &json!("prompt")));
    assert_eq!(app.get("/sessions").await.json()[1]["count"], 2);

    let reply = app.post_json("/clear", &json!({ "sessionId": id })).await;
    assert_eq!((reply.status.as_u16(), reply.json()), (200, json!({ "ok": true })));
    assert_eq!(events.next().await.expect("told").name, "historyCleared");
    assert_eq!(app.get(&path).await.json()["messages"], json!([]));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_draft_is_accepted_and_told_but_no_model_gets_it() {
    let app = two_folders();
    let id = app.get("/sessions").await.json()[1]["id"].clone();
    let mut events = app.events("", None).await;
    let body = json!({
        "text": "say hello", "sessionId": "/src/other one", "mode": "draft", "source": "editor"
    });
    let reply = app.post_json("/message", &body).await;
    let accepted = reply.json();
    assert_eq!(reply.status, 202);
    assert_eq!(accepted, json!({ "accepted": true, "id": accepted["id"], "sessionId": id }));
    let told = events.next().await.expect("told");
    assert_eq!(told.name, "draft");
    let draft = json!({
        "id": accepted["id"], "text": "say hello", "source": "editor", "sessionId": id,
        "at": told.data["at"]
    });
    assert_eq!(told.data, draft);
    let path = format!("/sessions/{}", id.as_str().expect("an id"));
    let history = app.get(&path).await.json();
    assert_eq!((&history["messages"], &history["drafts"]), (&json!([]), &json!([draft])));

    let body = json!({ "id": accepted["id"] });
    assert_eq!(app.post_json("/discard", &body).await.json(), json!({ "ok": true }));
    let told = events.next().await.expect("told");
    assert_eq!((told.name.as_str(), &told.data["id"]), ("draftTaken", &accepted["id"]));
    assert_eq!(app.get(&path).await.json()["drafts"], json!(null));
    let reply = app.post_json("/discard", &body).await;
    assert_eq!(reply.refusal(), (404, "DraftNotFound".into()));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn messages_that_make_no_sense_are_refused() {
    let app = two_folders();
    for (body, error) in [
        (json!({}), "TextMissing"),
        (json!({ "text": "" }), "TextMissing"),
        (json!({ "text": null }), "TextMissing"),
        (json!({ "text": "x", "sessionId": "nothing" }), "SessionNotFound"),
        (json!({ "text": "x", "mode": "magic" }), "UnknownMode"),
        (json!({ "text": " ", "mode": "draft" }), "TextMissing"),
        (json!({ "text": "x", "mode": "draft", "sessionId": "nothing" }), "SessionNotFound"),
        (json!({ "text": "x", "draftId": "nothing" }), "DraftNotFound"),
        (json!({ "text": "x", "model": "nothing" }), "ModelIdNotFound"),
        (json!({ "text": "x", "mode": "agent", "maxSteps": 0 }), "StepsOutOfRange"),
        (json!({ "text": 5 }), "UnreadableRequest"),
        (json!({ "text": "x", "maxSteps": -1 }), "UnreadableRequest"),
        (json!([]), "TextMissing"),
    ] {
        let reply = app.post_json("/message", &body).await;
        assert_eq!(reply.refusal(), (400, error.into()), "{body}");
    }
    for path in ["/message", "/approval", "/cancel", "/clear", "/discard"] {
        for body in ["", "{", "text", "{\"text\":\"\u{1}\"}", "null"] {
            let reply = app.post(path, body).await;
            assert_eq!(reply.refusal(), (400, "UnreadableRequest".into()), "{path} {body}");
        }
        let reply = app.post(path, &b"\xff\xfe"[..]).await;
        assert_eq!(reply.refusal().0, 400, "{path}");
        assert_eq!(app.get(path).await.status, 405, "{path}");
    }
    assert_eq!(app.get("/sessions").await.json()[0]["count"], 0);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_not_found() {
    let app = TestApp::new();
    let run = json!({ "id": "message-00000000-0000-4000-8000-000000000000" });
    assert_eq!(app.post_json("/cancel", &run).await.refusal(), (404, "RunNotFound".into()));
    let question = json!({ "approvalId": "x", "approved": true });
    let reply = app.post_json("/approval", &question).await;
    assert_eq!(reply.refusal(), (404, "ApprovalNotFound".into()));
    let session = json!({ "sessionId": "x" });
    assert_eq!(app.post_json("/clear", &session).await.refusal(), (404, "SessionNotFound".into()));
    let reply = app.get("/events?session=nothing").await;
    assert_eq!(reply.refusal(), (404, "SessionNotFound".into()));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn too_many_messages_are_told_when_to_come_again() {
    let mut settings = BridgeSettings::new([WorkspaceFolder::new("/src/project")]);
    settings.messages_per_minute = 3.try_into().expect("not zero");
    let app = TestApp::with(Options { bridge: Some(settings), ..Options::default() });
    let mut events = app.events("", None).await;
    let body = json!({ "text": "say x" });
    for _ in 0..3 {
        assert_eq!(app.post_json("/message", &body).await.status, 202);
    }
    let reply = app.post_json("/message", &body).await;
    assert_eq!(reply.refusal(), (429, "TooManyMessages".into()));
    assert_eq!(reply.header("retry-after"), "20");
    // Messages refused for another reason do not count.
    assert_eq!(app.post_json("/message", &json!({})).await.status, 400);
    tokio::time::advance(std::time::Duration::from_secs(20)).await;
    assert_eq!(app.post_json("/message", &body).await.status, 202);
    for _ in 0..4 {
        events.until("done").await;
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_large_history_is_compressed_if_the_client_takes_it() {
    let app = TestApp::new();
    let mut events = app.events("", None).await;
    let long = "word ".repeat(5_000);
    app.post_json("/message", &json!({ "text": format!("say '{long}'") })).await;
    events.until("done").await;
    let id = app.get("/sessions").await.json()[0]["id"].as_str().expect("an id").to_owned();
    let path = format!("/sessions/{id}");
    let plain = app.get(&path).await;
    assert_eq!(plain.header("vary"), "Accept-Encoding");
    assert_eq!(plain.header("content-encoding"), "");
    let gzip = [("accept-encoding", "gzip, br")];
    let response = app.send("GET", &path, &gzip, Body::empty()).await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert_eq!(response.headers()["content-type"], "application/json");
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    assert!(bytes.len() < plain.text.len() / 10);
    assert_eq!(bytes[..2], [0x1f, 0x8b]);
    let refused = app.get_with(&path, &[("accept-encoding", "gzip;q=0")]).await;
    let messages = |json: Value| json["messages"].clone();
    assert_eq!(messages(refused.json()), messages(plain.json()));
    let stream = app.send("GET", "/events", &gzip, Body::empty()).await;
    assert!(!stream.headers().contains_key("content-encoding"));
    drop(stream);
    app.finish().await;
}
