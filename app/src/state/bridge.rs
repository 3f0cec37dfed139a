//! Converts a project's history and events to message blocks: prompts, answers, and permission
//! requests of agents.

use std::collections::HashSet;

use wire::bridge::{
    ApprovalRequest, Draft, Event, HistoryMessage, Mode, Role, RunEnd, SessionHistory,
};
use wire::{MessageId, PermissionId, PermissionOutcome, PermissionRequest};

use super::blocks::{Block, BlockCell, BlockKey, BlockKind, Blocks, Trouble};

/// A project has no sessions of its own: everything comes from one source.
const ONLY: usize = 0;

/// The state of a project.
pub(crate) struct ProjectLog<C> {
    blocks: Blocks<C>,
    /// In the order of their messages, which is the order in which they are shown.
    runs: Vec<Run>,
    /// The runs that have not ended, oldest first.
    running: Vec<MessageId>,
    /// Pending permission requests.
    waiting: Vec<PermissionId>,
    /// Messages that wait until a person sends them; `None` until they are known.
    drafts: Option<Vec<Draft>>,
    /// How many runs there were.
    count: u64,
}

/// A message and what it led to.
struct Run {
    id: MessageId,
    /// Orders its blocks among those of other runs.
    place: u64,
    /// Its permission requests. Each of them begins another part of the answer, below itself.
    asked: Vec<PermissionId>,
}

impl Run {
    /// The key of a part of the answer.
    fn part(&self, number: usize) -> BlockKey {
        let id = match number {
            0 => self.id.to_string(),
            _ => format!("{}/{number}", self.id),
        };
        (ONLY, BlockKind::Message, id)
    }

    /// The key of the part that grows.
    fn last_part(&self) -> BlockKey {
        self.part(self.asked.len())
    }

    /// Whether a block belongs to it.
    fn owns(&self, (_, kind, id): &BlockKey) -> bool {
        match kind {
            BlockKind::Question => self.asked.iter().any(|question| question.to_string() == *id),
            _ => id.split('/').next() == Some(&*self.id.to_string()),
        }
    }
}

