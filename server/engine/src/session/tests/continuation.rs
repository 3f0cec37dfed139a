//! Closed sessions that are continued in new ones.

use agents::{
    AgentError, AgentSession, AgentSettings, Capabilities, PastConversation, ResumeError,
    SessionHandle,
};
use async_trait::async_trait;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use wire::{ModelInfo, PermissionMode};

use super::*;

pub(super) const REPEAT: &str = "repeat the conversation so far";

impl Harness {
    async fn close(&self, id: SessionId) {
        self.sessions.stop(id).await.expect("it was open");
    }

    async fn continue_closed(&self, id: SessionId) -> SessionId {
        self.sessions.continue_closed(id).await.expect("a session")
    }

    async fn run(&self, id: SessionId, prompt: &str) -> Vec<SessionResponse> {
        let mut turn = self.send(id, prompt);
        let before = turn.outcome().await;
        assert_eq!(before.ended, TurnEnd::Idle);
        let log = self.sessions.load_log(id).await.expect("open");
        log.durable().await.expect("kept");
        let journal = self.sessions.live().shared().journal();
        let responses = crate::recovery::responses(&**journal, id.into()).await.expect("read");
        responses.into_iter().map(|(_, timed)| timed.response).collect()
    }
}

/// The ids of all turns, texts and calls.
fn ids(responses: &[SessionResponse]) -> Vec<String> {
    let ids = responses.iter().filter_map(|response| match response {
        SessionResponse::AgentStart { turn_id: id }
        | SessionResponse::StartReasoning { reasoning_id: id }
        | SessionResponse::StartMessage { message_id: id }
        | SessionResponse::StartToolExecution { tool_call_id: id, .. } => Some(id.clone()),
        _ => None,
    });
    ids.collect()
}

