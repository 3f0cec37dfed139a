//! What stands above a conversation.

use std::path::PathBuf;

use platform::clock::iso_8601_of_micros;
use platform::repository;
use store::fold::SessionDetail;
use store::journal::Entity;
use wire::{SessionHead, SessionId};

use super::{SessionError, SessionManager};

impl SessionManager {
    /// The title, state and folder of a session, open or closed, with the branch that is checked out
    /// there now. Reads its record, not its stream.
    ///
    /// Cancel safe.
    pub async fn head(&self, id: SessionId) -> Result<SessionHead, SessionError> {
        let gone = SessionError::SessionNotFound;
        let journal = self.live().shared().journal();
        let (record, ..) = journal.record(id.into()).await?.ok_or(gone)?;
        let detail = SessionDetail::read(&record).ok_or(gone)?;
        // A limit that was lowered since counts for open sessions.
        let running = self.get(id).ok().map(|session| session.summary());
        let mode = running.as_ref().map(|running| running.permissions);
        let permissions = mode.or(detail.permissions).ok_or(gone)?;
        let parent = match record.parent {
            Some(task @ Entity::Task(_)) => journal.record(task).await?,
            _ => None,
        };
        let parent = parent.and_then(|(task, ..)| match task.parent {
            Some(Entity::Job(job)) => Some(job),
            _ => None,
        });
        let folder = PathBuf::from(&record.folder);
        let branch = tokio::task::spawn_blocking(move || repository::branch(&folder)).await;
        let model = record.model.unwrap_or_default();
        let takes_images = match running {
            Some(running) => running.takes_images,
            None => record.ended_at.is_none() && self.model_takes_images(&model).await,
        };
        Ok(SessionHead {
            session_id: id,
            title: if record.title.is_empty() { model.clone() } else { record.title },
            model_id: model,
            working_directory: record.folder,
            branch: branch.ok().flatten(),
            state: record.state,
            permissions,
            started_at: iso_8601_of_micros(record.started_at),
            continued_from: detail.continued_from,
            parent,
            takes_images,
        })
    }
}
