//! Responses of sessions, and of the tasks that run in them → message blocks.
//!
//! A [`Transcript`] is fed every response of a session in order and keeps one [`Block`] for each
//! thing said or done. Feeding it the same history again changes nothing: after a lost connection
//! the page simply reads everything once more under a new token. A task has a stream of its own;
//! what it decided stands where it arrived.
//!
//! Questions before a tool acts, and what extensions say, stand in the same order; what a session
//! used is added up beside it.
//!
//! Several sessions can share a transcript. Each is a source with a number: so their ids can't
//! clash, and what one source says stands below what those of lower numbers say.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use wire::{
    LogLevel, PendingPermission, PermissionId, PermissionOutcome, PermissionRequest,
    SessionResponse, TaskId, TaskResponse,
};

use super::spending::Spending;

/// What a block shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum BlockKind {
    User,
    Reasoning,
    Tool,
    Message,
    /// Somebody is asked before a tool acts.
    Question,
    /// A line of an extension.
    Log,
}

impl BlockKind {
    /// As the header spells it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Reasoning => "Reasoning",
            Self::Tool => "Tool",
            Self::Message => "Message",
            Self::Question => "Question",
            Self::Log => "Log",
        }
    }

    /// Long-winded blocks fold when they are complete; what was said stays open.
    pub(crate) fn folds(self) -> bool {
        matches!(self, Self::Reasoning | Self::Tool)
    }
}

/// Which block: its source, its kind, and the id that the session gave it.
pub(crate) type BlockKey = (usize, BlockKind, String);

/// One block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) title: Option<String>,
    pub(crate) body: String,
    pub(crate) completed: bool,
    pub(crate) failed: bool,
    /// What is asked, in a block of that kind.
    pub(crate) question: Option<Question>,
    /// How serious it is, in a line of an extension.
    pub(crate) level: Option<LogLevel>,
}

/// A question, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) id: PermissionId,
    pub(crate) request: PermissionRequest,
    /// Nothing while it waits for an answer.
    pub(crate) outcome: Option<PermissionOutcome>,
}

/// What an extension says for the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) extension: String,
    pub(crate) level: LogLevel,
    pub(crate) message: String,
}

impl Block {
    fn receiving(title: Option<String>, body: String) -> Self {
        Self { title, body, ..Self::default() }
    }

    fn complete(title: Option<&str>, body: String) -> Self {
        Self { title: title.map(str::to_owned), body, completed: true, ..Self::default() }
    }

    fn error(title: &str, message: String) -> Self {
        Self { failed: true, ..Self::complete(Some(title), message) }
    }

    fn log(remark: Remark) -> Self {
        let line = Self::complete(Some(&remark.extension), remark.message);
        Self { level: Some(remark.level), ..line }
    }

    /// The text in a block's header: `Kind (title) [receiving...]`.
    pub(crate) fn header(&self, kind: BlockKind) -> String {
        let title = self.title.as_ref().map(|title| format!(" ({title})")).unwrap_or_default();
        let state = if self.completed { "" } else { " [receiving...]" };
        format!("{}{title}{state}", kind.label())
    }

    /// Puts a paragraph under what is there.
    fn add_paragraph(&mut self, text: &str) {
        if !self.body.is_empty() && !self.body.ends_with('\n') {
            self.body.push('\n');
        }
        self.body.push_str(text);
    }
}

/// Where a block lives, so that whoever draws it hears of each change to this block alone.
pub(crate) trait BlockCell {
    /// A cell that holds `block`.
    fn new(block: Block) -> Self;
    /// Changes the block and tells whoever draws it.
    fn update(&self, change: impl FnOnce(&mut Block));
}

/// What a response changed besides the inside of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// There are new blocks.
    pub(crate) opened: bool,
    /// The agent or the task began (`true`) or ended (`false`) its work.
    pub(crate) working: Option<bool>,
}

/// All blocks, by their sources; those of one source in the order in which they opened.
#[derive(Clone, Debug)]
pub(crate) struct Transcript<C> {
    blocks: Vec<(BlockKey, C)>,
    /// Where in `blocks` a block is.
    places: HashMap<BlockKey, usize>,
    /// Prompts and errors have no id of their own: they are counted, for each source.
    counted: HashMap<usize, usize>,
    /// So are the decisions of a task.
    decided: usize,
    /// The sources that are at work.
    working: Vec<usize>,
    /// The questions that wait for an answer.
    waiting: Vec<(usize, PermissionId)>,
    /// What each source used.
    spent: BTreeMap<usize, Spending>,
    /// What an extension said last for the moment.
    remark: Option<Remark>,
}

