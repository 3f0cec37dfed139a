//! Converts responses of sessions, and of the tasks that run in them, to message blocks.
//!
//! A [`Transcript`] is fed every response of a session in order and keeps one [`Block`] for each
//! message, tool call and so on. Feeding it the same history again changes nothing: after a lost
//! connection the page simply reads everything again with a new token. A task has a stream of its
//! own; the times of the responses determine their order.
//!
//! Permission requests and log lines of extensions are in the same order; usage is added up
//! separately.
//!
//! Several sessions can share a transcript. Each is a numbered source, so that their ids cannot
//! clash.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use wire::{
    LogLevel, PendingPermission, PermissionId, PermissionOutcome, SessionResponse, TaskId,
    TaskResponse, Timed, ToolError, ToolResult, TurnEnding, WaitingPrompt,
};

use super::blocks::{Block, BlockCell, BlockKey, BlockKind, Blocks, Part, Trouble};
use super::grouping::Group;
use super::spending::Spending;

/// An extension's ephemeral log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) extension: String,
    pub(crate) level: LogLevel,
    pub(crate) message: String,
}

impl Remark {
    fn into_block(self) -> Block {
        let line = Block::complete(Some(&self.extension), self.message);
        Block { level: Some(self.level), ..line }
    }
}

/// What a response changed besides the content of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Whether there are new blocks.
    pub(crate) opened: bool,
    /// The agent or the task began (`true`) or ended (`false`) its work.
    pub(crate) working: Option<bool>,
}

/// All blocks, in the order in which they were opened.
#[derive(Clone, Debug)]
pub(crate) struct Transcript<C> {
    blocks: Blocks<C>,
    /// Prompts and errors have no ids: they are numbered per source.
    counted: HashMap<usize, usize>,
    /// Decisions are numbered per task.
    decided: HashMap<TaskId, usize>,
    /// The sources that are working.
    working: Vec<usize>,
    /// Pending permission requests, with their sources.
    waiting: Vec<(usize, PermissionId)>,
    /// The usage of each source.
    spent: BTreeMap<usize, Spending>,
    /// The last ephemeral log line of an extension.
    remark: Option<Remark>,
    /// The prompts that wait for their turn, the first line of each.
    queue: Vec<WaitingPrompt>,
    /// The latest prompt of each source, for who wants to try it again.
    prompts: HashMap<usize, String>,
}

impl<C> Default for Transcript<C> {
    fn default() -> Self {
        Self {
            blocks: Blocks::default(),
            counted: HashMap::new(),
            decided: HashMap::new(),
            working: Vec::new(),
            waiting: Vec::new(),
            spent: BTreeMap::new(),
            remark: None,
            queue: Vec::new(),
            prompts: HashMap::new(),
        }
    }
}

impl<C: BlockCell> Transcript<C> {
    /// The blocks in their order.
    pub(crate) fn blocks(&self) -> &[(BlockKey, C)] {
        self.blocks.all()
    }

    /// The blocks that are drawn as one row.
    pub(crate) fn groups(&self) -> &[Group] {
        self.blocks.groups()
    }

    /// Number of pending permission requests.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The total usage of all sources; its last turn is that of the last source.
    pub(crate) fn spent(&self) -> Spending {
        self.spent.values().fold(Spending::default(), Spending::and_then)
    }

    /// An extension's ephemeral log line.
    pub(crate) fn remark(&self) -> Option<&Remark> {
        self.remark.as_ref()
    }

    /// The prompts that wait for their turn, the first line of each.
    pub(crate) fn queue(&self) -> &[WaitingPrompt] {
        &self.queue
    }

    /// A source has ended, and with it its pending permission requests.
    pub(crate) fn end(&mut self, source: usize) {
        let open: Vec<_> = self.waiting.iter().filter(|(of, _)| *of == source).copied().collect();
        for (_, id) in open {
            self.settle(source, id, PermissionOutcome::Withdrawn);
        }
        self.remark = None;
        self.queue.clear();
    }

    /// Records whether a source is working. Returns whether any of them is.
    pub(crate) fn set_working(&mut self, source: usize, works: bool) -> bool {
        self.working.retain(|other| *other != source);
        if works {
            self.working.push(source);
        }
        !self.working.is_empty()
    }

    /// Processes the next response of a task, which happened at that time.
    pub(crate) fn apply_task(
        &mut self,
        source: usize,
        id: TaskId,
        Timed { at, response }: Timed<TaskResponse>,
    ) -> Changes {
        use TaskResponse as R;
        self.blocks.set_time(at);
        let (kind, block) = match response {
            R::TaskDecision { reason, .. } => {
                (BlockKind::User, Block::complete(Some("TaskDecision"), reason))
            }
            R::Error { message } => (BlockKind::Message, Block::error("TaskError", message)),
            R::TaskSucceeded | R::TaskFailed => {
                return Changes { working: Some(false), opened: false };
            }
            // Shown beside the conversation, not in it.
            R::TaskVerdict(_) | R::TaskSessionStarted { .. } | R::TaskSessionStopped { .. } => {
                return Changes::default();
            }
        };
        let decided = self.decided.entry(id).or_default();
        let key = (source, kind, format!("{id}#{decided}"));
        *decided += 1;
        Changes { opened: self.blocks.change(key, |place| *place = block), working: None }
    }

