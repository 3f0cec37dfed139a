//! Sessions of the bridge's projects: opened by the bridge, and after a restart by its rules.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use agents::{Found, PastConversation};
use store::fold::{ProjectLink, SessionFold};
use wire::{SessionId, SessionResponse};

use super::handle::Session;
use super::host::{Hosting, ProjectHost};
use super::opening::{Earlier, NewSession};
use super::{SessionError, SessionManager, StartError, StartOptions};

impl SessionManager {
    /// From now on, this opens the sessions of projects.
    pub(crate) fn host_projects(&self, host: Weak<dyn ProjectHost>) {
        // There is one bridge.
        let _ = self.host.set(host);
    }

    fn hosting(&self, project: &str) -> Option<Hosting> {
        self.host.get()?.upgrade()?.hosting(project)
    }

    /// Starts a session of a project. The folder need not exist before an agent works in it.
    pub(crate) async fn start_in_project(
        &self,
        model_id: &str,
        folder: PathBuf,
        project: ProjectLink,
        continued_from: Option<SessionId>,
    ) -> Result<Arc<Session>, StartError> {
        self.live().check_store()?;
        let gone = || StartError::WorkingDirectoryNotExists(folder.display().to_string());
        let (backend, options) = self.hosting(&project.id).ok_or_else(gone)?.options(project);
        let found = Found { backend, model_id: model_id.to_owned() };
        // Its agent reads the project's history for each prompt.
        let past = PastConversation::default();
        let earlier = continued_from.map(|id| Earlier { id, past, replaced: 0 });
        let id = self.start_new(NewSession { found, model_id, folder, options }, earlier).await?;
        self.get(id).map_err(|error| StartError::ModelNotAvailable(error.to_string()))
    }

    /// How a stored session of a project is opened again.
    pub(super) fn reopen_in_project(
        &self,
        fold: &SessionFold,
        project: ProjectLink,
    ) -> Result<(Found, StartOptions), SessionError> {
        let hosting = self.hosting(&project.id).ok_or(SessionError::ModelNotAvailable)?;
        let (backend, mut options) = hosting.options(project);
        if let Some(chosen) = fold.permissions().filter(|_| fold.has_chosen_mode()) {
            options.permissions.mode = chosen;
        }
        Ok((Found { backend, model_id: fold.model().to_owned() }, options))
    }

    /// Keeps what a session's project has to know besides its messages. Returns when that is durable.
    pub(crate) async fn keep_of_project(
        &self,
        id: SessionId,
        facts: impl IntoIterator<Item = SessionResponse>,
    ) -> Result<(), SessionError> {
        let log = self.load_log(id).await.ok_or(SessionError::SessionNotFound)?;
        for fact in facts {
            if !log.push(&fact) {
                return Err(SessionError::SessionNotFound);
            }
        }
        Ok(self.live().durable(id).await?)
    }
}
