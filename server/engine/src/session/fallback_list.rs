//! Which models continue the failed turns of a session: read and chosen by clients.

use store::fold::{SessionFold, SessionNote};
use wire::{ErrorName, SessionId};

use super::{SessionError, SessionManager};

/// Why the fallback models of a session were not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FallbackError {
    /// There is no such open session, or the change can't be stored.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// No provider offers this model at the moment.
    #[error("unknown model: `{0}`")]
    ModelIdNotFound(String),
}

impl FallbackError {
    /// The error's name on the wire.
    pub fn name(&self) -> ErrorName {
        match self {
            Self::Session(error) => error.name(),
            Self::ModelIdNotFound(_) => ErrorName::ModelIdNotFound,
        }
    }
}

impl SessionManager {
    /// The models that continue an open session's failed turns, in the order in which they are
    /// tried. Its agent need not be running.
    pub async fn fallback(&self, id: SessionId) -> Result<Vec<String>, SessionError> {
        let log = self.load_log(id).await.filter(|log| !log.is_closed());
        let log = log.ok_or(SessionError::SessionNotFound)?;
        let chosen = log.fold(|fold: &SessionFold| fold.fallback().map(<[_]>::to_vec));
        Ok(chosen.flatten().unwrap_or_else(|| self.settings().fallback.clone()))
    }

    /// Chooses the models that continue an open session's failed turns, and returns when that is
    /// durable. No models: failed turns are not continued, whatever the setting.
    ///
    /// Cancel safe: they are chosen or not, even if nobody waits.
    pub async fn set_fallback(
        &self,
        id: SessionId,
        models: Vec<String>,
    ) -> Result<(), FallbackError> {
        self.live().check_store().map_err(SessionError::from)?;
        let log = self.load_log(id).await.filter(|log| !log.is_closed());
        let log = log.ok_or(SessionError::SessionNotFound)?;
        let mut chosen: Vec<String> = Vec::new();
        for model in models {
            if chosen.contains(&model) {
                continue;
            }
            if self.catalog().find(&model).await.is_none() {
                return Err(FallbackError::ModelIdNotFound(model));
            }
            chosen.push(model);
        }
        log.note(&SessionNote::Fallback { models: chosen });
        Ok(self.live().durable(id).await.map_err(SessionError::from)?)
    }
}
