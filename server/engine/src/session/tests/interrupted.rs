//! Questions that were open when the server stopped.

use std::path::Path;

use agents::permission::Answer;
use store::fold::SessionNote;
use store::journal::SqliteJournal;
use store::live::LiveLog;
use tempfile::TempDir;
use wire::{
    Budget, EntityState, PermissionDecision, PermissionId, PermissionMode, PermissionOutcome,
};

use super::restart::{Server, query};
use super::*;

/// A data folder, and a folder to work in.
pub(super) struct Folders {
    data: TempDir,
    work: TempDir,
}

impl Folders {
    pub(super) fn new() -> Self {
        let folder = || tempfile::tempdir().expect("a folder");
        Self { data: folder(), work: folder() }
    }

    pub(super) fn data(&self) -> &Path {
        self.data.path()
    }

    pub(super) fn work(&self) -> &str {
        self.work.path().to_str().expect("a name")
    }

    pub(super) fn file(&self) -> Option<String> {
        std::fs::read_to_string(self.work.path().join("a.txt")).ok()
    }

    pub(super) async fn server(&self) -> Server {
        Server::start(self.data.path()).await
    }

    /// A server that stopped in order while a question was open and these prompts waited.
    pub(super) async fn interrupt(&self, waiting: &[&str]) -> (SessionId, PermissionId) {
        let server = self.server().await;
        let id = server.sessions.start(MODEL, self.work()).await.expect("a session");
        server.query(id, CREATE);
        for prompt in waiting {
            server.query(id, prompt);
        }
        let question = read_question(&server, id).await;
        server.end().await;
        (id, question)
    }
}

pub(super) const CREATE: &str =
    r#"use the createFile tool with the arguments {"path":"a.txt","content":"x"}"#;

/// Reads with a new token until a question is asked.
pub(super) async fn read_question(harness: &Harness, id: SessionId) -> PermissionId {
    read_until(harness, id, |response| match response {
        SessionResponse::PermissionRequest(question) => Some(question.id),
        _ => None,
    })
    .await
}

async fn read_until<T>(
    harness: &Harness,
    id: SessionId,
    find: impl Fn(&SessionResponse) -> Option<T>,
) -> T {
    let token = LiveToken::generate();
    loop {
        let responses = harness.read(id, &token).await.expect("still open");
        if let Some(found) = responses.iter().find_map(&find) {
            return found;
        }
    }
}

fn outcomes(responses: &[SessionResponse]) -> Vec<PermissionOutcome> {
    let outcomes = responses.iter().filter_map(|response| match response {
        SessionResponse::PermissionResolved { decision, .. } => Some(*decision),
        _ => None,
    });
    outcomes.collect()
}

fn count_questions(responses: &[SessionResponse]) -> usize {
    let asks = |one: &&SessionResponse| matches!(one, SessionResponse::PermissionRequest(_));
    responses.iter().filter(asks).count()
}

async fn answer(
    server: &Server,
    id: SessionId,
    question: PermissionId,
    decision: PermissionDecision,
) -> Result<(), SessionError> {
    server.sessions.answer_permission(id, question, &Answer::new(decision, "tester")).await
}

#[tokio::test]
async fn an_approval_after_restarts_resumes_the_turn_and_covers_exactly_that_call() {
    let folders = Folders::new();
    let (id, question) = folders.interrupt(&["say \"queued\""]).await;
    for _ in 0..2 {
        let server = folders.server().await;
        server.sessions.take_up_waiting().await;
        assert!(!server.sessions.has_running(), "the queue waits, too");
        let seen = server.read_until_idle(id, 1).await;
        assert!(outcomes(&seen).is_empty(), "{seen:?}");
        assert_eq!(server.record(id).await.state, EntityState::Waiting);
        let open = server.sessions.inbox().list();
        assert_eq!(open.items.iter().map(|item| item.id).collect::<Vec<_>>(), [question]);
        // A session that is resumed for another reason keeps it as well.
        server.sessions.find(id).await.expect("resumed");
        assert_eq!(server.sessions.inbox().list(), open);
        server.end().await;
    }
    assert_eq!(folders.file(), None);

    let server = folders.server().await;
    answer(&server, id, question, PermissionDecision::Approve).await.expect("open");
    let late = answer(&server, id, question, PermissionDecision::Deny).await;
    assert_eq!(late, Err(SessionError::PermissionNotPending));
    let seen = server.read_until_idle(id, 3).await;
    assert_eq!(folders.file().as_deref(), Some("x"));
    assert_eq!((count_questions(&seen), outcomes(&seen)), (1, vec![PermissionOutcome::Approved]));
    assert_eq!(messages(&seen).last().map(String::as_str), Some("queued"));
    assert_eq!(server.record(id).await.state, EntityState::Idle);
    server.end().await;
}

