//! Turns that another model continues.

mod models;

use agents::permission::SessionPermissions;
use tokio::time::sleep;
use wire::{PermissionMode, TaskId, TurnEnding};

use super::restart::{Server, query};
use super::*;
use models::{Behaviour, Provider};

/// A session with the first model of the provider, and these fallback models.
async fn start(harness: &Harness, fallback: &[&str]) -> SessionId {
    let id = harness.sessions.start("a", "").await.expect("a session");
    choose(harness, id, fallback).await;
    id
}

async fn choose(harness: &Harness, id: SessionId, fallback: &[&str]) {
    let models = fallback.iter().map(|model| (*model).to_owned()).collect();
    harness.sessions.set_fallback(id, models).await.expect("known models");
}

fn model(harness: &Harness, id: SessionId) -> String {
    harness.sessions.get(id).expect("open").model()
}

fn turn_ends(responses: &[SessionResponse]) -> Vec<TurnEnding> {
    let ends = responses.iter().filter_map(|response| match response {
        SessionResponse::TurnEnd { outcome, .. } => Some(*outcome),
        _ => None,
    });
    ends.collect()
}

fn prompts(responses: &[SessionResponse]) -> usize {
    let is_prompt = |one: &&SessionResponse| matches!(one, SessionResponse::UserPrompt { .. });
    responses.iter().filter(is_prompt).count()
}

