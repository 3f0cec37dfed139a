//! Prompts and agent runs in workspace folders, for clients that speak plain HTTP and server-sent
//! events.
//!
//! A *project* is a workspace folder with its history; on the wire it is called a session. A
//! message to it starts a *run*: the model answers, or an agent works towards a goal in the folder,
//! step by step. Everything that happens goes to one *bus* of numbered events, from which any
//! number of clients read.
//!
//! ```text
//!   message ─► Bridge ─► Run (one future) ─┬─► Talk ─► AgentSession (any model)
//!   cancel ──► token ───────┘      │       └─► pursue: step ─► tools ─► PermissionDesk ◄─ approval
//!                                  ▼
//!   events ◄── Subscription ◄─── Bus, and with it the history (in memory, then on disk)
//! ```
//!
//! - The runs of one project wait for each other: they change the same files, and each knows what
//!   was said before. Those of different projects run concurrently.
//! - History and bus change together under one lock, so that a history can name the event from
//!   which a client continues without a gap.
//! - Settings can be replaced at any time. A run keeps those it began with, except for rights that
//!   are revoked.

mod board;
mod bus;
mod instructions;
mod pursue;
mod rate;
mod run;
mod settings;
mod step;
mod store;
mod talk;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use agents::Catalog;
use agents::permission::ModeLimit;
use agents::tools::RootsLimit;
use parking_lot::{Mutex, RwLock};
use platform::clock::iso_8601;
use platform::lifecycle::Lifecycle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wire::bridge::{
    Event, HistoryCleared, MessageAccepted, MessageRequest, Mode, SessionHistory, SessionSummary,
};
use wire::{MessageId, PermissionDecision, PermissionMode};

pub use bus::{Batch, EventRecord, Start, Subscription};
pub use settings::{AgentRules, BridgeSettings, WorkspaceFolder};

use board::{Board, Project};
use bus::Bus;
use rate::Rate;
use run::Run;
use store::Store;

/// The longest message, in bytes.
const MAX_TEXT: usize = 256 * 1024;
/// The most steps that a message can give an agent.
pub const MOST_STEPS: u32 = 100;
/// How many runs of one project may wait or be running.
const MAX_RUNS: usize = 16;
/// How many clients may read events at a time.
const MAX_CLIENTS: usize = 1_000;

/// Why the bridge refused a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BridgeError {
    /// The message is missing, blank, or only the agent prefix.
    #[error("a message needs a `text` that is not empty")]
    TextMissing,
    /// The message is longer than the bridge accepts.
    #[error("a message has at most {MAX_TEXT} bytes")]
    TextTooLong,
    /// No project has that id or path.
    #[error("unknown session: `{0}`")]
    SessionNotFound(String),
    /// The mode is neither `prompt` nor `agent`.
    #[error("unknown mode, use `prompt` or `agent`: `{0}`")]
    UnknownMode(String),
    /// The settings don't allow agents.
    #[error("the agent is switched off in the settings")]
    AgentDisabled,
    /// The number of steps is zero or too large.
    #[error("`maxSteps` is at least 1 and at most {MOST_STEPS}: {0}")]
    StepsOutOfRange(u32),
    /// No provider offers this model at the moment.
    #[error("unknown model: `{0}`")]
    ModelIdNotFound(String),
    /// The rate limit of the settings is exceeded.
    #[error("too many messages, try again in {} s", retry_after.as_secs())]
    TooManyMessages {
        /// When the next message will be accepted.
        retry_after: Duration,
    },
    /// The limit of runs in the project is reached.
    #[error("too many runs of this session are waiting")]
    TooManyRuns,
    /// The limit of clients that read events is reached.
    #[error("too many clients read events")]
    TooManyClients,
    /// The run never existed, or has ended.
    #[error("no such run: `{0}`")]
    RunNotFound(String),
    /// The request never existed, or has been answered.
    #[error("not waiting for a decision: `{0}`")]
    ApprovalNotFound(String),
    /// The server is shutting down.
    #[error("the server is stopping")]
    Stopping,
}

/// All projects, runs and events of a server.
pub struct Bridge {
    inner: Arc<Inner>,
    clients: Arc<Semaphore>,
    rate: Mutex<Rate>,
}

/// The part of the bridge that runs share.
struct Inner {
    catalog: Catalog,
    lifecycle: Lifecycle,
    settings: RwLock<Arc<BridgeSettings>>,
    /// Limits the permission mode of all runs.
    limit: ModeLimit,
    /// Limits the folders that all runs may use.
    roots: RootsLimit,
    /// Cancelled once commands are forbidden; that is final.
    no_commands: CancellationToken,
    board: Mutex<Board>,
    bus: Arc<Bus>,
    store: Option<Store>,
    /// Tracks the futures of the runs, for shutdown.
    running: TaskTracker,
}

