//! How sessions end: stopped by users, or by a crash of the agent.

use std::sync::Arc;

use agents::{AgentError, AgentEvent, AgentEvents, AgentSession, AgentSettings};
use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use wire::ModelInfo;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_stopped_session_ends_at_once_and_takes_no_more() {
    for milliseconds in (0..2_500).step_by(61) {
        let harness = Harness::paced();
        let id = harness.start_with(&["say \"one two three\", wait 1 second", "say queued"]).await;
        sleep(Duration::from_millis(milliseconds)).await;
        let mut generated = harness.send(id, "say generated");
        let begun = Instant::now();
        harness.sessions.stop(id).await.expect("stopped");
        assert_eq!(begun.elapsed(), Duration::ZERO);
        let gone = SessionError::SessionNotFound;
        assert_eq!(
            harness.sessions.get(id).and_then(|session| session.enqueue("x".to_owned()).map(drop)),
            Err(gone)
        );
        let sent = harness
            .sessions
            .get(id)
            .and_then(|session| session.send_for_task("x".to_owned(), TaskId::generate(), meter()));
        assert_eq!(sent.expect_err("refused"), gone);
        assert_eq!(harness.sessions.get(id).map(|session| session.abort()), Err(gone));
        assert_eq!(harness.sessions.stop(id).await, Err(gone));
        assert!(!harness.sessions.has_running());
        assert_eq!(generated.outcome().await.ended, TurnEnd::Aborted);
        let seen = harness.read_to_the_end(id).await;
        assert_eq!(errors(&seen), Vec::<String>::new());
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_stops_even_if_who_asked_hangs_up() {
    let harness = Harness::paced();
    let id = harness.start_with(&["say one"]).await;
    sleep(Duration::from_millis(10)).await;
    let stop = harness.sessions.stop(id);
    drop(tokio::time::timeout(Duration::ZERO, stop).await);
    harness.read_to_the_end(id).await;
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_is_told_and_ends_the_session() {
    let harness = Harness::paced();
    let id = harness.start().await;
    let mut crashing = harness.send(id, "use the job_boolean_true tool, then crash");
    let mut queued = harness.send(id, "say never");
    let outcome = crashing.outcome().await;
    assert!(matches!(outcome.ended, TurnEnd::Crashed(_)));
    assert_eq!(outcome.tools.len(), 1);
    assert!(matches!(queued.outcome().await.ended, TurnEnd::Crashed(_)));
    let seen = harness.read_to_the_end(id).await;
    let [.., error] = &*seen else {
        panic!("nothing seen");
    };
    assert!(matches!(error, SessionResponse::Error { message } if message.contains("crashed")));
    assert_eq!(messages(&seen).len(), 1, "the partial message is closed");
    assert!(!seen.contains(&SessionResponse::Idle));
    let query =
        harness.sessions.get(id).and_then(|session| session.enqueue("x".to_owned()).map(drop));
    assert_eq!(query, Err(SessionError::SessionNotFound));
    assert!(!harness.sessions.has_running());
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn stopping_all_leaves_nothing_and_answers_pending_calls() {
    let harness = Harness::paced();
    let mut pending = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let id = harness.start_with(&["wait 20 seconds", "say more"]).await;
        let sessions = harness.sessions.clone();
        pending.spawn(async move {
            let token = ReaderKey::Token(LiveToken::generate());
            loop {
                let source = sessions.source(id).await.expect("a session");
                match source.poll(token.clone()).await {
                    Ok(delivery) if delivery.is_closed() => return,
                    Ok(delivery) => delivery.commit(),
                    Err(error) => assert_eq!(error, PollError::Timeout),
                }
            }
        });
    }
    sleep(Duration::from_secs(7)).await;
    let begun = Instant::now();
    harness.sessions.stop_all().await;
    pending.join_all().await;
    assert!(begun.elapsed() < Duration::from_millis(100));
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn shutdown_alone_ends_sessions_too() {
    let harness = Harness::paced();
    let id = harness.start_with(&["wait 20 seconds"]).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(harness.lifecycle.shutdown(Duration::from_secs(1)).await, 0);
    assert!(!harness.sessions.has_running());
    harness.read_to_the_end(id).await;
}

/// An agent that misbehaves in ways that the simulated ones don't.
#[derive(Default)]
struct Unruly {
    events: Mutex<Option<AgentEvents>>,
}

struct UnrulySession;

#[async_trait]
impl AgentBackend for Unruly {
    fn provider(&self) -> &'static str {
        "unruly"
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        let model = |id: &str| ModelInfo {
            name: id.to_owned(),
            id: id.to_owned(),
            multiplier: 0.0,
            provider: None,
        };
        Ok(vec![model(MODEL), model("broken")])
    }

    async fn start_session(
        &self,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        if settings.model == "broken" {
            return Err(AgentError::Unavailable("not logged in".to_owned()));
        }
        *self.events.lock() = Some(settings.events);
        Ok(Box::new(UnrulySession))
    }

    async fn close(&self) {}
}

#[async_trait]
impl AgentSession for UnrulySession {
    async fn run_turn(&self, prompt: &str, _abort: &CancellationToken) -> Result<(), AgentError> {
        assert_ne!(prompt, "panic");
        std::future::pending().await
    }

    async fn stop(&self) {
        std::future::pending::<()>().await;
    }
}

fn unruly() -> (Harness, Arc<Unruly>) {
    let backend = Arc::new(Unruly::default());
    (Harness::with_backend(backend.clone(), |_| {}), backend)
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_dies_between_turns_ends_the_session() {
    let (harness, backend) = unruly();
    let id = harness.start().await;
    let events = backend.events.lock().take().expect("started");
    events.emit(AgentEvent::Crashed { message: "killed".to_owned() });
    let seen = harness.read_to_the_end(id).await;
    assert_eq!(errors(&seen), ["killed"]);
    events.emit(AgentEvent::Error { message: "too late".to_owned() });
    sleep(Duration::from_secs(2)).await;
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_dies_in_a_turn_ends_the_session() {
    let (harness, backend) = unruly();
    let id = harness.start().await;
    let mut turn = harness.send(id, "anything");
    sleep(Duration::from_secs(1)).await;
    let events = backend.events.lock().take().expect("started");
    events.emit(AgentEvent::Crashed { message: "killed".to_owned() });
    let ended = TurnEnd::Crashed("killed".to_owned());
    assert_eq!(turn.outcome().await.ended, ended);
    assert_eq!(errors(&harness.read_to_the_end(id).await), ["killed"]);
    sleep(Duration::from_secs(2)).await;
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_ignores_everything_is_given_up() {
    let (harness, _backend) = unruly();
    let id = harness.start().await;
    let mut turn = harness.send(id, "anything");
    sleep(Duration::from_secs(1)).await;
    turn.abort();
    assert_eq!(turn.outcome().await.ended, TurnEnd::Aborted);
    let begun = Instant::now();
    harness.sessions.stop(id).await.expect("stopped");
    assert!(begun.elapsed() <= Duration::from_secs(4));
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_panics_ends_its_session_only() {
    let (harness, _backend) = unruly();
    let other = harness.start().await;
    let id = harness.start().await;
    let mut turn = harness.send(id, "panic");
    assert!(matches!(turn.outcome().await.ended, TurnEnd::Crashed(_)));
    assert_eq!(errors(&harness.read_to_the_end(id).await), ["internal error"]);
    assert_eq!(harness.sessions.list()[0].id, other);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_start_leaves_nothing() {
    let (harness, _backend) = unruly();
    let refused = harness.sessions.start("broken", "").await;
    let refused = refused.expect_err("refused");
    assert_eq!(refused.name(), ErrorName::ModelNotAvailable);
    assert!(harness.sessions.live().is_empty());
    assert!(!harness.sessions.has_running());
    harness.end().await;
}
