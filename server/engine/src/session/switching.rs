//! Another model for a session, chosen by a user: from the next prompt on.

use super::handle::Session;
use super::{SessionError, SwitchError};

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
