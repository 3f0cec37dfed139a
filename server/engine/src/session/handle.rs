//! One open session, and the list of all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use agents::permission::PermissionDesk;
use extensions::SessionExtensions;
use futures_util::future::join_all;
use parking_lot::Mutex;
use platform::lifecycle::Lifecycle;
use store::fold::{PromptAuthor, SessionNote};
use store::live::{LiveLog, LiveRegistry};
use wire::{
    Extensions, PermissionDecision, PermissionId, PermissionMode, SessionId, SessionResponse,
};

use super::queue::{PendingTurn, Queue};
use super::{SessionError, SessionSummary};
use crate::running::Handle;

/// An open session. It may end while somebody has this: then it takes no more prompts.
pub struct Session {
    pub(super) id: SessionId,
    pub(super) model: String,
    pub(super) working_directory: PathBuf,
    pub(super) log: Arc<LiveLog<SessionResponse>>,
    pub(super) live: Arc<LiveRegistry<SessionId, SessionResponse>>,
    pub(super) queue: Arc<Queue>,
    pub(super) desk: PermissionDesk,
    pub(super) extensions: Arc<SessionExtensions>,
    pub(super) handle: Handle,
    pub(super) lifecycle: Lifecycle,
    /// The list that this session is on.
    pub(super) others: Weak<OpenSessions>,
}

impl Session {
    /// The model that it was started with.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Where its agent works.
    pub fn working_directory(&self) -> &Path {
        &self.working_directory
    }

    /// Sends a user's prompt, and returns when it is kept. Its turn comes when those before it are
    /// done.
    ///
    /// Cancel safe: the prompt is sent even if nobody waits.
    pub async fn query(&self, prompt: String) -> Result<(), SessionError> {
        self.live.check_store()?;
        let turn = self.enqueue(prompt)?;
        self.live.durable(self.id).await.map_err(|error| {
            // Whoever is told that it was not taken will send it again.
            turn.abort();
            error.into()
        })
    }

    /// Sends a user's prompt.
    pub(crate) fn enqueue(&self, prompt: String) -> Result<PendingTurn, SessionError> {
        self.queue.add(prompt, PromptAuthor::User)
    }

    /// Sends a prompt of the task engine, whose turn can be waited for.
    pub fn send_generated(&self, prompt: String) -> Result<PendingTurn, SessionError> {
        self.queue.add(prompt, PromptAuthor::Engine)
    }

    /// Ends the running turn and keeps the session. Prompts that wait have their turns.
    pub fn abort(&self) {
        self.queue.abort();
    }

    /// Answers a question that a tool asks. The first answer counts.
    pub fn answer_permission(
        &self,
        question: PermissionId,
        decision: PermissionDecision,
    ) -> Result<(), SessionError> {
        let answered = self.desk.resolve(question, decision);
        answered.map_err(|_| SessionError::PermissionNotPending)
    }

    /// Deals with tools that ask in another way from now on, and returns when that is kept.
    pub async fn set_permissions(&self, mode: PermissionMode) -> Result<(), SessionError> {
        self.desk.set_mode(mode);
        self.log.note(&SessionNote::Permissions { mode });
        Ok(self.live.durable(self.id).await?)
    }

    /// How its extensions stand.
    pub async fn extensions(&self) -> Extensions {
        self.extensions.list().await
    }

    /// Stops its extensions, looks for them again, and starts them.
    ///
    /// Cancel safe: it is done even if nobody waits.
    pub async fn reload_extensions(&self) -> Extensions {
        let extensions = Arc::clone(&self.extensions);
        let _ = self.lifecycle.spawn(async move { extensions.reload().await }).await;
        self.extensions.list().await
    }

    /// Decides whether extensions are started in its folder, now and later. They are started in
    /// this session, or stopped in all of that folder.
    ///
    /// Cancel safe: it is done even if nobody waits.
    pub async fn trust_extensions(&self, is_trusted: bool) -> Extensions {
        let others = if is_trusted { Vec::new() } else { self.extensions_of_others() };
        let extensions = Arc::clone(&self.extensions);
        let decided = async move {
            extensions.decide(is_trusted).await;
            join_all(others.iter().map(SessionExtensions::reload)).await;
        };
        let _ = self.lifecycle.spawn(decided).await;
        self.extensions.list().await
    }

    /// Those of the other sessions whose folder is trusted together with this one's.
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
            model: self.model.clone(),
            working_directory: self.working_directory.clone(),
            permissions: self.desk.mode(),
            busy,
            queued,
        }
    }
}

/// The open sessions of a server, by their ids.
#[derive(Default)]
pub(super) struct OpenSessions(Mutex<BTreeMap<SessionId, Arc<Session>>>);

impl OpenSessions {
    pub(super) fn add(&self, session: Arc<Session>) {
        self.0.lock().insert(session.id, session);
    }

    pub(super) fn get(&self, id: SessionId) -> Option<Arc<Session>> {
        self.0.lock().get(&id).cloned()
    }

    pub(super) fn remove(&self, id: SessionId) -> Option<Arc<Session>> {
        self.0.lock().remove(&id)
    }

    /// All of them, in the order of their ids.
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        self.0.lock().values().cloned().collect()
    }

    /// Takes all off the list.
    pub(super) fn take_all(&self) -> Vec<Arc<Session>> {
        std::mem::take(&mut *self.0.lock()).into_values().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}
