//! How everything stands: the sessions with their histories, the runs, the questions.
//!
//! Plain data behind the bridge's lock.

use std::path::PathBuf;
use std::sync::Arc;

use agents::permission::PermissionDesk;
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio_util::sync::CancellationToken;
use wire::bridge::{
    ApprovalRequest, HistoryMessage, Mode, Role, RunEnd, SessionHistory, SessionSummary,
};
use wire::{MessageId, PermissionId};

use super::settings::WorkspaceFolder;
use super::store::Document;
use super::{BridgeError, MAX_RUNS, same_folder};

/// What a history holds. The oldest messages go first.
const MAX_MESSAGES: usize = 1_000;
const MAX_HISTORY: usize = 4 * 1024 * 1024;
/// What of it a model is told with a prompt.
const MAX_TOLD_MESSAGES: usize = 40;
const MAX_TOLD: usize = 32 * 1024;
const MAX_TOLD_EACH: usize = 4 * 1024;

#[derive(Debug)]
pub(super) struct Board {
    sessions: Vec<Session>,
    runs: Vec<ActiveRun>,
    approvals: Vec<ApprovalRequest>,
    closed: bool,
}

/// A workspace folder with its history.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Who answers unless a message says otherwise.
    pub(super) model: Option<String>,
    /// Lets one run through at a time, in order.
    pub(super) turn: Arc<Semaphore>,
    created: String,
    messages: Vec<HistoryMessage>,
    /// Held while the history is written.
    saving: Arc<AsyncMutex<()>>,
    /// The settings name it. One that they no longer name stays as long as something runs in it.
    listed: bool,
}

/// A run that waits or goes on.
#[derive(Debug)]
pub(super) struct ActiveRun {
    pub(super) id: MessageId,
    pub(super) session_id: String,
    pub(super) mode: Mode,
    pub(super) at: String,
    pub(super) model: Option<String>,
    /// What was told of the answer.
    pub(super) text: String,
    pub(super) desk: Option<PermissionDesk>,
    pub(super) stop: CancellationToken,
}

impl Session {
    pub(super) fn new(folder: &WorkspaceFolder, kept: Option<Document>, now: String) -> Self {
        let (created, messages) = match kept {
            Some(document) => (document.created, document.messages),
            None => (now, Vec::new()),
        };
        Self {
            id: folder.id(),
            name: folder.name(),
            path: folder.path.clone(),
            model: folder.model.clone(),
            turn: Arc::new(Semaphore::new(1)),
            saving: Arc::default(),
            listed: true,
            created,
            messages,
        }
    }

    fn trim(&mut self) {
        let mut bytes: usize = self.messages.iter().map(|message| message.text.len()).sum();
        let mut surplus = self.messages.len().saturating_sub(MAX_MESSAGES);
        for (index, message) in self.messages.iter().enumerate() {
            if index >= surplus && bytes <= MAX_HISTORY {
                break;
            }
            surplus = surplus.max(index + 1);
            bytes -= message.text.len();
        }
        self.messages.drain(..surplus);
    }
}

impl Board {
    pub(super) fn new(sessions: Vec<Session>) -> Self {
        Self { sessions, runs: Vec::new(), approvals: Vec::new(), closed: false }
    }

    /// Lists the sessions of other settings: those that are known, and new ones.
    pub(super) fn relist(&mut self, folders: &[WorkspaceFolder], new: Vec<Session>) {
        self.sessions.extend(new);
        for session in &mut self.sessions {
            let folder = folders.iter().find(|folder| folder.id() == session.id);
            session.listed = folder.is_some();
            session.model = folder.and_then(|folder| folder.model.clone());
        }
        let runs = &self.runs;
        self.sessions.retain(|session| {
            session.listed || runs.iter().any(|run| run.session_id == session.id)
        });
        let place = |session: &Session| folders.iter().position(|folder| folder.id() == session.id);
        self.sessions.sort_by_key(|session| place(session).unwrap_or(usize::MAX));
    }

    pub(super) fn session_ids(&self) -> Vec<String> {
        self.sessions.iter().map(|session| session.id.clone()).collect()
    }

