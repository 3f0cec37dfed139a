//! The fold of a session.

mod detail;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use wire::bridge::ProjectMessage;
use wire::{
    Budget, EntityState, PermissionId, PermissionMode, PermissionRequest, SessionId,
    SessionResponse, Spent, TaskId, TurnEnding, Usage, without_links,
};

use super::{Fold, first_line};
use crate::journal::Record;

pub use detail::{ProjectState, SessionDetail};

/// The notes of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SessionNote {
    /// The session was started. Always the first note.
    Started {
        /// The model as the client named it.
        model: String,
        /// Where its agent works.
        folder: String,
        /// How its tools' permission requests are answered.
        permissions: PermissionMode,
        /// The task that it belongs to, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The closed session whose context it took over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        continued_from: Option<SessionId>,
        /// How often the conversation had been replaced by a new one in the sessions before.
        #[serde(default, skip_serializing_if = "is_zero")]
        replaced: u32,
        /// The project of the bridge that it belongs to, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<ProjectLink>,
        /// How much it may use, by the settings of its time.
        #[serde(default, skip_serializing_if = "Budget::is_empty")]
        budget: Budget,
    },
    /// Another session took over its context, and with it the handle, which only one may use.
    HandedOver,
    /// The handle by which the agent can be resumed, in its backend's own format.
    Handle {
        /// `None` if the backend refused to resume by the last one.
        handle: Option<String>,
    },
    /// A prompt was queued. Its turn begins with a fact of its own.
    Queued(QueuedPrompt),
    /// A prompt was queued before all others.
    QueuedFirst(QueuedPrompt),
    /// A prompt that waited was removed by a user.
    Removed {
        /// Its number.
        prompt: u64,
    },
    /// The text of a prompt that waits was changed by a user.
    Edited {
        /// Its number.
        prompt: u64,
        /// The new text.
        text: String,
    },
    /// The prompts of tasks that waited were dropped: their tasks send them again after a restart.
    DroppedPrompts,
    /// The permission mode was changed.
    Permissions {
        /// How permission requests are answered from now on.
        mode: PermissionMode,
    },
    /// The models that continue its failed turns were chosen.
    Fallback {
        /// Their ids as the client named them, in the order in which they are tried.
        models: Vec<String>,
    },
    /// An agent of another model took over, in a conversation of its own.
    Switched {
        /// The model as a client named it.
        model: String,
    },
    /// The budget was set or raised.
    Budget {
        /// How much it may use from now on, including what it has used.
        budget: Budget,
        /// Whether a limit that was reached has been raised: the next time, it is raised by as much.
        #[serde(default, skip_serializing_if = "is_false")]
        is_raise: bool,
    },
    /// How long a turn has run. Comes before the end of the turn.
    Ran {
        /// The time of the agent, without that in the queue.
        minutes: f64,
    },
    /// A user gave it a title.
    Renamed {
        /// The title; only its first line is used.
        title: String,
    },
    /// The session has ended and takes no more prompts.
    Closed {
        /// Whether its agent crashed; otherwise it was closed.
        crashed: bool,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// The place of a session in the chain of its project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectLink {
    /// Id of the project.
    pub id: String,
    /// When the project was first known, in ISO 8601.
    pub created: String,
    /// The project's session before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<SessionId>,
}

/// A prompt that waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedPrompt {
    /// The text as its author wrote it.
    pub prompt: String,
    /// Who wrote the prompt.
    pub author: PromptAuthor,
    /// The message to the session's project that it came with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<ProjectMessage>,
    /// The task that sent it and waits for its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Whether the running turn may take it. If that is over before, it has a turn of its own, before
    /// prompts that were queued otherwise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub steers: bool,
}

/// Who wrote a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PromptAuthor {
    /// A person, on the page or through a script.
    User,
    /// The task engine, on behalf of a task.
    Engine,
    /// An extension of the session.
    Extension,
}

/// A permission request that was not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    /// When it was made, in microseconds since the Unix epoch.
    pub asked_at: u64,
    /// What the tool wants to do.
    pub request: PermissionRequest,
}

