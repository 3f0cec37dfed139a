//! Permissions are durable before the tool acts on them.

use std::sync::Arc;

use agents::permission::{Asker, Denied, PermissionDesk, PermissionHandler};
use async_trait::async_trait;
use store::live::LiveLog;
use wire::{PermissionRequest, SessionResponse};

/// Asks at the session's desk. If permission is given, waits until call, request and answer are
/// durable: whatever a tool has changed, the log shows that it was started.
pub(super) struct DurablePermissions {
    pub(super) desk: PermissionDesk,
    pub(super) log: Arc<LiveLog<SessionResponse>>,
}

#[async_trait]
impl PermissionHandler for DurablePermissions {
    async fn request(&self, asker: &Asker, request: PermissionRequest) -> Result<(), Denied> {
        self.desk.request(asker, request).await?;
        self.log.durable().await.map_err(|error| Denied { reason: error.to_string() })
    }

    async fn ask(&self, asker: &Asker, request: PermissionRequest) -> Result<String, Denied> {
        let answer = self.desk.ask(asker, request).await?;
        self.log.durable().await.map_err(|error| Denied { reason: error.to_string() })?;
        Ok(answer)
    }
}
