//! Closed sessions that go on in a new one.

use std::sync::Arc;

use agents::{Found, PastConversation, SessionHandle};
use store::fold::{SessionFold, SessionNote, refold};
use wire::{SessionId, SessionResponse};

use super::context::Context;
use super::opening::{Earlier, NewSession};
use super::{ContinueError, SessionError, SessionManager, StartError, StartOptions};

impl SessionManager {
    /// Starts a session that continues a closed one: with its context, its model, its folder and its
    /// permissions.
    ///
    /// Cancel safe, but dropping it may leave a session whose id nobody knows.
    pub async fn continue_closed(&self, id: SessionId) -> Result<SessionId, ContinueError> {
        let context = self.closed_context(id).await?;
        let (model, folder) = (context.fold.model().to_owned(), context.fold.folder().to_owned());
        let permissions = self.permissions_after(&context.fold);
        let chosen_mode = context.fold.has_chosen_mode().then_some(permissions.mode);
        let options = StartOptions::new(permissions);
        let new = self.start_after(id, context, &model, &folder, options).await?;
        if let (Some(mode), Ok(session)) = (chosen_mode, self.get(new)) {
            session.set_permissions(mode).await?;
        }
        Ok(new)
    }

    /// Starts a session with the context of a closed one and of those that it continued, possibly
    /// with another model or in another folder.
    pub(super) async fn start_after(
        &self,
        id: SessionId,
        context: Context,
        model_id: &str,
        working_directory: &str,
        options: StartOptions,
    ) -> Result<SessionId, ContinueError> {
        self.live().check_store().map_err(StartError::from)?;
        let found = self.find_model(model_id).await?;
        let folder = self.folder(working_directory).await?;
        let replaced = context.replaced();
        let handle = self.take_handle(id, &found, &context.fold).await?;
        let earlier = Earlier {
            id,
            past: PastConversation { handle: handle.clone(), facts: context.facts },
            replaced,
        };
        let new = NewSession { found, model_id, folder, options };
        let started = self.start_new(new, Some(earlier)).await;
        if let (Err(_), Some(handle)) = (&started, handle) {
            // If that can't be kept, the next attempt goes by what was said.
            let handle = Some(handle.as_str().to_owned());
            let _ = self.note(id, SessionNote::Handle { handle }).await;
        }
        Ok(started?)
    }

    /// The context of a session that has ended.
    pub(super) async fn closed_context(&self, id: SessionId) -> Result<Context, SessionError> {
        let journal = &**self.live().shared().journal();
        let context = Context::read(journal, id).await?.ok_or(SessionError::SessionNotFound)?;
        if !context.fold.is_ended() || self.get(id).is_ok() {
            return Err(SessionError::StillRunning);
        }
        Ok(context)
    }

    /// Takes the handle by which the backend can resume the closed session. It is given to one
    /// session only, and never to another backend.
    async fn take_handle(
        &self,
        id: SessionId,
        found: &Found,
        fold: &SessionFold,
    ) -> Result<Option<SessionHandle>, SessionError> {
        let before = self.catalog().find(fold.model()).await;
        let is_same_backend =
            before.is_some_and(|before| Arc::ptr_eq(&before.backend, &found.backend));
        if !is_same_backend || fold.handle().is_none() {
            return Ok(None);
        }
        // The closed session's agent may still be shutting down.
        self.agent_ended(id).await;
        let _one_at_a_time = self.handovers.lock().await;
        // Another call may have taken it since.
        let journal = &**self.live().shared().journal();
        let fold = refold::<SessionResponse, SessionFold>(journal, id.into()).await?;
        let Some(handle) = fold.as_ref().and_then(SessionFold::handle) else { return Ok(None) };
        let handle = SessionHandle::new(handle);
        self.note(id, SessionNote::HandedOver).await?;
        Ok(Some(handle))
    }
}
