//! What happens between a prompt and `onIdle`.

use serde_json::{Value, json};
use tests::transcript::{assert_grammar, count, errors, messages, names, outline, texts};
use tests::{Options, TestApp};
use tokio::time::{Duration, Instant, sleep};

#[tokio::test(start_paused = true)]
async fn a_query_answers_at_once_and_the_work_goes_on() {
    let app = TestApp::new();
    let session = app.start().await;
    let begun = Instant::now();
    session.query("wait 3 seconds, then say \"Grüße, 世界!\"").await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    let seen = session.read_until_idle("reader").await;
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
    assert_eq!(messages(&seen), ["Grüße, 世界!"]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn one_turn_is_told_in_order() {
    let app = TestApp::new();
    let prompt =
        "use the job_boolean_true tool with the argument \"because\", then say \"all done now\"";
    let session = app.start_with(&[prompt]).await;
    let seen = session.read_until_idle("reader").await;
    let reasoning = "The prompt asks me to use the job_boolean_true tool, then say something.";
    assert_eq!(
        Value::from(seen),
        json!([
            {"callback": "onUserPrompt", "prompt": prompt},
            {"callback": "onAgentStart", "turnId": "turn-1"},
            {"callback": "onStartReasoning", "reasoningId": "reasoning-1-1"},
            {"callback": "onEndReasoning", "reasoningId": "reasoning-1-1",
             "completeContent": reasoning},
            {"callback": "onStartToolExecution", "toolCallId": "call-1-2",
             "toolName": "job_boolean_true",
             "toolArguments": "{\n  \"argument\": \"because\"\n}"},
            {"callback": "onEndToolExecution", "toolCallId": "call-1-2",
             "result": {"content": "because"}},
            {"callback": "onStartMessage", "messageId": "message-1-3"},
            {"callback": "onEndMessage", "messageId": "message-1-3",
             "completeContent": "all done now"},
            {"callback": "onAgentEnd", "turnId": "turn-1"},
            {"callback": "onTurnEnd", "turnId": "turn-1", "outcome": "completed"},
            {"callback": "onIdle"},
        ]),
        "a reader who comes late gets starts and ends"
    );
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn deltas_come_between_start_and_end_and_add_up() {
    let app = TestApp::new();
    let session = app.start_with(&["Stream 4 deltas with 50 ms between deltas after 50 ms."]).await;
    let seen = session.read_until_idle("reader").await;
    assert_grammar(&seen);
    assert_eq!(
        names(&seen),
        [
            "onUserPrompt",
            "onAgentStart",
            "onStartMessage",
            "onMessage",
            "onMessage",
            "onMessage",
            "onMessage",
            "onEndMessage",
            "onAgentEnd",
            "onTurnEnd",
            "onIdle",
        ]
    );
    assert_eq!(texts(&seen, "onMessage", "delta").concat(), messages(&seen)[0]);
    for (sequence, delta) in texts(&seen, "onMessage", "delta").iter().enumerate() {
        assert!(delta.starts_with(&format!("<{sequence}:")) && delta.ends_with('>'), "{delta}");
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_fails_tells_why() {
    let app = TestApp::new();
    let session = app.start_with(&["use the missing_tool tool with the argument x"]).await;
    let seen = session.read_until_idle("reader").await;
    assert_grammar(&seen);
    let end = seen.iter().find(|response| response["callback"] == "onEndToolExecution");
    let end = end.expect("the call ended");
    assert_eq!(end["error"]["message"], "unknown tool: `missing_tool`");
    assert!(end.get("result").is_none(), "{end}");
    assert_eq!(errors(&seen), Vec::<&str>::new(), "the model reads it, the session goes on");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_can_be_silent() {
    let app = TestApp::new();
    let session = app.start_with(&["do nothing"]).await;
    let seen = session.read_until_idle("reader").await;
    assert_eq!(names(&seen), ["onUserPrompt", "onAgentStart", "onAgentEnd", "onTurnEnd", "onIdle"]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn prompts_that_come_during_a_turn_are_answered_in_order() {
    let app = TestApp::new();
    let session = app.start_with(&["wait 1 second, then say first"]).await;
    session.responses("reader").await;
    for prompt in ["say second", "wait 100 ms, then say third", "say fourth"] {
        session.query(prompt).await;
    }
    let seen = session.read_until_idles("reader", 4).await;
    assert_eq!(messages(&seen), ["first", "second", "third", "fourth"]);
    let turns = texts(&seen, "onAgentEnd", "turnId");
    assert_eq!(turns, ["turn-1", "turn-2", "turn-3", "turn-4"]);
    assert_grammar(&session.read_until_idles("other", 4).await);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn prompts_over_the_cap_are_refused_and_the_others_answered() {
    let app = TestApp::with(Options { max_queries: 2, ..Options::default() });
    let session = app.start_with(&["wait 1 second, then say 1"]).await;
    // The first prompt is running, so it no longer counts.
    session.responses("reader").await;
    session.query("say 2").await;
    session.query("say 3").await;
    assert_eq!(session.try_query("say 4").await, json!({"error": "TooManyQueries"}));
    assert_eq!(messages(&session.read_until_idles("reader", 3).await), ["1", "2", "3"]);
    session.query("say 5").await;
    assert_eq!(messages(&session.read_until_idle("reader").await), ["5"]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn abort_ends_the_turn_and_keeps_the_session() {
    let app = TestApp::new();
    let session =
        app.start_with(&["Stream 100 deltas with 100 ms between deltas after 100 ms."]).await;
    let mut seen = Vec::new();
    while count(&seen, "onMessage") < 3 {
        seen.extend(session.responses("reader").await);
    }
    let begun = Instant::now();
    assert_eq!(session.abort().await, json!({}));
    let rest = session.read_until_idle("reader").await;
    assert!(begun.elapsed() < Duration::from_millis(20), "{:?}", begun.elapsed());
    assert_eq!(names(&rest), ["onEndMessage", "onAgentEnd", "onTurnEnd", "onIdle"]);
    assert_eq!(texts(&rest, "onTurnEnd", "outcome"), ["aborted"]);
    seen.extend(rest);
    assert_grammar(&seen);
    let partial = messages(&seen)[0];
    assert!(partial.contains("<2:") && !partial.contains("<3:"), "{partial}");
    assert_eq!(errors(&seen), Vec::<&str>::new());

    session.query("say still here").await;
    assert_eq!(messages(&session.read_until_idle("reader").await), ["still here"]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn abort_leaves_the_queued_prompts_their_turns() {
    let app = TestApp::new();
    let session = app.start_with(&["wait 60 seconds, then say one", "say two"]).await;
    session.responses("reader").await;
    assert_eq!(session.abort().await, json!({}));
    let seen = session.read_until_idles("reader", 2).await;
    assert_eq!(messages(&seen), ["two"]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn abort_without_a_turn_touches_nothing_that_comes_later() {
    let app = TestApp::new();
    let session = app.start().await;
    assert_eq!(session.abort().await, json!({}));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(session.poll("reader").await, json!({"error": "HttpRequestTimeout"}));
    session.query("say hello").await;
    assert_eq!(messages(&session.read_until_idle("reader").await), ["hello"]);
    assert_eq!(session.abort().await, json!({}));
    session.query("say hello again").await;
    assert_eq!(messages(&session.read_until_idle("reader").await), ["hello again"]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_fails_leaves_the_session_alive() {
    let app = TestApp::new();
    let session = app.start_with(&["say before, then fail with \"no luck\"", "say after"]).await;
    let seen = session.read_until_idles("reader", 2).await;
    assert_grammar(&seen);
    assert_eq!(errors(&seen), ["no luck"]);
    assert!(seen.contains(&json!({"sessionError": "no luck"})), "bare: {seen:?}");
    assert_eq!(messages(&seen), ["before", "after"]);
    let outline = outline(&seen);
    let error = outline.iter().position(|name| name == "sessionError").expect("an error");
    assert_eq!(
        outline[error - 1..=error + 2],
        ["onAgentEnd", "sessionError", "onTurnEnd", "onIdle"]
    );
    assert_eq!(texts(&seen, "onTurnEnd", "outcome"), ["failed", "completed"]);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_closes_what_is_open_and_ends_the_session() {
    let app = TestApp::new();
    let session = app.start_with(&["say before, then crash", "say never"]).await;
    let seen = session.read_to_the_end("reader").await;
    assert_grammar(&seen);
    assert_eq!(names(&seen).last().map(String::as_str), Some("sessionError"));
    assert_eq!(errors(&seen).len(), 1, "{seen:?}");
    assert_eq!(messages(&seen), ["before", "Something is about to "]);
    assert_eq!(count(&seen, "onIdle"), 0);
    assert_eq!(texts(&seen, "onTurnEnd", "outcome"), ["failed"]);

    assert_eq!(session.poll("reader").await, json!({"error": "SessionNotFound"}));
    assert_eq!(session.try_query("say hello").await, json!({"error": "SessionNotFound"}));
    assert_eq!(session.abort().await, json!({"error": "SessionNotFound"}));
    assert_eq!(session.stop().await, json!({"error": "SessionNotFound"}));
    assert_eq!(app.open_sessions().await, Vec::<Value>::new());
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn hostile_text_passes_through_unchanged() {
    let app = TestApp::new();
    let text = "<script>alert(1)</script> \u{2028}\u{0}\u{1b}[31m \\ {\"callback\":\"onIdle\"}";
    let session = app.start().await;
    session.query(&format!("say '{text}'")).await;
    let seen = session.read_until_idle("reader").await;
    assert_eq!(messages(&seen), [text]);
    app.finish().await;
}
