//! Converts a project's history and events to message blocks: prompts, answers, and permission
//! requests of agents.

use std::collections::HashSet;

use wire::bridge::{ApprovalRequest, Event, HistoryMessage, Mode, Role, RunEnd, SessionHistory};
use wire::{MessageId, PermissionId, PermissionOutcome, PermissionRequest};

use super::blocks::{Block, BlockCell, BlockKey, BlockKind, Blocks};

/// A project has no sessions of its own: everything comes from one source.
const ONLY: usize = 0;

/// The state of a project.
pub(crate) struct ProjectLog<C> {
    blocks: Blocks<C>,
    /// Runs that have not ended, oldest first.
    running: Vec<MessageId>,
    /// Pending permission requests, with their runs.
    waiting: Vec<(MessageId, PermissionId)>,
    /// The runs of all permission requests that are shown.
    asked: Vec<(MessageId, PermissionId)>,
    /// Number of the last processed event: earlier ones are skipped.
    last_event: u64,
}

/// News for people who look elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A run has ended.
    Ended(RunEnd),
    /// A run waits for permission; what it wants to do.
    Asks(String),
}

impl Notice {
    /// The text of a notification.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Ended(RunEnd::Done) => "The run is done.".to_owned(),
            Self::Ended(RunEnd::MaxSteps) => "The run has used up its steps.".to_owned(),
            Self::Ended(RunEnd::Cancelled) => "The run was cancelled.".to_owned(),
            Self::Ended(RunEnd::Failed) => "The run has failed.".to_owned(),
            Self::Asks(what) => format!("The agent asks: {what}?"),
        }
    }
}

/// What an event changed besides the content of blocks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Whether blocks were added or removed.
    pub(crate) moved: bool,
    pub(crate) notice: Option<Notice>,
}

impl<C> Default for ProjectLog<C> {
    fn default() -> Self {
        Self {
            blocks: Blocks::default(),
            running: Vec::new(),
            waiting: Vec::new(),
            asked: Vec::new(),
            last_event: 0,
        }
    }
}

impl<C: BlockCell> ProjectLog<C> {
    /// The blocks in their order.
    pub(crate) fn blocks(&self) -> &[(BlockKey, C)] {
        self.blocks.all()
    }

    /// Runs that have not ended, oldest first.
    pub(crate) fn running(&self) -> &[MessageId] {
        &self.running
    }

    /// Number of pending permission requests.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Replaces everything by a history.
    pub(crate) fn load(&mut self, history: SessionHistory) {
        let SessionHistory { messages, approvals, last_event_id, .. } = history;
        let known: HashSet<MessageId> = messages.iter().map(|message| message.id).collect();
        let ended: HashSet<MessageId> = messages
            .iter()
            .filter(|message| message.role == Role::Assistant && message.reason.is_some())
            .map(|message| message.id)
            .collect();
        self.last_event = last_event_id;
        self.running.clear();
        for message in messages {
            if !ended.contains(&message.id) && !self.running.contains(&message.id) {
                self.running.push(message.id);
            }
            let kind = kind_of(message.role);
            let block = block_of(message.clone());
            self.blocks.change((ONLY, kind, message.id.to_string()), |place| *place = block);
        }
        for (_, question) in std::mem::take(&mut self.waiting) {
            // Answered while this page was not connected.
            if !approvals.iter().any(|one| one.approval_id == question) {
                self.blocks.settle(ONLY, question, PermissionOutcome::Withdrawn);
            }
        }
        for approval in approvals {
            self.ask(approval);
        }
        self.asked.retain(|(run, _)| known.contains(run));
        let names: HashSet<String> = known
            .iter()
            .map(ToString::to_string)
            .chain(self.asked.iter().map(|(_, question)| question.to_string()))
            .collect();
        self.blocks.retain(|(_, _, id)| names.contains(id));
    }

