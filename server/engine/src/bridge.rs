//! Prompts and agent runs in workspace folders, for clients that speak plain HTTP and server-sent
//! events: another spelling of sessions.
//!
//! A *project* is a workspace folder with its history; on the wire it is called a session. It is a
//! chain of our sessions, one after the other. A message to it waits in the queue of the newest one
//! and starts a *run*: a model answers, or an agent works towards a goal in the folder, step by
//! step. Messages, their ends and everything between are facts of that session; the events that
//! clients read and the history are folds of them.
//!
//! ```text
//!   message ─► Bridge ─► Session: Queue ─► Conversation ─► ActionAgent ─┬─► Model (no tools)
//!   cancel ──► Queue                                          │         └─► Pursuit ─► ToolSet
//!   approval ─► PermissionDesk                                ▼
//!   events ◄── Subscription ◄── Reading ◄── Follower ◄── LiveLog ─► Journal
//! ```
//!
//! - The runs of one project wait for each other: they change the same files, and each knows what
//!   was said before. Those of different projects run concurrently.
//! - Clearing ends the session, and the next message begins another one. While runs have not ended,
//!   the session goes on: they stay in the history.
//! - Settings can be replaced at any time. Rights that are revoked are gone at once.

mod action_agent;
mod drafts;
mod error;
mod feed;
mod history;
mod inner;
mod instructions;
mod model;
mod place;
mod project;
mod pursue;
mod rate;
mod reading;
mod report;
mod request;
mod settings;
mod source;
mod step;
mod takeover;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use agents::permission::Answer;
use parking_lot::Mutex;
use platform::lifecycle::Lifecycle;
use store::journal::StoreError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use wire::bridge::{
    DRAFT_MODE, MessageAccepted, MessageRequest, Mode, ProjectMessage, SessionHistory,
    SessionSummary,
};
use wire::{MessageId, PermissionDecision, PermissionMode};

pub use error::BridgeError;
pub use feed::{Batch, EventRecord, Start, Subscription};
pub use settings::{AgentRules, BridgeSettings, MOST_STEPS, WorkspaceFolder};

use drafts::read_draft;
use inner::Inner;
use project::Project;
use rate::Rate;
use request::ValidMessage;

use crate::session::SessionManager;

/// How many clients may read events at a time.
const MAX_CLIENTS: usize = 1_000;

/// All projects of a server.
pub struct Bridge {
    inner: Arc<Inner>,
    clients: Arc<Semaphore>,
    rate: Mutex<Rate>,
}

impl Bridge {
    /// Opens the projects of the settings. Their sessions are read when they are needed.
    pub fn new(
        settings: BridgeSettings,
        sessions: Arc<SessionManager>,
        lifecycle: Lifecycle,
    ) -> Arc<Self> {
        let rate = Rate::new(settings.messages_per_minute, Instant::now());
        let inner = Inner::new(settings, sessions, lifecycle);
        let clients = Arc::new(Semaphore::new(MAX_CLIENTS));
        Arc::new(Self { inner, clients, rate: Mutex::new(rate) })
    }

    /// Takes over the histories that earlier versions kept in a folder, once.
    pub async fn take_over(&self, folder: &Path) -> Result<(), StoreError> {
        let journal = self.inner.journal();
        let projects = self.inner.projects.read().clone();
        for project in projects {
            if project.is_without_sessions(journal).await? {
                let now = self.inner.sessions.live().shared().next_time();
                takeover::take_over(journal, now, folder, &project).await?;
            }
        }
        Ok(())
    }

    /// The settings that apply now.
    pub fn settings(&self) -> Arc<BridgeSettings> {
        Arc::clone(&self.inner.settings.read())
    }

    /// Applies other settings.
    ///
    /// A project that is no longer named is unlisted; its runs continue, with no more rights than
    /// the settings give. Approval that they require stays required, and commands and roots that
    /// they forbid stay forbidden, whatever later settings say.
    pub fn set_settings(&self, settings: BridgeSettings) {
        self.rate.lock().set(settings.messages_per_minute, Instant::now());
        self.inner.roots.narrow(&settings.agent.allowed_roots);
        if settings.agent.require_approval {
            self.inner.limit.narrow(PermissionMode::Ask);
        }
        if !settings.agent.allow_commands {
            self.inner.no_commands.cancel();
        }
        self.inner.relist(&settings.workspaces);
        *self.inner.settings.write() = Arc::new(settings);
        self.inner.news.send_replace(());
    }