impl Bridge {
    /// Opens the projects of the settings, with their histories from the folder `data`. Without it,
    /// histories last as long as the server.
    ///
    /// Blocks while it reads files.
    pub fn new(
        settings: BridgeSettings,
        data: Option<PathBuf>,
        catalog: Catalog,
        lifecycle: Lifecycle,
    ) -> Arc<Self> {
        // Numbers keep increasing over restarts, so that a client's last event id can't refer to a
        // later event of this server.
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let first = since_epoch.map_or(1, |time| u64::try_from(time.as_micros()).unwrap_or(1));
        let store = data.map(Store::new);
        let board = Board::new(load_projects(&settings, store.as_ref(), &[]));
        Arc::new(Self {
            rate: Mutex::new(Rate::new(settings.messages_per_minute, Instant::now())),
            clients: Arc::new(Semaphore::new(MAX_CLIENTS)),
            inner: Arc::new(Inner {
                catalog,
                lifecycle,
                roots: settings.agent.allowed_roots.clone().into(),
                settings: RwLock::new(Arc::new(settings)),
                limit: ModeLimit::default(),
                no_commands: CancellationToken::new(),
                board: Mutex::new(board),
                bus: Bus::new(first),
                running: TaskTracker::new(),
                store,
            }),
        })
    }

    /// The settings that apply now.
    pub fn settings(&self) -> Arc<BridgeSettings> {
        Arc::clone(&self.inner.settings.read())
    }

    /// Applies other settings. Blocks while it reads files.
    ///
    /// A project that is no longer named is unlisted; its runs continue, with no more rights than
    /// the settings give. Approval that they require stays required, and commands and roots that
    /// they forbid stay forbidden, whatever later settings say.
    pub fn set_settings(&self, settings: BridgeSettings) {
        let known: Vec<String> = self.inner.board.lock().project_ids();
        let loaded = load_projects(&settings, self.inner.store.as_ref(), &known);
        self.rate.lock().set(settings.messages_per_minute, Instant::now());
        self.inner.roots.narrow(&settings.agent.allowed_roots);
        if settings.agent.require_approval {
            self.inner.limit.narrow(PermissionMode::Ask);
        }
        if !settings.agent.allow_commands {
            self.inner.no_commands.cancel();
        }
        let settings = Arc::new(settings);
        *self.inner.settings.write() = Arc::clone(&settings);
        self.inner.board.lock().relist(&settings.workspaces, loaded);
    }

    /// The listed projects, one per workspace folder.
    pub fn sessions(&self) -> Vec<SessionSummary> {
        self.inner.board.lock().summaries()
    }

    /// A project's history, by its id or its absolute path.
    pub fn history(&self, id: &str) -> Result<SessionHistory, BridgeError> {
        let board = self.inner.board.lock();
        // The bus changes only while the board is locked.
        let last_event_id = self.inner.bus.last_id();
        Ok(board.history(board.find(id)?, last_event_id))
    }

    /// Accepts a message and starts its run, which waits for earlier ones of the project.
    pub async fn send(&self, request: MessageRequest) -> Result<MessageAccepted, BridgeError> {
        let settings = Arc::clone(&self.inner.settings.read());
        let ValidMessage { text, mode, max_steps } = ValidMessage::read(&request, &settings.agent)?;
        let session_id = {
            let board = self.inner.board.lock();
            match request.session_id.as_deref() {
                Some(id) => board.find(id)?.id.clone(),
                None => board.first()?.id.clone(),
            }
        };
        if let Some(model) = &request.model
            && self.inner.catalog.find(model).await.is_none()
        {
            return Err(BridgeError::ModelIdNotFound(model.clone()));
        }
        if let Err(retry_after) = self.rate.lock().take(Instant::now()) {
            return Err(BridgeError::TooManyMessages { retry_after });
        }
        let id = MessageId::generate();
        let run = Run {
            model: request.model,
            rules: settings.agent.clone(),
            safeguards: settings.safeguards.clone(),
            stop: self.inner.lifecycle.token(),
            bridge: Arc::clone(&self.inner),
            session_id: session_id.clone(),
            id,
            mode,
            text,
            max_steps,
        };
        run.announce()?;
        self.inner.lifecycle.spawn(self.inner.running.track_future(run.run()));
        Ok(MessageAccepted { accepted: true, id, session_id })
    }

    /// Stops a run at once, whatever it is doing.
    pub fn cancel(&self, id: &str) -> Result<(), BridgeError> {
        let not_found = || BridgeError::RunNotFound(id.to_owned());
        let run = id.parse().map_err(|_| not_found())?;
        let stop = self.inner.board.lock().run(run).map(|run| run.stop.clone());
        stop.ok_or_else(not_found)?.cancel();
        Ok(())
    }

