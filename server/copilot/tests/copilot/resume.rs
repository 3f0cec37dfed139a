//! Conversations that are stopped and continued.

use agents::{Fact, PastConversation, ResumeError, SessionHandle, ToolSet};
use serde_json::Value;
use stub_provider::{Answer, Frames};
use wire::entry::JOB_BOOLEAN_TRUE;

use super::processes::{cli, kill};
use super::*;

impl Bench {
    async fn resume(&self, past: PastConversation) -> Result<Conversation, ResumeError> {
        let (mut settings, events) = self.settings();
        settings.tools = Arc::new(ToolSet::with_job_tools());
        let session = self.copilot.resume_session(past, settings).await?;
        Ok(Conversation { session: Arc::from(session), events })
    }

    /// Two prompts, the second with a tool call; returns what is needed to resume the conversation.
    async fn converse_and_stop(&self) -> PastConversation {
        self.provider.push(Frames::saying("A plum."));
        let call = r#"{"argument":"because"}"#;
        let frames = Frames::new().call(0, "call-a", JOB_BOOLEAN_TRUE, call).finish("tool_calls");
        self.provider.push(frames.done().answer());
        self.provider.push(Frames::saying("It is true."));
        let tools = |settings: &mut AgentSettings| {
            settings.tools = Arc::new(ToolSet::with_job_tools());
        };
        let conversation = self.conversation_with(tools).await;
        conversation.ask("which fruit?").await.expect("a turn");
        conversation.ask("is it true?").await.expect("a turn");
        let handle = conversation.session.handle();
        conversation.session.stop().await;
        let rounds = conversation.events().into_iter().filter_map(|event| match event {
            AgentEvent::TurnStart { .. } => Some(Fact::Round),
            _ => None,
        });
        PastConversation { handle, facts: rounds.collect() }
    }

    /// Sends another prompt: the model must know the earlier ones, and nothing is reported again.
    async fn assert_goes_on(&self, conversation: &Conversation) {
        self.provider.push(Frames::saying("Still a plum."));
        conversation.ask("which fruit was it?").await.expect("a turn");
        assert_eq!(conversation.said(TextKind::Message), "Still a plum.");
        assert_eq!(words(&conversation.events()), "+turn-4 message -message -turn-4");
        let last = self.provider.chats().pop().expect("a request");
        assert_eq!(
            told(&last),
            [
                "user: which fruit?",
                "assistant: A plum.",
                "user: is it true?",
                "assistant: job_boolean_true {\"argument\":\"because\"}",
                "tool: because",
                "assistant: It is true.",
                "user: which fruit was it?",
            ]
        );
    }
}

/// What a request tells the model, without the CLI's own instructions and additions.
fn told(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().expect("messages").iter();
    let mut told = Vec::new();
    for message in messages.filter(|message| message["role"] != "system") {
        let role = message["role"].as_str().expect("a role");
        let content = &message["content"];
        let parts = content.as_array().into_iter().flatten();
        let parts: String = parts.filter_map(|part| part["text"].as_str()).collect();
        let text = content.as_str().unwrap_or(&parts);
        // The CLI puts the time in front of each prompt.
        let text = text.rsplit("\n\n").next().unwrap_or_default();
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            let (name, arguments) = (function["name"].as_str(), function["arguments"].as_str());
            told.push(format!("{role}: {} {}", name.expect("name"), arguments.expect("JSON")));
        }
        if !text.is_empty() {
            told.push(format!("{role}: {text}"));
        }
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_conversation_is_resumed_with_all_that_was_said() {
    let bench = Bench::new().await;
    let past = bench.converse_and_stop().await;
    let conversation = bench.resume(past).await.expect("it was kept");
    bench.assert_goes_on(&conversation).await;
    bench.finish(conversation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_outlives_its_cli() {
    let bench = Bench::new().await;
    let past = bench.converse_and_stop().await;
    bench.copilot.close().await;
    let copilot = backend(&bench.provider, bench.home.path());
    let next = Bench { copilot, ..bench };
    let conversation = next.resume(past).await.expect("it was kept");
    next.assert_goes_on(&conversation).await;
    next.finish(conversation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_whose_cli_was_killed_in_a_turn_is_resumed() {
    let bench = Bench::new().await;
    bench.provider.push(Frames::saying("A plum."));
    bench.provider.push(Answer::stream().bytes(Frames::new().text("Once").text_of_all()).hang());
    let conversation = bench.conversation().await;
    conversation.ask("which fruit?").await.expect("a turn");
    let turn = tokio::spawn({
        let conversation = conversation.clone();
        async move { conversation.ask("tell a story").await }
    });
    let is_story = |event: &AgentEvent| matches!(event, AgentEvent::TextDelta { delta, .. } if delta == "Once");
    conversation.wait_for("delta", is_story).await;
    let handle = conversation.session.handle();
    kill(cli(bench.home.path()));
    assert!(matches!(turn.await.expect("no panic"), Err(AgentError::Crashed(_))));
    conversation.session.stop().await;

    let past = PastConversation { handle, facts: vec![Fact::Round, Fact::Round] };
    let conversation = bench.resume(past).await.expect("it was kept");
    bench.provider.push(Frames::saying("Still a plum."));
    conversation.ask("which fruit was it?").await.expect("a turn");
    assert_eq!(conversation.said(TextKind::Message), "Still a plum.");
    let told = told(&bench.provider.chats().pop().expect("a request"));
    // The prompt of the killed turn may be missing: the CLI saves it some time after taking it up.
    assert_eq!(told[..2], ["user: which fruit?", "assistant: A plum."]);
    assert_eq!(told.last().map(String::as_str), Some("user: which fruit was it?"));
    bench.finish(conversation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_cli_does_not_know_is_refused() {
    let bench = Bench::new().await;
    let past = bench.converse_and_stop().await;
    let unknown = SessionHandle::new("00000000-0000-4000-8000-000000000000");
    for handle in [None, Some(unknown)] {
        let strange = PastConversation { handle: handle.clone(), facts: past.facts.clone() };
        let Err(ResumeError::Refused(reason)) = bench.resume(strange).await else {
            panic!("there is no such conversation: {handle:?}");
        };
        assert!(reason.contains("Copilot CLI"), "{reason}");
    }
    let conversation = bench.resume(past).await.expect("it is not worse for that");
    bench.assert_goes_on(&conversation).await;
    bench.finish(conversation).await;
}
