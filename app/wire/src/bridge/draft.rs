//! Drafts: messages that wait until a person sends them.

use serde::{Deserialize, Serialize};

use super::Mode;
use crate::MessageId;
use crate::json::{FromJson, ToJson};

/// The word for the `mode` of a message that is not to be sent by itself.
pub const DRAFT_MODE: &str = "draft";

/// A draft as the session of its project keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct ProjectDraft {
    /// Id of the draft.
    pub id: MessageId,
    /// The text that was posted.
    pub text: String,
    /// Who posted it: what the message says of itself, else `http`.
    pub source: String,
    /// How it would have been handled, if the message said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

/// A draft that was sent or discarded, as the session of its project keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct ProjectDraftTaken {
    /// Id of the draft.
    pub id: MessageId,
}

/// A message waits until a person sends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// Id of the draft.
    pub id: MessageId,
    /// The text that was posted.
    pub text: String,
    /// Who posted it: what the message says of itself, else `http`.
    pub source: String,
    /// Id of the project.
    pub session_id: String,
    /// How it would have been handled, if the message said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// When it came, in ISO 8601.
    pub at: String,
}

/// A draft waits no longer: it was sent or discarded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct DraftTaken {
    /// Id of the draft.
    pub id: MessageId,
    /// Id of the project.
    pub session_id: String,
}

/// The body of `POST /discard`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToJson)]
pub struct DiscardRequest {
    /// The draft to discard.
    pub id: String,
}