    /// Answers an approval request. Only the first answer counts.
    pub fn decide(&self, approval_id: &str, approved: bool) -> Result<(), BridgeError> {
        let not_found = || BridgeError::ApprovalNotFound(approval_id.to_owned());
        let question = approval_id.parse().map_err(|_| not_found())?;
        let desk = self.inner.board.lock().desk_of(question).ok_or_else(not_found)?;
        let decision =
            if approved { PermissionDecision::Approve } else { PermissionDecision::Deny };
        desk.resolve(question, decision).map_err(|_| not_found())
    }

    /// Deletes a project's messages, except those of active runs.
    pub async fn clear(&self, id: &str) -> Result<(), BridgeError> {
        let session_id = {
            let mut board = self.inner.board.lock();
            let session_id = board.find(id)?.id.clone();
            board.clear(&session_id);
            let at = iso_8601(SystemTime::now());
            let cleared = HistoryCleared { session_id: session_id.clone(), at };
            self.inner.bus.push(&Event::HistoryCleared(cleared));
            session_id
        };
        let inner = Arc::clone(&self.inner);
        // In the background: it must complete even if the client disconnects.
        let saved = self.inner.lifecycle.spawn(async move { inner.save(&session_id).await });
        if saved.await.is_err() {
            tracing::error!("saving a history has crashed");
        }
        Ok(())
    }

    /// Subscribes to the events of one project, or of all.
    pub fn subscribe(
        &self,
        session: Option<&str>,
        start: Start,
    ) -> Result<Subscription, BridgeError> {
        let session = match session {
            Some(id) => Some(self.inner.board.lock().find(id)?.id.clone()),
            None => None,
        };
        let place: OwnedSemaphorePermit = Arc::clone(&self.clients)
            .try_acquire_owned()
            .map_err(|_| BridgeError::TooManyClients)?;
        Ok(self.inner.bus.subscribe(session, start, place))
    }

    /// Cancels all runs, waits until they have ended, then closes the bus.
    pub async fn stop_all(&self) {
        self.inner.board.lock().close();
        self.inner.running.close();
        // Closed even if this call is cancelled.
        let _close = CloseOnDrop(&self.inner.bus);
        self.inner.running.wait().await;
    }
}

struct CloseOnDrop<'a>(&'a Bus);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Inner {
    /// Writes a project's history to disk. The latest state wins.
    async fn save(&self, session_id: &str) {
        let Some(store) = &self.store else { return };
        let Some(saving) = self.board.lock().saving(session_id) else { return };
        let _one_at_a_time = saving.lock().await;
        let Some(document) = self.board.lock().document(session_id) else { return };
        let (store, id) = (store.clone(), session_id.to_owned());
        let written = tokio::task::spawn_blocking(move || store.write(&id, &document)).await;
        match written {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(session = session_id, %error, "can't keep a history"),
            Err(error) => tracing::error!(%error, "writing a history has crashed"),
        }
    }
}

/// The projects of the settings that are not known yet, with their stored histories.
fn load_projects(
    settings: &BridgeSettings,
    store: Option<&Store>,
    known: &[String],
) -> Vec<Project> {
    let new = settings.workspaces.iter().filter(|folder| !known.contains(&folder.id()));
    new.map(|folder| {
        let document = store.and_then(|store| store.read(&folder.id()));
        Project::new(folder, document, iso_8601(SystemTime::now()))
    })
    .collect()
}

/// A message that has been validated.
struct ValidMessage {
    text: String,
    mode: Mode,
    max_steps: u32,
}

impl ValidMessage {
    fn read(request: &MessageRequest, rules: &AgentRules) -> Result<Self, BridgeError> {
        let text = request.text.as_deref().unwrap_or_default().trim();
        if text.len() > MAX_TEXT {
            return Err(BridgeError::TextTooLong);
        }
        let mode = match request.mode.as_deref() {
            // Other clients call a prompt "chat".
            None | Some("chat") => Mode::Prompt,
            Some(mode) => mode.parse().map_err(|_| BridgeError::UnknownMode(mode.to_owned()))?,
        };
        let (mode, text) = match text.strip_prefix(&*rules.prefix) {
            Some(goal) if !rules.prefix.is_empty() => (Mode::Agent, goal.trim_start()),
            _ => (mode, text),
        };
        if text.is_empty() {
            return Err(BridgeError::TextMissing);
        }
        if mode == Mode::Agent && !rules.enabled {
            return Err(BridgeError::AgentDisabled);
        }
        let max_steps = request.max_steps.unwrap_or(rules.max_steps);
        if !(1..=MOST_STEPS).contains(&max_steps) {
            return Err(BridgeError::StepsOutOfRange(max_steps));
        }
        Ok(Self { text: text.to_owned(), mode, max_steps })
    }
}

/// Whether a path from a client names this folder, with or without a trailing slash.
fn same_folder(path: &Path, given: &str) -> bool {
    Path::new(given).is_absolute() && path.components().eq(Path::new(given).components())
}