/// Checks that no id occurs in two of the sessions.
fn assert_ids_differ(sessions: &[Vec<SessionResponse>]) {
    for (index, session) in sessions.iter().enumerate() {
        for other in &sessions[..index] {
            let other = ids(other);
            let shared: Vec<_> = ids(session).into_iter().filter(|id| other.contains(id)).collect();
            assert_eq!(shared, Vec::<String>::new());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_continued_session_knows_all_sessions_before_it() {
    let harness = Harness::new();
    let first = harness.start().await;
    let mut seen = vec![harness.run(first, "use job_boolean_true, say \"A plum.\"").await];
    let refused = harness.sessions.continue_closed(first).await;
    assert_eq!(refused, Err(SessionError::StillRunning.into()));
    harness.close(first).await;
    let second = harness.continue_closed(first).await;
    assert_ne!(first, second);
    seen.push(harness.run(second, "use job_boolean_true, say \"A pear.\"").await);
    harness.close(second).await;
    let third = harness.continue_closed(second).await;
    seen.push(harness.run(third, REPEAT).await);
    let said = messages(&seen[2]).pop().expect("an answer");
    assert!(said.contains("plum") && said.contains("pear"), "{said}");
    assert_eq!(errors(&seen[2]), Vec::<String>::new());
    assert_ids_differ(&seen);
    let unknown = harness.sessions.continue_closed(SessionId::generate()).await;
    assert_eq!(unknown, Err(SessionError::SessionNotFound.into()));
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_longer_kept_is_left_out_and_ids_stay_unique() {
    let harness = Harness::new();
    let first = harness.start().await;
    harness.run(first, "say \"A plum.\"").await;
    harness.close(first).await;
    let second = harness.continue_closed(first).await;
    let mut seen = vec![harness.run(second, "say \"A pear.\"").await];
    harness.close(second).await;
    harness.sessions.delete(first).await.expect("closed");
    let third = harness.continue_closed(second).await;
    seen.push(harness.run(third, REPEAT).await);
    let said = messages(&seen[1]).pop().expect("an answer");
    assert!(!said.contains("plum") && said.contains("pear"), "{said}");
    assert_ids_differ(&seen);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_continued_session_has_the_mode_that_was_chosen_for_the_closed_one() {
    let harness = Harness::new();
    let first = harness.start().await;
    let session = harness.sessions.get(first).expect("open");
    session.set_permissions(PermissionMode::Deny).await.expect("kept");
    harness.close(first).await;
    let second = harness.continue_closed(first).await;
    let listed = harness.sessions.list();
    assert_eq!((listed[0].id, listed[0].permissions), (second, PermissionMode::Deny));
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_continued_session_starts_under_the_same_rules_as_any_other() {
    let harness = Harness::with(SimulatedSettings::for_tests(), |settings| {
        settings.max_sessions = 1;
    });
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a name").to_owned();
    let first = harness.sessions.start(MODEL, &path).await.expect("a session");
    harness.close(first).await;
    let other = harness.start().await;
    let refused = harness.sessions.continue_closed(first).await;
    assert_eq!(refused, Err(StartError::TooManySessions.into()));
    harness.close(other).await;
    drop(folder);
    let refused = harness.sessions.continue_closed(first).await;
    assert_eq!(refused, Err(StartError::WorkingDirectoryNotExists(path).into()));
    harness.end().await;
}

/// Keeps its conversations by handles, as an agent with a memory of its own does.
#[derive(Default)]
pub(super) struct Remembering {
    resumed: Mutex<Vec<Option<String>>>,
    fails: Mutex<bool>,
}

impl Remembering {
    /// The handles by which conversations were resumed.
    pub(super) fn resumed(&self) -> Vec<Option<String>> {
        self.resumed.lock().clone()
    }
}

struct Remembered(String);

#[async_trait]
impl AgentSession for Remembered {
    fn handle(&self) -> Option<SessionHandle> {
        Some(SessionHandle::new(self.0.clone()))
    }

    async fn run_turn(&self, _: &str, _: &CancellationToken) -> Result<(), AgentError> {
        Ok(())
    }

    async fn stop(&self) {}
}

#[async_trait]
impl AgentBackend for Remembering {
    fn provider(&self) -> &'static str {
        "remembering"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { resume: true, ..Capabilities::default() }
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        let (name, id) = (MODEL.to_owned(), MODEL.to_owned());
        Ok(vec![ModelInfo { name, id, multiplier: 0.0, provider: None }])
    }

    async fn start_session(&self, _: AgentSettings) -> Result<Box<dyn AgentSession>, AgentError> {
        Ok(Box::new(Remembered(format!("handle-{}", self.resumed.lock().len()))))
    }

    async fn resume_session(
        &self,
        past: PastConversation,
        _: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, ResumeError> {
        if *self.fails.lock() {
            return Err(AgentError::Unavailable("offline".to_owned()).into());
        }
        let handle = past.handle.map(|handle| handle.as_str().to_owned());
        self.resumed.lock().push(handle.clone());
        match handle {
            Some(handle) => Ok(Box::new(Remembered(handle))),
            None => Err(ResumeError::Refused("no handle".to_owned())),
        }
    }

    async fn close(&self) {}
}

#[tokio::test(start_paused = true)]
async fn a_handle_is_used_by_one_session_only() {
    let backend = Arc::new(Remembering::default());
    let harness = Harness::with_backend(backend.clone(), |_| {});
    let first = harness.start().await;
    harness.run(first, "one").await;
    harness.close(first).await;
    // An attempt that fails leaves the handle to the next one.
    *backend.fails.lock() = true;
    let refused = harness.sessions.continue_closed(first).await;
    assert_eq!(refused, Err(StartError::ModelNotAvailable("offline".to_owned()).into()));
    *backend.fails.lock() = false;

    let second = harness.continue_closed(first).await;
    let third = harness.continue_closed(first).await;
    assert_eq!(backend.resumed(), [Some("handle-0".to_owned()), None]);
    assert_eq!(errors(&harness.run(second, "two").await), Vec::<String>::new());
    let told = errors(&harness.run(third, "three").await);
    assert!(told.len() == 1 && told[0].contains("could not be resumed (no handle)"), "{told:?}");
    // The handle went on to the second session.
    harness.close(second).await;
    harness.continue_closed(second).await;
    assert_eq!(backend.resumed().pop(), Some(Some("handle-0".to_owned())));
    harness.end().await;
}
