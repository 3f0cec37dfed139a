//! Who may let a tool act: the question, the answers, and those who answer.
//!
//! A tool asks its [`PermissionHandler`] after all of its own checks and before it acts. Sessions
//! in which people decide have a [`PermissionDesk`], where questions wait for an answer.

mod desk;

use async_trait::async_trait;
use wire::PermissionRequest;

pub use desk::{NotPending, PermissionDesk, PermissionEvent, PermissionEvents};

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
