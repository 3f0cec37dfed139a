//! Another model for a session, chosen by a user: from the next prompt on.

use wire::ErrorName;

use super::handle::Session;
use super::{SessionError, StartError};

/// Why a session has kept its model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    /// It is not open, it is working, or the change can't be stored.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The agent of the other model was not started.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl SwitchError {
    /// The error's name on the wire.
    pub fn name(&self) -> ErrorName {
        match self {
            Self::Session(error) => error.name(),
            Self::Start(error) => error.name(),
        }
    }
}

impl Session {
    /// Lets another model answer from the next prompt on, and returns when that is durable. Its agent
    /// knows the conversation.
    ///
    /// Cancel safe: the model is switched or not, even if nobody waits.
    pub async fn switch_model(&self, model: String) -> Result<(), SwitchError> {
        self.live.check_store().map_err(SessionError::from)?;
        let switched = self.queue.switch(model)?;
        // It is dropped if the session ends before.
        switched.await.unwrap_or(Err(SwitchError::Session(SessionError::SessionNotFound)))?;
        Ok(self.live.durable(self.id).await.map_err(SessionError::from)?)
    }
}
