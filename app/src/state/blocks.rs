//! Message blocks in order: what is drawn of a session or of a project.
//!
//! [`transcript`](super::transcript) and [`bridge`](super::bridge) decide what they contain.

mod parts;

use std::collections::HashMap;

use wire::{LogLevel, PermissionId, PermissionOutcome, PermissionRequest, TurnEnding};

use super::grouping::{Group, Step, regroup};
pub(crate) use parts::Part;

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum BlockKind {
    User,
    Reasoning,
    Tool,
    Message,
    /// A permission request of a tool.
    Question,
    /// A log line of an extension.
    Log,
    /// A turn ended otherwise than with an answer.
    End,
}

impl BlockKind {
    /// The kind as the header spells it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Reasoning => "Reasoning",
            Self::Tool => "Tool",
            Self::Message => "Message",
            Self::Question => "Question",
            Self::Log => "Log",
            Self::End => "End",
        }
    }

    /// Verbose blocks fold when they are complete; messages stay open.
    pub(crate) fn folds(self) -> bool {
        matches!(self, Self::Reasoning | Self::Tool)
    }
}

/// Identifies a block: its source, its kind, and the session's id for it.
pub(crate) type BlockKey = (usize, BlockKind, String);

/// The content of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) title: Option<String>,
    pub(crate) body: String,
    pub(crate) completed: bool,
    /// Why it is not what was asked for; `None` if it is, or is not complete.
    pub(crate) trouble: Option<Trouble>,
    /// Where the parts of a tool's body begin.
    pub(super) parts: Vec<(Part, usize)>,
    /// The tool call of the sub-agent that called this tool.
    pub(crate) parent: Option<String>,
    /// When it was opened, in microseconds.
    pub(crate) began: u64,
    /// When it was completed, in microseconds.
    pub(crate) ended: u64,
    /// How the turn ended, in a block of that kind.
    pub(crate) ending: Option<TurnEnding>,
    /// The permission request, in a block of that kind.
    pub(crate) question: Option<Question>,
    /// The severity of an extension's log line.
    pub(crate) level: Option<LogLevel>,
}

/// What became of a block instead of what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Failed,
    /// It was refused.
    Denied,
    /// Its turn was aborted or interrupted before the tool had ended.
    Aborted,
}

/// A permission request and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) id: PermissionId,
    pub(crate) request: PermissionRequest,
    /// `None` while it is pending.
    pub(crate) outcome: Option<PermissionOutcome>,
}

impl Block {
    pub(super) fn receiving(title: Option<String>, body: String) -> Self {
        Self { title, body, ..Self::default() }
    }

    pub(super) fn complete(title: Option<&str>, body: String) -> Self {
        Self { title: title.map(str::to_owned), body, completed: true, ..Self::default() }
    }

    /// How long it took, in milliseconds.
    pub(crate) fn millis(&self) -> i64 {
        i64::try_from(self.ended.saturating_sub(self.began) / 1000).unwrap_or(i64::MAX)
    }

    pub(super) fn error(title: &str, message: String) -> Self {
        Self { trouble: Some(Trouble::Failed), ..Self::complete(Some(title), message) }
    }

    /// The text in a block's header: `Kind (title) [receiving...]`.
    pub(crate) fn header(&self, kind: BlockKind) -> String {
        let title = self.title.as_ref().map(|title| format!(" ({title})")).unwrap_or_default();
        let state = if self.completed { "" } else { " [receiving...]" };
        format!("{}{title}{state}", kind.label())
    }

    pub(super) fn add_paragraph(&mut self, text: &str) {
        if !self.body.is_empty() && !self.body.ends_with('\n') {
            self.body.push('\n');
        }
        self.body.push_str(text);
    }
}

/// Holds a block, and notifies its view about changes to this block alone.
pub(crate) trait BlockCell {
    /// A cell that contains `block`.
    fn new(block: Block) -> Self;
    /// Changes the block and notifies its view.
    fn update(&self, change: impl FnOnce(&mut Block));
}

/// All blocks, ordered by the time at which they opened; those with the same time by arrival.
#[derive(Clone, Debug)]
pub(crate) struct Blocks<C> {
    entries: Vec<(BlockKey, C)>,
    /// When each of `entries` was opened.
    times: Vec<u64>,
    /// The time of the response being processed.
    now: u64,
    /// Indices of blocks in `entries`.
    places: HashMap<BlockKey, usize>,
    /// What each of `entries` is, as far as groups are concerned.
    steps: Vec<Step>,
    groups: Vec<Group>,
}