    /// Processes an event, unless an event with its number was processed before.
    pub(crate) fn hear(&mut self, number: u64, event: Event) -> Heard {
        if number <= self.last_event {
            return Heard::default();
        }
        self.last_event = number;
        let mut heard = Heard::default();
        match event {
            Event::Inbound(said) => {
                self.running.push(said.id);
                let title = title_of(said.mode);
                let block = Block::complete(title, said.text);
                let key = (ONLY, BlockKind::User, said.id.to_string());
                heard.moved = self.blocks.change(key, |place| *place = block);
            }
            Event::Fragment(piece) => {
                let key = (ONLY, BlockKind::Message, piece.id.to_string());
                heard.moved = self.blocks.change(key, |block| {
                    block.title = Some(piece.model);
                    block.body.push_str(&piece.fragment);
                });
            }
            Event::Done(done) => {
                self.running.retain(|run| *run != done.id);
                let key = (ONLY, BlockKind::Message, done.id.to_string());
                heard.moved = self
                    .blocks
                    .change(key, |block| end(block, done.model, done.reason, done.error));
                heard.notice = Some(Notice::Ended(done.reason));
            }
            Event::ApprovalRequest(request) => {
                let what = request.title.clone();
                heard.moved = self.ask(request);
                heard.notice = Some(Notice::Asks(what));
            }
            Event::ApprovalDecision(decision) => {
                self.waiting.retain(|(_, question)| *question != decision.approval_id);
                self.blocks.settle(ONLY, decision.approval_id, decision.outcome);
            }
            Event::HistoryCleared(_) => {
                // Runs that have not ended continue, and so do their permission requests.
                let running: HashSet<String> =
                    self.running.iter().map(ToString::to_string).collect();
                let waiting: HashSet<String> =
                    self.waiting.iter().map(|(_, question)| question.to_string()).collect();
                self.asked.retain(|asked| self.waiting.contains(asked));
                heard.moved =
                    self.blocks.retain(|(_, _, id)| running.contains(id) || waiting.contains(id));
            }
            // The reader of the events fetches the history again.
            Event::Missed(_) => {}
        }
        heard
    }

    fn ask(&mut self, request: ApprovalRequest) -> bool {
        let of_run = (request.id, request.approval_id);
        if !self.asked.contains(&of_run) {
            self.asked.push(of_run);
        }
        self.waiting.push(of_run);
        self.blocks.ask(ONLY, request.approval_id, permission_of(request))
    }
}

fn kind_of(role: Role) -> BlockKind {
    match role {
        Role::User => BlockKind::User,
        Role::Assistant => BlockKind::Message,
    }
}

fn title_of(mode: Mode) -> Option<&'static str> {
    (mode == Mode::Agent).then_some("Agent")
}

fn block_of(message: HistoryMessage) -> Block {
    let HistoryMessage { role, text, mode, model, reason, error, .. } = message;
    if role == Role::User {
        return Block::complete(title_of(mode), text);
    }
    let mut block = Block::receiving(model.clone(), text);
    if let Some(reason) = reason {
        end(&mut block, model, reason, error);
    }
    block
}

/// Marks the block of an answer as complete, with how its run ended.
fn end(block: &mut Block, model: Option<String>, reason: RunEnd, error: Option<String>) {
    let how = match reason {
        RunEnd::Done => None,
        RunEnd::MaxSteps => Some("step limit"),
        RunEnd::Cancelled => Some("cancelled"),
        RunEnd::Failed => Some("failed"),
    };
    let parts: Vec<String> = model.into_iter().chain(how.map(str::to_owned)).collect();
    block.title = (!parts.is_empty()).then(|| parts.join(", "));
    block.completed = true;
    block.failed = reason == RunEnd::Failed;
    // The title already says that it was cancelled.
    if let Some(error) = error.filter(|_| reason != RunEnd::Cancelled) {
        if !block.body.is_empty() {
            block.add_paragraph("\n");
        }
        block.add_paragraph(&format!("Error: {error}"));
    }
}

fn permission_of(request: ApprovalRequest) -> PermissionRequest {
    PermissionRequest {
        kind: request.kind,
        title: request.title,
        path: Some(request.path),
        detail: request.content_preview,
        diff: request.diff,
        // The bridge does not offer a permanent approval anyway.
        each_time: false,
    }
}

#[cfg(test)]
mod tests;
