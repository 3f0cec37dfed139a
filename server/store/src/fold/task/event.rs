//! What the plan of a task is told. Stored as notes, from which a restart rebuilds the plan.

use serde::{Deserialize, Serialize};
use wire::entry::OnInterrupted;
use wire::{FailedTurn, InboxChoice, Reached, SessionId};

/// Something that happened in a run of a task and decides what the task does next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TaskEvent {
    /// The session that was to be opened is open.
    Opened {
        /// Id of the new session.
        session_id: SessionId,
    },
    /// The session that was to be opened is not.
    NotOpened {
        /// Why not.
        failure: NoAnswer,
    },
    /// The prompt was answered.
    Answered {
        /// The job tools that were called in the turn, in order.
        calls: Vec<JobToolCall>,
        /// The agent's last message in the turn, shortened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
    /// The turn ended without an answer.
    Unanswered {
        /// The job tools that were called in the turn, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<JobToolCall>,
        /// Why there is no answer.
        failure: NoAnswer,
    },
    /// The server stopped while the turn was running.
    CutOff {
        /// What happens to interrupted works.
        policy: OnInterrupted,
        /// Whether a tool was started in the turn that can change something.
        may_have_changed: bool,
        /// The job tools that were called in the turn, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<JobToolCall>,
    },
    /// Whether the agent of the turn that was cut off could be resumed.
    Resumed {
        /// False if its conversation can't go on.
        is_resumed: bool,
    },
    /// Somebody decided how the interrupted work goes on.
    Answer {
        /// What was chosen.
        choice: InboxChoice,
    },
    /// Somebody stopped the task.
    Stopped,
}

/// Why a prompt got no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "failure", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum NoAnswer {
    /// The session crashed or failed to start.
    Crashed {
        /// The error, with its causes.
        error: String,
    },
    /// The turn failed or was aborted; the session is alive. Counts as a try, like a crash.
    TurnFailed {
        /// How the turn ended.
        outcome: FailedTurn,
        /// The error, with its causes.
        error: String,
    },
    /// A budget is used up. Nothing is tried again.
    OverBudget(Reached),
}

/// A call of one of the tools by which an agent reports to the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobToolCall {
    /// Name of the tool.
    pub name: String,
    /// Its only argument; `None` if the model passed something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Whether it completed without an error.
    pub succeeded: bool,
}
