//! Live calls of a session that has ended, and how long it is remembered.

use std::pin::pin;

use axum::body::Body;
use serde_json::{Value, json};
use store::live::LiveSettings;
use tests::transcript::{assert_grammar, messages, names};
use tests::{Options, TestApp, is_pending};
use tokio::time::{Duration, Instant, sleep, sleep_until};

fn closed() -> Value {
    json!({"error": "SessionClosed"})
}

fn not_found() -> Value {
    json!({"error": "SessionNotFound"})
}

#[tokio::test(start_paused = true)]
async fn known_readers_drain_then_are_told_once() {
    let app = TestApp::new();
    let session = app.start_with(&["say one"]).await;
    let known = session.read_until_idle("known").await;
    assert_eq!(session.poll_one().await, known[0]);
    session.query("say two").await;
    session.read_until_idles("other", 2).await;
    session.stop().await;

    assert_eq!(messages(&session.responses("known").await), ["two"]);
    assert_eq!(session.poll("known").await, closed());
    for _ in 0..2 {
        assert_eq!(session.poll("known").await, not_found(), "also while others may join");
    }
    assert_eq!(session.poll("other").await, closed());
    assert_eq!(session.poll("other").await, not_found());

    let mut implicit = vec![known[0].clone()];
    let end = loop {
        let reply = session.poll_one().await;
        if reply.get("error").is_some() {
            break reply;
        }
        implicit.push(reply);
    };
    assert_eq!(end, closed());
    assert_eq!(messages(&implicit), ["one", "two"]);
    assert_eq!(session.poll_one().await, not_found());
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_pending_call_learns_of_the_end_at_once() {
    let app = TestApp::new();
    let session = app.start_with(&["say hello"]).await;
    session.read_until_idle("reader").await;
    let mut call = pin!(session.poll("reader"));
    let mut implicit = pin!(async {
        loop {
            let reply = session.poll_one().await;
            if reply.get("error").is_some() {
                break reply;
            }
        }
    });
    assert!(is_pending(&mut call).await && is_pending(&mut implicit).await);
    // Answers to one reader are a few milliseconds apart; wait until that is over.
    sleep(Duration::from_millis(10)).await;
    let begun = Instant::now();
    session.stop().await;
    assert_eq!(call.await, closed());
    assert_eq!(implicit.await, closed());
    assert_eq!(begun.elapsed(), Duration::ZERO);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_pending_call_gets_the_end_of_the_aborted_turn_first() {
    let app = TestApp::new();
    let session =
        app.start_with(&["Stream 9 deltas with 100 ms between deltas after 100 ms."]).await;
    sleep(Duration::from_millis(250)).await;
    let mut seen = session.responses("reader").await;
    let (rest, stopped) = tokio::join!(session.read_to_the_end("reader"), async {
        sleep(Duration::from_millis(20)).await;
        session.stop().await
    });
    assert_eq!(stopped, json!({"result": "Closed"}));
    assert_eq!(names(&rest)[..2], ["onEndMessage", "onAgentEnd"]);
    seen.extend(rest);
    assert_grammar(&seen);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_farewell_is_said_again() {
    let app = TestApp::new();
    let session = app.start_with(&["do nothing"]).await;
    session.read_until_idle("reader").await;
    session.stop().await;
    drop(session.send_poll("reader").await);
    assert_eq!(session.poll("reader").await, closed());
    assert_eq!(session.poll("reader").await, not_found());
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn new_readers_may_join_until_the_count_down_is_over() {
    for (live, seconds) in [(LiveSettings::for_tests(), 5), (LiveSettings::default(), 60)] {
        let app = TestApp::with(Options { live, ..Options::default() });
        let session = app.start_with(&["say hello"]).await;
        let history = session.read_until_idle("early").await;
        session.stop().await;
        let ended = Instant::now();
        sleep_until(ended + Duration::from_millis(1000 * seconds - 10)).await;
        assert_eq!(session.read_to_the_end("in-time").await, history);
        assert_eq!(session.poll_one().await, history[0]);
        sleep_until(ended + Duration::from_secs(seconds)).await;
        assert_eq!(session.poll("too-late").await, not_found());
        assert_eq!(session.poll("in-time").await, not_found());

        // Readers that joined before the end are served after it.
        assert_eq!(session.poll("early").await, closed());
        for response in &history[1..] {
            assert_eq!(session.poll_one().await, *response);
        }
        assert_eq!(session.poll_one().await, closed());
        assert_eq!(session.poll_one().await, not_found());
        app.finish().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_comes_back_within_ten_minutes_goes_on_where_it_was() {
    let app = TestApp::new();
    let session = app.start_with(&["say one"]).await;
    session.read_until_idle("reader").await;
    session.query("say two").await;
    sleep(Duration::from_secs(599)).await;
    assert_eq!(messages(&session.read_until_idle("reader").await), ["two"]);

    session.query("say three").await;
    sleep(Duration::from_secs(1)).await;
    session.stop().await;
    sleep(Duration::from_secs(597)).await;
    let rest = session.read_to_the_end("reader").await;
    assert_eq!(messages(&rest), ["three"], "long after the count-down");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_stays_away_for_ten_minutes_begins_anew() {
    let app = TestApp::new();
    let session = app.start_with(&["say one"]).await;
    let history = session.read_until_idle("reader").await;
    sleep(Duration::from_mins(10)).await;
    assert_eq!(session.read_until_idle("reader").await, history);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn an_ended_session_is_freed_when_its_last_reader_is_gone() {
    let app = TestApp::new();
    let finished = app.start_with(&["say one"]).await;
    let abandoned = app.start_with(&["say two"]).await;
    let unread = app.start_with(&["say three"]).await;
    finished.read_until_idle("reader").await;
    abandoned.read_until_idle("reader").await;
    for session in [&finished, &abandoned, &unread] {
        session.stop().await;
    }
    finished.read_to_the_end("reader").await;
    assert_eq!(app.remembered_sessions(), 3, "the count-down runs");
    sleep(Duration::from_secs(6)).await;
    assert_eq!(app.remembered_sessions(), 1, "one reader may still come back");
    sleep(Duration::from_mins(10)).await;
    assert_eq!(app.remembered_sessions(), 0);
    for session in [&finished, &abandoned, &unread] {
        assert_eq!(session.poll("reader").await, not_found());
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_crashed_session_ends_for_its_readers_like_a_stopped_one() {
    let app = TestApp::new();
    let session = app.start_with(&["wait 1 second, then crash"]).await;
    let (one, other) =
        tokio::join!(session.read_to_the_end("one"), session.read_to_the_end("other"));
    assert_eq!(names(&one).last().map(String::as_str), Some("sessionError"));
    assert_eq!(one.last(), other.last());
    assert_eq!(session.poll("one").await, not_found());
    let late = session.read_to_the_end("late").await;
    assert_grammar(&late);
    assert_eq!(messages(&late), messages(&one));
    sleep(Duration::from_secs(5)).await;
    assert_eq!(session.poll("too-late").await, not_found());
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn stopping_the_server_answers_pending_calls_and_leaves_nothing_running() {
    let app = TestApp::new();
    let busy = app.start_with(&["wait 60 seconds, then say never", "say never"]).await;
    let quiet = app.start_with(&["say hello"]).await;
    busy.responses("reader").await;
    quiet.read_until_idle("reader").await;
    let begun = Instant::now();
    let (aborted, end, stopped) =
        tokio::join!(busy.read_to_the_end("reader"), quiet.poll("reader"), async {
            sleep(Duration::from_millis(100)).await;
            app.call("POST", "/api/stop", &[], Body::empty()).await.json()
        });
    assert_eq!(stopped, json!({}));
    assert_eq!(end, closed());
    assert!(names(&aborted).contains(&"onAgentEnd".to_owned()), "{aborted:?}");
    assert!(begun.elapsed() < Duration::from_millis(200), "{:?}", begun.elapsed());
    assert!(app.is_stopping());
    for session in [&busy, &quiet] {
        assert_eq!(session.poll("reader").await, not_found());
        assert_eq!(session.try_query("say hello").await, not_found());
    }
    app.assert_ends().await;
}
