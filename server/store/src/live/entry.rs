//! What a log has to know of the things it carries.

use serde::Serialize;
use wire::{JobResponse, SessionResponse, TaskResponse};

use crate::fold::{Fold, JobFold, SessionFold, TaskFold};

/// Names a block within one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRef<'a> {
    /// Kinds have separate ids.
    pub kind: &'static str,
    /// Which of its kind.
    pub id: &'a str,
}

/// How an entry takes part in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Not at all.
    Alone,
    /// Opens it.
    Start(BlockRef<'a>),
    /// Adds text to it. Deltas of one block can be merged by putting their texts together.
    Delta(BlockRef<'a>, &'a str),
    /// Closes it with an entry that repeats the whole text: the deltas are worth nothing to those
    /// who have not read any.
    Complete(BlockRef<'a>),
    /// Closes it with an entry that does not repeat the text: the deltas stay, merged.
    End(BlockRef<'a>),
}

/// Something that a log can carry.
pub trait LiveEntry: Serialize + Send + Sized + 'static {
    /// What a stream of these comes to.
    type Fold: Fold<Self>;

    /// Whether people search for it.
    fn is_searchable(&self) -> bool;

    /// How it takes part in a block.
    fn part(&self) -> Part<'_> {
        Part::Alone
    }

    /// A delta of a block: several merged, or the unread end of one. `None` only where no entry
    /// is ever a delta.
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
            Self::EndReasoning { reasoning_id, .. } => {
                Part::Complete(block(REASONING, reasoning_id))
            }
            Self::StartMessage { message_id } => Part::Start(block(MESSAGE, message_id)),
            Self::Message { message_id, delta } => Part::Delta(block(MESSAGE, message_id), delta),
            Self::EndMessage { message_id, .. } => Part::Complete(block(MESSAGE, message_id)),
            Self::StartToolExecution { tool_call_id, .. } => Part::Start(block(TOOL, tool_call_id)),
            Self::ToolExecution { tool_call_id, delta } => {
                Part::Delta(block(TOOL, tool_call_id), delta)
            }
            // The result is not the output that was streamed: a page shows both.
            Self::EndToolExecution { tool_call_id, .. } => Part::End(block(TOOL, tool_call_id)),
            Self::AgentStart { .. }
            | Self::AgentEnd { .. }
            | Self::Idle
            | Self::GeneratedUserPrompt { .. }
            | Self::UserPrompt { .. }
            | Self::PermissionRequest(_)
            | Self::PermissionResolved { .. }
            | Self::Usage { .. }
            | Self::ExtensionLog { .. }
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
