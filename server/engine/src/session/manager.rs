//! All sessions of a server.

mod attachments;
mod parts;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use agents::permission::{DeskRules, Owner, PermissionDesk, PermissionHandler, Safeguards};
use agents::tools::{AllowedRoots, CommandSettings};
use agents::{Catalog, Found};
use extensions::{ExtensionHost, ExtensionSettings, SessionExtensions, SessionParts};
use parking_lot::Mutex;
use platform::lifecycle::Lifecycle;
use store::attachment::AttachmentStore;
use store::fold::{Addition, SessionFold, SessionNote, extend};
use store::journal::StoreError;
use store::live::{LiveRegistry, LiveShared, LiveSource};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use wire::{Budget, PermissionMode, SessionId, SessionResponse, Spent};

use super::asking::Asking;
use super::conversation::{Conversation, EndOfSession};
use super::folder::{check_folder, resolve};
use super::handle::{OpenSessions, Place, Session};
use super::host::ProjectHost;
use super::kept::DurablePermissions;
use super::opening::{Beginning, Dormant, Earlier, NewSession, Opening, Origin};
use super::outlet::Port;
use super::queue::Queue;
use super::rights::SessionPolicy;
use super::starter::Starter;
use super::steering::QueueSteering;
use super::stream::Stream;
use super::{SessionError, SessionSummary, StartError, StartOptions};
use crate::budget::Meter;
use crate::inbox::{Inbox, QuestionOwner};
use crate::running::{Handle, stop_all};

/// Defaults and limits of sessions.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// Where sessions work if the client names no folder.
    pub default_directory: PathBuf,
    /// How many sessions may have an agent at a time.
    pub max_sessions: usize,
    /// How many prompts may wait in one session, besides the running one. A user sends a few; a
    /// client that sends more doesn't look at the answers.
    pub max_queries: usize,
    /// Permission mode of sessions that users open. They can change it per session.
    pub permissions: PermissionMode,
    /// When an unanswered permission request is denied. Longer than in the bridge: users may be
    /// away for a while, and a pending request costs little memory.
    pub permission_time_out: Duration,
    /// How long a session has to be idle until its agent is freed. It is resumed with the next
    /// prompt.
    pub park_after: Duration,
    /// Which parts of its folder the tools of a session may use.
    pub allowed_roots: AllowedRoots,
    /// Whether and how the tools of a session run commands.
    pub commands: CommandSettings,
    /// Where extensions are found, and which are started.
    pub extensions: ExtensionSettings,
    /// What agents must not touch, whatever the permission mode.
    pub safeguards: Safeguards,
    /// The models that continue failed turns of sessions that users open, in this order. They can
    /// choose others per session.
    pub fallback: Vec<String>,
    /// How much each session may use that a user or the bridge opens, unless somebody sets another
    /// budget. Sessions of tasks have the budget of their task.
    pub budget: Budget,
    /// Where the files of prompts are kept.
    pub attachments: AttachmentStore,
}

impl SessionSettings {
    /// The default settings, for sessions in this folder.
    pub fn new(default_directory: impl Into<PathBuf>) -> Self {
        Self {
            default_directory: default_directory.into(),
            max_sessions: 2_000,
            max_queries: 100,
            permissions: PermissionMode::Ask,
            permission_time_out: Duration::from_hours(1),
            park_after: Duration::from_mins(30),
            allowed_roots: AllowedRoots::Everything,
            commands: CommandSettings::default(),
            extensions: ExtensionSettings::default(),
            safeguards: Safeguards::default(),
            fallback: Vec::new(),
            budget: Budget::default(),
            attachments: AttachmentStore::default(),
        }
    }
}

/// Starts, finds and stops sessions.
pub struct SessionManager {
    catalog: Catalog,
    settings: SessionSettings,
    lifecycle: Lifecycle,
    live: Arc<LiveRegistry<SessionId, SessionResponse>>,
    inbox: Arc<Inbox>,
    open: Arc<OpenSessions>,
    places: Arc<Semaphore>,
    extensions: Arc<ExtensionHost>,
    policy: Arc<SessionPolicy>,
    /// Cancelled at shutdown if stopped sessions will continue after the restart.
    pub(super) suspend: CancellationToken,
    pub(super) dormant: Arc<Dormant>,
    /// Held while a closed session's handle is given to the session that continues it.
    pub(super) handovers: tokio::sync::Mutex<()>,
    /// The bridge, once there is one.
    pub(super) host: OnceLock<Weak<dyn ProjectHost>>,
}

