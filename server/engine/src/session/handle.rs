//! One open session, and the list of all open ones.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use agents::permission::{Answer, PermissionDesk};
use extensions::SessionExtensions;
use futures_util::future::join_all;
use parking_lot::Mutex;
use platform::lifecycle::Lifecycle;
use store::attachment::AttachmentStore;
use store::fold::{PromptAuthor, SessionNote};
use store::live::{LiveLog, LiveRegistry};
use tokio::sync::OwnedSemaphorePermit;
use wire::bridge::{Mode, ProjectMessage};
use wire::{
    Extensions, MessageId, PermissionId, PermissionMode, SessionId, SessionResponse, TaskId,
};

use super::queue::{PendingTurn, Queue};
use super::stream::Stream;
use super::{SessionError, SessionSummary};
use crate::budget::Meter;
use crate::running::Handle;

/// An open session. It may end while somebody holds this: then it takes no more prompts.
pub struct Session {
    pub(super) id: SessionId,
    pub(super) working_directory: PathBuf,
    pub(super) log: Arc<LiveLog<SessionResponse>>,
    pub(super) live: Arc<LiveRegistry<SessionId, SessionResponse>>,
    pub(super) stream: Arc<Stream>,
    pub(super) queue: Arc<Queue>,
    pub(super) desk: PermissionDesk,
    pub(super) meter: Arc<Meter>,
    pub(super) attachments: AttachmentStore,
    pub(super) extensions: Arc<SessionExtensions>,
    /// Whether it belongs to a project of the bridge: its users' prompts are messages to that.
    pub(super) is_of_project: bool,
    /// False if its conversation could not be resumed, and goes on in a new one.
    pub(super) is_resumed: bool,
    /// What was answered to the questions of a turn that was cut off, while its task waits for that.
    pub(super) answers: Mutex<Option<Vec<String>>>,
    pub(super) handle: Handle,
    pub(super) lifecycle: Lifecycle,
    /// All open sessions, including this one.
    pub(super) others: Weak<OpenSessions>,
}

impl Session {
    /// Its id.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The model that answers its prompts, as the client named it.
    pub fn model(&self) -> String {
        self.log.fold(|fold| fold.model().to_owned()).unwrap_or_default()
    }

    /// Where its agent works.
    pub fn working_directory(&self) -> &Path {
        &self.working_directory
    }

    /// Sends a user's prompt and returns when it is durable. Its turn comes after those of earlier
    /// prompts.
    ///
    /// Cancel safe: the prompt is sent even if nobody waits.
    pub async fn query(&self, prompt: String) -> Result<(), SessionError> {
        self.live.check_store()?;
        let turn = self.enqueue(prompt)?;
        self.live.durable(self.id).await.map_err(|error| {
            // The client sees an error and will send it again, so it must not run now.
            turn.abort();
            error.into()
        })
    }

    /// Sends a user's prompt without waiting until it is durable.
    pub(crate) fn enqueue(&self, prompt: String) -> Result<PendingTurn, SessionError> {
        if !self.is_of_project {
            return self.queue.add(prompt, PromptAuthor::User);
        }
        self.queue.add_message(ProjectMessage {
            id: MessageId::generate(),
            text: prompt,
            mode: Mode::Prompt,
            max_steps: None,
            model: None,
        })
    }

    /// Sends a message to the session's project. Its run comes after those of earlier ones.
    pub(crate) fn send_message(&self, message: ProjectMessage) -> Result<(), SessionError> {
        self.queue.add_message(message).map(drop)
    }

    /// Returns when a message is durable. If it can't be kept, it is cancelled.
    pub(crate) async fn keep_message(&self, message: MessageId) -> Result<(), SessionError> {
        self.live.durable(self.id).await.map_err(|error| {
            // The client sees an error and will send it again, so it must not run now.
            self.queue.cancel(message);
            error.into()
        })
    }

    /// Ends the run of a message, whether it waits or is running. False if there is none.
    pub(crate) fn cancel_message(&self, message: MessageId) -> bool {
        self.queue.cancel(message)
    }

    /// How many prompts wait or are being answered.
    pub(crate) fn unfinished(&self) -> usize {
        let (is_busy, waiting) = self.queue.load();
        usize::from(is_busy) + waiting
    }

    /// Sends a prompt of a task. The returned handle waits for its turn. What the turn uses also
    /// counts for the task, whose budget can end it.
    pub(crate) fn send_for_task(
        &self,
        prompt: String,
        task: TaskId,
        meter: Arc<Meter>,
    ) -> Result<PendingTurn, SessionError> {
        self.queue.add_for_task(prompt, task, meter)
    }

    /// Withdraws what was asked in a turn that was cut off.
    pub(crate) fn withdraw_interrupted(&self) {
        self.stream.withdraw_interrupted();
    }

    /// Whether its agent knows what was said before it was opened. A new session has nothing to know.
    pub(crate) fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Ends the running turn, not the session. Waiting prompts still get their turns.
    pub fn abort(&self) {
        self.queue.abort();
    }

    /// Answers a tool's permission request. Only the first answer counts.
    pub fn answer_permission(
        &self,
        question: PermissionId,
        answer: &Answer,
    ) -> Result<(), SessionError> {
        match self.desk.resolve(question, answer) {
            Ok(()) => Ok(()),
            Err(_) => self.answer_interrupted(question, answer),
        }
    }