impl<C> Default for Transcript<C> {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            places: HashMap::new(),
            counted: HashMap::new(),
            decided: 0,
            working: Vec::new(),
            waiting: Vec::new(),
            spent: BTreeMap::new(),
            remark: None,
        }
    }
}

impl<C: BlockCell> Transcript<C> {
    /// The blocks in their order.
    pub(crate) fn blocks(&self) -> &[(BlockKey, C)] {
        &self.blocks
    }

    /// From here on the history of a source comes again from its beginning.
    pub(crate) fn rewind(&mut self, source: usize) {
        self.counted.remove(&source);
        self.spent.remove(&source);
    }

    /// How many questions wait for an answer.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// What all sources used, and the last of them in its last turn.
    pub(crate) fn spent(&self) -> Spending {
        self.spent.values().fold(Spending::default(), |all, one| all.and_then(one))
    }

    /// What an extension says for the moment.
    pub(crate) fn remark(&self) -> Option<&Remark> {
        self.remark.as_ref()
    }

    /// A source has ended: nobody waits for answers in it any more.
    pub(crate) fn end(&mut self, source: usize) {
        let open: Vec<_> = self.waiting.iter().filter(|(of, _)| *of == source).copied().collect();
        for (_, id) in open {
            self.settle(source, id, PermissionOutcome::Withdrawn);
        }
        self.remark = None;
    }

    /// From here on a task's history comes from its beginning.
    pub(crate) fn rewind_task(&mut self) {
        self.decided = 0;
    }

    /// Notes whether a source is at work. True if one of them is.
    pub(crate) fn set_working(&mut self, source: usize, works: bool) -> bool {
        self.working.retain(|other| *other != source);
        if works {
            self.working.push(source);
        }
        !self.working.is_empty()
    }

    /// Takes in the next response of a task.
    pub(crate) fn apply_task(
        &mut self,
        source: usize,
        id: TaskId,
        response: TaskResponse,
    ) -> Changes {
        use TaskResponse as R;
        let (kind, block) = match response {
            R::TaskDecision { reason } => {
                (BlockKind::User, Block::complete(Some("TaskDecision"), reason))
            }
            R::Error { message } => (BlockKind::Message, Block::error("TaskError", message)),
            R::TaskSucceeded | R::TaskFailed => {
                return Changes { working: Some(false), opened: false };
            }
            R::TaskSessionStarted { .. } | R::TaskSessionStopped { .. } => {
                return Changes::default();
            }
        };
        let key = (source, kind, format!("{id}#{}", self.decided));
        self.decided += 1;
        Changes { opened: self.change(key, |place| *place = block), working: None }
    }

