//! The list of open sessions.

use serde::{Deserialize, Serialize};

use crate::{PermissionMode, SessionId};

/// What `copilot/session` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions {
    /// Those that are open, in the order of their ids.
    pub sessions: Vec<SessionInfo>,
}

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Id of the session.
    pub session_id: SessionId,
    /// The model it was started with.
    pub model_id: String,
    /// Where its agent works.
    pub working_directory: String,
    /// How it deals with tools that ask.
    pub permissions: PermissionMode,
    /// Whether a turn is running.
    pub busy: bool,
    /// How many prompts wait for their turn.
    pub queued: u32,
}
