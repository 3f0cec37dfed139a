//! The events of the bridge: filters, lost connections, slow clients.

use engine::bridge::{BridgeSettings, WorkspaceFolder};
use serde_json::{Value, json};
use tests::events::told;
use tests::{Options, TestApp};

fn app() -> TestApp {
    let folders = ["/src/one", "/src/two"].map(WorkspaceFolder::new);
    TestApp::with(Options { bridge: Some(BridgeSettings::new(folders)), ..Options::default() })
}

async fn send(app: &TestApp, text: &str, session: &str) -> Value {
    let body = json!({ "text": text, "sessionId": session });
    app.post_json("/message", &body).await.json()["id"].clone()
}

#[tokio::test(start_paused = true)]
async fn clients_get_the_events_of_their_session() {
    let app = app();
    let sessions = app.get("/sessions").await.json();
    let two = format!("?session={}", sessions[1]["id"].as_str().expect("an id"));
    let mut of_two = app.events(&two, None).await;
    let mut of_one = app.events("?session=%2Fsrc%2Fone", None).await;
    let mut of_all = app.events("?session=", None).await;
    for (text, session) in [("say a", "/src/one"), ("say b", "/src/two")] {
        send(&app, text, session).await;
        of_all.until("done").await;
    }
    for (client, text, index) in [(&mut of_one, "a", 0), (&mut of_two, "b", 1)] {
        let events = client.until("done").await;
        assert_eq!(told(&events), text);
        assert!(events.iter().all(|event| event.data["sessionId"] == sessions[index]["id"]));
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_loses_and_repeats_nothing() {
    let app = app();
    let mut whole = app.events("", None).await;
    let mut client = app.events("?session=%2Fsrc%2Fone", None).await;
    let stream = "Stream 200 deltas with 10 ms between deltas after 10 ms.";
    send(&app, stream, "/src/one").await;
    send(&app, stream, "/src/two").await;
    let mut seen = Vec::new();
    'run: loop {
        for _ in 0..7 {
            let event = client.next().await.expect("events");
            let done = event.name == "done";
            seen.push(event);
            if done {
                break 'run;
            }
        }
        let last_id = client.last_id.take();
        drop(client);
        // Events happen while it is disconnected.
        whole.next().await;
        tokio::time::sleep(std::time::Duration::from_millis(35)).await;
        client = app.events("?session=%2Fsrc%2Fone", last_id.as_deref()).await;
    }
    let mut all = whole.until("done").await;
    all.extend(whole.until("done").await);
    assert_eq!(
        (&*seen[0].name, seen[1..].iter().all(|it| it.name != "inbound")),
        ("inbound", true)
    );
    for number in 0..200 {
        assert_eq!(told(&seen).matches(&format!("<{number}:")).count(), 1, "{number}");
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_lost_its_connection_before_any_event_misses_nothing() {
    let app = app();
    let mut client = app.events("", None).await;
    let hello = client.next_block().await.expect("the beginning");
    assert!(hello.contains("retry: 1000") && hello.contains("\nid: "), "{hello}");
    let last_id = hello.lines().find_map(|line| line.strip_prefix("id: ")).expect("an id");
    drop(client);
    let id = send(&app, "say a", "/src/one").await;
    let mut client = app.events("", Some(last_id)).await;
    assert_eq!(client.next().await.expect("the message").data["id"], id);
    client.until("done").await;
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_page_goes_on_where_its_history_ended() {
    let app = app();
    let mut other = app.events("", None).await;
    send(&app, "say a", "/src/one").await;
    other.until("done").await;
    let history = app.get("/sessions/src/one").await.json();
    send(&app, "say b", "/src/one").await;
    let last_id = history["lastEventId"].as_str().expect("an id");
    let query = format!("?session=%2Fsrc%2Fone&lastEventId={last_id}");
    let events = app.events(&query, None).await.until("done").await;
    assert_eq!((&*events[0].name, told(&events)), ("inbound", "b".to_owned()));
    // A browser that reconnects to the same URL sends the last id it has read.
    let done = events.last().expect("done").id.clone();
    let mut again = app.events(&query, Some(&done)).await;
    send(&app, "say c", "/src/one").await;
    assert_eq!(told(&again.until("done").await), "c");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn who_was_away_for_too_long_is_told() {
    let app = app();
    let mut client = app.events("", None).await;
    send(&app, "say a", "/src/one").await;
    let first = client.until("done").await[0].clone();
    for unknown in ["1", "99999999999999999", "x", "-1"] {
        let mut client = app.events("", Some(unknown)).await;
        let missed = client.next().await.expect("an event");
        assert_eq!((&*missed.name, &missed.data), ("missed", &json!({ "oldest": missed.id })));
        let events = client.until("done").await;
        assert_eq!(events[0].data, first.data, "{unknown}");
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_holds_nobody_up() {
    let app = app();
    let mut slow = app.events("", None).await;
    let mut quick = app.events("", None).await;
    for _ in 0..3 {
        send(&app, "Stream 9000 deltas with 0 ms between deltas after 0 ms.", "/src/one").await;
        quick.until("done").await;
    }
    // It gets the same text, in fewer pieces.
    for _ in 0..3 {
        let events = slow.until("done").await;
        assert!(events.len() < 1_000, "{}", events.len());
        let text = told(&events);
        assert!(text.contains("<0:") && text.contains("<8999:"));
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn silence_is_filled_with_comments() {
    let app = app();
    let mut client = app.events("?session=%2Fsrc%2Fone", None).await;
    client.next_block().await.expect("the beginning");
    assert_eq!(client.next_block().await.as_deref(), Some(": keep-alive"));
    // Events of other projects change nothing.
    let mut other = app.events("", None).await;
    send(&app, "say b", "/src/two").await;
    other.until("done").await;
    let comment = client.next_block().await.expect("a comment");
    assert_eq!(comment, ": keep-alive");
    app.finish().await;
}
