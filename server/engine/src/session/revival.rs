//! Stored sessions without a running agent: they were open when the server stopped, or are parked.
//!
//! Their logs are loaded when a client reads them, and their agents resumed when a client acts on
//! them.

use std::sync::Arc;

use agents::permission::{Answer, SessionPermissions};
use agents::{Found, PastConversation, SessionHandle};
use store::fold::{SessionDetail, SessionFold, SessionNote};
use store::journal::{Entity, OpenEntities};
use store::live::LiveLog;
use wire::bridge::ProjectMessageEnd;
use wire::{
    EntityKind, MessageId, PermissionId, PermissionMode, PermissionOutcome, SessionId,
    SessionResponse,
};

use super::context::Context;
use super::handle::Session;
use super::interrupted::open_questions;
use super::opening::{Beginning, Opening, Origin};
use super::queue::run_end;
use super::{SessionError, SessionManager, SessionSummary, StartError, StartOptions, TurnEnd};
use crate::budget::Meter;

impl SessionManager {
    /// An open session. Resumes its agent if that is not running.
    ///
    /// Cancel safe: if dropped before it returns, the session is unchanged.
    pub async fn find(&self, id: SessionId) -> Result<Arc<Session>, SessionError> {
        self.find_with(id, None).await
    }

    /// Finds a session that a task has opened, and resumes its agent if that is not running. Only its
    /// task does: it alone knows what the session may do.
    ///
    /// Cancel safe: if dropped before it returns, the session is unchanged.
    pub(crate) async fn find_for_task(
        &self,
        id: SessionId,
        options: StartOptions,
    ) -> Result<Arc<Session>, SessionError> {
        self.find_with(id, Some(options)).await
    }

    async fn find_with(
        &self,
        id: SessionId,
        options: Option<StartOptions>,
    ) -> Result<Arc<Session>, SessionError> {
        if let Ok(session) = self.get(id) {
            return Ok(session);
        }
        let Ok((_, lock)) = self.dormant(id).await else {
            // Another call may have resumed it in the meantime.
            return self.get(id);
        };
        let _one_at_a_time = lock.lock().await;
        match self.get(id) {
            Ok(session) => Ok(session),
            Err(_) => self.revive(id, options).await,
        }
    }

    /// The log and the lock of a session whose agent is not running.
    pub(super) async fn dormant(
        &self,
        id: SessionId,
    ) -> Result<(Arc<LiveLog<SessionResponse>>, Arc<tokio::sync::Mutex<()>>), SessionError> {
        let log = self.load_log(id).await.filter(|log| !log.is_closed());
        log.zip(self.dormant.get(id)).ok_or(SessionError::SessionNotFound)
    }

    async fn revive(
        &self,
        id: SessionId,
        options: Option<StartOptions>,
    ) -> Result<Arc<Session>, SessionError> {
        let gone = SessionError::SessionNotFound;
        // The agent of a session that was just parked may still be shutting down.
        self.agent_ended(id).await;
        let (log, _) = self.dormant(id).await?;
        let fold = log.fold(SessionFold::clone).ok_or(gone)?;
        let journal = &**self.live().shared().journal();
        let context = Context::read(journal, id).await?.ok_or(gone)?;
        let replaced = context.replaced();
        let past = PastConversation {
            handle: fold.handle().map(SessionHandle::new),
            facts: context.facts,
        };
        let (found, options) = match (fold.project(), options) {
            (Some(project), _) => self.reopen_in_project(&fold, project.link)?,
            (None, None) if fold.task().is_some() => return Err(SessionError::ModelNotAvailable),
            (None, options) => self.reopen(&fold, options).await?,
        };
        let opening = Opening {
            id,
            found,
            model_id: fold.model().to_owned(),
            folder: fold.folder().into(),
            options,
            log,
            origin: Origin {
                past: Some(past),
                replaced,
                meter: Arc::new(Meter::new(fold.budget(), fold.spent())),
                beginning: Beginning::Kept(Box::new(fold)),
            },
        };
        let session = self.open(opening).await.map_err(|error| {
            tracing::warn!(session = %id, %error, "a session was not resumed");
            match error {
                StartError::TooManySessions => SessionError::TooManySessions,
                _ => SessionError::ModelNotAvailable,
            }
        })?;
        self.dormant.remove(id);
        Ok(session)
    }

    /// How a stored session is opened again.
    async fn reopen(
        &self,
        fold: &SessionFold,
        options: Option<StartOptions>,
    ) -> Result<(Found, StartOptions), SessionError> {
        let options = options.unwrap_or_else(|| StartOptions::new(self.permissions_after(fold)));
        let found = self.catalog().find(fold.model()).await;
        Ok((found.ok_or(SessionError::ModelNotAvailable)?, options))
    }

    /// The permissions of a session that goes on after an interruption. The mode that somebody chose
    /// for it is kept; one that was only the default is not if the default is stricter now.
    pub(super) fn permissions_after(&self, fold: &SessionFold) -> SessionPermissions {
        let default = self.policy().permissions();
        SessionPermissions { mode: mode_after_restart(fold, default.mode), ..default }
    }

