//! Answers in odd pieces, and answers that never end properly.

use serde_json::json;
use stub_provider::Answer;
use wire::Usage;

use super::*;

#[tokio::test]
async fn a_turn_is_reasoning_text_and_a_count() {
    let harness = Harness::new().await;
    let usage = json!({ "choices": [], "usage": {
        "prompt_tokens": 20, "completion_tokens": 7,
        "prompt_tokens_details": { "cached_tokens": 16 },
        "completion_tokens_details": { "reasoning_tokens": 3 },
    } });
    let frames = Frames::new()
        .delta(&json!({ "role": "assistant", "content": null }))
        .reasoning("Let me ")
        .reasoning("think.")
        .text("Grüße, ")
        .text("世界!")
        .finish("stop")
        .json(&usage)
        .done();
    harness.stub.push(frames.answer());
    assert_eq!(harness.run("greet me").await, Ok(()));

    let text = |kind, id: &str, delta: &str| AgentEvent::TextDelta {
        kind,
        id: id.to_owned(),
        delta: delta.to_owned(),
    };
    let start = |kind, id: &str| AgentEvent::TextStart { kind, id: id.to_owned() };
    let end = |kind, id: &str| AgentEvent::TextEnd { kind, id: id.to_owned(), content: None };
    let (reasoning, message) = (TextKind::Reasoning, TextKind::Message);
    assert_eq!(
        harness.events(),
        [
            AgentEvent::TurnStart { turn_id: "turn-1".to_owned() },
            start(reasoning, "reasoning-1-1"),
            text(reasoning, "reasoning-1-1", "Let me "),
            text(reasoning, "reasoning-1-1", "think."),
            end(reasoning, "reasoning-1-1"),
            start(message, "message-1-2"),
            text(message, "message-1-2", "Grüße, "),
            text(message, "message-1-2", "世界!"),
            end(message, "message-1-2"),
            AgentEvent::Usage {
                model: MODEL.to_owned(),
                usage: Usage {
                    input_tokens: 20,
                    output_tokens: 7,
                    cached_tokens: 16,
                    reasoning_tokens: 3,
                    cost: None,
                },
            },
            AgentEvent::TurnEnd { turn_id: "turn-1".to_owned() },
        ]
    );

    let request = &harness.stub.requests()[0];
    assert_eq!(request.method, "POST");
    assert_eq!(request.header("authorization"), format!("Bearer {KEY}"));
    assert_eq!(request.body["model"], MODEL);
    assert_eq!(request.body["stream"], true);
    assert_eq!(request.body["stream_options"]["include_usage"], true);
    assert_eq!(request.body["tools"].as_array().map(Vec::len), Some(4));
    assert!(
        request.body["messages"][0]["content"].as_str().expect("text").contains("/src/project")
    );
    let history = harness.history().await;
    assert_eq!(
        history,
        [
            json!({ "role": "user", "content": "greet me" }),
            json!({ "role": "assistant", "content": "Grüße, 世界!" }),
            json!({ "role": "user", "content": "and now?" }),
        ]
    );
}

#[tokio::test]
async fn it_does_not_matter_how_the_bytes_are_split() {
    let frames = Frames::new()
        .raw(": waiting\r\n\r\n")
        .reasoning("Überlegung")
        .raw(": still there\n\n\n")
        .text("Grüße, 世界! 🦀")
        .raw("event: message\r\nid: 7\r\ndata: {\"choices\":[{\"delta\":\r\ndata: {\"content\":\" Ende\"}}]}\r\n\r\n")
        .finish("stop")
        .done();
    for size in [1, 2, 3, 7, 64] {
        let harness = Harness::new().await;
        let bytes = frames.text_of_all().as_bytes();
        harness.stub.push(Answer::stream().in_pieces(bytes, size));
        assert_eq!(harness.run("go").await, Ok(()), "{size}");
        assert_eq!(harness.messages(), ["Grüße, 世界! 🦀 Ende"], "{size}");
        assert_eq!(harness.texts(TextKind::Reasoning), ["Überlegung"], "{size}");
    }
}