impl SessionManager {
    /// Creates a manager without sessions. Stored ones are loaded when they are needed.
    pub fn new(
        catalog: Catalog,
        settings: SessionSettings,
        live: Arc<LiveShared>,
        lifecycle: Lifecycle,
    ) -> Arc<Self> {
        let manager = Arc::new(Self {
            places: Arc::new(Semaphore::new(settings.max_sessions)),
            inbox: Inbox::new(live.clone()),
            live: LiveRegistry::new(live, &lifecycle),
            open: Arc::default(),
            policy: Arc::new(SessionPolicy::new(&settings)),
            extensions: ExtensionHost::new(settings.extensions.clone(), lifecycle.clone()),
            suspend: CancellationToken::new(),
            dormant: Arc::default(),
            handovers: tokio::sync::Mutex::default(),
            host: OnceLock::new(),
            catalog,
            settings,
            lifecycle,
        });
        let owner: Arc<dyn QuestionOwner> = manager.clone();
        manager.inbox.set_owner(Arc::downgrade(&owner));
        manager
    }

    /// What the sessions ask people.
    pub fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    /// The models and their providers. Clones share the providers.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Starts a session in a folder, or in the default one if the path is blank.
    ///
    /// Cancel safe: dropping it leaves no session.
    pub async fn start(
        &self,
        model_id: &str,
        working_directory: &str,
    ) -> Result<SessionId, StartError> {
        let options = StartOptions::new(self.policy.permissions());
        self.start_with(model_id, working_directory, options).await
    }

    /// Like [`Self::start`], with options.
    pub(crate) async fn start_with(
        &self,
        model_id: &str,
        working_directory: &str,
        options: StartOptions,
    ) -> Result<SessionId, StartError> {
        self.live.check_store()?;
        let found = self.find_model(model_id).await?;
        let folder = self.folder(working_directory).await?;
        self.start_new(NewSession { found, model_id, folder, options }, None).await
    }

    /// The backend of a model.
    pub(super) async fn find_model(&self, model_id: &str) -> Result<Found, StartError> {
        let found = self.catalog.find(model_id).await;
        found.ok_or_else(|| StartError::ModelIdNotFound(model_id.to_owned()))
    }

    /// Starts a session, which continues an earlier one if there is one, and returns when it is
    /// durable.
    pub(super) async fn start_new(
        &self,
        new: NewSession<'_>,
        earlier: Option<Earlier>,
    ) -> Result<SessionId, StartError> {
        let NewSession { found, model_id, folder, options } = new;
        let budget = self.first_budget(&found, model_id, &options)?;
        let id = SessionId::generate();
        let log = self.live.prepare(id);
        let replaced = earlier.as_ref().map_or(0, |earlier| earlier.replaced);
        let note = SessionNote::Started {
            model: model_id.to_owned(),
            folder: folder.to_string_lossy().into_owned(),
            permissions: options.permissions.mode,
            task: options.task,
            continued_from: earlier.as_ref().map(|earlier| earlier.id),
            replaced,
            project: options.project.clone().map(|link| *link),
            budget,
        };
        let earlier_id = earlier.as_ref().map(|earlier| earlier.id);
        let past = earlier.map(|earlier| earlier.past);
        let meter = Arc::new(Meter::new(budget, Spent::default()));
        let origin = Origin { past, replaced, beginning: Beginning::New(note), meter };
        let model_id = model_id.to_owned();
        self.open(Opening { id, found, model_id, folder, options, log, origin }).await?;
        self.keep(id).await?;
        // Not before it is stored, or its attachments would count as left over.
        if let Some(earlier) = earlier_id {
            self.inherit_attachments(id, earlier).await;
        }
        Ok(id)
    }

