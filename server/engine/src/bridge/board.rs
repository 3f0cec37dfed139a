//! The state of the bridge: projects with their histories, active runs, pending approvals.
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

/// The size of a history, in messages and bytes. The oldest messages are dropped first.
const MAX_MESSAGES: usize = 1_000;
const MAX_HISTORY: usize = 4 * 1024 * 1024;
/// How much of the history a model gets with a prompt, in messages and bytes.
const MAX_CONTEXT_MESSAGES: usize = 40;
const MAX_CONTEXT: usize = 32 * 1024;
const MAX_CONTEXT_EACH: usize = 4 * 1024;

#[derive(Debug)]
pub(super) struct Board {
    projects: Vec<Project>,
    runs: Vec<ActiveRun>,
    approvals: Vec<ApprovalRequest>,
    closed: bool,
}

/// A workspace folder with its history.
#[derive(Debug)]
pub(super) struct Project {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// The model that answers, unless a message names one.
    pub(super) model: Option<String>,
    /// Lets one run work at a time, in order of arrival.
    pub(super) run_slot: Arc<Semaphore>,
    created: String,
    messages: Vec<HistoryMessage>,
    /// Held while the history is written.
    saving: Arc<AsyncMutex<()>>,
    /// Whether the settings name it. An unlisted project stays while runs are active in it.
    listed: bool,
}

/// A run that waits or is working.
#[derive(Debug)]
pub(super) struct ActiveRun {
    pub(super) id: MessageId,
    pub(super) session_id: String,
    pub(super) mode: Mode,
    pub(super) at: String,
    pub(super) model: Option<String>,
    /// The answer so far.
    pub(super) text: String,
    pub(super) desk: Option<PermissionDesk>,
    pub(super) stop: CancellationToken,
}

impl Project {
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
            run_slot: Arc::new(Semaphore::new(1)),
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
    pub(super) fn new(projects: Vec<Project>) -> Self {
        Self { projects, runs: Vec::new(), approvals: Vec::new(), closed: false }
    }

    /// Applies other settings: updates known projects, adds new ones, and unlists those not named.
    pub(super) fn relist(&mut self, folders: &[WorkspaceFolder], new: Vec<Project>) {
        self.projects.extend(new);
        for project in &mut self.projects {
            let folder = folders.iter().find(|folder| folder.id() == project.id);
            project.listed = folder.is_some();
            project.model = folder.and_then(|folder| folder.model.clone());
        }
        let runs = &self.runs;
        self.projects.retain(|project| {
            project.listed || runs.iter().any(|run| run.session_id == project.id)
        });
        let place = |project: &Project| folders.iter().position(|folder| folder.id() == project.id);
        self.projects.sort_by_key(|project| place(project).unwrap_or(usize::MAX));
    }

    pub(super) fn project_ids(&self) -> Vec<String> {
        self.projects.iter().map(|project| project.id.clone()).collect()
    }

    pub(super) fn summaries(&self) -> Vec<SessionSummary> {
        let listed = self.projects.iter().filter(|project| project.listed);
        listed
            .map(|project| SessionSummary {
                id: project.id.clone(),
                name: project.name.clone(),
                created: project.created.clone(),
                count: project.messages.len(),
            })
            .collect()
    }

    /// The listed project with this id or absolute path.
    pub(super) fn find(&self, id: &str) -> Result<&Project, BridgeError> {
        let mut listed = self.projects.iter().filter(|project| project.listed);
        listed
            .find(|project| project.id == id || same_folder(&project.path, id))
            .ok_or_else(|| BridgeError::SessionNotFound(id.to_owned()))
    }

    /// The project for messages that name none.
    pub(super) fn first(&self) -> Result<&Project, BridgeError> {
        let first = self.projects.iter().find(|project| project.listed);
        first.ok_or_else(|| BridgeError::SessionNotFound(String::new()))
    }

    /// The project of a run, listed or not.
    pub(super) fn project(&self, id: &str) -> Option<&Project> {
        self.projects.iter().find(|project| project.id == id)
    }

    fn project_mut(&mut self, id: &str) -> Option<&mut Project> {
        self.projects.iter_mut().find(|project| project.id == id)
    }

    pub(super) fn history(&self, project: &Project, last_event_id: u64) -> SessionHistory {
        let mut messages = project.messages.clone();
        let of_project = self.runs.iter().filter(|run| run.session_id == project.id);
        messages.extend(of_project.map(|run| run.answer(None, None)));
        let approvals = self.approvals.iter().filter(|ask| ask.session_id == project.id);
        SessionHistory {
            id: project.id.clone(),
            name: project.name.clone(),
            approvals: approvals.cloned().collect(),
            messages,
            last_event_id,
        }
    }

