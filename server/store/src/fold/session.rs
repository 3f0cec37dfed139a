//! What a session comes to.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use wire::{EntityState, PermissionId, PermissionMode, SessionId, SessionResponse, TaskId, Usage};

use super::{Fold, first_line};
use crate::journal::Record;

/// What the portal notes of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SessionNote {
    /// It was started.
    Started {
        /// As it was asked for.
        model: String,
        /// Where its agent works.
        folder: String,
        /// How it deals with tools that ask.
        permissions: PermissionMode,
        /// The task that it was started for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The closed session whose context it has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        continued_from: Option<SessionId>,
    },
    /// The agent can be resumed by this, in its backend's own spelling.
    Handle {
        /// `None` if the backend refused it.
        handle: Option<String>,
    },
    /// A prompt waits for its turn, which begins with a fact of its own.
    Queued(QueuedPrompt),
    /// The permission mode was changed.
    Permissions {
        /// How it deals with tools that ask from now on.
        mode: PermissionMode,
    },
    /// Somebody gave it a title.
    Renamed {
        /// One line.
        title: String,
    },
    /// It takes no more prompts.
    Closed {
        /// Its agent died; else somebody closed it.
        crashed: bool,
    },
}

/// A prompt that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedPrompt {
    /// As it was written.
    pub prompt: String,
    /// By whom.
    pub author: PromptAuthor,
}

/// Who wrote a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PromptAuthor {
    /// A person, in the page or by a script.
    User,
    /// The task engine.
    Engine,
    /// An extension of the session.
    Extension,
}

/// A session as its facts and notes tell it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFold {
    started_at: u64,
    ended_at: Option<u64>,
    crashed: bool,
    model: String,
    folder: String,
    permissions: Option<PermissionMode>,
    task: Option<TaskId>,
    continued_from: Option<SessionId>,
    handle: Option<String>,
    replaced: u32,
    title: String,
    is_renamed: bool,
    queue: VecDeque<QueuedPrompt>,
    is_running: bool,
    questions: BTreeSet<PermissionId>,
    usage: Usage,
}

/// What a list needs of a session besides the columns of its record.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    permissions: Option<PermissionMode>,
    queued: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    continued_from: Option<SessionId>,
}

impl SessionFold {
    /// The model it was started with.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Where its agent works.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// What its agent can be resumed by.
    pub fn handle(&self) -> Option<&str> {
        self.handle.as_deref()
    }

    /// How often its conversation was replaced by a new one, because it could not be resumed.
    pub fn replaced(&self) -> u32 {
        self.replaced
    }

    /// How it deals with tools that ask.
    pub fn permissions(&self) -> Option<PermissionMode> {
        self.permissions
    }

    /// The prompts that wait, in order.
    pub fn queue(&self) -> impl Iterator<Item = &QueuedPrompt> {
        self.queue.iter()
    }

    /// Whether a turn runs.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// The title is the first line of the first prompt, unless somebody gave another one.
    fn entitle(&mut self, prompt: &str) -> bool {
        let is_first = self.title.is_empty() && !self.is_renamed;
        if is_first {
            self.title = first_line(prompt);
        }
        is_first
    }

    fn state(&self) -> EntityState {
        match (self.ended_at, self.is_running) {
            (Some(_), _) if self.crashed => EntityState::Failed,
            (Some(_), _) => EntityState::Closed,
            (None, _) if !self.questions.is_empty() => EntityState::Waiting,
            (None, true) => EntityState::Running,
            (None, false) => EntityState::Idle,
        }
    }
}

impl Fold<SessionResponse> for SessionFold {
    type Note = SessionNote;

    fn apply(&mut self, _at: u64, fact: &SessionResponse) -> bool {
        match fact {
            SessionResponse::UserPrompt { prompt }
            | SessionResponse::GeneratedUserPrompt { prompt } => {
                self.entitle(prompt);
                // Its turn begins, so it does not wait any more.
                self.queue.pop_front_if(|queued| queued.prompt == *prompt);
                self.is_running = true;
                true
            }
            SessionResponse::Idle => {
                self.is_running = false;
                true
            }
            SessionResponse::PermissionRequest(question) => self.questions.insert(question.id),
            SessionResponse::PermissionResolved { request_id, .. } => {
                self.questions.remove(request_id)
            }
            SessionResponse::Usage { usage, .. } => {
                self.usage += *usage;
                true
            }
            _ => false,
        }
    }

    fn note(&mut self, at: u64, note: &SessionNote) {
        match note {
            SessionNote::Started { model, folder, permissions, task, continued_from } => {
                self.started_at = at;
                self.model.clone_from(model);
                self.folder.clone_from(folder);
                self.permissions = Some(*permissions);
                self.task = *task;
                self.continued_from = *continued_from;
            }
            SessionNote::Handle { handle } => {
                self.replaced += u32::from(handle.is_none());
                self.handle.clone_from(handle);
            }
            SessionNote::Queued(prompt) => {
                self.entitle(&prompt.prompt);
                self.queue.push_back(prompt.clone());
            }
            SessionNote::Permissions { mode } => self.permissions = Some(*mode),
            SessionNote::Renamed { title } => {
                self.title = first_line(title);
                self.is_renamed = true;
            }
            SessionNote::Closed { crashed } => {
                self.ended_at = Some(at);
                self.crashed = *crashed;
                self.is_running = false;
                self.queue.clear();
                self.questions.clear();
            }
        }
    }

    fn record(&self) -> Record {
        let detail = Detail {
            permissions: self.permissions,
            queued: self.queue.len(),
            continued_from: self.continued_from,
        };
        Record {
            parent: self.task.map(Into::into),
            title: self.title.clone(),
            folder: self.folder.clone(),
            model: Some(self.model.clone()),
            state: self.state(),
            started_at: self.started_at,
            ended_at: self.ended_at,
            usage: self.usage,
            detail: serde_json::to_string(&detail).unwrap_or_default(),
        }
    }
}
