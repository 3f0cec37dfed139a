//! Messages that a model just answers.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_prompt_is_told_answered_and_remembered() {
    let mut fixture = Fixture::new().await;
    let id = fixture.send("say hello world", None).await;
    let Event::Inbound(inbound) = fixture.event().await else { panic!("the message first") };
    assert_eq!((inbound.id, &*inbound.text, &*inbound.source), (id, "say hello world", "http"));
    assert_eq!(inbound.session_id, fixture.id().await);
    let Event::Fragment(fragment) = fixture.event().await else { panic!("a fragment") };
    assert_eq!((fragment.id, &*fragment.model), (id, "gpt-5.2"));
    let (text, done) = fixture.end().await;
    assert_eq!(fragment.fragment + &text, "hello world");
    assert_eq!(ended(&done), (RunEnd::Done, None));
    let history = fixture.history().await;
    let texts: Vec<_> = history.messages.iter().map(|message| &*message.text).collect();
    assert_eq!(texts, ["say hello world", "hello world"]);
    assert_eq!(history.messages[1].model.as_deref(), Some("gpt-5.2"));
    assert_eq!(fixture.summary().await.count, 2);
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_said_before_is_told_but_not_obeyed_again() {
    let mut fixture = Fixture::new().await;
    fixture.send("say one", None).await;
    assert_eq!(fixture.end().await.0, "one");
    fixture.send("say two", None).await;
    assert_eq!(fixture.end().await.0, "two");
    let told = {
        let project = fixture.id().await;
        fixture.bridge.inner.context(&project).await.expect("a context")
    };
    let prompt = instructions::prompt(&told, "and now?");
    assert_eq!(
        prompt,
        "<context>\nWhat was said before, the oldest first:\n\nUser: say one\n\nYou: one\n\n\
         User: say two\n\nYou: two\n</context>\n\nand now?"
    );
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_message_names_the_model_else_the_session_does() {
    let mut fixture = Fixture::with(|settings| {
        settings.workspaces[0].model = Some("simulated-quick".to_owned());
    })
    .await;
    fixture.send("say a", None).await;
    assert_eq!(fixture.end().await.1.model.as_deref(), Some("simulated-quick"));
    let request = MessageRequest {
        text: Some("say a".to_owned()),
        model: Some("gpt-5-mini".to_owned()),
        ..MessageRequest::default()
    };
    fixture.bridge.send(request.clone()).await.expect("accepted");
    assert_eq!(fixture.end().await.1.model.as_deref(), Some("gpt-5-mini"));
    let request = MessageRequest { model: Some("none".to_owned()), ..request };
    let error = BridgeError::ModelIdNotFound("none".to_owned());
    assert_eq!(fixture.bridge.send(request).await, Err(error));

    let mut settings = BridgeSettings::clone(&fixture.bridge.settings());
    settings.workspaces[0].model = Some("gone".to_owned());
    fixture.bridge.set_settings(settings);
    fixture.send("say a", None).await;
    let done = fixture.end().await.1;
    assert_eq!(ended(&done), (RunEnd::Failed, Some("unknown model: `gone`")));
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_fails_the_run() {
    let mut fixture = Fixture::new().await;
    fixture.send("say hm, then fail with \"out of order\"", None).await;
    let (text, done) = fixture.end().await;
    assert_eq!((&*text, ended(&done)), ("hm", (RunEnd::Failed, Some("out of order"))));
    fixture.send("crash", None).await;
    assert_eq!(fixture.end().await.1.reason, RunEnd::Failed);
    fixture.send("say fine", None).await;
    assert_eq!(fixture.end().await.0, "fine");
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn messages_are_checked_before_they_are_taken() {
    let fixture = Fixture::with(|settings| settings.agent.enabled = false).await;
    let text =
        |text: &str| MessageRequest { text: Some(text.to_owned()), ..MessageRequest::default() };
    let unknown_session = MessageRequest { session_id: Some("x".to_owned()), ..text("hi") };
    let unknown_mode = MessageRequest { mode: Some("magic".to_owned()), ..text("hi") };
    let agent = MessageRequest { mode: Some("agent".to_owned()), ..text("hi") };
    let no_steps = MessageRequest { max_steps: Some(0), ..text("hi") };
    for (request, error) in [
        (MessageRequest::default(), BridgeError::TextMissing),
        (text(" \n"), BridgeError::TextMissing),
        (text("agent: "), BridgeError::TextMissing),
        (text(&"x".repeat(300_000)), BridgeError::TextTooLong),
        (unknown_session, BridgeError::SessionNotFound("x".to_owned())),
        (unknown_mode, BridgeError::UnknownMode("magic".to_owned())),
        (agent, BridgeError::AgentDisabled),
        (text("agent: do it"), BridgeError::AgentDisabled),
        (no_steps, BridgeError::StepsOutOfRange(0)),
        (MessageRequest { max_steps: Some(101), ..text("hi") }, BridgeError::StepsOutOfRange(101)),
    ] {
        assert_eq!(fixture.bridge.send(request).await, Err(error));
    }
    assert_eq!(fixture.summary().await.count, 0);
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn more_runs_than_may_wait_are_refused() {
    let mut fixture = Fixture::new().await;
    let mut runs = Vec::new();
    for _ in 0..MAX_RUNS {
        runs.push(fixture.send("wait 1 minute", None).await);
    }
    let request = MessageRequest { text: Some("say x".to_owned()), ..MessageRequest::default() };
    assert_eq!(fixture.bridge.send(request).await, Err(BridgeError::TooManyRuns));
    for run in runs {
        fixture.bridge.cancel(&run.to_string()).await.expect("running");
        fixture.end().await;
    }
    fixture.send("say x", None).await;
    assert_eq!(fixture.end().await.0, "x");
    fixture.finish().await;
}
