//! Sessions that outlive their server.

use std::ops::Deref;
use std::path::Path;

use agents::{
    AgentError, AgentSession, AgentSettings, Capabilities, PastConversation, ResumeError,
};
use async_trait::async_trait;
use store::fold::SessionNote;
use store::journal::{Journal, Record, SqliteJournal};
use store::live::LiveLog;
use wire::{Budget, EntityState, ModelInfo, PermissionMode, TurnEnding};

use super::*;
use crate::recovery::recover;

const INTERRUPTED: &str = "interrupted: the server stopped";

/// A server on a data folder.
pub(super) struct Server {
    harness: Harness,
    journal: Arc<SqliteJournal>,
}

impl Deref for Server {
    type Target = Harness;

    fn deref(&self) -> &Harness {
        &self.harness
    }
}

impl Server {
    pub(super) async fn start(folder: &Path) -> Self {
        Self::start_with_settings(folder, |_| {}).await
    }

    pub(super) async fn start_with_settings(
        folder: &Path,
        change: impl FnOnce(&mut SessionSettings),
    ) -> Self {
        let simulated = Simulated::new(SimulatedSettings::for_tests());
        Self::start_with(folder, Arc::new(simulated), change).await
    }

    pub(super) async fn start_with_backend(folder: &Path, backend: Arc<dyn AgentBackend>) -> Self {
        Self::start_with(folder, backend, |_| {}).await
    }

    async fn start_with(
        folder: &Path,
        backend: Arc<dyn AgentBackend>,
        change: impl FnOnce(&mut SessionSettings),
    ) -> Self {
        let server = Self::start_without_inbox(folder, backend, change).await;
        server.sessions.restore_inbox().await.expect("restored");
        server
    }

    /// A server that does not know what waited.
    pub(super) async fn start_unrestored(folder: &Path) -> Self {
        let simulated = Simulated::new(SimulatedSettings::for_tests());
        Self::start_without_inbox(folder, Arc::new(simulated), |_| {}).await
    }

    async fn start_without_inbox(
        folder: &Path,
        backend: Arc<dyn AgentBackend>,
        change: impl FnOnce(&mut SessionSettings),
    ) -> Self {
        let journal = Arc::new(SqliteJournal::open(folder).expect("a store"));
        let live = LiveShared::with_journal(LiveSettings::for_tests(), journal.clone());
        recover(&live).await.expect("recovered");
        let lifecycle = Lifecycle::new();
        let mut settings = SessionSettings::new("/");
        change(&mut settings);
        let catalog = Catalog::new([backend]);
        let sessions = SessionManager::new(catalog, settings, live, lifecycle.clone());
        Self { harness: Harness { sessions, lifecycle }, journal }
    }

    pub(super) async fn record(&self, id: SessionId) -> Record {
        self.journal.record(id.into()).await.expect("read").expect("kept").0
    }

    /// Shuts the server down in an orderly way.
    pub(super) async fn end(self) {
        self.harness.end().await;
        self.journal.close();
    }
}

pub(super) async fn query(harness: &Harness, id: SessionId, prompt: &str) {
    let session = harness.sessions.find(id).await.expect("an open session");
    session.query(prompt.to_owned()).await.expect("taken");
}

fn is_interruption(response: &SessionResponse) -> bool {
    matches!(response, SessionResponse::Error { message } if message == INTERRUPTED)
}

#[tokio::test]
async fn an_open_session_is_listed_readable_and_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path()).await;
    let id = server.start_with(&["say \"A plum.\""]).await;
    let before = server.read_until_idle(id, 1).await;
    let closed = server.start().await;
    server.sessions.stop(closed).await.expect("open");
    server
        .sessions
        .get(id)
        .expect("open")
        .set_permissions(PermissionMode::Deny)
        .await
        .expect("kept");
    server.end().await;

    let server = Server::start(folder.path()).await;
    assert!(!server.sessions.has_running(), "no agent before it is needed");
    let listed = server.sessions.list_all().await.expect("a list");
    assert_eq!(listed.iter().map(|session| session.id).collect::<Vec<_>>(), [id]);
    assert_eq!((&*listed[0].model, listed[0].permissions), (MODEL, PermissionMode::Deny));
    assert_eq!(server.read_until_idle(id, 1).await, before);
    assert_eq!(server.sessions.find(closed).await.err(), Some(SessionError::SessionNotFound));

    query(&server, id, "repeat the conversation so far").await;
    let seen = server.read_until_idle(id, 2).await;
    assert!(messages(&seen)[1].contains("plum"), "{seen:?}");
    assert_eq!(server.sessions.list()[0].permissions, PermissionMode::Deny);
    server.sessions.stop(id).await.expect("open");
    server.end().await;

    let server = Server::start(folder.path()).await;
    assert_eq!(server.sessions.list_all().await.expect("a list"), []);
    server.end().await;
}

#[tokio::test]
async fn a_session_goes_on_although_the_shutdown_begins_before_it_is_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path()).await;
    let id = server.start_with(&["say one"]).await;
    server.read_until_idle(id, 1).await;
    server.lifecycle.begin_shutdown();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let late = server.sessions.start(MODEL, "").await.expect("a session");
    server.end().await;
    let server = Server::start(folder.path()).await;
    assert_eq!(server.record(id).await.state, EntityState::Idle);
    assert_eq!(server.record(late).await.state, EntityState::Idle);
    server.end().await;
}