    /// The conversation before a run in its project, oldest first, truncated to the context budget.
    pub(super) fn context_before(&self, session_id: &str, run: MessageId) -> Vec<(Role, String)> {
        let Some(project) = self.project(session_id) else { return Vec::new() };
        let answered = |id: MessageId| {
            let mut answers = project.messages.iter().filter(|message| message.id == id);
            answers.any(|message| {
                message.role == Role::Assistant && message.reason == Some(RunEnd::Done)
            })
        };
        let before =
            project.messages.iter().filter(|message| message.id != run && answered(message.id));
        let (mut told, mut bytes) = (Vec::new(), 0);
        for message in before.rev().take(MAX_CONTEXT_MESSAGES) {
            let mut text = message.text.clone();
            if text.len() > MAX_CONTEXT_EACH {
                text.truncate(text.floor_char_boundary(MAX_CONTEXT_EACH));
                text.push('…');
            }
            bytes += text.len();
            if bytes > MAX_CONTEXT {
                break;
            }
            told.push((message.role, text));
        }
        told.reverse();
        told
    }

    /// Adds a run and its message.
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
        let Some(project) = self.project_mut(&run.session_id) else {
            return Err(BridgeError::SessionNotFound(run.session_id));
        };
        project.messages.push(message);
        project.trim();
        self.runs.push(run);
        Ok(())
    }

    pub(super) fn run(&self, id: MessageId) -> Option<&ActiveRun> {
        self.runs.iter().find(|run| run.id == id)
    }

    pub(super) fn run_mut(&mut self, id: MessageId) -> Option<&mut ActiveRun> {
        self.runs.iter_mut().find(|run| run.id == id)
    }

    /// Removes a run and adds its answer to the history.
    pub(super) fn end(
        &mut self,
        id: MessageId,
        reason: RunEnd,
        error: Option<String>,
    ) -> Option<ActiveRun> {
        let index = self.runs.iter().position(|run| run.id == id)?;
        let run = self.runs.remove(index);
        let answer = run.answer(Some(reason), error);
        if let Some(project) = self.project_mut(&run.session_id) {
            project.messages.push(answer);
            project.trim();
        }
        Some(run)
    }

    /// Deletes all messages except those of active runs.
    pub(super) fn clear(&mut self, session_id: &str) {
        let active: Vec<_> = self.runs.iter().map(|run| run.id).collect();
        if let Some(project) = self.project_mut(session_id) {
            project.messages.retain(|message| active.contains(&message.id));
        }
    }

    pub(super) fn ask(&mut self, request: ApprovalRequest) {
        self.approvals.push(request);
    }

    pub(super) fn settle(&mut self, id: PermissionId) {
        self.approvals.retain(|request| request.approval_id != id);
    }

    /// The desk of the run that asks for this approval.
    pub(super) fn desk_of(&self, id: PermissionId) -> Option<PermissionDesk> {
        let request = self.approvals.iter().find(|request| request.approval_id == id)?;
        self.run(request.id)?.desk.clone()
    }

    /// Refuses further runs and cancels the active ones.
    pub(super) fn close(&mut self) {
        self.closed = true;
        for run in &self.runs {
            run.stop.cancel();
        }
    }

    pub(super) fn saving(&self, session_id: &str) -> Option<Arc<AsyncMutex<()>>> {
        self.project(session_id).map(|project| Arc::clone(&project.saving))
    }

    pub(super) fn document(&self, session_id: &str) -> Option<Document> {
        let project = self.project(session_id)?;
        Some(Document {
            path: project.path.to_string_lossy().into_owned(),
            created: project.created.clone(),
            messages: project.messages.clone(),
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

    fn project(messages: Vec<HistoryMessage>) -> Project {
        let kept = Document { path: String::new(), created: String::new(), messages };
        Project::new(&WorkspaceFolder::new("/w"), Some(kept), String::new())
    }

    #[test]
    fn the_oldest_messages_go_first() {
        let many = (0..1_005).map(|number| message(number, Role::User, "x")).collect();
        let mut many = project(many);
        many.trim();
        assert_eq!(many.messages.len(), MAX_MESSAGES);
        assert_eq!(many.messages[0].id, message(5, Role::User, "").id);

        let large = "x".repeat(MAX_HISTORY / 2);
        let mut large: Project =
            project((0..3).map(|number| message(number, Role::User, &large)).collect());
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
        let id = project(Vec::new()).id;
        let told = |messages: &[HistoryMessage]| {
            let board = Board::new(vec![project(messages.to_vec())]);
            board.context_before(&id, message(4, Role::User, "").id)
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
        assert!(told.iter().map(|(_, text)| text.len()).sum::<usize>() <= MAX_CONTEXT);
    }
}