/// The state of a session, from its facts and notes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFold {
    started_at: u64,
    ended_at: Option<u64>,
    crashed: bool,
    model: String,
    fallback: Option<Vec<String>>,
    folder: String,
    first_mode: Option<PermissionMode>,
    chosen_mode: Option<PermissionMode>,
    task: Option<TaskId>,
    continued_from: Option<SessionId>,
    handle: Option<String>,
    replaced: u32,
    title: String,
    is_renamed: bool,
    /// The prompts that wait, with their numbers.
    queue: VecDeque<(u64, QueuedPrompt)>,
    /// The number of the prompt that was queued last.
    last_queued: u64,
    /// Whether readers were told of prompts that wait.
    shows_queue: bool,
    turn: LatestTurn,
    /// How the running turn is said to end. Streams of earlier versions do not say it.
    ending: Option<TurnEnding>,
    /// When the present state began.
    since: u64,
    questions: BTreeMap<PermissionId, OpenQuestion>,
    usage: Usage,
    budget: Budget,
    /// The budget that a raise adds once more.
    first_budget: Budget,
    spent: Spent,
    project: Option<ProjectPart>,
}

/// What became of the latest turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LatestTurn {
    /// There was none.
    #[default]
    None,
    Running,
    Over(TurnEnding),
}

/// What a session is to its project.
#[derive(Clone, Debug, PartialEq)]
struct ProjectPart {
    link: ProjectLink,
    /// Messages since the history was last cleared, and those that had not been answered by then.
    asked: usize,
    answered: usize,
    is_cleared: bool,
}

impl SessionFold {
    /// The model that answers its prompts.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The models that somebody chose to continue its failed turns; `None` if nobody did.
    pub fn fallback(&self) -> Option<&[String]> {
        self.fallback.as_deref()
    }

    /// The first line of the first prompt, or what somebody renamed it to; can be empty.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The task that opened it; `None` if a user did.
    pub fn task(&self) -> Option<TaskId> {
        self.task
    }

    /// Whether its agent crashed, which ended it.
    pub fn is_crashed(&self) -> bool {
        self.crashed
    }

    /// Where its agent works.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// The handle by which its agent can be resumed.
    pub fn handle(&self) -> Option<&str> {
        self.handle.as_deref()
    }

    /// How often its conversation was replaced by a new one, because it could not be resumed or
    /// another model took over: here or in the sessions that it continues.
    pub fn replaced(&self) -> u32 {
        self.replaced
    }

    /// The closed session whose context it took over.
    pub fn continued_from(&self) -> Option<SessionId> {
        self.continued_from
    }

    /// Whether it has ended.
    pub fn is_ended(&self) -> bool {
        self.ended_at.is_some()
    }

    /// How its tools' permission requests are answered; `None` before it is started.
    pub fn permissions(&self) -> Option<PermissionMode> {
        self.chosen_mode.or(self.first_mode)
    }

    /// Whether somebody chose that mode for this session; else it was the default of its time.
    pub fn has_chosen_mode(&self) -> bool {
        self.chosen_mode.is_some()
    }

    /// How much it may use.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// The budget as it was before any limit was raised.
    pub fn first_budget(&self) -> Budget {
        self.first_budget
    }

    /// What its turns have used.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// The prompts that wait, in order.
    pub fn queue(&self) -> impl Iterator<Item = &QueuedPrompt> {
        self.queue.iter().map(|(_, prompt)| prompt)
    }

    /// The same with their numbers, which never change: prompts are counted as they are queued.
    pub fn numbered_queue(&self) -> impl Iterator<Item = (u64, &QueuedPrompt)> {
        self.queue.iter().map(|(number, prompt)| (*number, prompt))
    }

    /// The number of the prompt that was queued last.
    pub fn last_queued(&self) -> u64 {
        self.last_queued
    }

    /// Whether readers were told of prompts that wait, and so have to be told of changes.
    pub fn shows_queue(&self) -> bool {
        self.shows_queue
    }

    /// The permission requests that wait for an answer.
    pub fn questions(&self) -> &BTreeMap<PermissionId, OpenQuestion> {
        &self.questions
    }

