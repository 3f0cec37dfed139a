//! The limits of live calls.

use std::pin::pin;

use serde_json::json;
use store::live::LiveSettings;
use tests::{Options, TestApp, is_pending, unknown_session};
use tokio::time::{Duration, sleep};

#[tokio::test(start_paused = true)]
async fn any_short_text_is_a_token() {
    let app = TestApp::new();
    let session = app.start_with(&["say hello"]).await;
    sleep(Duration::from_millis(1)).await;
    let longest = "t".repeat(200);
    for token in ["a", "with%20space", "%C3%BC", "live", "a%2Fb", "-._~!$&'()*+,;=:@", &longest] {
        assert!(!session.responses(token).await.is_empty(), "{token}");
    }
    // The same token in another spelling: it has read everything.
    for token in ["%61", "%77ith%20space", "%c3%bc"] {
        assert_eq!(session.poll(token).await, json!({"error": "HttpRequestTimeout"}), "{token}");
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_too_long_is_refused() {
    let app = TestApp::new();
    let session = app.start_with(&["say hello"]).await;
    for token in ["t".repeat(201), "%C3%BC".repeat(101), "t".repeat(5000)] {
        for path in
            [session.path(&format!("live/{token}")), unknown_session(&format!("live/{token}"))]
        {
            let reply = app.get(&path).await;
            assert_eq!(reply.refusal(), (400, "UnreadableRequest".into()), "{path}");
            assert!(reply.json()["message"].as_str().expect("a message").contains("200"));
        }
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn readers_over_the_cap_are_refused_and_the_others_served() {
    let live = LiveSettings { max_readers: 2, ..LiveSettings::for_tests() };
    let app = TestApp::with(Options { live, ..Options::default() });
    let session = app.start_with(&["say hello"]).await;
    session.read_until_idle("one").await;
    session.poll_one().await;
    assert_eq!(session.poll("three").await, json!({"error": "TooManyReaders"}));
    session.query("say more").await;
    session.read_until_idle("one").await;
    // Each session has its own limit.
    let other = app.start_with(&["say hello"]).await;
    other.read_until_idle("three").await;
    // A forgotten reader makes room.
    sleep(Duration::from_mins(11)).await;
    session.read_until_idles("three", 2).await;
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn pending_calls_over_the_cap_are_refused_and_the_others_go_on() {
    let live = LiveSettings { max_pending_calls: 2, ..LiveSettings::for_tests() };
    let app = TestApp::with(Options { live, ..Options::default() });
    let (one, other) = (app.start().await, app.start().await);
    let mut first = pin!(one.poll("reader"));
    assert!(is_pending(&mut first).await);
    let mut second = Box::pin(other.poll_one());
    assert!(is_pending(&mut second.as_mut()).await);
    assert_eq!(other.poll("reader").await, json!({"error": "TooManyPendingCalls"}));
    // A call that hung up makes room.
    drop(second);
    let mut third = pin!(other.poll("reader"));
    assert!(is_pending(&mut third).await);
    one.query("say hello").await;
    assert_eq!(first.await["responses"][0]["prompt"], "say hello");
    other.query("say hello").await;
    assert_eq!(third.await["responses"][0]["prompt"], "say hello");
    app.finish().await;
}
