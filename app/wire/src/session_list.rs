//! The list of open sessions.

use serde::{Deserialize, Serialize};

use crate::json::FromJson;
use crate::{PermissionMode, SessionId};

/// What `copilot/session` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct Sessions {
    /// The open sessions, in the order of their ids.
    pub sessions: Vec<SessionInfo>,
}

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Id of the session.
    pub session_id: SessionId,
    /// First line of the first prompt, unless it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The model that answers its prompts.
    pub model_id: String,
    /// Folder in which its agent works.
    pub working_directory: String,
    /// Permission mode of the session.
    pub permissions: PermissionMode,
    /// Whether a turn is running.
    pub busy: bool,
    /// How many prompts wait for their turn.
    pub queued: u32,
    /// Whether a running turn takes prompts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_steer: bool,
    /// Whether prompts may have images.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_images: bool,
}

/// The prompts that wait in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct PromptQueue {
    /// In the order of their turns.
    pub queue: Vec<WaitingPrompt>,
}

/// A prompt that waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct WaitingPrompt {
    /// Its number in its session.
    pub id: u64,
    /// Its text.
    pub prompt: String,
}

/// The answer of `folders`: what completes the path that somebody types.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct Folders {
    /// Absolute paths.
    pub folders: Vec<String>,
}

/// The answer of `session/{id}/files`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct Files {
    /// Paths below the session's folder, the best match first.
    pub files: Vec<String>,
}

/// The answer of `session/{id}/fallback`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct FallbackModels {
    /// Ids of the models that continue the session's failed turns, in the order in which they are
    /// tried.
    pub fallback: Vec<String>,
}
