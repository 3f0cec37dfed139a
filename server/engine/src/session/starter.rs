//! Starts the agent of a session.

use std::path::PathBuf;
use std::sync::Arc;

use agents::permission::PermissionHandler;
use agents::{AgentEvents, AgentSettings, AllowedExtensions, Found, PastConversation};
use extensions::ExtensionHost;

use super::StartError;
use super::agent::{self, SessionAgent};
use super::stream::Stream;
use super::toolkit::Toolkit;

/// What an agent gets from its session.
pub(super) struct Starter {
    pub(super) folder: PathBuf,
    /// The folder that has to be trusted for its extensions to be started.
    pub(super) root: PathBuf,
    pub(super) toolkit: Toolkit,
    pub(super) permissions: Arc<dyn PermissionHandler>,
    pub(super) extensions: Arc<ExtensionHost>,
    pub(super) stream: Arc<Stream>,
}

impl Starter {
    /// Starts an agent of a model, which continues the past conversation if there is one.
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
        let stream = self.stream.clone();
        let settings = AgentSettings {
            model: found.model_id.clone(),
            working_directory: self.folder.clone(),
            tools: self.toolkit.set.clone(),
            own_tools: true,
            permissions: self.permissions.clone(),
            extensions: if may_run_extensions {
                AllowedExtensions::All
            } else {
                AllowedExtensions::None
            },
            events: AgentEvents::new(move |event| stream.report(event)),
        };
        agent::start(&*found.backend, model, settings, past)
            .await
            .map_err(|error| StartError::ModelNotAvailable(error.to_string()))
    }
}