    /// Ends the running turn of a session, if there is one, and keeps the session.
    pub async fn abort(&self, id: SessionId) -> Result<(), SessionError> {
        match self.get(id) {
            Ok(session) => session.abort(),
            // Without an agent there is no turn to abort.
            Err(_) => drop(self.dormant(id).await?),
        }
        Ok(())
    }

    /// Answers a tool's permission request. Only the first answer counts.
    pub async fn answer_permission(
        &self,
        id: SessionId,
        question: PermissionId,
        answer: &Answer,
    ) -> Result<(), SessionError> {
        match self.get(id) {
            Ok(session) => session.answer_permission(question, answer),
            Err(_) => self.answer_dormant(id, question, answer).await,
        }
    }

    /// The log of an open session, loaded from the store if necessary, or of one that ended
    /// recently.
    pub async fn load_log(&self, id: SessionId) -> Option<Arc<LiveLog<SessionResponse>>> {
        // Not by whether this call loaded it: others may be loading it at the same time.
        let was_loaded = self.live().get(id).is_some();
        let log = self.live().load(id).await?;
        if !was_loaded && !log.is_closed() {
            self.dormant.add(id);
        }
        Some(log)
    }

    /// Closes a stored session without resuming its agent.
    pub(super) async fn close_kept(&self, id: SessionId) -> Result<(), SessionError> {
        let (log, lock) = self.dormant(id).await?;
        let _keeps_it_dormant = lock.lock().await;
        if let Ok(handle) = self.begin_stop(id) {
            handle.ended().await;
            return Ok(());
        }
        self.dormant.remove(id);
        self.withdraw_questions(&log);
        self.inbox().withdraw_all(id);
        for message in log.fold(waiting_messages).unwrap_or_default() {
            let (reason, error) = run_end(&TurnEnd::Aborted);
            let end = ProjectMessageEnd { id: message, reason, error };
            log.push(&SessionResponse::ProjectMessageEnd(end));
        }
        log.note(&SessionNote::Closed { crashed: false });
        log.close();
        Ok(())
    }

    /// Withdraws what a session without an agent has asked.
    pub(crate) async fn withdraw_dormant(&self, id: SessionId) {
        let Ok((log, lock)) = self.dormant(id).await else { return };
        let _keeps_it_dormant = lock.lock().await;
        if self.get(id).is_err() {
            self.withdraw_questions(&log);
        }
    }

    fn withdraw_questions(&self, log: &LiveLog<SessionResponse>) {
        for question in open_questions(log).into_keys() {
            self.withdraw(log, question, PermissionOutcome::Withdrawn, None);
        }
    }

    /// All open sessions, including those without a running agent, ordered by id.
    pub async fn list_all(&self) -> Result<Vec<SessionSummary>, SessionError> {
        let mut all = self.list();
        let running = all.len();
        let mut open = OpenEntities::new(&**self.live().shared().journal(), EntityKind::Session);
        while let Some(page) = open.next().await? {
            for (entity, record) in page {
                let Entity::Session(id) = entity else { continue };
                let is_running =
                    all[..running].binary_search_by_key(&id, |summary| summary.id).is_ok();
                if record.parent.is_none()
                    && !is_running
                    && let Some(detail) = SessionDetail::read(&record)
                    && let Some(permissions) = detail.permissions
                {
                    all.push(SessionSummary {
                        id,
                        title: record.title,
                        model: record.model.unwrap_or_default(),
                        working_directory: record.folder.into(),
                        permissions,
                        busy: false,
                        queued: detail.queued,
                        // No turn is running.
                        can_steer: false,
                        takes_images: false,
                    });
                }
            }
        }
        all.sort_by_key(|summary| summary.id);
        Ok(all)
    }
}

/// The messages to its project that wait in a session.
fn waiting_messages(fold: &SessionFold) -> Vec<MessageId> {
    fold.queue().filter_map(|prompt| Some(prompt.message.as_ref()?.id)).collect()
}

fn mode_after_restart(fold: &SessionFold, default: PermissionMode) -> PermissionMode {
    match fold.permissions() {
        Some(mode) if fold.has_chosen_mode() => mode,
        Some(mode) => mode.stricter(default),
        None => default,
    }
}

#[cfg(test)]
mod tests {
    use store::fold::Fold;
    use wire::Budget;

    use super::*;

    #[test]
    fn a_default_that_got_stricter_reaches_sessions_that_chose_no_mode() {
        use PermissionMode::{ApproveAll, Ask, Deny};

        let mut fold = SessionFold::default();
        fold.note(
            1,
            &SessionNote::Started {
                model: String::new(),
                folder: String::new(),
                permissions: ApproveAll,
                task: None,
                continued_from: None,
                replaced: 0,
                project: None,
                budget: Budget::default(),
            },
        );
        let modes =
            |fold: &SessionFold| [ApproveAll, Ask, Deny].map(|mode| mode_after_restart(fold, mode));
        assert_eq!(modes(&fold), [ApproveAll, Ask, Deny]);
        fold.note(2, &SessionNote::Permissions { mode: Ask });
        assert_eq!(modes(&fold), [Ask, Ask, Ask]);
    }
}