    /// Changes how tools' permission requests are answered, and returns when that is durable.
    pub async fn set_permissions(&self, mode: PermissionMode) -> Result<(), SessionError> {
        self.desk.set_mode(mode);
        if mode == PermissionMode::Deny {
            self.stream.withdraw_interrupted();
            self.queue.release();
        }
        self.log.note(&SessionNote::Permissions { mode });
        Ok(self.live.durable(self.id).await?)
    }

    /// The status of its extensions.
    pub async fn extensions(&self) -> Extensions {
        self.extensions.list().await
    }

    /// Stops its extensions, then finds and starts them again.
    ///
    /// Cancel safe: it completes even if nobody waits.
    pub async fn reload_extensions(&self) -> Extensions {
        let extensions = Arc::clone(&self.extensions);
        let _ = self.lifecycle.spawn(async move { extensions.reload().await }).await;
        self.extensions.list().await
    }

    /// Allows the extensions of its folder as they are, now and later, and starts them in this
    /// session when that is durable.
    ///
    /// Cancel safe: it completes even if nobody waits.
    pub async fn allow_extensions(&self) -> Result<Extensions, SessionError> {
        let extensions = Arc::clone(&self.extensions);
        let allowed = self.lifecycle.spawn(async move { extensions.allow().await }).await;
        allowed.unwrap_or(Ok(())).map_err(|_| SessionError::StoreUnavailable)?;
        Ok(self.extensions.list().await)
    }

    /// Forbids the extensions of its folder, now and later, and stops them in all sessions of that
    /// folder, whether or not it can be stored.
    ///
    /// Cancel safe: it completes even if nobody waits.
    pub async fn forbid_extensions(&self) -> Result<Extensions, SessionError> {
        let forbidden = self.extensions.forbid();
        let others = self.extensions_of_others();
        let stopped = async move {
            let others = join_all(others.iter().map(SessionExtensions::reload));
            tokio::join!(forbidden, others).0
        };
        let kept = self.lifecycle.spawn(stopped).await;
        kept.unwrap_or(Ok(())).map_err(|_| SessionError::StoreUnavailable)?;
        Ok(self.extensions.list().await)
    }

    /// The extensions of other sessions that share this one's trusted folder.
    fn extensions_of_others(&self) -> Vec<Arc<SessionExtensions>> {
        let open = self.others.upgrade().map(|others| others.all()).unwrap_or_default();
        let others = open.iter().filter(|other| other.id != self.id);
        let others = others.map(|other| Arc::clone(&other.extensions));
        others.filter(|other| other.root() == self.extensions.root()).collect()
    }

    pub(super) fn begin_stop(&self) {
        self.queue.close();
        self.handle.begin_stop();
    }

    pub(super) fn summary(&self) -> SessionSummary {
        let (busy, queued) = self.queue.load();
        SessionSummary {
            id: self.id,
            title: self.log.fold(|fold| fold.title().to_owned()).unwrap_or_default(),
            model: self.model(),
            working_directory: self.working_directory.clone(),
            permissions: self.desk.mode(),
            busy,
            queued,
            can_steer: self.can_steer(),
            takes_images: self.takes_images(),
        }
    }
}

/// The open sessions of a server, by their ids.
#[derive(Default)]
pub(super) struct OpenSessions(Mutex<State>);

#[derive(Default)]
struct State {
    open: BTreeMap<SessionId, Arc<Session>>,
    /// No longer open, but with an agent that is still shutting down.
    ending: HashMap<SessionId, Handle>,
}

impl OpenSessions {
    pub(super) fn add(&self, session: Arc<Session>) {
        self.0.lock().open.insert(session.id, session);
    }

    pub(super) fn get(&self, id: SessionId) -> Option<Arc<Session>> {
        self.0.lock().open.get(&id).cloned()
    }

    /// The session is no longer open; its agent may still run.
    pub(super) fn remove(&self, id: SessionId) -> Option<Arc<Session>> {
        let mut state = self.0.lock();
        let session = state.open.remove(&id)?;
        state.ending.insert(id, session.handle.clone());
        Some(session)
    }

    /// Removes a session, unless somebody holds it or it does not agree. True if it was removed.
    pub(super) fn remove_unused(
        &self,
        id: SessionId,
        agrees: impl FnOnce(&Session) -> bool,
    ) -> bool {
        let mut state = self.0.lock();
        let is_unused = |session: &Arc<Session>| Arc::strong_count(session) == 1;
        let unused = state.open.get(&id).filter(|session| is_unused(session) && agrees(session));
        let Some(handle) = unused.map(|session| session.handle.clone()) else { return false };
        let session = state.open.remove(&id);
        state.ending.insert(id, handle);
        drop(state);
        session.is_some()
    }

    /// Nothing of the session runs any more.
    pub(super) fn forget(&self, id: SessionId) {
        self.0.lock().ending.remove(&id);
    }

    /// Handle to a session whose agent is shutting down.
    pub(super) fn ending(&self, id: SessionId) -> Option<Handle> {
        self.0.lock().ending.get(&id).cloned()
    }

    /// All open sessions, ordered by id.
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        self.0.lock().open.values().cloned().collect()
    }

    /// Removes and returns all open sessions.
    pub(super) fn take_all(&self) -> Vec<Arc<Session>> {
        std::mem::take(&mut self.0.lock().open).into_values().collect()
    }
}

/// The place of a session among the open ones, held until its agent is dropped.
pub(super) struct Place {
    pub(super) id: SessionId,
    pub(super) open: Weak<OpenSessions>,
    pub(super) _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(open) = self.open.upgrade() {
            open.forget(self.id);
        }
    }
}
