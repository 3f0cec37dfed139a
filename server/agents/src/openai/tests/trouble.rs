//! Providers that refuse, fail, or are too slow.

use std::time::{Instant, SystemTime};

use reqwest::header::HeaderMap;
use serde_json::json;
use stub_provider::Answer;

use super::super::failure::{Complaint, retry_after};
use super::*;

#[tokio::test]
async fn a_request_is_repeated_as_the_provider_says() {
    let harness = Harness::new().await;
    let busy = json!({ "error": { "message": "slow down" } });
    harness.stub.push(Answer::json_with(429, &[("retry-after", "1")], &busy));
    harness.stub.push(Frames::saying("here"));
    let begun = Instant::now();
    assert_eq!(harness.run("go").await, Ok(()));
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(harness.messages(), ["here"]);
    let turns = harness.events().into_iter();
    let turns = turns.filter(|event| matches!(event, AgentEvent::TurnStart { .. })).count();
    assert_eq!(turns, 1, "nobody sees that it was repeated");
}

#[tokio::test]
async fn a_request_is_repeated_while_nothing_was_answered() {
    for (what, answer) in [
        ("an error", Answer::error(500, "oops")),
        ("overload", Answer::error(529, "overloaded")),
        ("no answer", Answer::hang_up()),
        ("an empty stream", Answer::stream().bytes(": hello\n\n")),
        (
            "an error in the stream",
            Frames::new().json(&json!({ "error": { "message": "busy", "code": 503 } })).answer(),
        ),
    ] {
        let harness = Harness::new().await;
        harness.stub.push(answer);
        harness.stub.push(Frames::saying("here"));
        assert_eq!(harness.run("go").await, Ok(()), "{what}");
        assert_eq!(harness.messages(), ["here"], "{what}");
    }
}

#[tokio::test]
async fn a_provider_that_always_fails_is_left_alone_after_a_while() {
    let harness = Harness::new().await;
    harness.stub.always(stub_provider::CHAT, Answer::error(500, "oops"));
    assert_eq!(harness.fail("go").await, "stub: HTTP 500: oops (asked 3 times)");
    assert_eq!(harness.stub.chats().len(), 3);
    harness.stub.push(Frames::saying("here"));
    assert_eq!(harness.run("try again").await, Ok(()), "the conversation goes on");
}

