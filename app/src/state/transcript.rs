//! Responses of a session, and of the tasks that run in it → message blocks.
//!
//! A [`Transcript`] is fed every response of a session in order and keeps one [`Block`] for each
//! thing said or done. Feeding it the same history again changes nothing: after a lost connection
//! the page simply reads everything once more under a new token. A task has a stream of its own;
//! what it decided stands where it arrived.

use std::collections::HashMap;

use wire::{SessionResponse, TaskId, TaskResponse};

/// What a block shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum BlockKind {
    User,
    Reasoning,
    Tool,
    Message,
}

impl BlockKind {
    /// As the header spells it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Reasoning => "Reasoning",
            Self::Tool => "Tool",
            Self::Message => "Message",
        }
    }

    /// Long-winded blocks fold when they are complete; what was said stays open.
    pub(crate) fn folds(self) -> bool {
        matches!(self, Self::Reasoning | Self::Tool)
    }
}

/// Which block: its kind, and the id that the session gave it.
pub(crate) type BlockKey = (BlockKind, String);

/// One block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) title: Option<String>,
    pub(crate) body: String,
    pub(crate) completed: bool,
    pub(crate) failed: bool,
}

impl Block {
    fn receiving(title: Option<String>, body: String) -> Self {
        Self { title, body, ..Self::default() }
    }

    fn complete(title: Option<&str>, body: String) -> Self {
        Self { title: title.map(str::to_owned), body, completed: true, failed: false }
    }

