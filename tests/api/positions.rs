//! Readers that go on where others were: by the position that each answer names.

use serde_json::{Value, json};
use tests::transcript::{assert_grammar, count, messages, names};
use tests::{Reply, TestApp};
use tokio::time::{Duration, sleep};

const SLOW: &str = "Stream 5 deltas with 100 ms between deltas after 100 ms.";

fn responses(reply: &Reply) -> Vec<Value> {
    reply.json()["responses"].as_array().cloned().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn every_answer_names_its_position_and_a_new_token_goes_on_there() {
    let app = TestApp::new();
    let session = app.start_with(&[SLOW]).await;
    let mut seen = Vec::new();
    let mut position = "0".to_owned();
    // A new reader for each answer, as if each connection was lost after one.
    for reader in 0.. {
        let path = session.path(&format!("live/reader-{reader}?after={position}"));
        let reply = app.get(&path).await;
        seen.extend(responses(&reply));
        position = reply.header("portal-position").to_owned();
        if count(&seen, "onIdle") == 1 {
            break;
        }
    }
    assert_grammar(&seen);
    assert!(count(&seen, "onMessage") > 2, "{seen:?}");
    assert_eq!(messages(&seen).len(), 1);
    let whole = session.responses("whole").await;
    let ends = |all: &[Value]| -> Vec<Value> {
        all.iter().filter(|one| one["callback"] != "onMessage").cloned().collect()
    };
    assert_eq!(ends(&seen), whole);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_position_is_for_new_tokens_and_each_response_stays_as_it_is() {
    let app = TestApp::new();
    let session = app.start_with(&["say one"]).await;
    let all = session.read_until_idle("known").await;
    session.query("say two").await;
    let path = session.path("live/known?after=1");
    assert_eq!(
        responses(&app.get(&path).await)[0],
        json!({"callback": "onUserPrompt", "prompt": "say two"})
    );

    let reply = app.get(&session.path("live/new?after=1&other=ignored")).await;
    assert_eq!(responses(&reply)[0], all[1]);
    // The reader without a token has a position, too.
    let one = app.get(&session.path("live")).await;
    assert_eq!(
        (one.json()["callback"].as_str(), one.header("portal-position")),
        (Some("onUserPrompt"), "1")
    );
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_position_is_refused_before_anything_is_read() {
    let app = TestApp::new();
    let session = app.start_with(&["do nothing"]).await;
    for after in ["", "x", "-1", "1.1", "1.2-3", "1&after=2"] {
        let reply = app.get(&session.path(&format!("live/t?after={after}"))).await;
        assert_eq!(reply.status, 400, "{after}: {}", reply.text);
    }
    let line = format!("{} 1.x", session.id);
    assert_eq!(app.post("/api/copilot/live/t", line).await.status, 400);
    assert_eq!(names(&session.responses("t").await)[0], "onUserPrompt", "not known before");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn many_go_on_at_once_each_at_its_position() {
    let app = TestApp::new();
    let (one, two) = (app.start_with(&["say one"]).await, app.start_with(&["say two"]).await);
    sleep(Duration::from_secs(1)).await;
    let ids = format!("{}\n{}", one.id, two.id);
    let reply = app.post("/api/copilot/live/first", ids).await.json();
    let lines: Vec<String> = reply["live"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| {
            let [id, position] = ["id", "position"].map(|name| item[name].as_str().expect(name));
            format!("{id} {position}")
        })
        .collect();
    assert_eq!(lines.len(), 2, "{reply}");

    two.query("say three").await;
    sleep(Duration::from_secs(1)).await;
    let reply = app.post("/api/copilot/live/second", lines.join("\n")).await.json();
    let items = reply["live"].as_array().expect("items");
    assert_eq!(items.len(), 1, "the first has nothing new: {reply}");
    assert_eq!(items[0]["id"], *two.id);
    let new = items[0]["responses"].as_array().expect("responses");
    assert_eq!((names(new)[0].as_str(), messages(new)), ("onUserPrompt", vec!["three"]));
    one.stop().await;
    let reply = app.post("/api/copilot/live/second", lines.join("\n")).await.json();
    let item = &reply["live"][0];
    assert_eq!(item["error"], "SessionClosed", "{reply}");
    assert!(item.get("position").is_none(), "nothing was read: {item}");
    app.finish().await;
}
