//! Prompts that are handed to a running turn.
//!
//! Such a prompt waits in the queue, before those that were not meant for the running turn. Its agent
//! takes it when it is about to ask its model again. If that does not happen, the prompt has a turn of
//! its own, so nothing is lost, whatever ends the turn.

use std::sync::Arc;

use agents::Steering;
use async_trait::async_trait;

use super::SessionError;
use super::handle::Session;
use super::queue::Queue;
use super::stream::Stream;

/// Gives the prompts in the queue to the running turn.
pub(super) struct QueueSteering {
    pub(super) queue: Arc<Queue>,
    pub(super) stream: Arc<Stream>,
}

#[async_trait]
impl Steering for QueueSteering {
    async fn next(&self) -> Option<String> {
        let prompt = self.queue.take_steering()?;
        self.stream.steer(&prompt);
        match self.stream.durable().await {
            Ok(()) => Some(prompt),
            Err(error) => {
                self.stream.error(&format!("the agent was not given the prompt: {error}"));
                None
            }
        }
    }
}

impl Session {
    /// Whether a running turn takes prompts.
    pub fn can_steer(&self) -> bool {
        self.stream.capabilities().steer && !self.is_of_project
    }

    /// Hands a user's prompt to the running turn, and returns when it is durable. The agent takes it
    /// before it asks its model again.
    ///
    /// Cancel safe: the prompt is sent even if nobody waits.
    pub async fn steer(&self, prompt: String) -> Result<(), SessionError> {
        self.live.check_store()?;
        if !self.can_steer() {
            return Err(SessionError::SteerNotSupported);
        }
        let turn = self.queue.add_steering(prompt)?;
        self.live.durable(self.id).await.map_err(|error| {
            // The client sees an error and will send it again, so it must not run now.
            turn.abort();
            error.into()
        })
    }
}
