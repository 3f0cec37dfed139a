//! What a session's record says beside its columns.

use serde::{Deserialize, Serialize};
use wire::{PermissionMode, Reached, SessionId, TurnEnding};

use super::ProjectLink;
use crate::journal::Record;

/// The fields of a session's record that are not columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionDetail {
    /// How its tools' permission requests are answered; `None` before it is started.
    pub permissions: Option<PermissionMode>,
    /// How many prompts wait.
    pub queued: usize,
    /// The closed session whose context it took over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_from: Option<SessionId>,
    /// The project that it belongs to, and what it adds to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectState>,
    /// The limit of its budget that is used up: prompts wait until it is raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<Reached>,
    /// When its state began, in microseconds since the Unix epoch; 0 in stores of earlier versions.
    #[serde(default)]
    pub since: u64,
    /// How its latest turn ended; `None` while it runs, and before there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnEnding>,
}

impl SessionDetail {
    /// Reads them; `None` if it is not the record of a session, or of another version.
    pub fn read(record: &Record) -> Option<Self> {
        serde_json::from_str(&record.detail).ok()
    }
}

/// What a session's record tells of its project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectState {
    /// The place of the session in the chain.
    pub link: ProjectLink,
    /// How many messages and answers the session adds to the project's history.
    pub messages: usize,
    /// Whether the history was cleared in this session: earlier ones add nothing to it.
    pub is_cleared: bool,
}
