//! Who may let a tool act: the question, the answers, and those who answer.
//!
//! A tool asks its [`PermissionHandler`] after all of its own checks and before it acts. Sessions
//! in which people decide have a [`PermissionDesk`], where questions wait for an answer.

mod desk;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use desk::{
    NotPending, PendingPermission, PermissionDesk, PermissionEvent, PermissionEvents,
    PermissionOutcome,
};

/// How a session deals with tools that ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Everything is approved without asking.
    ApproveAll,
    /// People are asked.
    #[default]
    Ask,
    /// Everything is refused.
    Deny,
}

impl PermissionMode {
    /// Who answers in that mode.
    pub fn handler(self, desk: &PermissionDesk) -> Arc<dyn PermissionHandler> {
        match self {
            Self::ApproveAll => Arc::new(ApproveAll),
            Self::Ask => Arc::new(desk.clone()),
            Self::Deny => Arc::new(DenyAll),
        }
    }
}

/// What a tool wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionKind {
    /// Make a file.
    Create,
    /// Change a file.
    Write,
    /// Run a command.
    Command,
    /// Read something outside of the workspace.
    Read,
    /// Fetch something from the network.
    Url,
    /// Call a tool that is not ours.
    Tool,
    /// Anything else.
    #[serde(other)]
    Other,
}

impl PermissionKind {
    /// As it is written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Write => "write",
            Self::Command => "command",
            Self::Read => "read",
            Self::Url => "url",
            Self::Tool => "tool",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for PermissionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A question: may this be done?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequest {
    /// What sort of thing.
    pub kind: PermissionKind,
    /// One line for people.
    pub title: String,
    /// The file, or the folder in which a command runs; relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The command line, or the text of the new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The change as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// What a person says to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionDecision {
    /// Yes.
    Approve,
    /// Yes, and to everything of this kind for the rest of the session.
    ApproveAlways,
    /// No.
    Deny,
}

/// The answer was no.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Denied {
    /// Why, for the model to read.
    pub reason: String,
}

/// Answers the questions of tools.
#[async_trait]
pub trait PermissionHandler: Send + Sync + 'static {
    /// Returns when the answer is known. Dropped, the question is withdrawn.
    async fn request(&self, request: PermissionRequest) -> Result<(), Denied>;
}

/// Says yes to everything.
#[derive(Clone, Copy, Debug)]
pub struct ApproveAll;

#[async_trait]
impl PermissionHandler for ApproveAll {
    async fn request(&self, _request: PermissionRequest) -> Result<(), Denied> {
        Ok(())
    }
}

/// Says no to everything.
#[derive(Clone, Copy, Debug)]
pub struct DenyAll;

#[async_trait]
impl PermissionHandler for DenyAll {
    async fn request(&self, _request: PermissionRequest) -> Result<(), Denied> {
        Err(Denied { reason: "refused: this session may not change anything".to_owned() })
    }
}
