//! Who opens the sessions of the bridge's projects.

use std::sync::Arc;
use std::time::Duration;

use agents::AgentBackend;
use agents::permission::SessionPermissions;
use store::fold::ProjectLink;

use super::StartOptions;

/// What the sessions of a project are opened with.
pub(crate) struct Hosting {
    /// Starts their agents, whatever the model.
    pub(crate) backend: Arc<dyn AgentBackend>,
    /// How their tools' permission requests are answered.
    pub(crate) permissions: SessionPermissions,
    /// When an unanswered permission request is denied.
    pub(crate) time_out: Duration,
}

/// Knows the projects.
pub(crate) trait ProjectHost: Send + Sync + 'static {
    /// How sessions of a project are opened now; `None` if there is no such project any more.
    fn hosting(&self, project: &str) -> Option<Hosting>;
}

impl Hosting {
    pub(super) fn options(self, project: ProjectLink) -> (Arc<dyn AgentBackend>, StartOptions) {
        let options = StartOptions {
            permission_time_out: Some(self.time_out),
            project: Some(Box::new(project)),
            ..StartOptions::new(self.permissions)
        };
        (self.backend, options)
    }
}
