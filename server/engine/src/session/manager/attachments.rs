//! The attachments of all sessions: shown to pages, taken over by the session that continues another,
//! and deleted with theirs.

use std::sync::Arc;
use std::time::Duration;

use agents::{Attachment, Attachments};
use store::journal::StoreError;
use tokio::time::timeout;
use wire::{AttachmentId, SessionId};

use super::SessionManager;
use crate::session::SessionError;
use crate::session::attachments::{AttachError, OwnAttachments};

/// How long a provider may take to say that it has a model whose agent is not running.
const PATIENCE: Duration = Duration::from_secs(1);

impl SessionManager {
    /// The attachments of a session, for its agents.
    pub(super) fn attachments_of(&self, session: SessionId) -> Arc<dyn Attachments> {
        Arc::new(OwnAttachments { session, store: self.settings().attachments.clone() })
    }

    /// An attachment of a session, open or closed.
    pub async fn attachment(
        &self,
        session: SessionId,
        id: AttachmentId,
    ) -> Result<Attachment, AttachError> {
        let journal = self.live().shared().journal();
        let known = journal.record(session.into()).await.map_err(SessionError::from)?;
        known.ok_or(SessionError::SessionNotFound)?;
        let bytes = self.settings().attachments.read(session, id).await;
        bytes.and_then(Attachment::recognise).ok_or(AttachError::NotFound)
    }

    /// Deletes the attachments of sessions that are no longer kept. Returns of how many.
    pub async fn delete_orphans(&self) -> Result<usize, StoreError> {
        let store = &self.settings().attachments;
        let sessions = match store.sessions().await {
            Ok(sessions) => sessions,
            Err(error) => {
                tracing::warn!(%error, "the folder of attachments can't be read");
                return Ok(0);
            }
        };
        let mut deleted = 0;
        for session in sessions {
            let journal = self.live().shared().journal();
            if journal.record(session.into()).await?.is_none() {
                self.delete_attachments(session).await;
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    /// Deletes the attachments of a session that is no longer kept. What can't be deleted now is an
    /// orphan, which is deleted later.
    pub(in crate::session) async fn delete_attachments(&self, session: SessionId) {
        if let Err(error) = self.settings().attachments.delete(session).await {
            tracing::warn!(%session, %error, "attachments were not deleted");
        }
    }

    /// Gives a session the attachments of the one that it continues, for which its model may ask.
    pub(in crate::session) async fn inherit_attachments(
        &self,
        session: SessionId,
        earlier: SessionId,
    ) {
        if let Err(error) = self.settings().attachments.inherit(session, earlier).await {
            tracing::warn!(%session, %error, "attachments were not taken over");
        }
    }

    /// Whether prompts for a model may have images. False if its provider does not answer soon.
    pub(in crate::session) async fn model_takes_images(&self, model: &str) -> bool {
        let found = timeout(PATIENCE, self.catalog().find(model)).await.ok().flatten();
        found.is_some_and(|found| found.backend.capabilities().images)
    }
}
