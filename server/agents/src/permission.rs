//! Who may let a tool act: the question, the answers, and those who answer.
//!
//! A tool asks its [`PermissionHandler`] after all of its own checks and before it acts. Sessions
//! in which people decide have a [`PermissionDesk`], where questions wait for an answer. Whatever
//! the session's mode, its [`DeskRules`] say what is refused, and what is asked for each time.

mod desk;
mod runs_later;

use async_trait::async_trait;
use wire::{PermissionMode, PermissionRequest};

pub use desk::{NotPending, PermissionDesk, PermissionEvent, PermissionEvents};
pub use runs_later::{AlwaysAsk, DeskRules, InvalidGlob, Safeguards, check_glob};

/// The answer was no.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Denied {
    /// Why, for the model to read.
    pub reason: String,
}

/// How the tools of a session that ask are dealt with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPermissions {
    /// In general.
    pub mode: PermissionMode,
    /// Files that run later, and that `approve-all` covers nevertheless: globs below its folder.
    pub approve_files: Vec<String>,
}

impl From<PermissionMode> for SessionPermissions {
    fn from(mode: PermissionMode) -> Self {
        Self { mode, approve_files: Vec::new() }
    }
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

tokio::task_local! {
    static APPROVED: ();
}

/// Does work whose questions need not be put to people any more: somebody has said yes before.
/// Where everything is refused, it still is.
pub async fn approved<F: Future>(work: F) -> F::Output {
    APPROVED.scope((), work).await
}

fn is_approved() -> bool {
    APPROVED.try_with(|()| ()).is_ok()
}

const GUARDED: &str = "refused: the portal's own settings, keys and data are off limits";
const DENY_ALL: &str = "refused: this session may not change anything";

/// Says no to everything.
#[derive(Clone, Copy, Debug)]
pub struct DenyAll;

#[async_trait]
impl PermissionHandler for DenyAll {
    async fn request(&self, _request: PermissionRequest) -> Result<(), Denied> {
        Err(Denied { reason: DENY_ALL.to_owned() })
    }
}