#[tokio::test(start_paused = true)]
async fn another_model_continues_with_what_was_said_and_keeps_the_session() {
    for resumes in [true, false] {
        let provider = Provider { resumes, ..Provider::new(&["a", "b"]) };
        let provider = Arc::new(provider);
        let harness = Harness::with_backend(provider.clone(), |_| {});
        let id = start(&harness, &["b"]).await;
        harness.query(id, "say \"A plum.\"");
        harness.read_until_idle(id, 1).await;
        provider.set("a", Behaviour::Fails);
        harness.query(id, "repeat the conversation so far");
        harness.query(id, "say \"still queued\"");
        let seen = harness.read_until_idle(id, 3).await;
        assert_eq!(errors(&seen), ["a failed: down; continuing with b"]);
        assert!(provider.sent().iter().any(|(model, prompt)| {
            model == "b" && (resumes || prompt.contains("Assistant: A plum."))
        }));
        if resumes {
            assert!(messages(&seen)[1].contains("A plum."), "{seen:?}");
        }
        assert_eq!(messages(&seen).last().map(String::as_str), Some("still queued"));
        assert_eq!(turn_ends(&seen), [TurnEnding::Completed; 3]);
        assert_eq!(prompts(&seen), 3);
        assert_eq!(model(&harness, id), "b");
        assert_eq!(harness.sessions.list()[0].model, "b");
        assert_eq!(provider.running(), 1, "the failed agent has ended");
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn models_are_tried_in_order_and_those_that_do_not_start_are_skipped() {
    let provider = Arc::new(Provider::new(&["a", "b", "c", "d", "e"]));
    provider.set("a", Behaviour::Fails);
    provider.set("b", Behaviour::DoesNotStart);
    provider.set("c", Behaviour::Fails);
    let harness = Harness::with_backend(provider.clone(), |_| {});
    let id = start(&harness, &["a", "b", "c", "d", "e"]).await;
    harness.query(id, "say hello");
    let seen = harness.read_until_idle(id, 1).await;
    let expected = [
        "b was skipped: the agent did not start: no login",
        "a failed: down; continuing with c",
        "c failed: down; continuing with d",
    ];
    assert_eq!(errors(&seen), expected);
    assert_eq!(messages(&seen), ["hello"]);
    assert_eq!((model(&harness, id).as_str(), provider.running()), ("d", 1));
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn if_no_model_answers_the_turn_fails_and_the_session_keeps_its_model() {
    for last in [Behaviour::Fails, Behaviour::Crashes, Behaviour::Reports, Behaviour::DoesNotStart]
    {
        let provider = Arc::new(Provider::new(&["a", "b"]));
        provider.set("a", Behaviour::Fails);
        provider.set("b", last);
        let harness = Harness::with_backend(provider.clone(), |_| {});
        let id = start(&harness, &["b"]).await;
        harness.query(id, "say hello");
        let seen = harness.read_until_idle(id, 1).await;
        assert_eq!(turn_ends(&seen), [TurnEnding::Failed]);
        assert_eq!(errors(&seen).len(), 2, "{last:?}: {seen:?}");
        assert!(errors(&seen)[1].contains("down"), "{seen:?}");
        assert_eq!((model(&harness, id).as_str(), provider.running()), ("a", 1));

        provider.set("a", Behaviour::Works);
        harness.query(id, "say \"back again\"");
        let seen = harness.read_until_idle(id, 2).await;
        assert_eq!(messages(&seen), ["back again"]);
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_outlives_a_crash_if_another_model_continues() {
    for crash in [Behaviour::Crashes, Behaviour::ReportsCrash] {
        let provider = Arc::new(Provider::new(&["a", "b"]));
        provider.set("a", crash);
        let harness = Harness::with_backend(provider.clone(), |_| {});
        let id = start(&harness, &["b"]).await;
        harness.query(id, "say hello");
        harness.query(id, "say \"and again\"");
        let seen = harness.read_until_idle(id, 2).await;
        assert_eq!(errors(&seen), ["a failed: down; continuing with b"]);
        assert_eq!(messages(&seen), ["hello", "and again"]);
        provider.set("b", crash);
        harness.query(id, "say nothing");
        // The first model is not in the list, so no other is left.
        let seen = harness.read_to_the_end(id).await;
        assert_eq!(errors(&seen).last().map(String::as_str), Some("down"));
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_reports_after_it_was_replaced_is_ignored() {
    let provider = Arc::new(Provider::new(&["a", "b"]));
    provider.set("a", Behaviour::Fails);
    let harness = Harness::with_backend(provider.clone(), |_| {});
    let id = start(&harness, &["b"]).await;
    harness.query(id, "say hello");
    harness.read_until_idle(id, 1).await;
    provider.crash_all("a");
    harness.query(id, "say \"and again\"");
    let seen = harness.read_until_idle(id, 2).await;
    assert_eq!(messages(&seen), ["hello", "and again"]);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_aborted_turn_is_not_continued() {
    let provider = Arc::new(Provider::new(&["a", "b"]));
    let harness = Harness::with_backend(provider.clone(), |_| {});
    let id = start(&harness, &["b"]).await;
    for behaviour in [Behaviour::Works, Behaviour::FailsWhenAborted] {
        provider.set("a", behaviour);
        let mut turn = {
            let session = harness.sessions.get(id).expect("open");
            session.enqueue("wait 60 seconds".to_owned()).expect("taken")
        };
        provider.asked().await;
        harness.sessions.get(id).expect("open").abort();
        turn.outcome().await;
    }
    let seen = harness.read_until_idle(id, 2).await;
    assert!(!errors(&seen).iter().any(|error| error.contains("continuing")), "{seen:?}");
    assert_eq!(model(&harness, id), "a");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_model_that_continues_after_tool_calls_is_told_to_look_first() {
    let provider = Arc::new(Provider::new(&["a", "b"]));
    provider.set("a", Behaviour::BreaksOff);
    let harness = Harness::with_backend(provider.clone(), |_| {});
    let id = start(&harness, &["b"]).await;
    let prompt = "use the job_boolean_true tool with the argument because";
    let mut turn = {
        let session = harness.sessions.get(id).expect("open");
        session.enqueue(prompt.to_owned()).expect("taken")
    };
    let outcome = turn.outcome().await;
    assert_eq!((outcome.ended, outcome.tools.len()), (TurnEnd::Idle, 2), "of both attempts");
    let (to, sent) = provider.sent().pop().expect("a prompt");
    assert_eq!(to, "b");
    assert!(sent.starts_with("An earlier attempt") && sent.ends_with(prompt), "{sent}");
    harness.query(id, "repeat the conversation so far");
    let seen = harness.read_until_idle(id, 2).await;
    let repeated = messages(&seen).pop().expect("an answer");
    assert_eq!(repeated.matches("tool: job_boolean_true").count(), 2, "{repeated}");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_error_counts_unless_the_agent_goes_on_after_it() {
    let provider = Arc::new(Provider::new(&["a", "b"]));
    provider.set("a", Behaviour::ReportsAndGoesOn);
    let harness = Harness::with_backend(provider.clone(), |_| {});
    let id = start(&harness, &["b"]).await;
    harness.query(id, "say hello");
    let seen = harness.read_until_idle(id, 1).await;
    assert_eq!((errors(&seen), messages(&seen)), (vec!["down".to_owned()], vec!["hello".into()]));
    assert_eq!(model(&harness, id), "a");
    provider.set("a", Behaviour::Reports);
    harness.query(id, "say again");
    let seen = harness.read_until_idle(id, 2).await;
    assert_eq!(errors(&seen)[1..], ["down", "a failed: down; continuing with b"]);
    assert_eq!(turn_ends(&seen)[1], TurnEnding::Completed, "what failed before does not count");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_the_portal_is_not_the_providers_failure() {
    let provider = Arc::new(Provider::new(&["a", "b"]));
    provider.set("a", Behaviour::ReachesLimit);
    let harness = Harness::with_backend(provider.clone(), |_| {});
    let id = start(&harness, &["b"]).await;
    harness.query(id, "say hello");
    let seen = harness.read_until_idle(id, 1).await;
    assert_eq!(
        (errors(&seen), turn_ends(&seen)),
        (vec!["down".to_owned()], vec![TurnEnding::Failed])
    );
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn prompts_and_sessions_of_tasks_are_not_continued() {
    let provider = Arc::new(Provider::new(&["a", "b"]));
    provider.set("a", Behaviour::Fails);
    let harness =
        Harness::with_backend(provider.clone(), |settings| settings.fallback = vec!["b".into()]);
    let borrowed = harness.sessions.start("a", "").await.expect("a session");
    let permissions = SessionPermissions {
        mode: PermissionMode::ApproveAll,
        ..harness.sessions.policy().permissions()
    };
    let of_task = StartOptions { task: Some(TaskId::generate()), ..StartOptions::new(permissions) };
    let of_task = harness.sessions.start_with("a", "", of_task).await.expect("a session");
    for id in [borrowed, of_task] {
        let outcome = harness.send(id, "say hello").outcome().await;
        assert_eq!(outcome.ended, TurnEnd::Failed("down".to_owned()));
    }
    harness.query(of_task, "say hello");
    harness.query(borrowed, "say hello");
    assert_eq!(messages(&harness.read_until_idle(of_task, 2).await), Vec::<String>::new());
    assert_eq!(messages(&harness.read_until_idle(borrowed, 2).await), ["hello"], "by the setting");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_can_do_without_the_models_of_the_setting() {
    let provider = Arc::new(Provider::new(&["a", "b"]));
    provider.set("a", Behaviour::Fails);
    let harness =
        Harness::with_backend(provider.clone(), |settings| settings.fallback = vec!["b".into()]);
    let id = harness.sessions.start("a", "").await.expect("a session");
    assert_eq!(harness.sessions.fallback(id).await, Ok(vec!["b".to_owned()]));
    choose(&harness, id, &[]).await;
    assert_eq!(harness.sessions.fallback(id).await, Ok(Vec::new()));
    harness.query(id, "say hello");
    assert_eq!(errors(&harness.read_until_idle(id, 1).await), ["down"]);
    let unknown = harness.sessions.set_fallback(id, vec!["b".into(), "x".into()]).await;
    assert_eq!(unknown, Err(FallbackError::ModelIdNotFound("x".to_owned())));
    assert_eq!(harness.sessions.fallback(id).await, Ok(Vec::new()), "unchanged");
    harness.sessions.stop(id).await.expect("open");
    let closed = harness.sessions.set_fallback(id, Vec::new()).await;
    assert_eq!(closed, Err(SessionError::SessionNotFound.into()));
    let next = harness.sessions.continue_closed(id).await.expect("a session");
    assert_eq!(harness.sessions.fallback(next).await, Ok(vec!["b".to_owned()]), "the setting");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_tools_suit_the_agent_that_the_session_has() {
    let own = Arc::new(Provider { own_tools: true, ..Provider::new(&["a"]) });
    let portal = Arc::new(Provider { name: "portal", ..Provider::new(&["b"]) });
    let harness = Harness::with_backends([own.clone() as _, portal.clone() as _], |_| {});
    let id = start(&harness, &["b", "a"]).await;
    assert!(!own.had_tool("createFile"));
    own.set("a", Behaviour::Fails);
    harness.query(id, "say hello");
    harness.read_until_idle(id, 1).await;
    assert!(portal.had_tool("createFile") && portal.had_tool("job_boolean_true"));
    own.set("a", Behaviour::Works);
    portal.set("b", Behaviour::Fails);
    harness.query(id, "say hello");
    let seen = harness.read_until_idle(id, 2).await;
    assert_eq!(messages(&seen), ["hello", "hello"]);
    assert!(!own.had_tool("createFile") && own.had_tool("job_boolean_true"));
    // A fallback that does not start leaves the tools as they were.
    own.set("a", Behaviour::Fails);
    portal.set("b", Behaviour::DoesNotStart);
    harness.query(id, "say hello");
    harness.read_until_idle(id, 3).await;
    assert!(!own.had_tool("createFile"));
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_is_parked_if_the_agent_that_it_has_can_be_resumed() {
    for resumes in [true, false] {
        let first = Arc::new(Provider { resumes: !resumes, ..Provider::new(&["a"]) });
        let other = Arc::new(Provider { name: "other", resumes, ..Provider::new(&["b"]) });
        let harness = Harness::with_backends([first.clone() as _, other.clone() as _], |_| {});
        first.set("a", Behaviour::Fails);
        let id = start(&harness, &["b"]).await;
        harness.query(id, "say hello");
        harness.read_until_idle(id, 1).await;
        sleep(Duration::from_mins(31)).await;
        assert_eq!(harness.sessions.has_running(), !resumes);
        assert_eq!(harness.sessions.fallback(id).await, Ok(vec!["b".to_owned()]));
        assert_eq!(harness.sessions.find(id).await.expect("open").model(), "b");
        harness.end().await;
    }
}

#[tokio::test]
async fn a_restart_goes_on_with_the_model_that_continued() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = Arc::new(Provider::new(&["a", "b"]));
    provider.set("a", Behaviour::Fails);
    let server = Server::start_with_backend(folder.path(), provider.clone()).await;
    let id = start(&server, &["b"]).await;
    query(&server, id, "say \"A plum.\"").await;
    let before = server.read_until_idle(id, 1).await;
    assert_eq!(messages(&before), ["A plum."]);
    server.end().await;

    let provider = Arc::new(Provider::new(&["a", "b"]));
    let server = Server::start_with_backend(folder.path(), provider.clone()).await;
    assert_eq!(server.record(id).await.model.as_deref(), Some("b"));
    assert_eq!(server.sessions.list_all().await.expect("a list")[0].model, "b");
    assert_eq!(server.sessions.fallback(id).await, Ok(vec!["b".to_owned()]));
    query(&server, id, "repeat the conversation so far").await;
    let seen = server.read_until_idle(id, 2).await;
    assert!(messages(&seen)[1].contains("A plum."), "{seen:?}");
    assert_eq!(provider.sent().pop().map(|(model, _)| model).as_deref(), Some("b"));
    server.end().await;
}