    pub(super) fn summaries(&self) -> Vec<SessionSummary> {
        let listed = self.sessions.iter().filter(|session| session.listed);
        listed
            .map(|session| SessionSummary {
                id: session.id.clone(),
                name: session.name.clone(),
                created: session.created.clone(),
                count: session.messages.len(),
            })
            .collect()
    }

    /// The session of an id or an absolute path.
    pub(super) fn find(&self, id: &str) -> Result<&Session, BridgeError> {
        let mut listed = self.sessions.iter().filter(|session| session.listed);
        listed
            .find(|session| session.id == id || same_folder(&session.path, id))
            .ok_or_else(|| BridgeError::SessionNotFound(id.to_owned()))
    }

    /// The session of messages that name none.
    pub(super) fn first(&self) -> Result<&Session, BridgeError> {
        let first = self.sessions.iter().find(|session| session.listed);
        first.ok_or_else(|| BridgeError::SessionNotFound(String::new()))
    }

    /// The session of a run, listed or not.
    pub(super) fn session(&self, id: &str) -> Option<&Session> {
        self.sessions.iter().find(|session| session.id == id)
    }

    fn session_mut(&mut self, id: &str) -> Option<&mut Session> {
        self.sessions.iter_mut().find(|session| session.id == id)
    }

    pub(super) fn history(&self, session: &Session, last_event_id: u64) -> SessionHistory {
        let mut messages = session.messages.clone();
        let of_session = self.runs.iter().filter(|run| run.session_id == session.id);
        messages.extend(of_session.map(|run| run.answer(None, None)));
        let approvals = self.approvals.iter().filter(|ask| ask.session_id == session.id);
        SessionHistory {
            id: session.id.clone(),
            name: session.name.clone(),
            approvals: approvals.cloned().collect(),
            messages,
            last_event_id,
        }
    }

    /// The conversation before a run in its session, oldest first, truncated to the context budget.
    pub(super) fn told_before(&self, session_id: &str, run: MessageId) -> Vec<(Role, String)> {
        let Some(session) = self.session(session_id) else { return Vec::new() };
        let answered = |id: MessageId| {
            let mut answers = session.messages.iter().filter(|message| message.id == id);
            answers.any(|message| {
                message.role == Role::Assistant && message.reason == Some(RunEnd::Done)
            })
        };
        let before = session.messages.iter().filter(|told| told.id != run && answered(told.id));
        let (mut told, mut bytes) = (Vec::new(), 0);
        for message in before.rev().take(MAX_TOLD_MESSAGES) {
            let mut text = message.text.clone();
            if text.len() > MAX_TOLD_EACH {
                text.truncate(text.floor_char_boundary(MAX_TOLD_EACH));
                text.push('…');
            }
            bytes += text.len();
            if bytes > MAX_TOLD {
                break;
            }
            told.push((message.role, text));
        }
        told.reverse();
        told
    }

    /// Takes a run and its message in.
    pub(super) fn begin(
        &mut self,
        run: ActiveRun,
        message: HistoryMessage,
    ) -> Result<(), BridgeError> {
        if self.closed {
            return Err(BridgeError::Stopping);
        }
        let others = self.runs.iter().filter(|other| other.session_id == run.session_id).count();
        if others >= MAX_RUNS {
            return Err(BridgeError::TooManyRuns);
        }
        let Some(session) = self.session_mut(&run.session_id) else {
            return Err(BridgeError::SessionNotFound(run.session_id));
        };
        session.messages.push(message);
        session.trim();
        self.runs.push(run);
        Ok(())
    }

    pub(super) fn run(&self, id: MessageId) -> Option<&ActiveRun> {
        self.runs.iter().find(|run| run.id == id)
    }

    pub(super) fn run_mut(&mut self, id: MessageId) -> Option<&mut ActiveRun> {
        self.runs.iter_mut().find(|run| run.id == id)
    }

    /// Takes a run out and its answer into the history.
    pub(super) fn end(
        &mut self,
        id: MessageId,
        reason: RunEnd,
        error: Option<String>,
    ) -> Option<ActiveRun> {
        let index = self.runs.iter().position(|run| run.id == id)?;
        let run = self.runs.remove(index);
        let answer = run.answer(Some(reason), error);
        if let Some(session) = self.session_mut(&run.session_id) {
            session.messages.push(answer);
            session.trim();
        }
        Some(run)
    }

