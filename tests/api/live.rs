//! Live calls of an open session: who gets what, and when.

use std::pin::pin;

use axum::body::Body;
use serde_json::{Value, json};
use tests::transcript::{assert_grammar, count, messages, names, texts};
use tests::{TestApp, is_pending};
use tokio::time::{Duration, Instant, sleep};

const SLOW: &str = "Stream 5 deltas with 100 ms between deltas after 100 ms.";

#[tokio::test(start_paused = true)]
async fn everything_comes_in_one_answer_whenever_a_reader_joins() {
    let app = TestApp::new();
    let session = app.start_with(&["say one"]).await;
    let first = session.read_until_idle("early").await;
    session.query("say two").await;
    let second = session.read_until_idle("early").await;

    sleep(Duration::from_mins(5)).await;
    let begun = Instant::now();
    let all = session.responses("late").await;
    assert_eq!(begun.elapsed(), Duration::ZERO, "there was something: no wait");
    assert_grammar(&all);
    assert_eq!(all[0]["callback"], "onUserPrompt");
    assert_eq!(all, [first, second].concat());
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_holds_nothing_that_was_read_before() {
    let app = TestApp::new();
    let session = app.start_with(&["say one"]).await;
    let first = session.read_until_idle("reader").await;
    session.query("say two").await;
    let second = session.read_until_idle("reader").await;
    assert_eq!(messages(&first), ["one"]);
    assert_eq!(messages(&second), ["two"]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_in_step_gets_each_delta_when_it_happens() {
    let app = TestApp::new();
    let session = app.start().await;
    let begun = Instant::now();
    session.query(SLOW).await;
    let opening = session.responses("reader").await;
    assert_eq!(names(&opening), ["onUserPrompt", "onAgentStart", "onStartMessage"]);
    for number in 1..=4 {
        let seen = session.responses("reader").await;
        assert_eq!(names(&seen), ["onMessage"]);
        assert_eq!(begun.elapsed(), Duration::from_millis(100 * number), "not held back");
    }
    let closing = session.responses("reader").await;
    assert_eq!(names(&closing), ["onMessage", "onEndMessage", "onAgentEnd", "onTurnEnd", "onIdle"]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn two_readers_see_the_same() {
    let app = TestApp::new();
    let session = app.start_with(&[SLOW]).await;
    let (one, other) =
        tokio::join!(session.read_until_idle("one"), session.read_until_idle("other"));
    assert_eq!(count(&one, "onMessage"), 5);
    assert_eq!(one, other);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn readers_do_not_disturb_each_other() {
    let app = TestApp::new();
    let session = app.start_with(&["say one"]).await;
    let first = session.read_until_idle("one").await;
    let mut waiting = pin!(session.poll("one"));
    assert!(is_pending(&mut waiting).await);
    // Others read at the same time, with and without a token.
    assert_eq!(session.read_until_idle("other").await, first);
    assert_eq!(session.poll_one().await, first[0]);
    assert!(is_pending(&mut waiting).await);
    session.query("say two").await;
    assert_eq!(waiting.await["responses"][0]["prompt"], "say two");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn one_token_reads_each_session_on_its_own() {
    let app = TestApp::new();
    let one = app.start_with(&["say one"]).await;
    let two = app.start_with(&["say two"]).await;
    assert_eq!(messages(&one.read_until_idle("same").await), ["one"]);
    let mut pending = pin!(one.poll("same"));
    assert!(is_pending(&mut pending).await);
    assert_eq!(messages(&two.read_until_idle("same").await), ["two"]);
    assert!(is_pending(&mut pending).await);
    one.stop().await;
    assert_eq!(pending.await, json!({"error": "SessionClosed"}));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_comes_after_a_block_gets_its_start_and_end() {
    let app = TestApp::new();
    let session =
        app.start_with(&["Stream 1000 deltas with 1 ms between deltas after 0 ms."]).await;
    let in_step = session.read_until_idle("in-step").await;
    assert!(count(&in_step, "onMessage") > 50, "{}", count(&in_step, "onMessage"));
    let late = session.responses("late").await;
    assert_eq!(
        names(&late),
        [
            "onUserPrompt",
            "onAgentStart",
            "onStartMessage",
            "onEndMessage",
            "onAgentEnd",
            "onTurnEnd",
            "onIdle"
        ]
    );
    assert_eq!(messages(&late), messages(&in_step));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_comes_into_a_block_gets_the_deltas_so_far_merged() {
    let app = TestApp::new();
    let session = app.start_with(&[SLOW]).await;
    sleep(Duration::from_millis(350)).await;
    let mut seen = session.responses("late").await;
    assert_eq!(names(&seen), ["onUserPrompt", "onAgentStart", "onStartMessage", "onMessage"]);
    let merged = texts(&seen, "onMessage", "delta")[0].to_owned();
    assert!(merged.starts_with("<0:") && merged.contains("<2:"), "{merged}");
    assert!(!merged.contains("<3:"), "{merged}");
    seen.extend(session.read_until_idle("late").await);
    assert_grammar(&seen);
    assert_eq!(texts(&seen, "onMessage", "delta").concat(), messages(&seen)[0]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_stopped_in_the_middle_of_a_block_misses_nothing_of_it() {
    let app = TestApp::new();
    let session = app.start_with(&[SLOW]).await;
    sleep(Duration::from_millis(250)).await;
    let mut seen = session.responses("reader").await;
    assert_eq!(count(&seen, "onMessage"), 1);
    sleep(Duration::from_secs(10)).await;
    seen.extend(session.read_until_idle("reader").await);
    assert_grammar(&seen);
    assert_eq!(texts(&seen, "onMessage", "delta").concat(), messages(&seen)[0]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_for_five_seconds_is_a_timeout() {
    let app = TestApp::new();
    let session = app.start().await;
    for _ in 0..2 {
        let begun = Instant::now();
        assert_eq!(session.poll("reader").await, json!({"error": "HttpRequestTimeout"}));
        assert_eq!(begun.elapsed(), Duration::from_secs(5));
    }
    let begun = Instant::now();
    assert_eq!(session.poll_one().await, json!({"error": "HttpRequestTimeout"}));
    assert_eq!(begun.elapsed(), Duration::from_secs(5));

    // Nothing was lost, and the next call waits its own five seconds.
    session.query("wait 4900 ms, then say hello").await;
    let mut seen = session.responses("reader").await;
    seen.extend(session.read_until_idle("reader").await);
    assert_eq!(messages(&seen), ["hello"]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_second_call_is_refused_at_once_and_the_first_goes_on() {
    let app = TestApp::new();
    let session = app.start().await;
    let refusal = json!({"error": "ParallelCallNotSupported"});
    let mut first = pin!(session.poll("reader"));
    let mut first_implicit = pin!(session.poll_one());
    assert!(is_pending(&mut first).await && is_pending(&mut first_implicit).await);
    let begun = Instant::now();
    for _ in 0..3 {
        assert_eq!(session.poll("reader").await, refusal);
        assert_eq!(session.poll_one().await, refusal);
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    session.query("say hello").await;
    let (mut seen, implicit) = tokio::join!(first, first_implicit);
    assert_eq!(implicit["callback"], "onUserPrompt");
    let seen = seen["responses"].take();
    assert_eq!(seen[0], implicit);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_place_is_free_after_an_answer_a_timeout_and_a_hang_up() {
    let app = TestApp::new();
    let session = app.start_with(&["say hello"]).await;
    session.read_until_idle("reader").await;
    assert_eq!(session.poll("reader").await, json!({"error": "HttpRequestTimeout"}));
    for _ in 0..3 {
        let mut call = Box::pin(session.poll("reader"));
        assert!(is_pending(&mut call.as_mut()).await);
        drop(call);
    }
    let mut call = pin!(session.poll("reader"));
    assert!(is_pending(&mut call).await, "not refused");
    session.query("say again").await;
    assert_eq!(call.await["responses"][0]["prompt"], "say again");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hung_up_takes_nothing_with_it() {
    let app = TestApp::new();
    let session = app.start().await;
    let mut call = Box::pin(session.poll("reader"));
    assert!(is_pending(&mut call.as_mut()).await);
    session.query(SLOW).await;
    // The answer is ready, but nobody takes it.
    drop(call);
    sleep(Duration::from_millis(250)).await;
    let seen = session.read_until_idle("reader").await;
    assert_grammar(&seen);
    assert_eq!(seen[0]["prompt"], SLOW);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_not_read_is_given_again() {
    let app = TestApp::new();
    let session = app.start_with(&["say hello"]).await;
    sleep(Duration::from_millis(1)).await;
    for _ in 0..3 {
        let response = session.send_poll("reader").await;
        assert_eq!(response.status(), 200);
        drop(response);
    }
    let seen = session.responses("reader").await;
    assert_eq!(names(&seen)[0], "onUserPrompt");
    assert_eq!(messages(&seen), ["hello"]);

    session.query("say more").await;
    drop(session.send_poll("reader").await);
    let seen = session.read_until_idle("reader").await;
    assert_eq!(messages(&seen), ["more"], "only what had not been read");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_head_request_reads_nothing_away() {
    let app = TestApp::new();
    let session = app.start_with(&["say hello"]).await;
    sleep(Duration::from_millis(1)).await;
    for path in [session.path("live/reader"), session.path("live")] {
        let reply = app.call("HEAD", &path, &[], Body::empty()).await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, ""));
    }
    assert_eq!(names(&session.responses("reader").await)[0], "onUserPrompt");
    assert_eq!(session.poll_one().await["callback"], "onUserPrompt");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_while_the_last_answer_is_on_its_way() {
    let app = TestApp::new();
    let session = app.start_with(&["say hello"]).await;
    sleep(Duration::from_millis(1)).await;
    let unread = session.send_poll("reader").await;
    let mut next = pin!(session.poll("reader"));
    assert!(is_pending(&mut next).await);
    drop(unread);
    assert_eq!(next.await["responses"][0]["callback"], "onUserPrompt");

    session.query("say more").await;
    let unread = session.send_poll("reader").await;
    let begun = Instant::now();
    assert_eq!(session.poll("reader").await, json!({"error": "ParallelCallNotSupported"}));
    assert!(begun.elapsed() < Duration::from_secs(1), "but not for long: {:?}", begun.elapsed());
    drop(unread);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_token_each_call_gets_one_response() {
    let app = TestApp::new();
    let prompt = "use the job_boolean_false tool with the argument no, then say hello";
    let session = app.start_with(&[prompt]).await;
    let expected = session.read_until_idle("reader").await;
    let mut seen: Vec<Value> = Vec::new();
    while seen.len() < expected.len() {
        let response = session.poll_one().await;
        assert!(response.get("responses").is_none(), "bare: {response}");
        seen.push(response);
    }
    assert_eq!(seen, expected);
    assert_eq!(session.poll_one().await, json!({"error": "HttpRequestTimeout"}));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_token_the_deltas_add_up_too() {
    let app = TestApp::new();
    let session =
        app.start_with(&["Stream 20 deltas with 100 ms between deltas after 100 ms."]).await;
    let mut seen: Vec<Value> = Vec::new();
    while count(&seen, "onIdle") == 0 {
        seen.push(session.poll_one().await);
        // A slow reader: there are two deltas per call.
        sleep(Duration::from_millis(200)).await;
    }
    assert_grammar(&seen);
    assert!((5..15).contains(&count(&seen, "onMessage")), "merged: {seen:?}");
    assert_eq!(texts(&seen, "onMessage", "delta").concat(), messages(&seen)[0]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_reader_without_a_token_is_one_for_all_callers_and_loses_nothing() {
    let app = TestApp::new();
    let session = app.start_with(&["do nothing"]).await;
    assert_eq!(session.poll_one().await["callback"], "onUserPrompt");
    let response = app.send("GET", &session.path("live"), &[], Body::empty()).await;
    drop(response);
    assert_eq!(session.poll_one().await["callback"], "onAgentStart");
    let old = format!("/api/copilot/session/live/{}", session.id);
    assert_eq!(app.get(&old).await.json()["callback"], "onAgentEnd");
    assert_eq!(session.poll_one().await["callback"], "onTurnEnd");
    assert_eq!(session.poll_one().await["callback"], "onIdle");
    app.finish().await;
}