    fn error(title: &str, message: String) -> Self {
        Self { failed: true, ..Self::complete(Some(title), message) }
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

/// All blocks of a session, in the order in which they opened.
#[derive(Clone, Debug)]
pub(crate) struct Transcript<C> {
    blocks: Vec<(BlockKey, C)>,
    /// Where in `blocks` a block is.
    places: HashMap<BlockKey, usize>,
    /// Prompts and errors have no id of their own: they are counted.
    counted: usize,
    /// So are the decisions of a task.
    decided: usize,
}

impl<C> Default for Transcript<C> {
    fn default() -> Self {
        Self { blocks: Vec::new(), places: HashMap::new(), counted: 0, decided: 0 }
    }
}

impl<C: BlockCell> Transcript<C> {
    /// The blocks in the order in which they opened.
    pub(crate) fn blocks(&self) -> &[(BlockKey, C)] {
        &self.blocks
    }

    /// From here on the history comes again from its beginning.
    pub(crate) fn rewind(&mut self) {
        self.counted = 0;
    }

    /// From here on a task's history comes from its beginning.
    pub(crate) fn rewind_task(&mut self) {
        self.decided = 0;
    }

    /// Takes in the next response of a task.
    pub(crate) fn apply_task(&mut self, id: TaskId, response: TaskResponse) -> Changes {
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
        let key = (kind, format!("{id}#{}", self.decided));
        self.decided += 1;
        Changes { opened: self.change(key, |place| *place = block), working: None }
    }

    /// Takes in the next response.
    pub(crate) fn apply(&mut self, response: SessionResponse) -> Changes {
        use SessionResponse as R;
        let is_prompt = matches!(response, R::UserPrompt { .. } | R::GeneratedUserPrompt { .. });
        let opened = match response {
            R::StartReasoning { reasoning_id } => {
                self.open((BlockKind::Reasoning, reasoning_id), None, String::new())
            }
            R::Reasoning { reasoning_id, delta } => {
                self.append((BlockKind::Reasoning, reasoning_id), &delta)
            }
            R::EndReasoning { reasoning_id, complete_content } => {
                self.replace((BlockKind::Reasoning, reasoning_id), complete_content)
            }
            R::StartMessage { message_id } => {
                self.open((BlockKind::Message, message_id), None, String::new())
            }
            R::Message { message_id, delta } => {
                self.append((BlockKind::Message, message_id), &delta)
            }
            R::EndMessage { message_id, complete_content } => {
                self.replace((BlockKind::Message, message_id), complete_content)
            }
            R::StartToolExecution { tool_call_id, tool_name, mut tool_arguments, .. } => {
                if !tool_arguments.is_empty() {
                    tool_arguments.push('\n');
                }
                self.open((BlockKind::Tool, tool_call_id), Some(tool_name), tool_arguments)
            }
            R::ToolExecution { tool_call_id, delta } => {
                self.append((BlockKind::Tool, tool_call_id), &delta)
            }
            R::EndToolExecution { tool_call_id, result, error } => {
                self.change((BlockKind::Tool, tool_call_id), |block| {
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
            R::UserPrompt { prompt } => self.count(BlockKind::User, Block::complete(None, prompt)),
            R::GeneratedUserPrompt { prompt } => {
                self.count(BlockKind::User, Block::complete(Some("Task"), prompt))
            }
            R::Error { message } => self.count(BlockKind::Message, Block::error("Error", message)),
            R::AgentStart { .. } => {
                return Changes { working: Some(true), opened: false };
            }
            R::Idle => return Changes { working: Some(false), opened: false },
            R::AgentEnd { .. } => false,
        };
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

    /// Adds a complete block that has a number for an id.
    fn count(&mut self, kind: BlockKind, complete: Block) -> bool {
        let key = (kind, format!("#{}", self.counted));
        self.counted += 1;
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
        self.places.insert(key.clone(), self.blocks.len());
        self.blocks.push((key, C::new(block)));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use wire::{ToolError, ToolResult};

    use super::*;

    type Cell = Rc<RefCell<Block>>;

    impl BlockCell for Cell {
        fn new(block: Block) -> Self {
            Rc::new(RefCell::new(block))
        }

        fn update(&self, change: impl FnOnce(&mut Block)) {
            change(&mut self.borrow_mut());
        }
    }

    fn text(text: &str) -> String {
        text.to_owned()
    }

    fn shown(transcript: &Transcript<Cell>) -> Vec<(String, String)> {
        let blocks = transcript.blocks().iter();
        blocks
            .map(|((kind, _), block)| (block.borrow().header(*kind), block.borrow().body.clone()))
            .collect()
    }

    fn history() -> Vec<SessionResponse> {
        use SessionResponse as R;
        vec![
            R::UserPrompt { prompt: text("hello") },
            R::AgentStart { turn_id: text("1") },
            R::StartReasoning { reasoning_id: text("r") },
            R::Reasoning { reasoning_id: text("r"), delta: text("hm") },
            R::StartMessage { message_id: text("m") },
            R::Message { message_id: text("m"), delta: text("Hel") },
            R::EndReasoning { reasoning_id: text("r"), complete_content: text("hm") },
            R::Message { message_id: text("m"), delta: text("lo") },
            R::EndMessage { message_id: text("m"), complete_content: text("Hello") },
            R::AgentEnd { turn_id: text("1") },
            R::Error { message: text("boom") },
            R::Idle,
        ]
    }

    #[test]
    fn blocks_stand_in_the_order_in_which_they_opened() {
        let mut transcript = Transcript::default();
        for response in history() {
            transcript.apply(response);
        }
        let expected = [
            ("User", "hello"),
            ("Reasoning", "hm"),
            ("Message", "Hello"),
            ("Message (Error)", "boom"),
        ];
        assert_eq!(shown(&transcript), expected.map(|(header, body)| (text(header), text(body))));
    }

    #[test]
    fn several_blocks_receive_at_once() {
        let mut transcript = Transcript::default();
        for response in history().into_iter().take(6) {
            transcript.apply(response);
        }
        let expected = [
            ("User", "hello"),
            ("Reasoning [receiving...]", "hm"),
            ("Message [receiving...]", "Hel"),
        ];
        assert_eq!(shown(&transcript), expected.map(|(header, body)| (text(header), text(body))));
    }

    #[test]
    fn the_same_history_again_changes_nothing_wherever_it_was_cut() {
        let mut whole = Transcript::default();
        for response in history() {
            whole.apply(response);
        }
        for cut in 0..=history().len() {
            let mut transcript = Transcript::default();
            for response in history().into_iter().take(cut) {
                transcript.apply(response);
            }
            transcript.rewind();
            for response in history() {
                transcript.apply(response);
            }
            assert_eq!(shown(&transcript), shown(&whole), "cut after {cut}");
        }
    }

    #[test]
    fn tools_show_arguments_output_and_what_came_of_them() {
        use SessionResponse as R;
        let start = |id: &str, arguments: &str| R::StartToolExecution {
            tool_call_id: text(id),
            parent_tool_call_id: None,
            tool_name: text("build"),
            tool_arguments: text(arguments),
        };
        let mut transcript = Transcript::default();
        for response in [
            start("1", "{}"),
            R::ToolExecution { tool_call_id: text("1"), delta: text("compiling") },
            R::EndToolExecution {
                tool_call_id: text("1"),
                result: Some(ToolResult {
                    content: text("ok"),
                    detailed_content: Some(text("3 files")),
                }),
                error: None,
            },
            start("2", ""),
            R::EndToolExecution {
                tool_call_id: text("2"),
                result: None,
                error: Some(ToolError { message: text("denied"), code: None }),
            },
        ] {
            transcript.apply(response);
        }
        let expected = [
            ("Tool (build)", "{}\ncompiling\nResult: ok\nDetails: 3 files"),
            ("Tool (build)", "Error: denied"),
        ];
        assert_eq!(shown(&transcript), expected.map(|(header, body)| (text(header), text(body))));
    }

    #[test]
    fn an_end_without_a_start_still_shows() {
        let mut transcript: Transcript<Cell> = Transcript::default();
        let end =
            SessionResponse::EndMessage { message_id: text("m"), complete_content: text("x") };
        assert_eq!(transcript.apply(end), Changes { opened: true, working: None });
        assert_eq!(shown(&transcript), [(text("Message"), text("x"))]);
    }

    #[test]
    fn the_agent_works_from_the_prompt_until_it_is_idle() {
        let mut transcript: Transcript<Cell> = Transcript::default();
        let working: Vec<_> =
            history().into_iter().filter_map(|one| transcript.apply(one).working).collect();
        assert_eq!(working, [true, true, false]);
    }

    #[test]
    fn prompts_of_the_task_engine_are_titled() {
        let mut transcript: Transcript<Cell> = Transcript::default();
        transcript.apply(SessionResponse::GeneratedUserPrompt { prompt: text("do it") });
        assert_eq!(shown(&transcript), [(text("User (Task)"), text("do it"))]);
    }

    fn decisions() -> Vec<TaskResponse> {
        vec![
            TaskResponse::TaskDecision { reason: text("[CRITERIA] not met") },
            TaskResponse::TaskDecision { reason: text("[TASK FAILED] so be it") },
            TaskResponse::Error { message: text("boom") },
            TaskResponse::TaskFailed,
        ]
    }

    fn task(number: u128) -> TaskId {
        format!("task-00000000-0000-4000-8000-{number:012x}").parse().expect("id")
    }

    #[test]
    fn decisions_stand_where_they_arrived_and_the_end_of_the_task_is_told() {
        let mut transcript: Transcript<Cell> = Transcript::default();
        let prompt = |prompt: &str| SessionResponse::GeneratedUserPrompt { prompt: text(prompt) };
        let mut decisions = decisions().into_iter();
        let mut decide = |transcript: &mut Transcript<Cell>| {
            let response = decisions.next().expect("decision");
            transcript.apply_task(task(1), response)
        };
        transcript.apply(prompt("do it"));
        assert_eq!(decide(&mut transcript), Changes { opened: true, working: None });
        transcript.apply(prompt("again"));
        assert_eq!(decide(&mut transcript), Changes { opened: true, working: None });
        assert_eq!(decide(&mut transcript), Changes { opened: true, working: None });
        assert_eq!(decide(&mut transcript), Changes { opened: false, working: Some(false) });
        let expected = [
            ("User (Task)", "do it"),
            ("User (TaskDecision)", "[CRITERIA] not met"),
            ("User (Task)", "again"),
            ("User (TaskDecision)", "[TASK FAILED] so be it"),
            ("Message (TaskError)", "boom"),
        ];
        assert_eq!(shown(&transcript), expected.map(|(header, body)| (text(header), text(body))));
        assert!(transcript.blocks().iter().all(|(_, block)| block.borrow().completed));
    }

    #[test]
    fn either_history_again_changes_nothing_of_the_other_nor_of_tasks_before() {
        let mut transcript: Transcript<Cell> = Transcript::default();
        let read_session = |transcript: &mut Transcript<Cell>| {
            transcript.rewind();
            for response in history() {
                transcript.apply(response);
            }
        };
        let read_task = |transcript: &mut Transcript<Cell>, id| {
            transcript.rewind_task();
            for response in decisions() {
                transcript.apply_task(id, response);
            }
        };
        read_session(&mut transcript);
        read_task(&mut transcript, task(1));
        read_task(&mut transcript, task(2));
        let before = shown(&transcript);
        assert_eq!(before.len(), 4 + 3 + 3);
        read_task(&mut transcript, task(2));
        read_session(&mut transcript);
        assert_eq!(shown(&transcript), before);
    }
}