    /// Starts the agent of a session, and the session with it.
    pub(super) async fn open(&self, opening: Opening) -> Result<Arc<Session>, StartError> {
        let Opening { id, found, model_id, folder: working_directory, options, log, mut origin } =
            opening;
        let StartOptions { permissions, task, work, permission_time_out, project } = options;
        let permit = Arc::clone(&self.places)
            .try_acquire_owned()
            .map_err(|_| StartError::TooManySessions)?;
        let time_out = permission_time_out.unwrap_or(self.settings.permission_time_out);
        let owner = Owner { session: id, task, work };
        let asking = Asking::new(self.inbox.clone(), owner, &working_directory, time_out);
        let meter = origin.meter.clone();
        let stream = Arc::new(Stream::new(log.clone(), asking, meter.clone()));
        stream.set_generation(origin.replaced);
        let questions = stream.clone();
        let capabilities = found.backend.capabilities();
        let resolved = resolve(&working_directory).await;
        let rules = DeskRules {
            folder: resolved.real,
            safeguards: self.settings.safeguards.clone(),
            approve_files: permissions.approve_files,
            limit: permissions.limit,
        };
        let desk = PermissionDesk::new(permissions.mode, time_out, rules, move |event| {
            questions.permission(event);
        });
        let permissions: Arc<dyn PermissionHandler> =
            Arc::new(DurablePermissions { desk: desk.clone(), log: log.clone() });
        let stop = CancellationToken::new();
        let max_queries = self.settings.max_queries;
        let queue = Arc::new(Queue::new(log.clone(), max_queries, meter.clone(), stop.clone()));
        let steering = QueueSteering { queue: queue.clone(), stream: stream.clone() };
        let starter = Starter {
            folder: working_directory.clone(),
            root: resolved.root.clone(),
            toolkit: self.toolkit(&working_directory, &permissions, owner, project.is_some()),
            permissions: permissions.clone(),
            extensions: self.extensions.clone(),
            stream: stream.clone(),
            steering: Arc::new(steering),
            attachments: self.attachments_of(id),
        };
        let agent = starter.start(&found, model_id, origin.past.take()).await?;

        // No await from here on, so that a cancelled call starts a session completely or not at
        // all.
        let shutdown = self.shutdown(&desk, &stop);
        // Known before it is in any list, or a reader could load it a second time.
        self.live.add(id, log.clone());
        origin.begin(&log, &stream, &queue);
        agent.announce(&stream);
        let parts = SessionParts {
            id,
            folder: working_directory.clone(),
            root: resolved.root,
            tools: starter.toolkit.set.clone(),
            permissions,
            guarded: self.settings.safeguards.guarded.clone(),
            port: Box::new(Port { stream: stream.clone(), queue: queue.clone() }),
            agent_runs_them: capabilities.extensions,
        };
        let extensions = SessionExtensions::new(self.extensions.clone(), parts);
        stream.connect(&extensions);
        // Tasks have tries and models of their own, and so has each message to a project.
        let fallback = (task.is_none() && project.is_none())
            .then(|| self.fallback_of(id, starter, &extensions, &log));
        let session = Arc::new(Session {
            id,
            working_directory,
            log: log.clone(),
            live: self.live.clone(),
            stream: stream.clone(),
            queue: queue.clone(),
            desk: desk.clone(),
            meter: meter.clone(),
            attachments: self.settings.attachments.clone(),
            extensions: extensions.clone(),
            is_of_project: project.is_some(),
            is_resumed: agent.is_resumed(),
            answers: Mutex::new(task.map(|_| Vec::new())),
            handle: Handle::new(stop.clone()),
            lifecycle: self.lifecycle.clone(),
            others: Arc::downgrade(&self.open),
        });
        let open = Arc::downgrade(&self.open);
        let end = EndOfSession {
            stream,
            queue,
            desk,
            meter,
            stop,
            suspend: self.suspend.clone(),
            // Sessions of tasks end with their tasks.
            parking: task.is_none().then(|| self.parking(id)),
            is_parked: false,
            crash: None,
            remove: Some(Box::new(move || remove(&open, id))),
            _place: Place { id, open: Arc::downgrade(&self.open), _permit: permit },
        };
        let end = session.handle.ending(end);
        self.open.add(session.clone());
        tracing::info!(session = %id, model = agent.model, "session started");
        let conversation = Conversation { agent, extensions, fallback, end };
        self.lifecycle.spawn(conversation.run(shutdown));
        Ok(session)
    }

    /// Waits until a new session is durable. If it can't be stored, or nobody waits any more, it is
    /// ended, since its id is never returned.
    async fn keep(&self, id: SessionId) -> Result<SessionId, StartError> {
        let mut kept = Kept { manager: self, id, is_durable: false };
        self.live.durable(id).await?;
        kept.is_durable = true;
        Ok(id)
    }

    /// The folder that was asked for, or the default one.
    pub(super) async fn folder(&self, given: &str) -> Result<PathBuf, StartError> {
        match given.trim() {
            "" => Ok(self.settings.default_directory.clone()),
            given => check_folder(given).await,
        }
    }

    /// Finds a session whose agent is running.
    pub fn get(&self, id: SessionId) -> Result<Arc<Session>, SessionError> {
        self.open.get(id).ok_or(SessionError::SessionNotFound)
    }

    /// Gives a session a title in place of the first line of its first prompt.
    pub async fn rename(&self, id: SessionId, title: String) -> Result<(), SessionError> {
        self.note(id, SessionNote::Renamed { title }).await
    }

