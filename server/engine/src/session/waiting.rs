//! The prompts that wait in a session: listed, removed and changed by users.

use wire::{PromptQueue, SessionId};

use super::handle::Session;
use super::queue::shown_queue;
use super::{SessionError, SessionManager};

impl Session {
    /// Removes a prompt that waits, and returns when that is durable.
    ///
    /// Cancel safe: it is removed even if nobody waits.
    pub async fn remove_waiting(&self, prompt: u64) -> Result<(), SessionError> {
        self.live.check_store()?;
        self.queue.remove(prompt)?;
        Ok(self.live.durable(self.id).await?)
    }

    /// Changes the text of a prompt that waits, and returns when that is durable.
    ///
    /// Cancel safe: it is changed even if nobody waits.
    pub async fn edit_waiting(&self, prompt: u64, text: String) -> Result<(), SessionError> {
        self.live.check_store()?;
        self.queue.edit(prompt, text)?;
        Ok(self.live.durable(self.id).await?)
    }
}

impl SessionManager {
    /// The prompts that wait in an open session. Its agent need not be running.
    pub async fn waiting(&self, id: SessionId) -> Result<PromptQueue, SessionError> {
        let log = self.load_log(id).await.filter(|log| !log.is_closed());
        log.and_then(|log| log.fold(shown_queue)).ok_or(SessionError::SessionNotFound)
    }
}
