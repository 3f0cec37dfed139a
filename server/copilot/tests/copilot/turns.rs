//! Prompts and answers, aborted turns, and errors of the provider.

use stub_provider::{Answer, Frames};
use wire::Usage;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_streamed_with_its_reasoning_and_what_it_took() {
    let bench = Bench::new().await;
    let frames = Frames::new().reasoning("Let me ").reasoning("think.").text("Hello ").text("you.");
    bench.provider.push(frames.finish("stop").usage(12, 5).done().answer());
    let conversation = bench.conversation().await;
    conversation.ask("say hello").await.expect("a turn");
    assert_eq!(
        words(&conversation.events()),
        "+turn-1 reasoning -reasoning message usage -message -turn-1"
    );
    assert_eq!(conversation.said(TextKind::Reasoning), "Let me think.");
    assert_eq!(conversation.said(TextKind::Message), "Hello you.");
    let expected = Usage { input_tokens: 12, output_tokens: 5, ..Usage::default() };
    conversation.wait_for("usage", |event| {
        matches!(event, AgentEvent::Usage { model, usage } if model == MODEL && *usage == expected)
    })
    .await;
    let chats = bench.provider.chats();
    assert_eq!(chats.len(), 1);
    assert_eq!(chats[0]["model"], MODEL);
    assert!(chats[0].get("tools").is_none(), "it has no tools: {}", chats[0]["tools"]);
    bench.finish(conversation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aborted_turn_keeps_what_was_said_and_the_next_one_works() {
    let bench = Bench::new().await;
    let beginning = Frames::new().text("The beginning");
    bench.provider.push(Answer::stream().bytes(beginning.text_of_all()).hang());
    bench.provider.push(Frames::saying("I am back."));
    let conversation = bench.conversation().await;
    let abort = CancellationToken::new();
    let turn = tokio::spawn({
        let (conversation, abort) = (conversation.clone(), abort.clone());
        async move { conversation.ask_until("tell a story", &abort).await }
    });
    conversation.wait_for("delta", |event| matches!(event, AgentEvent::TextDelta { .. })).await;
    abort.cancel();
    assert_eq!(turn.await.expect("no panic"), Ok(()));
    bench.provider.wait_for_aborts(1).await;
    assert_eq!(conversation.said(TextKind::Message), "The beginning");
    conversation.ask("go on").await.expect("a turn");
    assert_eq!(conversation.said(TextKind::Message), "The beginningI am back.");
    assert_eq!(conversation.errors(), Vec::<String>::new());
    bench.finish(conversation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_turn_is_aborted_and_the_next_one_works() {
    let bench = Bench::new().await;
    bench.provider.push(Answer::stream().bytes(Frames::new().text("One").text_of_all()).hang());
    bench.provider.push(Frames::saying("Two"));
    let conversation = bench.conversation().await;
    let turn = tokio::spawn({
        let conversation = conversation.clone();
        async move { conversation.ask("count").await }
    });
    conversation.wait_for("delta", |event| matches!(event, AgentEvent::TextDelta { .. })).await;
    turn.abort();
    assert!(turn.await.is_err_and(|error| error.is_cancelled()));
    conversation.ask("go on").await.expect("a turn");
    assert_eq!(bench.provider.aborted(), 1);
    assert_eq!(conversation.said(TextKind::Message), "OneTwo");
    bench.finish(conversation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_provider_is_told_and_the_session_goes_on() {
    let bench = Bench::new().await;
    bench.provider.push(Answer::error(400, "no such luck"));
    bench.provider.push(Frames::saying("Better."));
    let conversation = bench.conversation().await;
    conversation.ask("try").await.expect("it is told as an event");
    let errors = conversation.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("no such luck"), "{errors:?}");
    conversation.ask("try again").await.expect("a turn");
    assert_eq!(conversation.said(TextKind::Message), "Better.");
    bench.finish(conversation).await;
}