    /// The project that it belongs to, and what it adds to that; `None` for other sessions.
    pub fn project(&self) -> Option<ProjectState> {
        let ProjectPart { link, asked, answered, is_cleared } = self.project.clone()?;
        Some(ProjectState { link, messages: asked + answered, is_cleared })
    }

    /// Whether any message to its project waits or is being answered.
    pub fn has_unanswered(&self) -> bool {
        self.project.as_ref().is_some_and(|project| project.asked > project.answered)
    }

    /// Sets the title to the prompt's first line, unless it has one. True if it was set.
    fn entitle(&mut self, prompt: &str) -> bool {
        let is_first = self.title.is_empty() && !self.is_renamed;
        if is_first {
            self.title = first_line(&without_links(prompt));
        }
        is_first
    }

    fn next_number(&mut self) -> u64 {
        self.last_queued += 1;
        self.last_queued
    }

    fn state(&self) -> EntityState {
        match (self.ended_at, self.turn) {
            (Some(_), _) if self.crashed => EntityState::Failed,
            (Some(_), _) => EntityState::Closed,
            (None, _) if !self.questions.is_empty() => EntityState::Waiting,
            (None, LatestTurn::Running) => EntityState::Running,
            (None, LatestTurn::None | LatestTurn::Over(_)) => EntityState::Idle,
        }
    }
}

impl SessionFold {
    fn apply_fact(&mut self, at: u64, fact: &SessionResponse) -> bool {
        match fact {
            SessionResponse::UserPrompt { prompt }
            | SessionResponse::GeneratedUserPrompt { prompt } => {
                self.entitle(prompt);
                // Its turn begins, so it is no longer queued.
                self.queue.pop_front_if(|(_, queued)| queued.prompt == *prompt);
                // One that comes in a running turn steers it.
                let before = std::mem::replace(&mut self.turn, LatestTurn::Running);
                self.ending = None;
                if before != LatestTurn::Running {
                    self.spent += Spent { turns: 1, ..Spent::default() };
                }
                true
            }
            SessionResponse::Idle => {
                self.end_turn();
                true
            }
            SessionResponse::TurnEnd { outcome: TurnEnding::Interrupted, .. } => {
                self.turn = LatestTurn::Over(TurnEnding::Interrupted);
                true
            }
            SessionResponse::TurnEnd { outcome, .. } => {
                self.ending = Some(*outcome);
                false
            }
            SessionResponse::QueueChanged(shown) => {
                self.shows_queue = !shown.queue.is_empty();
                false
            }
            SessionResponse::PermissionRequest(question) => {
                let open = OpenQuestion { asked_at: at, request: question.request.clone() };
                self.questions.insert(question.id, open);
                true
            }
            SessionResponse::PermissionResolved { request_id, .. } => {
                self.questions.remove(request_id).is_some()
            }
            SessionResponse::Usage { usage, .. } => {
                self.usage += *usage;
                self.spent += (*usage).into();
                true
            }
            SessionResponse::ProjectMessage(message) => {
                self.entitle(&message.text);
                if let Some(model) = &message.model {
                    self.model.clone_from(model);
                }
                if let Some(project) = &mut self.project {
                    project.asked += 1;
                }
                let queued = QueuedPrompt {
                    prompt: message.text.clone(),
                    author: PromptAuthor::User,
                    message: Some(message.clone()),
                    task: None,
                    steers: false,
                };
                let number = self.next_number();
                self.queue.push_back((number, queued));
                true
            }
            SessionResponse::ProjectMessageEnd(end) => {
                if let Some(project) = &mut self.project {
                    project.answered += 1;
                }
                let is_it = |prompt: &QueuedPrompt| {
                    prompt.message.as_ref().is_some_and(|message| message.id == end.id)
                };
                self.queue.retain(|(_, prompt)| !is_it(prompt));
                true
            }
            SessionResponse::ProjectCleared => {
                if let Some(project) = &mut self.project {
                    project.asked = project.asked.saturating_sub(project.answered);
                    project.answered = 0;
                    project.is_cleared = true;
                }
                true
            }
            _ => false,
        }
    }

