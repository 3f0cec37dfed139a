//! What is kept of sessions, tasks and jobs: the list of all of them, and the stored responses of
//! one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::permission::{UnknownWord, words};
use crate::{LiveId, Usage};

words!(
    /// Kind of a history item.
    EntityKind {
        /// A conversation with an agent.
        Session = "session",
        /// A run of a task.
        Task = "task",
        /// A run of a job.
        Job = "job",
    }
);

words!(
    /// State of a history item.
    EntityState {
        /// An open session in which no turn runs.
        Idle = "idle",
        /// A session with a running turn, or a task or job that has not ended.
        Running = "running",
        /// A person must answer before it can continue.
        Waiting = "waiting",
        /// The server stopped while it ran.
        Interrupted = "interrupted",
        /// The task or job was done.
        Succeeded = "succeeded",
        /// The task or job was not done, or the session crashed.
        Failed = "failed",
        /// It was stopped from outside.
        Canceled = "canceled",
        /// A session that was closed.
        Closed = "closed",
    }
);

/// The answer of `history`: newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// The items of this page.
    pub items: Vec<HistoryItem>,
    /// Value of `before=` for the next page, if there may be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A session, task or job in the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryItem {
    /// Id of the session, task or job.
    pub id: LiveId,
    /// Whether it is a session, a task or a job.
    pub kind: EntityKind,
    /// First line of the first prompt, or the name of the task or job, unless it was renamed.
    pub title: String,
    /// Folder in which its agents work.
    pub folder: String,
    /// The model it was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// State at the time of the answer.
    pub state: EntityState,
    /// When it started; ISO 8601, UTC.
    pub started_at: String,
    /// When it ended, if it has; ISO 8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// Tokens and cost, as far as its providers report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The task that opened the session, or the job that started the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<LiveId>,
    /// Text around the first hit of a search, with the hit between `«` and `»`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}
