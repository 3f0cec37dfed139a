//! What a log has to know about its entries.

use serde::Serialize;
use serde::de::DeserializeOwned;
use wire::{
    AliveResponse, EntityState, InboxResponse, JobResponse, LiveId, SessionResponse, TaskResponse,
    Usage,
};

use crate::fold::{Fold, JobFold, QuestionFold, SessionFold, TaskFold};
use crate::journal::{Entity, Record};

/// Identifies a block within one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRef<'a> {
    /// Each kind has its own id space.
    pub kind: &'static str,
    /// Id of the block within its kind.
    pub id: &'a str,
}

/// An entry's role in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// The entry belongs to no block.
    Alone,
    /// Opens the block, before any delta.
    Start(BlockRef<'a>),
    /// Adds text to the block. Deltas of one block are merged by concatenating their texts.
    Delta(BlockRef<'a>, &'a str),
    /// Closes the block with an entry that repeats the whole text, so readers that have read no
    /// delta don't need any.
    Complete(BlockRef<'a>, &'a str),
    /// Closes the block with an entry that doesn't repeat the text, so the deltas stay, merged.
    End(BlockRef<'a>),
    /// Adds something that a later entry removes.
    Adds(Entity),
    /// Removes it. Readers that have read neither get neither.
    Removes(Entity),
    /// Something new, or a new version of it. Readers get the newest version only.
    Replaces(Entity),
    /// It is gone. Readers get this in place of the versions that they have not read.
    Leaves(Entity),
}

/// An entry of a log.
pub trait LiveEntry: Serialize + DeserializeOwned + Send + 'static {
    /// The fold of a stream of these entries.
    type Fold: Fold<Self>;

    /// Whether the full-text search covers it.
    fn is_searchable(&self) -> bool;

    /// Its role in a block.
    fn part(&self) -> Part<'_> {
        Part::Alone
    }

    /// Creates a delta of a block, from several merged ones or the unread end of one. `None` only
    /// for kinds of entries without deltas.
    fn delta(_block: BlockRef<'_>, _text: String) -> Option<Self> {
        None
    }
}

impl LiveEntry for TaskResponse {
    type Fold = TaskFold;

    fn is_searchable(&self) -> bool {
        matches!(self, Self::TaskDecision { .. })
    }
}

impl LiveEntry for JobResponse {
    type Fold = JobFold;

    fn is_searchable(&self) -> bool {
        false
    }
}

impl LiveEntry for InboxResponse {
    type Fold = QuestionFold;

    fn is_searchable(&self) -> bool {
        false
    }

    fn part(&self) -> Part<'_> {
        match self {
            Self::InboxAdded(item) => Part::Adds(Entity::Question(item.id)),
            Self::InboxResolved(answer) => Part::Removes(Entity::Question(answer.id)),
        }
    }
}

impl LiveEntry for AliveResponse {
    type Fold = NotKept;

    fn is_searchable(&self) -> bool {
        false
    }

    fn part(&self) -> Part<'_> {
        let (id, part): (_, fn(Entity) -> Part<'static>) = match self {
            Self::AliveChanged { item } => (item.id, Part::Replaces),
            Self::AliveGone { id } => (*id, Part::Leaves),
        };
        match id {
            LiveId::Session(id) => part(id.into()),
            LiveId::Task(id) => part(id.into()),
            LiveId::Job(id) => part(id.into()),
            LiveId::Inbox | LiveId::Alive => Part::Alone,
        }
    }
}

/// The fold of what is never kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotKept;

impl Fold<AliveResponse> for NotKept {
    type Note = ();

    fn apply(&mut self, _: u64, _: &AliveResponse) -> bool {
        false
    }

    fn note(&mut self, _: u64, (): &()) {}

    fn record(&self) -> Record {
        Record {
            parent: None,
            title: String::new(),
            folder: String::new(),
            model: None,
            state: EntityState::Running,
            started_at: 0,
            ended_at: None,
            usage: Usage::default(),
            detail: String::new(),
        }
    }
}

const REASONING: &str = "reasoning";
const MESSAGE: &str = "message";
const TOOL: &str = "tool";

impl LiveEntry for SessionResponse {
    type Fold = SessionFold;

    fn is_searchable(&self) -> bool {
        matches!(
            self,
            Self::UserPrompt { .. }
                | Self::GeneratedUserPrompt { .. }
                | Self::EndMessage { .. }
                | Self::Error { .. }
        )
    }

    fn part(&self) -> Part<'_> {
        let block = |kind, id| BlockRef { kind, id };
        match self {
            Self::StartReasoning { reasoning_id } => Part::Start(block(REASONING, reasoning_id)),
            Self::Reasoning { reasoning_id, delta } => {
                Part::Delta(block(REASONING, reasoning_id), delta)
            }
            Self::EndReasoning { reasoning_id, complete_content } => {
                Part::Complete(block(REASONING, reasoning_id), complete_content)
            }
            Self::StartMessage { message_id } => Part::Start(block(MESSAGE, message_id)),
            Self::Message { message_id, delta } => Part::Delta(block(MESSAGE, message_id), delta),
            Self::EndMessage { message_id, complete_content } => {
                Part::Complete(block(MESSAGE, message_id), complete_content)
            }
            Self::StartToolExecution { tool_call_id, .. } => Part::Start(block(TOOL, tool_call_id)),
            Self::ToolExecution { tool_call_id, delta } => {
                Part::Delta(block(TOOL, tool_call_id), delta)
            }
            // The result differs from the streamed output: a page shows both.
            Self::EndToolExecution { tool_call_id, .. } => Part::End(block(TOOL, tool_call_id)),
            Self::AgentStart { .. }
            | Self::AgentEnd { .. }
            | Self::TurnEnd { .. }
            | Self::Idle
            | Self::QueueChanged(_)
            | Self::GeneratedUserPrompt { .. }
            | Self::UserPrompt { .. }
            | Self::PermissionRequest(_)
            | Self::PermissionResolved { .. }
            | Self::Usage { .. }
            | Self::ExtensionLog { .. }
            | Self::ProjectMessage(_)
            | Self::ProjectMessageEnd(_)
            | Self::ProjectCleared
            | Self::ProjectDraft(_)
            | Self::ProjectDraftTaken(_)
            | Self::Error { .. } => Part::Alone,
        }
    }

    fn delta(block: BlockRef<'_>, delta: String) -> Option<Self> {
        let id = block.id.to_owned();
        Some(match block.kind {
            REASONING => Self::Reasoning { reasoning_id: id, delta },
            MESSAGE => Self::Message { message_id: id, delta },
            _ => Self::ToolExecution { tool_call_id: id, delta },
        })
    }
}