    /// Forgets all messages but those of runs that go on.
    pub(super) fn clear(&mut self, session_id: &str) {
        let active: Vec<_> = self.runs.iter().map(|run| run.id).collect();
        if let Some(session) = self.session_mut(session_id) {
            session.messages.retain(|message| active.contains(&message.id));
        }
    }

    pub(super) fn ask(&mut self, request: ApprovalRequest) {
        self.approvals.push(request);
    }

    pub(super) fn settle(&mut self, id: PermissionId) {
        self.approvals.retain(|request| request.approval_id != id);
    }

    /// Where a question waits.
    pub(super) fn desk_of(&self, id: PermissionId) -> Option<PermissionDesk> {
        let request = self.approvals.iter().find(|request| request.approval_id == id)?;
        self.run(request.id)?.desk.clone()
    }

    /// Takes no more runs and cancels those there are.
    pub(super) fn close(&mut self) {
        self.closed = true;
        for run in &self.runs {
            run.stop.cancel();
        }
    }

    pub(super) fn saving(&self, session_id: &str) -> Option<Arc<AsyncMutex<()>>> {
        self.session(session_id).map(|session| Arc::clone(&session.saving))
    }

    pub(super) fn document(&self, session_id: &str) -> Option<Document> {
        let session = self.session(session_id)?;
        Some(Document {
            path: session.path.to_string_lossy().into_owned(),
            created: session.created.clone(),
            messages: session.messages.clone(),
        })
    }
}

impl ActiveRun {
    fn answer(&self, reason: Option<RunEnd>, error: Option<String>) -> HistoryMessage {
        HistoryMessage {
            id: self.id,
            role: Role::Assistant,
            text: self.text.clone(),
            at: self.at.clone(),
            mode: self.mode,
            model: self.model.clone(),
            reason,
            error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u32, role: Role, text: &str) -> HistoryMessage {
        HistoryMessage {
            id: format!("message-00000000-0000-4000-8000-{number:012}").parse().expect("an id"),
            role,
            text: text.to_owned(),
            at: String::new(),
            mode: Mode::Prompt,
            model: None,
            reason: (role == Role::Assistant).then_some(RunEnd::Done),
            error: None,
        }
    }

    fn session(messages: Vec<HistoryMessage>) -> Session {
        let kept = Document { path: String::new(), created: String::new(), messages };
        Session::new(&WorkspaceFolder::new("/w"), Some(kept), String::new())
    }

    #[test]
    fn the_oldest_messages_go_first() {
        let many = (0..1_005).map(|number| message(number, Role::User, "x")).collect();
        let mut many = session(many);
        many.trim();
        assert_eq!(many.messages.len(), MAX_MESSAGES);
        assert_eq!(many.messages[0].id, message(5, Role::User, "").id);

        let large = "x".repeat(MAX_HISTORY / 2);
        let mut large: Session =
            session((0..3).map(|number| message(number, Role::User, &large)).collect());
        large.trim();
        assert_eq!(large.messages.len(), 2);
    }

    #[test]
    fn a_model_is_told_what_was_answered_and_not_more_than_it_can_bear() {
        let failed = HistoryMessage {
            reason: Some(RunEnd::Failed),
            ..message(2, Role::Assistant, "no answer")
        };
        let mut messages = vec![
            message(1, Role::User, "one"),
            message(1, Role::Assistant, "first"),
            message(2, Role::User, "two"),
            failed,
            message(3, Role::User, "not answered yet"),
            message(4, Role::User, "this one"),
        ];
        let id = session(Vec::new()).id;
        let told = |messages: &[HistoryMessage]| {
            let board = Board::new(vec![session(messages.to_vec())]);
            board.told_before(&id, message(4, Role::User, "").id)
        };
        let expected = [(Role::User, "one".to_owned()), (Role::Assistant, "first".to_owned())];
        assert_eq!(told(&messages), expected);

        let long = "x".repeat(100_000);
        for number in 10..40 {
            messages.push(message(number, Role::User, &long));
            messages.push(message(number, Role::Assistant, &long));
        }
        let told = told(&messages);
        assert!(told.len() > 4, "{}", told.len());
        assert!(told.iter().map(|(_, text)| text.len()).sum::<usize>() <= MAX_TOLD);
    }
}