#[tokio::test]
async fn an_answer_is_complete_without_its_end_mark() {
    let finished = Frames::new().text("all").finish("stop");
    let unterminated = format!("{}data: [DONE]", Frames::new().text("all").text_of_all());
    for (what, answer) in [
        ("no mark", finished.answer()),
        ("no mark, and cut off", Answer::stream_of_length(9999).bytes(finished.text_of_all())),
        ("no mark, and no end", finished.answer().hang()),
        ("a mark and no reason", Frames::new().text("all").done().answer()),
        ("a mark and no end", Frames::new().text("all").done().answer().hang()),
        ("a mark without an empty line", Answer::stream().bytes(unterminated)),
    ] {
        let harness = Harness::new().await;
        harness.stub.push(answer);
        assert_eq!(harness.run("go").await, Ok(()), "{what}");
        assert_eq!(harness.messages(), ["all"], "{what}");
        assert_eq!(harness.stub.chats().len(), 1, "{what}");
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_fails_and_what_was_said_stays() {
    let begun = Frames::new().text("half of ").text("it");
    let reported = Frames::new().text("half of it");
    let reported = reported.json(&json!({ "error": { "message": "no luck", "code": 502 } }));
    let named =
        Frames::new().text("half of it").raw("event: error\ndata: {\"message\":\"bad\"}\n\n");
    for (answer, words) in [
        (begun.answer(), "cut off"),
        (Answer::stream_of_length(9999).bytes(begun.text_of_all()), "connection was lost"),
        (Answer::stream().bytes(format!("{}data: {{\"cho", begun.text_of_all())), "not an answer"),
        (begun.clone().raw("data: hello\n\n").answer(), "not an answer of a chat endpoint: hello"),
        (reported.answer(), "reports an error: no luck"),
        (named.answer(), "reports an error: bad"),
    ] {
        let harness = Harness::new().await;
        harness.stub.push(answer);
        let message = harness.fail("go").await;
        assert!(message.starts_with("stub: ") && message.contains(words), "{words}: {message}");
        assert_eq!(harness.messages(), ["half of it"]);
        let events = harness.events();
        assert!(matches!(events[events.len() - 2], AgentEvent::TextEnd { .. }), "{events:?}");
        assert!(matches!(events.last(), Some(AgentEvent::TurnEnd { .. })), "{events:?}");
        assert_eq!(harness.stub.chats().len(), 1, "not repeated");
        assert_eq!(
            harness.history().await[1],
            json!({ "role": "assistant", "content": "half of it" })
        );
    }
}

#[tokio::test]
async fn an_answer_that_was_cut_short_is_told() {
    for (reason, words) in [("length", "limit for one answer"), ("content_filter", "filter")] {
        let harness = Harness::new().await;
        harness.stub.push(Frames::new().text("once upon").finish(reason).done().answer());
        assert!(harness.fail("go").await.contains(words));
        assert_eq!(harness.messages(), ["once upon"]);
    }
}

#[tokio::test]
async fn other_dialects_are_understood() {
    for (what, delta) in [
        ("reasoning", json!({ "reasoning": "hm", "content": "" })),
        ("both names", json!({ "reasoning": "hm", "reasoning_content": "hm" })),
        ("parts", json!({ "content": [{ "type": "thinking", "thinking": [{ "text": "hm" }] }] })),
    ] {
        let harness = Harness::new().await;
        let text = json!({ "content": [{ "type": "text", "text": "yes" }], "tool_calls": null });
        let frames = Frames::new().json(&json!({ "choices": [] })).delta(&delta).delta(&text);
        harness.stub.push(frames.finish("stop").done().answer());
        assert_eq!(harness.run("go").await, Ok(()), "{what}");
        assert_eq!(harness.texts(TextKind::Reasoning), ["hm"], "{what}");
        assert_eq!(harness.messages(), ["yes"], "{what}");
    }
}

#[tokio::test]
async fn an_answer_may_come_in_one_piece() {
    let harness = Harness::new().await;
    let whole = json!({
        "choices": [{ "message": { "role": "assistant", "content": "whole" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 2 },
    });
    harness.stub.push(Answer::json(200, &whole));
    assert_eq!(harness.run("go").await, Ok(()));
    assert_eq!(harness.messages(), ["whole"]);
    harness.stub.push(Answer::json(200, &json!({ "status": "ok" })));
    assert!(harness.fail("go").await.contains("not an answer of a chat endpoint"));
    harness.stub.push(Answer::json(200, &json!({ "error": { "message": "model not loaded" } })));
    assert!(harness.fail("go").await.contains("model not loaded"));
    let page = Answer::head(200, &[("content-type", "text/html")]).bytes("<html>");
    harness.stub.push(page);
    assert!(harness.fail("go").await.contains("check baseUrl"));
}

#[tokio::test]
async fn an_answer_has_a_largest_size() {
    let harness = Harness::with_limits(|limits| limits.answer_bytes = 1000).await;
    let mut frames = Frames::new();
    for _ in 0..20 {
        frames = frames.text("more and more and more and more");
    }
    harness.stub.push(frames.answer().hang());
    assert!(harness.fail("go").await.contains("larger than 1000 bytes"));
    harness.stub.wait_for_aborts(1).await;
    harness.stub.push(Answer::stream().bytes(vec![b'x'; 100_000]).hang());
    assert!(harness.fail("go").await.contains("larger than 1000 bytes"), "without a line end");
}

#[tokio::test]
async fn a_provider_that_can_not_count_is_asked_without() {
    let harness = Harness::new().await;
    harness.stub.push(Answer::error(400, "unknown field: `stream_options`"));
    harness.stub.push(Frames::saying("one"));
    harness.stub.push(Frames::saying("two"));
    assert_eq!(harness.run("go").await, Ok(()));
    assert_eq!(harness.run("go on").await, Ok(()));
    assert_eq!(harness.messages(), ["one", "two"]);
    let asked: Vec<_> =
        harness.stub.chats().iter().map(|chat| chat.get("stream_options").is_some()).collect();
    assert_eq!(asked, [true, false, false]);
}
