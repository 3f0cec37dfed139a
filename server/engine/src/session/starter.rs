//! Starts the agents of a session: its first one, and those that take over from one that failed.

use std::path::PathBuf;
use std::sync::Arc;

use agents::permission::PermissionHandler;
use agents::{AgentSettings, AllowedExtensions, Attachments, Found, PastConversation, Steering};
use extensions::ExtensionHost;

use super::StartError;
use super::agent::{self, SessionAgent};
use super::stream::Stream;
use super::toolkit::Toolkit;

/// What all agents of a session share.
pub(super) struct Starter {
    pub(super) folder: PathBuf,
    /// The folder that has to be trusted for its extensions to be started.
    pub(super) root: PathBuf,
    pub(super) toolkit: Toolkit,
    pub(super) permissions: Arc<dyn PermissionHandler>,
    pub(super) extensions: Arc<ExtensionHost>,
    pub(super) stream: Arc<Stream>,
    pub(super) steering: Arc<dyn Steering>,
    pub(super) attachments: Arc<dyn Attachments>,
}

impl Starter {
    /// Starts an agent of a model, which continues the past conversation if there is one. From then
    /// on, the stream listens to it alone, and the tools are those for it, even if this fails.
    ///
    /// `model` is the client's name for the model.
    pub(super) async fn start(
        &self,
        found: &Found,
        model: String,
        past: Option<PastConversation>,
    ) -> Result<SessionAgent, StartError> {
        let capabilities = found.backend.capabilities();
        self.toolkit.fit(capabilities.own_tools).await?;
        let may_run_extensions =
            capabilities.extensions && self.extensions.trusts_all(&self.root).await;
        let (speaker, events) = self.stream.hear_another();
        let settings = AgentSettings {
            model: found.model_id.clone(),
            working_directory: self.folder.clone(),
            tools: self.toolkit.set.clone(),
            own_tools: true,
            permissions: self.permissions.clone(),
            steering: self.steering.clone(),
            attachments: self.attachments.clone(),
            extensions: if may_run_extensions {
                AllowedExtensions::All
            } else {
                AllowedExtensions::None
            },
            events,
        };
        agent::start(&*found.backend, model, settings, speaker, past)
            .await
            .map_err(|error| StartError::ModelNotAvailable(error.to_string()))
    }
}