#[tokio::test]
async fn a_turn_that_an_orderly_stop_ends_says_so_and_prompts_wait_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path()).await;
    let id = server.start_with(&["say one, wait 60 seconds", "say \"still queued\""]).await;
    let token = LiveToken::generate();
    let mut seen = Vec::new();
    while !seen.iter().any(|one| matches!(one, SessionResponse::EndMessage { .. })) {
        seen.extend(server.read(id, &token).await.expect("open"));
    }
    server.end().await;

    let server = Server::start(folder.path()).await;
    let seen = server.read_until_idle(id, 1).await;
    assert_eq!(messages(&seen), ["one"]);
    let end = &seen[seen.len() - 4..];
    assert!(is_interruption(&end[0]), "{end:?}");
    assert!(matches!(end[1], SessionResponse::AgentEnd { .. }), "{end:?}");
    let SessionResponse::TurnEnd { outcome: TurnEnding::Interrupted, .. } = end[2] else {
        panic!("{end:?}");
    };
    assert_eq!(server.sessions.list_all().await.expect("a list")[0].queued, 1);
    server.sessions.take_up_waiting().await;
    let seen = server.read_until_idle(id, 2).await;
    assert_eq!(messages(&seen), ["one", "still queued"]);
    assert_eq!(server.sessions.list_all().await.expect("a list")[0].queued, 0);
    server.end().await;
}

#[tokio::test]
async fn a_turn_that_a_crash_cuts_off_is_closed_at_the_next_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = SessionId::generate();
    {
        // What the server had written before it was killed.
        let journal = Arc::new(SqliteJournal::open(folder.path()).expect("a store"));
        let live = LiveShared::with_journal(LiveSettings::for_tests(), journal.clone());
        let log = LiveLog::prepare(live, id.into());
        log.begin(&SessionNote::Started {
            model: MODEL.to_owned(),
            folder: "/".to_owned(),
            permissions: PermissionMode::Ask,
            task: None,
            continued_from: None,
            replaced: 0,
            project: None,
            budget: Budget::default(),
        });
        log.push(&SessionResponse::UserPrompt { prompt: "say one".to_owned() });
        log.push(&SessionResponse::AgentStart { turn_id: "turn-1".to_owned() });
        log.push(&SessionResponse::StartMessage { message_id: "m".to_owned() });
        log.durable().await.expect("kept");
        journal.close();
    }
    let server = Server::start(folder.path()).await;
    let seen = server.read_until_idle(id, 1).await;
    assert!(seen.iter().any(is_interruption), "{seen:?}");
    let record = server.record(id).await;
    assert_eq!(record.state, EntityState::Idle);
    query(&server, id, "say two").await;
    let seen = server.read_until_idle(id, 2).await;
    assert_eq!(messages(&seen).last().map(String::as_str), Some("two"));
    server.end().await;
}

#[tokio::test]
async fn a_session_without_an_agent_is_renamed_and_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path()).await;
    let id = server.start_with(&["say one"]).await;
    server.read_until_idle(id, 1).await;
    server.end().await;

    let server = Server::start(folder.path()).await;
    server.sessions.abort(id).await.expect("nothing to do");
    server.sessions.rename(id, "Better".to_owned()).await.expect("renamed");
    server.sessions.stop(id).await.expect("closed");
    assert!(!server.sessions.has_running());
    assert_eq!(server.sessions.stop(id).await, Err(SessionError::SessionNotFound));
    server.read_to_the_end(id).await;
    let record = server.record(id).await;
    assert_eq!((&*record.title, record.state), ("Better", EntityState::Closed));
    server.end().await;
}

#[tokio::test]
async fn one_agent_is_resumed_however_many_ask_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path()).await;
    let id = server.start().await;
    server.end().await;
    let server = Server::start(folder.path()).await;
    let calls = (0..8).map(|_| server.sessions.find(id));
    let found = futures_util::future::join_all(calls).await;
    let first = found[0].as_ref().expect("open");
    assert!(found.iter().all(|other| Arc::ptr_eq(other.as_ref().expect("open"), first)));
    assert_eq!(server.sessions.list().len(), 1);
    server.end().await;
}

/// Simulated models that remember nothing.
struct Forgetful(Simulated);

#[async_trait]
impl AgentBackend for Forgetful {
    fn provider(&self) -> &str {
        self.0.provider()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        self.0.list_models().await
    }

    async fn start_session(
        &self,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        self.0.start_session(settings).await
    }

    async fn resume_session(
        &self,
        _: PastConversation,
        _: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, ResumeError> {
        Err(ResumeError::Refused("on purpose".to_owned()))
    }

    async fn close(&self) {
        self.0.close().await;
    }
}

#[tokio::test]
async fn what_can_t_be_resumed_goes_on_in_a_new_conversation_that_is_told_of_the_old_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let backend = || Arc::new(Forgetful(Simulated::new(SimulatedSettings::for_tests())));
    let server = Server::start_with_backend(folder.path(), backend()).await;
    let id = server.start_with(&["say \"A plum.\""]).await;
    server.read_until_idle(id, 1).await;
    server.end().await;

    let server = Server::start_with_backend(folder.path(), backend()).await;
    query(&server, id, "say two").await;
    server.read_until_idle(id, 2).await;
    query(&server, id, "repeat the conversation so far").await;
    let seen = server.read_until_idle(id, 3).await;
    let told = |message: &str| message.contains("could not be resumed (on purpose)");
    let errors = seen
        .iter()
        .filter(|one| matches!(one, SessionResponse::Error { message } if told(message)));
    assert_eq!(errors.count(), 1, "{seen:?}");
    let repeated = messages(&seen).pop().expect("an answer");
    assert!(repeated.contains("earlier conversation") && repeated.contains("plum"), "{repeated}");
    server.end().await;
}