    /// Processes the next response of a source, which happened at that time.
    pub(crate) fn apply(
        &mut self,
        source: usize,
        Timed { at, response }: Timed<SessionResponse>,
    ) -> Changes {
        use SessionResponse as R;
        self.blocks.set_time(at);
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
            R::StartToolExecution {
                tool_call_id,
                parent_tool_call_id: parent,
                tool_name,
                tool_arguments,
            } => {
                let mut block =
                    Block { parent, ..Block::receiving(Some(tool_name), String::new()) };
                if !tool_arguments.is_empty() {
                    block.add_part(Part::Arguments, &tool_arguments);
                    block.body.push('\n');
                }
                let key = (source, BlockKind::Tool, tool_call_id);
                self.blocks.change(key, |place| *place = block)
            }
            R::ToolExecution { tool_call_id, delta } => {
                let key = (source, BlockKind::Tool, tool_call_id);
                self.blocks.change(key, |block| block.add_part(Part::Output, &delta))
            }
            R::EndToolExecution { tool_call_id, result, error } => {
                let key = (source, BlockKind::Tool, tool_call_id);
                self.blocks.change(key, |block| end_tool(block, result, error))
            }
            R::UserPrompt { prompt } => {
                self.prompts.insert(source, prompt.clone());
                self.count(source, BlockKind::User, Block::complete(None, prompt))
            }
            R::GeneratedUserPrompt { prompt } => {
                // The engine tries again by itself.
                self.prompts.remove(&source);
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
            R::TurnEnd { outcome, .. } => self.end_turn(source, outcome),
            R::AgentEnd { .. }
            // The page of the bridge shows these.
            | R::ProjectMessage(_)
            | R::ProjectMessageEnd(_)
            | R::ProjectCleared
            | R::ProjectDraft(_)
            | R::ProjectDraftTaken(_) => false,
            R::QueueChanged(waiting) => {
                self.queue = waiting.queue;
                false
            }
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
                    self.count(source, BlockKind::Log, remark.into_block())
                }
            }
        };
        if is_prompt {
            self.spent.entry(source).or_default().begin_turn();
        }
        Changes { opened, working: is_prompt.then_some(true) }
    }

    /// Says how a turn ended, unless with an answer.
    fn end_turn(&mut self, source: usize, outcome: TurnEnding) -> bool {
        if outcome == TurnEnding::Completed {
            return false;
        }
        let prompt = self.prompts.get(&source).cloned().unwrap_or_default();
        let block = Block { ending: Some(outcome), ..Block::complete(None, prompt) };
        self.count(source, BlockKind::End, block)
    }

    /// Opens a block. A known one (the history comes again) restarts; if it was complete, its end
    /// follows in the same answer.
    fn open(&mut self, key: BlockKey, title: Option<String>, body: String) -> bool {
        self.blocks.change(key, |block| *block = Block::receiving(title, body))
    }

    fn append(&mut self, key: BlockKey, delta: &str) -> bool {
        self.blocks.change(key, |block| block.body.push_str(delta))
    }

    fn replace(&mut self, key: BlockKey, content: String) -> bool {
        self.blocks.change(key, |block| {
            block.body = content;
            block.completed = true;
        })
    }

    fn ask(&mut self, source: usize, pending: PendingPermission) -> bool {
        let id = pending.id;
        let opened = self.blocks.ask(source, id, pending.request);
        if opened {
            self.waiting.push((source, id));
        }
        opened
    }

    fn settle(&mut self, source: usize, id: PermissionId, outcome: PermissionOutcome) {
        self.waiting.retain(|waiting| *waiting != (source, id));
        self.blocks.settle(source, id, outcome);
    }

    /// Adds a complete block whose id is a number.
    fn count(&mut self, source: usize, kind: BlockKind, complete: Block) -> bool {
        let counted = self.counted.entry(source).or_default();
        let key = (source, kind, format!("#{counted}"));
        *counted += 1;
        self.blocks.change(key, |block| *block = complete)
    }
}

/// Adds what came of a tool's call.
fn end_tool(block: &mut Block, result: Option<ToolResult>, error: Option<ToolError>) {
    if let Some(result) = result {
        block.add_part(Part::Result, &result.content);
        if let Some(details) = result.detailed_content {
            block.add_part(Part::Details, &details);
        }
    }
    if let Some(error) = error {
        block.add_part(Part::Error, &error.message);
        block.trouble = Some(match error.code.as_deref() {
            Some(ToolError::CUT_OFF) => Trouble::Aborted,
            // The codes used by the portal's tools and by the Copilot CLI.
            Some("denied" | "rejected") => Trouble::Denied,
            _ => Trouble::Failed,
        });
    }
    block.completed = true;
}
