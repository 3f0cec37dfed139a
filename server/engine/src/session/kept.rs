//! What a tool is allowed is kept before it acts.

use std::sync::Arc;

use agents::permission::{Asker, Denied, PermissionDesk, PermissionHandler};
use async_trait::async_trait;
use store::live::LiveLog;
use wire::{PermissionRequest, SessionResponse};

/// Asks at the session's desk. After a yes it waits until the call, the question and the answer are
/// durable: whatever a tool changed, the log tells that it was started.
pub(super) struct KeptPermissions {
    pub(super) desk: PermissionDesk,
    pub(super) log: Arc<LiveLog<SessionResponse>>,
}

#[async_trait]
impl PermissionHandler for KeptPermissions {
    async fn request(&self, asker: &Asker, request: PermissionRequest) -> Result<(), Denied> {
        self.desk.request(asker, request).await?;
        self.log.durable().await.map_err(|error| Denied { reason: error.to_string() })
    }
}