#[tokio::test]
async fn refusals_are_told_at_once() {
    for (answer, message) in [
        (Answer::error(401, &format!("bad key: {KEY}")), "HTTP 401: bad key: … (check the key)"),
        (Answer::error(404, "no such model"), "HTTP 404: no such model"),
        (Answer::error(400, "bad"), "HTTP 400: bad. The last prompt is forgotten"),
        (
            Answer::json(422, &json!({ "detail": [{ "loc": "x" }] })),
            r#"HTTP 422: [{"loc":"x"}]. The last prompt is forgotten"#,
        ),
        (
            Answer::json(403, &json!([{ "error": { "message": "listed" } }])),
            "HTTP 403: listed (check the key)",
        ),
        (Answer::json(404, &json!({ "error": "bare" })), "HTTP 404: bare"),
        (Answer::head(404, &[]).bytes("<html>"), "HTTP 404: the provider does not say why"),
        (Answer::head(404, &[]).bytes("no  such\npage"), "HTTP 404: no such page"),
        (
            Answer::head(308, &[("location", "http://127.0.0.1:1/elsewhere")]),
            "HTTP 308: redirects are not followed, set baseUrl to where it leads: `http://127.0.0.1:1/elsewhere`",
        ),
        (
            Answer::json_with(429, &[("retry-after", "3600")], &json!({ "error": "later" })),
            "HTTP 429: later",
        ),
        (
            Answer::json(
                429,
                &json!({ "error": { "message": "pay", "code": "insufficient_quota" } }),
            ),
            "HTTP 429: pay",
        ),
    ] {
        let harness = Harness::new().await;
        harness.stub.push(answer);
        assert_eq!(harness.fail("go").await, format!("stub: {message}"));
        assert_eq!(harness.stub.chats().len(), 1, "{message}");
    }
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_told_and_can_go_on() {
    let coded = json!({ "error": { "message": "no", "code": "context_length_exceeded" } });
    let worded = "This model's maximum context length is 8192 tokens";
    let streamed = Frames::new().json(&coded).answer();
    for answer in [Answer::json(400, &coded), Answer::error(500, worded), streamed] {
        let harness = Harness::new().await;
        harness.stub.push(Frames::saying("one"));
        assert_eq!(harness.run("first").await, Ok(()));
        harness.stub.push(answer);
        let message = harness.fail("a very long prompt").await;
        assert!(message.contains("longer than some-model can read (8192 tokens)"), "{message}");
        let history = harness.history().await;
        assert_eq!(history.len(), 3);
        assert_eq!(history[2]["content"], "and now?", "the long prompt is gone");
    }
}

#[tokio::test]
async fn slow_providers_run_out_of_time() {
    let short = Duration::from_millis(200);
    let harness = Harness::with_limits(|limits| {
        limits.first_byte = short;
        limits.idle = short;
    })
    .await;
    let begun = Frames::new().text("half of it");
    for (number, (answer, words)) in [
        (Answer::silence(), "does not answer"),
        (Answer::stream().hang(), "does not answer"),
        (begun.answer().hang(), "stopped in the middle"),
    ]
    .into_iter()
    .enumerate()
    {
        harness.stub.push(answer);
        let message = harness.fail("go").await;
        assert!(message.contains(words) && message.contains("time-out"), "{message}");
        harness.stub.wait_for_aborts(number + 1).await;
    }
    assert_eq!(harness.messages(), ["half of it"]);
    let mut patient = Answer::stream();
    for _ in 0..4 {
        patient = patient.bytes(": wait\n\n").pause(short / 2);
    }
    let frames = Frames::new().text("slow").finish("stop").done();
    harness.stub.push(patient.bytes(frames.text_of_all()));
    assert_eq!(harness.run("go").await, Ok(()), "signs of life count");
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_told() {
    let stub = stub().await;
    // Nobody listens on port 1.
    for address in ["http://127.0.0.1:1/v1", "https://127.0.0.1:1/v1"] {
        let mut settings = settings(&stub);
        settings.base_url = BaseUrl::parse(address).expect("an address");
        let agent = AgentSettings::new(MODEL, "/", AgentEvents::new(|_| {}));
        let session = OpenAi::new(settings).start_session(agent).await.expect("a session");
        let failed = session.run_turn("go", &CancellationToken::new()).await;
        let Err(AgentError::Failed(message)) = failed else {
            panic!("{failed:?}");
        };
        // A machine without certificates fails even earlier.
        let no_certificates = address.starts_with("https") && message.contains("can't set up");
        let told = message.contains("can't be reached") && message.contains("3 times");
        assert!(told || no_certificates, "{message}");
    }
}

#[test]
fn retry_after_has_two_forms_and_a_third() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    let seconds = |headers: &[(&'static str, &str)]| {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a value"));
        }
        retry_after(&map, now).map(|wait| wait.as_secs_f64())
    };
    for (value, wait) in [
        ("7", Some(7.0)),
        (" 0 ", Some(0.0)),
        ("1.5", Some(1.5)),
        ("-1", None),
        ("NaN", None),
        ("soon", None),
        ("Sun, 06 Nov 1994 08:49:40 GMT", Some(3.0)),
        ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0.0)),
    ] {
        assert_eq!(seconds(&[("retry-after", value)]), wait, "{value}");
    }
    assert_eq!(seconds(&[("retry-after-ms", "250"), ("retry-after", "1")]), Some(0.25));
    assert_eq!(seconds(&[]), None);
}

#[test]
fn long_complaints_are_cut() {
    let complaint = Complaint::read(&"é ".repeat(100_000));
    assert!(complaint.message.chars().count() <= 501, "{}", complaint.message.len());
}

#[tokio::test]
async fn keys_are_shown_nowhere() {
    let stub = stub().await;
    let mut settings = settings(&stub);
    settings.headers.add("x-team", "hidden-value").expect("a header");
    let backend = OpenAi::new(settings.clone());
    for shown in [format!("{settings:?}"), format!("{backend:?}"), format!("{backend:#?}")] {
        assert!(!shown.contains("secret") && !shown.contains("hidden-value"), "{shown}");
    }
    for name in ["Authorization", "x-api-key", "host", "bad name"] {
        assert!(settings.headers.add(name, KEY).is_err_and(|error| !error.contains(KEY)));
    }
    for bad in ["", "  ", "two words", "ключ"] {
        assert!(ApiKey::new(bad).is_err(), "{bad:?}");
    }
}