impl<C> Default for Blocks<C> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            times: Vec::new(),
            now: 0,
            places: HashMap::new(),
            steps: Vec::new(),
            groups: Vec::new(),
        }
    }
}

impl<C: BlockCell> Blocks<C> {
    /// All blocks in order.
    pub(crate) fn all(&self) -> &[(BlockKey, C)] {
        &self.entries
    }

    /// The blocks that are drawn as one row.
    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Sets the time of blocks that open from now on. Without it they are ordered by arrival.
    pub(super) fn set_time(&mut self, at: u64) {
        self.now = at;
    }

    /// Whether a block was opened.
    pub(super) fn has(&self, key: &BlockKey) -> bool {
        self.places.contains_key(key)
    }

    /// Changes a block; one that was never opened is opened. Returns whether it was.
    pub(super) fn change(&mut self, key: BlockKey, change: impl FnOnce(&mut Block)) -> bool {
        let (kind, now) = (key.1, self.now);
        let mut step = Step::Other;
        let change = |block: &mut Block| {
            change(block);
            if block.began == 0 {
                block.began = now;
            }
            if block.completed && block.ended == 0 {
                block.ended = now;
            }
            step = block.step(kind);
        };
        if let Some(&place) = self.places.get(&key) {
            self.entries[place].1.update(change);
            if self.steps[place] != step {
                self.steps[place] = step;
                regroup(&mut self.groups, &self.steps, place);
            }
            return false;
        }
        let mut block = Block::default();
        change(&mut block);
        let place = self.times.partition_point(|opened| *opened <= self.now);
        self.times.insert(place, self.now);
        self.entries.insert(place, (key, C::new(block)));
        self.steps.insert(place, step);
        self.note_places(place);
        regroup(&mut self.groups, &self.steps, place);
        true
    }

    /// Opens a permission request. A known one stays as it is: its outcome follows, or is known.
    /// Returns whether it is new.
    pub(super) fn ask(
        &mut self,
        source: usize,
        id: PermissionId,
        request: PermissionRequest,
    ) -> bool {
        let key = question_key(source, id);
        if self.has(&key) {
            return false;
        }
        let question = Some(Question { id, request, outcome: None });
        self.change(key, |block| *block = Block { question, ..Block::default() })
    }

    /// Records the outcome of a permission request. Unknown ones are ignored.
    pub(super) fn settle(&mut self, source: usize, id: PermissionId, outcome: PermissionOutcome) {
        let key = question_key(source, id);
        if self.has(&key) {
            self.change(key, |block| {
                block.completed = true;
                if let Some(question) = &mut block.question {
                    question.outcome = Some(outcome);
                }
            });
        }
    }

    /// Removes blocks. Returns whether there were any to remove.
    pub(super) fn retain(&mut self, keep: impl Fn(&BlockKey) -> bool) -> bool {
        let before = self.entries.len();
        let mut entries = self.entries.iter();
        self.times.retain(|_| entries.next().is_some_and(|(key, _)| keep(key)));
        let mut entries = self.entries.iter();
        self.steps.retain(|_| entries.next().is_some_and(|(key, _)| keep(key)));
        self.entries.retain(|(key, _)| keep(key));
        self.places.clear();
        self.note_places(0);
        regroup(&mut self.groups, &self.steps, 0);
        self.entries.len() < before
    }

    /// Updates the indices from `first` on; nearly always that is the last one.
    fn note_places(&mut self, first: usize) {
        for (place, (key, _)) in self.entries.iter().enumerate().skip(first) {
            self.places.insert(key.clone(), place);
        }
    }
}

fn question_key(source: usize, id: PermissionId) -> BlockKey {
    (source, BlockKind::Question, id.to_string())
}

#[cfg(test)]
impl BlockCell for std::rc::Rc<std::cell::RefCell<Block>> {
    fn new(block: Block) -> Self {
        Self::new(std::cell::RefCell::new(block))
    }

    fn update(&self, change: impl FnOnce(&mut Block)) {
        change(&mut self.borrow_mut());
    }
}