    /// Takes in the next response of a source.
    pub(crate) fn apply(&mut self, source: usize, response: SessionResponse) -> Changes {
        use SessionResponse as R;
        let is_prompt = matches!(response, R::UserPrompt { .. } | R::GeneratedUserPrompt { .. });
        let opened = match response {
            R::StartReasoning { reasoning_id } => {
                self.open((source, BlockKind::Reasoning, reasoning_id), None, String::new())
            }
            R::Reasoning { reasoning_id, delta } => {
                self.append((source, BlockKind::Reasoning, reasoning_id), &delta)
            }
            R::EndReasoning { reasoning_id, complete_content } => {
                self.replace((source, BlockKind::Reasoning, reasoning_id), complete_content)
            }
            R::StartMessage { message_id } => {
                self.open((source, BlockKind::Message, message_id), None, String::new())
            }
            R::Message { message_id, delta } => {
                self.append((source, BlockKind::Message, message_id), &delta)
            }
            R::EndMessage { message_id, complete_content } => {
                self.replace((source, BlockKind::Message, message_id), complete_content)
            }
            R::StartToolExecution { tool_call_id, tool_name, mut tool_arguments, .. } => {
                if !tool_arguments.is_empty() {
                    tool_arguments.push('\n');
                }
                self.open((source, BlockKind::Tool, tool_call_id), Some(tool_name), tool_arguments)
            }
            R::ToolExecution { tool_call_id, delta } => {
                self.append((source, BlockKind::Tool, tool_call_id), &delta)
            }
            R::EndToolExecution { tool_call_id, result, error } => {
                self.change((source, BlockKind::Tool, tool_call_id), |block| {
                    if let Some(result) = result {
                        block.add_paragraph(&format!("Result: {}", result.content));
                        if let Some(details) = result.detailed_content {
                            block.add_paragraph(&format!("Details: {details}"));
                        }
                    }
                    if let Some(error) = error {
                        block.add_paragraph(&format!("Error: {}", error.message));
                        block.failed = true;
                    }
                    block.completed = true;
                })
            }
            R::UserPrompt { prompt } => {
                self.count(source, BlockKind::User, Block::complete(None, prompt))
            }
            R::GeneratedUserPrompt { prompt } => {
                self.count(source, BlockKind::User, Block::complete(Some("Task"), prompt))
            }
            R::Error { message } => {
                self.count(source, BlockKind::Message, Block::error("Error", message))
            }
            R::AgentStart { .. } => {
                return Changes { working: Some(true), opened: false };
            }
            R::Idle => {
                self.remark = None;
                return Changes { working: Some(false), opened: false };
            }
            R::AgentEnd { .. } => false,
            R::PermissionRequest(pending) => self.ask(source, pending),
            R::PermissionResolved { request_id, decision } => {
                self.settle(source, request_id, decision);
                false
            }
            R::Usage { usage, .. } => {
                self.spent.entry(source).or_default().add(usage);
                false
            }
            R::ExtensionLog { extension, level, message, ephemeral } => {
                let remark = Remark { extension, level, message };
                if ephemeral {
                    self.remark = Some(remark);
                    false
                } else {
                    self.count(source, BlockKind::Log, Block::log(remark))
                }
            }
        };
        if is_prompt {
            self.spent.entry(source).or_default().begin_turn();
        }
        Changes { opened, working: is_prompt.then_some(true) }
    }

    /// Opens a block. A known one (the history comes again) begins anew; if it was complete, its
    /// end follows in the same answer.
    fn open(&mut self, key: BlockKey, title: Option<String>, body: String) -> bool {
        self.change(key, |block| *block = Block::receiving(title, body))
    }

    fn append(&mut self, key: BlockKey, delta: &str) -> bool {
        self.change(key, |block| block.body.push_str(delta))
    }

    fn replace(&mut self, key: BlockKey, content: String) -> bool {
        self.change(key, |block| {
            block.body = content;
            block.completed = true;
        })
    }

    /// Opens a question. One that is known stays as it is: what came of it follows, or is known.
    fn ask(&mut self, source: usize, pending: PendingPermission) -> bool {
        let PendingPermission { id, request } = pending;
        let key = (source, BlockKind::Question, id.to_string());
        if self.places.contains_key(&key) {
            return false;
        }
        self.waiting.push((source, id));
        let question = Some(Question { id, request, outcome: None });
        self.change(key, |block| *block = Block { question, ..Block::default() })
    }

    /// A question has ended. Of one that is not known there is nothing to tell.
    fn settle(&mut self, source: usize, id: PermissionId, outcome: PermissionOutcome) {
        self.waiting.retain(|waiting| *waiting != (source, id));
        let key = (source, BlockKind::Question, id.to_string());
        if self.places.contains_key(&key) {
            self.change(key, |block| {
                block.completed = true;
                if let Some(question) = &mut block.question {
                    question.outcome = Some(outcome);
                }
            });
        }
    }

    /// Adds a complete block that has a number for an id.
    fn count(&mut self, source: usize, kind: BlockKind, complete: Block) -> bool {
        let counted = self.counted.entry(source).or_default();
        let key = (source, kind, format!("#{counted}"));
        *counted += 1;
        self.change(key, |block| *block = complete)
    }

    /// Changes a block; one that never opened opens now. True if it did.
    fn change(&mut self, key: BlockKey, change: impl FnOnce(&mut Block)) -> bool {
        if let Some(place) = self.places.get(&key) {
            self.blocks[*place].1.update(change);
            return false;
        }
        let mut block = Block::default();
        change(&mut block);
        let place = self.blocks.partition_point(|((source, ..), _)| *source <= key.0);
        self.blocks.insert(place, (key, C::new(block)));
        // Nearly always the last one.
        for (place, (key, _)) in self.blocks.iter().enumerate().skip(place) {
            self.places.insert(key.clone(), place);
        }
        true
    }
}