    /// The listed projects, one per workspace folder.
    pub async fn sessions(&self) -> Result<Vec<SessionSummary>, BridgeError> {
        let mut summaries = Vec::new();
        for project in self.inner.listed() {
            let chain = project.chain(self.inner.journal()).await?;
            let mut count = 0;
            for session in self.inner.since_clearing(&chain.sessions).await? {
                count += self.inner.state(*session).await?.map_or(0, |state| state.messages);
            }
            let (id, name) = (project.id.clone(), project.name.clone());
            summaries.push(SessionSummary { id, name, created: chain.created, count });
        }
        Ok(summaries)
    }

    /// A project's history, by its id or its absolute path.
    pub async fn history(&self, id: &str) -> Result<SessionHistory, BridgeError> {
        let project = self.inner.find(id)?;
        let (history, last_event_id) = self.inner.history(&project).await?;
        let (messages, approvals, drafts) = history.into_messages();
        let (id, name) = (project.id.clone(), project.name.clone());
        Ok(SessionHistory { id, name, messages, approvals, drafts, last_event_id })
    }

    /// Accepts a message, which waits for earlier ones of the project, or as a draft until a person
    /// sends it. Returns when it is durable.
    ///
    /// Cancel safe: the message is accepted or not, even if nobody waits.
    pub async fn send(&self, request: MessageRequest) -> Result<MessageAccepted, BridgeError> {
        let settings = self.settings();
        let is_draft = request.mode.as_deref() == Some(DRAFT_MODE)
            || (settings.inject_into_chat && !request.reviewed);
        if is_draft {
            return self.keep_draft(&request).await;
        }
        let ValidMessage { text, mode, max_steps } = ValidMessage::read(&request, &settings.agent)?;
        let project = self.project_of(&request)?;
        let draft = request.draft_id.as_deref().map(read_draft_id).transpose()?;
        if let Some(model) = &request.model
            && self.inner.sessions.catalog().find(model).await.is_none()
        {
            return Err(BridgeError::ModelIdNotFound(model.clone()));
        }
        self.admit()?;
        let model = match request.model.or_else(|| project.model()) {
            Some(model) => Some(model),
            None => self.inner.default_model().await,
        };
        let id = MessageId::generate();
        let max_steps = (mode == Mode::Agent).then_some(max_steps);
        let message = ProjectMessage { id, text, mode, max_steps, model };
        let (inner, session_id) = (self.inner.clone(), project.id.clone());
        let sent =
            self.inner.lifecycle.spawn(async move { inner.send(&project, message, draft).await });
        sent.await.unwrap_or(Err(BridgeError::Stopping))?;
        Ok(MessageAccepted { accepted: true, id, session_id })
    }

    /// Keeps a message until a person sends it.
    async fn keep_draft(&self, request: &MessageRequest) -> Result<MessageAccepted, BridgeError> {
        let draft = read_draft(request)?;
        let project = self.project_of(request)?;
        self.admit()?;
        let (inner, id, session_id) = (self.inner.clone(), draft.id, project.id.clone());
        let kept =
            self.inner.lifecycle.spawn(async move { inner.keep_draft(&project, draft).await });
        kept.await.unwrap_or(Err(BridgeError::Stopping))?;
        Ok(MessageAccepted { accepted: true, id, session_id })
    }

    /// Discards a draft. Returns when that is durable.
    ///
    /// Cancel safe: it completes even if nobody waits.
    pub async fn discard(&self, id: &str) -> Result<(), BridgeError> {
        let draft = read_draft_id(id)?;
        let inner = self.inner.clone();
        let discarded = self.inner.lifecycle.spawn(async move {
            for project in inner.listed() {
                if inner.discard_draft(&project, draft).await? {
                    return Ok(());
                }
            }
            Err(BridgeError::DraftNotFound(draft.to_string()))
        });
        discarded.await.unwrap_or(Err(BridgeError::Stopping))
    }