#[tokio::test]
async fn a_question_survives_a_crash_of_the_server() {
    let folders = Folders::new();
    let (id, question) = (SessionId::generate(), PermissionId::generate());
    write_question(&folders, id, question).await;
    let server = folders.server().await;
    let seen = server.read_until_idle(id, 1).await;
    assert!(outcomes(&seen).is_empty(), "{seen:?}");
    answer(&server, id, question, PermissionDecision::ApproveAlways).await.expect("open");
    let seen = server.read_until_idle(id, 2).await;
    assert_eq!(outcomes(&seen), [PermissionOutcome::ApprovedAlways]);
    assert_eq!(folders.file().as_deref(), Some("x"));
    server.end().await;
}

/// Writes what a server had written when it was killed while a question was open.
pub(super) async fn write_question(folders: &Folders, id: SessionId, question: PermissionId) {
    let journal = Arc::new(SqliteJournal::open(folders.data.path()).expect("a store"));
    let live = LiveShared::with_journal(LiveSettings::for_tests(), journal.clone());
    let log = LiveLog::<SessionResponse>::prepare(live, id.into());
    log.begin(&SessionNote::Started {
        model: MODEL.to_owned(),
        folder: folders.work().to_owned(),
        permissions: PermissionMode::Ask,
        task: None,
        continued_from: None,
        replaced: 0,
        project: None,
        budget: Budget::default(),
    });
    let facts = [
        r#"{"callback":"onUserPrompt","prompt":"create it"}"#.to_owned(),
        r#"{"callback":"onAgentStart","turnId":"turn-1"}"#.to_owned(),
        r#"{"callback":"onStartToolExecution","toolCallId":"call-1-1","toolName":"createFile","toolArguments":"{\"path\":\"a.txt\",\"content\":\"x\"}"}"#.to_owned(),
        format!(
            r#"{{"callback":"onPermissionRequest","requestId":"{question}","kind":"create","title":"Create a.txt","path":"a.txt","detail":"x"}}"#
        ),
    ];
    for fact in facts {
        log.push(&serde_json::from_str(&fact).expect("a response"));
    }
    log.durable().await.expect("kept");
    journal.close();
}

#[tokio::test]
async fn a_refusal_withdraws_it_and_prompts_that_waited_have_their_turns() {
    let folders = Folders::new();
    let (id, question) = folders.interrupt(&["say \"queued\""]).await;
    let server = folders.server().await;
    answer(&server, id, question, PermissionDecision::Deny).await.expect("open");
    let seen = server.read_until_idle(id, 2).await;
    assert_eq!(outcomes(&seen), [PermissionOutcome::Withdrawn]);
    assert_eq!(messages(&seen), ["queued"]);
    assert_eq!(folders.file(), None);
    server.end().await;
}

#[tokio::test]
async fn the_next_prompt_and_the_end_of_the_session_withdraw_it() {
    let folders = Folders::new();
    let (id, question) = folders.interrupt(&[]).await;
    let server = folders.server().await;
    query(&server, id, "say \"another\"").await;
    let seen = server.read_until_idle(id, 2).await;
    assert_eq!(outcomes(&seen), [PermissionOutcome::Withdrawn]);
    let late = answer(&server, id, question, PermissionDecision::Approve).await;
    assert_eq!(late, Err(SessionError::PermissionNotPending));
    server.end().await;

    let (id, _) = folders.interrupt(&[]).await;
    let server = folders.server().await;
    server.sessions.stop(id).await.expect("open");
    let seen = server.read_to_the_end(id).await;
    assert_eq!(outcomes(&seen), [PermissionOutcome::Withdrawn]);
    assert_eq!(server.sessions.inbox().list().items, []);
    server.end().await;
}

#[tokio::test]
async fn it_expires_by_the_time_at_which_it_was_asked() {
    let folders = Folders::new();
    let (id, _) = folders.interrupt(&[]).await;
    let data: &Path = folders.data.path();
    let server = Server::start_with_settings(data, |settings| {
        settings.permission_time_out = Duration::from_millis(1);
    })
    .await;
    server.sessions.take_up_waiting().await;
    let outcome = read_until(&server, id, |response| match response {
        SessionResponse::PermissionResolved { decision, .. } => Some(*decision),
        _ => None,
    })
    .await;
    assert_eq!(outcome, PermissionOutcome::TimedOut);
    server.end().await;
}