    fn apply_note(&mut self, at: u64, note: &SessionNote) {
        match note {
            SessionNote::Started {
                model,
                folder,
                permissions,
                task,
                continued_from,
                replaced,
                project,
                budget,
            } => {
                self.started_at = at;
                self.model.clone_from(model);
                self.folder.clone_from(folder);
                self.first_mode = Some(*permissions);
                self.task = *task;
                self.continued_from = *continued_from;
                self.replaced = *replaced;
                self.budget = *budget;
                self.first_budget = *budget;
                self.project = project.clone().map(|link| ProjectPart {
                    link,
                    asked: 0,
                    answered: 0,
                    is_cleared: false,
                });
            }
            SessionNote::HandedOver => self.handle = None,
            SessionNote::Handle { handle } => {
                self.replaced += u32::from(handle.is_none());
                self.handle.clone_from(handle);
            }
            SessionNote::Queued(prompt) => {
                self.entitle(&prompt.prompt);
                let number = self.next_number();
                let place = if prompt.steers {
                    self.queue.iter().take_while(|(_, other)| other.steers).count()
                } else {
                    self.queue.len()
                };
                self.queue.insert(place, (number, prompt.clone()));
            }
            SessionNote::QueuedFirst(prompt) => {
                let number = self.next_number();
                self.queue.push_front((number, prompt.clone()));
            }
            SessionNote::Removed { prompt } => self.queue.retain(|(number, _)| number != prompt),
            SessionNote::Edited { prompt, text } => {
                let queued = self.queue.iter_mut().find(|(number, _)| number == prompt);
                if let Some((_, queued)) = queued {
                    queued.prompt.clone_from(text);
                }
            }
            SessionNote::DroppedPrompts => self.queue.retain(|(_, prompt)| prompt.task.is_none()),
            SessionNote::Permissions { mode } => self.chosen_mode = Some(*mode),
            SessionNote::Fallback { models } => self.fallback = Some(models.clone()),
            SessionNote::Switched { model } => {
                self.model.clone_from(model);
                // It belongs to the backend of the model before.
                self.handle = None;
                self.replaced += 1;
            }
            SessionNote::Budget { budget, is_raise } => {
                self.budget = *budget;
                if !is_raise {
                    self.first_budget = *budget;
                }
            }
            SessionNote::Ran { minutes } => self.spent.minutes += minutes,
            SessionNote::Renamed { title } => {
                self.title = first_line(title);
                self.is_renamed = true;
            }
            SessionNote::Closed { crashed } => {
                self.ended_at = Some(at);
                self.crashed = *crashed;
                self.end_turn();
                self.queue.clear();
                self.questions.clear();
            }
        }
    }

    fn end_turn(&mut self) {
        if self.turn == LatestTurn::Running {
            self.turn = LatestTurn::Over(self.ending.take().unwrap_or(TurnEnding::Completed));
        }
    }

    /// Notes when a state begins. The first one begins with the session.
    fn note_state(&mut self, at: u64, before: EntityState) {
        if self.since == 0 || self.state() != before {
            self.since = at;
        }
    }
}

impl Fold<SessionResponse> for SessionFold {
    type Note = SessionNote;

    fn apply(&mut self, at: u64, fact: &SessionResponse) -> bool {
        let before = self.state();
        let changes_record = self.apply_fact(at, fact);
        if changes_record {
            self.note_state(at, before);
        }
        changes_record
    }

    fn note(&mut self, at: u64, note: &SessionNote) {
        let before = self.state();
        self.apply_note(at, note);
        self.note_state(at, before);
    }

    fn record(&self) -> Record {
        let detail = SessionDetail {
            permissions: self.permissions(),
            queued: self.queue.len(),
            continued_from: self.continued_from,
            project: self.project(),
            reached: self.budget.reached(&self.spent).filter(|_| self.ended_at.is_none()),
            since: self.since,
            turn: match self.turn {
                LatestTurn::Over(ending) => Some(ending),
                LatestTurn::None | LatestTurn::Running => None,
            },
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
