//! Prompts and answers.

use stub_provider::{Answer, Frames};
use wire::Usage;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_streamed_with_its_reasoning_and_what_it_took() {
    let bench = Bench::new().await;
    let frames = Frames::new().reasoning("Let me ").reasoning("think.").text("Hello ").text("you.");
    bench.provider.push(frames.finish("stop").usage(12, 5).done().answer());
    let talk = bench.talk().await;
    talk.ask("say hello").await.expect("a turn");
    assert_eq!(
        words(&talk.events()),
        "+turn-1 reasoning -reasoning message usage -message -turn-1"
    );
    assert_eq!(talk.said(TextKind::Reasoning), "Let me think.");
    assert_eq!(talk.said(TextKind::Message), "Hello you.");
    let expected = Usage { input_tokens: 12, output_tokens: 5, ..Usage::default() };
    talk.wait_for("usage", |event| {
        matches!(event, AgentEvent::Usage { model, usage } if model == MODEL && *usage == expected)
    })
    .await;
    let chats = bench.provider.chats();
    assert_eq!(chats.len(), 1);
    assert_eq!(chats[0]["model"], MODEL);
    assert!(chats[0].get("tools").is_none(), "it has no tools: {}", chats[0]["tools"]);
    bench.finish(talk).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aborted_turn_keeps_what_was_said_and_the_next_one_works() {
    let bench = Bench::new().await;
    let beginning = Frames::new().text("The beginning");
    bench.provider.push(Answer::stream().bytes(beginning.text_of_all()).hang());
    bench.provider.push(Frames::saying("I am back."));
    let talk = bench.talk().await;
    let abort = CancellationToken::new();
    let turn = tokio::spawn({
        let (talk, abort) = (talk.clone(), abort.clone());
        async move { talk.ask_until("tell a story", &abort).await }
    });
    talk.wait_for("delta", |event| matches!(event, AgentEvent::TextDelta { .. })).await;
    abort.cancel();
    assert_eq!(turn.await.expect("no panic"), Ok(()));
    bench.provider.wait_for_aborts(1).await;
    assert_eq!(talk.said(TextKind::Message), "The beginning");
    talk.ask("go on").await.expect("a turn");
    assert_eq!(talk.said(TextKind::Message), "The beginningI am back.");
    assert_eq!(talk.errors(), Vec::<String>::new());
    bench.finish(talk).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_turn_is_aborted_and_the_next_one_works() {
    let bench = Bench::new().await;
    bench.provider.push(Answer::stream().bytes(Frames::new().text("One").text_of_all()).hang());
    bench.provider.push(Frames::saying("Two"));
    let talk = bench.talk().await;
    let turn = tokio::spawn({
        let talk = talk.clone();
        async move { talk.ask("count").await }
    });
    talk.wait_for("delta", |event| matches!(event, AgentEvent::TextDelta { .. })).await;
    turn.abort();
    assert!(turn.await.is_err_and(|error| error.is_cancelled()));
    talk.ask("go on").await.expect("a turn");
    assert_eq!(bench.provider.aborted(), 1);
    assert_eq!(talk.said(TextKind::Message), "OneTwo");
    bench.finish(talk).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_provider_is_told_and_the_session_goes_on() {
    let bench = Bench::new().await;
    bench.provider.push(Answer::error(400, "no such luck"));
    bench.provider.push(Frames::saying("Better."));
    let talk = bench.talk().await;
    talk.ask("try").await.expect("it is told as an event");
    let errors = talk.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("no such luck"), "{errors:?}");
    talk.ask("try again").await.expect("a turn");
    assert_eq!(talk.said(TextKind::Message), "Better.");
    bench.finish(talk).await;
}