    /// The project that a message names; the first one if it names none.
    fn project_of(&self, request: &MessageRequest) -> Result<Arc<Project>, BridgeError> {
        match request.session_id.as_deref() {
            Some(id) => self.inner.find(id),
            None => self.inner.first(),
        }
    }

    /// Refuses a message that can't be kept, or is one too many.
    fn admit(&self) -> Result<(), BridgeError> {
        if self.inner.closing.is_cancelled() {
            return Err(BridgeError::Stopping);
        }
        self.inner.sessions.live().check_store()?;
        let taken = self.rate.lock().take(Instant::now());
        taken.map_err(|retry_after| BridgeError::TooManyMessages { retry_after })
    }

    /// Stops a run at once, whatever it is doing.
    pub async fn cancel(&self, id: &str) -> Result<(), BridgeError> {
        let not_found = || BridgeError::RunNotFound(id.to_owned());
        let message = id.parse().map_err(|_| not_found())?;
        for session in self.inner.current_sessions().await? {
            if self.inner.is_unanswered(session).await
                && let Ok(open) = self.inner.sessions.find(session).await
                && open.cancel_message(message)
            {
                // It has stopped even if that can't be stored.
                let _ = self.inner.sessions.live().durable(session).await;
                return Ok(());
            }
        }
        Err(not_found())
    }

    /// Answers an approval request, on behalf of `by`. Only the first answer counts. `always`
    /// approves the like, too, as long as the session goes on.
    pub async fn decide(
        &self,
        approval_id: &str,
        approved: bool,
        always: bool,
        by: &str,
    ) -> Result<(), BridgeError> {
        let not_found = || BridgeError::ApprovalNotFound(approval_id.to_owned());
        let question = approval_id.parse().map_err(|_| not_found())?;
        let decision = match (approved, always) {
            (true, true) => PermissionDecision::ApproveAlways,
            (true, false) => PermissionDecision::Approve,
            (false, _) => PermissionDecision::Deny,
        };
        let answer = Answer::new(decision, by);
        for session in self.inner.current_sessions().await? {
            let answered = self.inner.sessions.answer_permission(session, question, &answer);
            if answered.await.is_ok() {
                let kept = self.inner.sessions.answer_durable(session).await;
                // A no counts whether or not it can be kept.
                return if approved { Ok(kept?) } else { Ok(()) };
            }
        }
        Err(not_found())
    }

    /// Deletes a project's messages, except those of active runs. Returns when that is durable.
    ///
    /// Cancel safe: it completes even if nobody waits.
    pub async fn clear(&self, id: &str) -> Result<(), BridgeError> {
        let project = self.inner.find(id)?;
        let inner = self.inner.clone();
        let cleared = self.inner.lifecycle.spawn(async move { inner.clear(&project).await });
        cleared.await.unwrap_or(Err(BridgeError::Stopping))
    }

    /// Subscribes to the events of one project, or of all.
    pub async fn subscribe(
        &self,
        session: Option<&str>,
        start: Start<'_>,
    ) -> Result<Subscription, BridgeError> {
        let only = match session {
            Some(id) => Some(self.inner.find(id)?.id.clone()),
            None => None,
        };
        let place: OwnedSemaphorePermit = Arc::clone(&self.clients)
            .try_acquire_owned()
            .map_err(|_| BridgeError::TooManyClients)?;
        Ok(Subscription::new(self.inner.clone(), only, start, place).await?)
    }

    /// Refuses further messages. Runs end with their sessions.
    pub fn begin_stop(&self) {
        self.inner.closing.cancel();
    }

    /// Ends the events, after what is left of them. Called when all sessions have ended.
    pub fn end(&self) {
        self.inner.closing.cancel();
        self.inner.ended.cancel();
    }
}

fn read_draft_id(id: &str) -> Result<MessageId, BridgeError> {
    id.parse().map_err(|_| BridgeError::DraftNotFound(id.to_owned()))
}
