//! Sessions with a model of a provider that is reached over a socket, and so in real time.

use agents::openai::{OpenAi, ProviderSettings};
use agents::provider::{BaseUrl, ProviderModel};
use stub_provider::{Frames, StubProvider};
use wire::entry::JOB_BOOLEAN_TRUE;

use super::*;

/// A backend for a scripted provider.
pub(super) async fn backend() -> (Arc<OpenAi>, StubProvider) {
    let stub = StubProvider::start().await.expect("a free port");
    let base_url = BaseUrl::parse(&stub.base_url()).expect("an address");
    let mut settings = ProviderSettings::new("stub", base_url);
    settings.models = vec![ProviderModel {
        id: MODEL.to_owned(),
        name: None,
        multiplier: None,
        context_window: None,
    }];
    (Arc::new(OpenAi::new(settings)), stub)
}

async fn start() -> (Harness, StubProvider) {
    let (backend, stub) = backend().await;
    (Harness::with_backend(backend, |_| {}), stub)
}

#[tokio::test]
async fn a_session_streams_blocks_and_runs_job_tools() {
    let (harness, stub) = start().await;
    let first = Frames::new()
        .reasoning("Is it?")
        .text("Let me say so.")
        .call(0, "same", JOB_BOOLEAN_TRUE, "{\"argument\":\"because\"}")
        .call(1, "same", "no_such_tool", "{}")
        .finish("tool_calls")
        .usage(10, 5)
        .done();
    stub.push(first.answer());
    stub.push(Frames::saying("It is."));
    let id = harness.start().await;
    let mut turn = harness.send(id, "is it?");
    let seen = harness.read_until_idle(id, 1).await;
    assert_eq!(messages(&seen), ["Let me say so.", "It is."]);
    assert_eq!(errors(&seen), Vec::<String>::new());
    let outcome = turn.outcome().await;
    assert_eq!(outcome.ended, TurnEnd::Idle);
    let called: Vec<_> =
        outcome.tools.iter().map(|tool| (&*tool.name, tool.argument(), tool.succeeded)).collect();
    let expected = [(JOB_BOOLEAN_TRUE, Some("because"), true), ("no_such_tool", None, false)];
    assert_eq!(called, expected);
    harness.end().await;
}

#[tokio::test]
async fn failing_and_aborting_leave_the_session_alive() {
    let (harness, stub) = start().await;
    let id = harness.start().await;
    stub.push(Frames::new().text("half").answer());
    harness.query(id, "fail");
    let seen = harness.read_until_idle(id, 1).await;
    assert_eq!(messages(&seen), ["half"]);
    assert!(errors(&seen)[0].contains("cut off"), "{seen:?}");

    stub.push(Frames::new().text("an endless").answer().hang());
    harness.query(id, "hang");
    stub.wait_for_requests(2).await;
    harness.sessions.get(id).expect("the session is open").abort();
    stub.wait_for_aborts(1).await;
    stub.push(Frames::saying("still here"));
    harness.query(id, "answer");
    let seen = harness.read_until_idle(id, 3).await;
    assert_eq!(messages(&seen).last().map(String::as_str), Some("still here"));
    harness.end().await;
}

#[tokio::test]
async fn stopping_closes_the_connection() {
    let (harness, stub) = start().await;
    stub.push(Frames::new().text("an endless").answer().hang());
    let id = harness.start_with(&["hang"]).await;
    stub.wait_for_requests(1).await;
    harness.sessions.stop(id).await.expect("the session is open");
    stub.wait_for_aborts(1).await;
    harness.end().await;
}