/// News for people who look elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A run has ended.
    Ended(RunEnd),
    /// A run waits for permission; what it wants to do.
    Asks(String),
    /// A message waits to be sent; who posted it.
    Draft(String),
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
            Self::Draft(source) => format!("A draft from {source} waits to be sent."),
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
            runs: Vec::new(),
            running: Vec::new(),
            waiting: Vec::new(),
            drafts: None,
            count: 0,
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

    /// Messages that wait until a person sends them; `None` until they are known.
    pub(crate) fn drafts(&self) -> Option<&[Draft]> {
        self.drafts.as_deref()
    }

    /// Replaces everything by a history.
    pub(crate) fn load(&mut self, history: SessionHistory) {
        let SessionHistory { messages, approvals, drafts, .. } = history;
        self.drafts = Some(drafts);
        self.running.clear();
        let waited = std::mem::take(&mut self.waiting);
        let known: HashSet<MessageId> = messages.iter().map(|message| message.id).collect();
        for message in messages {
            match message.role {
                Role::User => {
                    self.running.push(message.id);
                    self.show_prompt(message.id, message.mode, message.text);
                }
                Role::Assistant => self.load_answer(message),
            }
        }
        for approval in approvals {
            self.ask(approval);
        }
        for question in waited {
            // Answered while this page was not connected.
            if !self.waiting.contains(&question) {
                self.blocks.settle(ONLY, question, PermissionOutcome::Withdrawn);
            }
        }
        self.runs.retain(|run| known.contains(&run.id));
        self.retain_runs();
    }

    /// Shows an answer with the permission requests where they were made.
    fn load_answer(&mut self, message: HistoryMessage) {
        let HistoryMessage { id, text, model, reason, error, approvals, .. } = message;
        if reason.is_some() {
            self.running.retain(|run| *run != id);
        }
        let (mut number, mut shown) = (0, 0);
        for asked in approvals {
            let part = text.get(shown..asked.offset).unwrap_or_default();
            shown = shown.max(asked.offset);
            self.load_part(id, number, model.clone(), part, true);
            number += 1;
            let question = asked.request.approval_id;
            self.ask(asked.request);
            if let Some(outcome) = asked.outcome {
                self.settle(question, outcome);
            }
        }
        let part = text.get(shown..).unwrap_or_default();
        self.load_part(id, number, model.clone(), part, false);
        if let Some(reason) = reason {
            let key = self.run(id).part(number);
            self.blocks.change(key, |block| end(block, model, reason, error));
        }
    }

    /// Shows a part of an answer, unless there is nothing to show.
    fn load_part(
        &mut self,
        id: MessageId,
        number: usize,
        model: Option<String>,
        text: &str,
        completed: bool,
    ) {
        let key = self.run(id).part(number);
        if !text.is_empty() || self.blocks.has(&key) {
            let block = Block { completed, ..Block::receiving(model, text.to_owned()) };
            self.blocks.change(key, |place| *place = block);
        }
    }

    /// Processes an event.
    pub(crate) fn hear(&mut self, event: Event) -> Heard {
        let mut heard = Heard::default();
        match event {
            Event::Inbound(said) => {
                self.running.push(said.id);
                heard.moved = self.show_prompt(said.id, said.mode, said.text);
            }
            Event::Fragment(piece) => {
                let key = self.run(piece.id).last_part();
                heard.moved = self.blocks.change(key, |block| {
                    block.title = Some(piece.model);
                    block.body.push_str(&piece.fragment);
                });
            }
            Event::Done(done) => {
                self.running.retain(|run| *run != done.id);
                let key = self.run(done.id).last_part();
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
                self.settle(decision.approval_id, decision.outcome);
            }
            Event::HistoryCleared(_) => {
                // Runs that have not ended continue, and so do their permission requests.
                let running = &self.running;
                self.runs.retain(|run| running.contains(&run.id));
                heard.moved = self.retain_runs();
            }
            Event::Draft(draft) => {
                let drafts = self.drafts.get_or_insert_default();
                // Told again when the history was cleared.
                if !drafts.iter().any(|known| known.id == draft.id) {
                    heard.notice = Some(Notice::Draft(draft.source.clone()));
                    drafts.push(draft);
                }
            }
            Event::DraftTaken(taken) => {
                self.drafts.get_or_insert_default().retain(|draft| draft.id != taken.id);
            }
            // The reader of the events fetches the history again.
            Event::Missed(_) => {}
        }
        heard
    }

    /// The run of a message, whose blocks may be opened next.
    fn run(&mut self, id: MessageId) -> &mut Run {
        let index = self.runs.iter().position(|run| run.id == id).unwrap_or_else(|| {
            self.count += 1;
            self.runs.push(Run { id, place: self.count, asked: Vec::new() });
            self.runs.len() - 1
        });
        let run = &mut self.runs[index];
        self.blocks.set_time(run.place);
        run
    }

    fn show_prompt(&mut self, id: MessageId, mode: Mode, text: String) -> bool {
        self.run(id);
        let block = Block::complete(title_of(mode), text);
        let key = (ONLY, BlockKind::User, id.to_string());
        self.blocks.change(key, |place| *place = block)
    }

    fn ask(&mut self, request: ApprovalRequest) -> bool {
        let question = request.approval_id;
        if !self.waiting.contains(&question) {
            self.waiting.push(question);
        }
        let run = self.run(request.id);
        if !run.asked.contains(&question) {
            // What follows stands below the question.
            let part = run.last_part();
            run.asked.push(question);
            if self.blocks.has(&part) {
                self.blocks.change(part, |block| block.completed = true);
            }
        }
        self.blocks.ask(ONLY, question, permission_of(request))
    }

    fn settle(&mut self, question: PermissionId, outcome: PermissionOutcome) {
        self.waiting.retain(|waiting| *waiting != question);
        self.blocks.settle(ONLY, question, outcome);
    }

    /// Removes the blocks of runs that are gone. Returns whether there were any.
    fn retain_runs(&mut self) -> bool {
        let runs = &self.runs;
        self.blocks.retain(|key| runs.iter().any(|run| run.owns(key)))
    }
}

fn title_of(mode: Mode) -> Option<&'static str> {
    (mode == Mode::Agent).then_some("Agent")
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
    block.trouble = (reason == RunEnd::Failed).then_some(Trouble::Failed);
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
        each_time: request.each_time,
    }
}

#[cfg(test)]
mod tests;