    /// Adds a note to a session, open or closed, and returns when it is durable.
    pub(super) async fn note(&self, id: SessionId, note: SessionNote) -> Result<(), SessionError> {
        if let Some(log) = self.load_log(id).await {
            log.note(&note);
            return Ok(self.live.durable(id).await?);
        }
        let shared = self.live.shared();
        let addition = Addition {
            facts: Vec::new(),
            notes: vec![(shared.next_time(), note)],
            closed_blocks: Vec::new(),
        };
        let journal = &**shared.journal();
        let is_known = extend::<SessionResponse, SessionFold>(journal, id.into(), addition).await?;
        if is_known { Ok(()) } else { Err(SessionError::SessionNotFound) }
    }

    /// Deletes a session that has ended.
    pub async fn delete(&self, id: SessionId) -> Result<(), SessionError> {
        let journal = self.live.shared().journal();
        let record = journal.record(id.into()).await?;
        let (record, ..) = record.ok_or(SessionError::SessionNotFound)?;
        if record.ended_at.is_none() || self.open.get(id).is_some() {
            return Err(SessionError::StillRunning);
        }
        self.live.remove(id);
        journal.delete(id.into()).await?;
        self.delete_attachments(id).await;
        Ok(())
    }

    pub(super) fn settings(&self) -> &SessionSettings {
        &self.settings
    }

    pub(super) fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }

    /// What sessions may do; can only be narrowed.
    pub fn policy(&self) -> &SessionPolicy {
        &self.policy
    }

    /// Waits until an answer to a question of a session is durable, there and in the inbox.
    pub async fn answer_durable(&self, id: SessionId) -> Result<(), StoreError> {
        self.live.durable(id).await?;
        self.inbox.durable().await
    }

    /// Ends a session and waits until its agent has shut down.
    ///
    /// Cancel safe: the session ends even if nobody waits.
    pub async fn stop(&self, id: SessionId) -> Result<(), SessionError> {
        match self.begin_stop(id) {
            Ok(handle) => handle.ended().await,
            Err(_) => self.close_kept(id).await?,
        }
        // It has ended even if that can't be stored.
        let _ = self.live.durable(id).await;
        Ok(())
    }

    /// Begins to end a session. The handle resolves when its agent has shut down.
    pub(crate) fn begin_stop(&self, id: SessionId) -> Result<Handle, SessionError> {
        let session = self.open.remove(id).ok_or(SessionError::SessionNotFound)?;
        session.begin_stop();
        Ok(session.handle.clone())
    }

    /// Waits until the agent of a session that is no longer open has shut down.
    pub(super) async fn agent_ended(&self, id: SessionId) {
        if let Some(handle) = self.open.ending(id) {
            handle.ended().await;
        }
    }

    /// Ends all sessions, then the providers' clients. If the store outlives the process, sessions
    /// are only suspended: they are open again after a restart.
    pub async fn stop_all(&self) {
        let is_lasting = self.live.shared().journal().is_lasting();
        if is_lasting {
            self.suspend.cancel();
        }
        let sessions = self.open.take_all();
        for session in &sessions {
            session.queue.close();
            if is_lasting {
                session.desk.suspend();
            }
        }
        stop_all(sessions.iter().map(|session| session.handle.clone()).collect()).await;
        self.catalog.close().await;
    }

    /// What can be read of a session; `None` if it ended some time ago, or never was.
    pub async fn source(&self, id: SessionId) -> Option<LiveSource> {
        self.load_log(id).await.map(|log| log.source())
    }

    /// True if any session is open. Those of projects stay open for the next message, and count
    /// only while they have something to do.
    pub fn has_running(&self) -> bool {
        let in_use = |session: &Arc<Session>| !session.is_of_project || session.unfinished() > 0;
        self.open.all().iter().any(in_use)
    }

    /// The sessions whose agents are running, ordered by id.
    pub fn list(&self) -> Vec<SessionSummary> {
        self.open.all().iter().map(|session| session.summary()).collect()
    }

    /// The logs of open sessions and of those that ended recently.
    pub fn live(&self) -> &LiveRegistry<SessionId, SessionResponse> {
        &self.live
    }
}

/// Ends a new session on drop, unless that is durable by then.
struct Kept<'a> {
    manager: &'a SessionManager,
    id: SessionId,
    is_durable: bool,
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        if !self.is_durable {
            let _ = self.manager.begin_stop(self.id);
        }
    }
}

fn remove(open: &Weak<OpenSessions>, id: SessionId) {
    if let Some(open) = open.upgrade() {
        open.remove(id);
        tracing::info!(session = %id, "session ended");
    }
}
