//! What is kept of sessions, tasks and jobs: the list of all of them, and the stored responses of
//! one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::permission::{UnknownWord, words};
use crate::{LiveId, Usage};

words!(
    /// What sort of thing is kept.
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
    /// How something that is kept stands.
    EntityState {
        /// An open session in which no turn runs.
        Idle = "idle",
        /// Something runs in it.
        Running = "running",
        /// It waits for a person.
        Waiting = "waiting",
        /// The server stopped while it ran.
        Interrupted = "interrupted",
        /// Its work was done.
        Succeeded = "succeeded",
        /// Its work was not done; of a session, it crashed.
        Failed = "failed",
        /// It was stopped from outside.
        Canceled = "canceled",
        /// A session that somebody closed.
        Closed = "closed",
    }
);

/// The answer of `history`: newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// What was found.
    pub items: Vec<HistoryItem>,
    /// What to ask for by `before=` to go on, if there may be more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// Something that is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryItem {
    /// Id of the session, task or job.
    pub id: LiveId,
    /// Which of them it is.
    pub kind: EntityKind,
    /// First line of the first prompt, or the name of the task or job, unless it was renamed.
    pub title: String,
    /// Where its agents work.
    pub folder: String,
    /// The model it was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How it stands.
    pub state: EntityState,
    /// ISO 8601, UTC.
    pub started_at: String,
    /// Once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// What its models took, as far as they tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The task of a session, the job of a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<LiveId>,
    /// Where the words that were searched for stand: the first hit is between `«` and `»`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}
