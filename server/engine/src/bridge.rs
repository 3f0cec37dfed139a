//! Prompts and agent runs in workspace folders, for clients that speak plain HTTP and server-sent
//! events.
//!
//! A *session* is a workspace folder with its history. A message to it starts a *run*: the model
//! answers, or an agent works towards a goal in the folder, step by step. Everything that happens
//! goes over one *bus* of numbered events, from which any number of clients read.
//!
//! ```text
//!   message ─► Bridge ─► Run (one future) ─┬─► Talk ─► AgentSession (any model)
//!   cancel ──► token ───────┘      │       └─► pursue: step ─► tools ─► PermissionDesk ◄─ approval
//!                                  ▼
//!   events ◄── Subscription ◄─── Bus, and with it the history (in memory, then on disk)
//! ```
//!
//! - The runs of one session wait for each other: they change the same files, and each knows what
//!   was said before. Those of different sessions run at the same time.
//! - History and bus change together under one lock, so that a history can name the event after
//!   which a client goes on without a gap.
//! - Settings can be replaced at any time. A run keeps those it began with.

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

use board::{Board, Session};
use bus::Bus;
use rate::Rate;
use run::Run;
use store::Store;

/// The longest message, in bytes.
const MAX_TEXT: usize = 256 * 1024;
/// The most steps that an agent can be given.
pub const MOST_STEPS: u32 = 100;
/// Runs of one session that wait or go on.
const MAX_RUNS: usize = 16;
/// Clients that read events at a time.
const MAX_CLIENTS: usize = 1_000;

/// Why the bridge did not do what a client asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BridgeError {
    /// Nothing to answer.
    #[error("a message needs a `text` that is not empty")]
    TextMissing,
    /// More than a message can hold.
    #[error("a message has at most {MAX_TEXT} bytes")]
    TextTooLong,
    /// No workspace folder of that id or path.
    #[error("unknown session: `{0}`")]
    SessionNotFound(String),
    /// Not something that a message can be.
    #[error("unknown mode, use `prompt` or `agent`: `{0}`")]
    UnknownMode(String),
    /// The settings say so.
    #[error("the agent is switched off in the settings")]
    AgentDisabled,
    /// Too few or too many.
    #[error("`maxSteps` is at least 1 and at most {MOST_STEPS}: {0}")]
    StepsOutOfRange(u32),
    /// No provider has that model now.
    #[error("unknown model: `{0}`")]
    ModelIdNotFound(String),
    /// More messages than the settings allow.
    #[error("too many messages, try again in {} s", retry_after.as_secs())]
    TooManyMessages {
        /// When the next one is taken.
        retry_after: Duration,
    },
    /// As many runs of the session wait as may.
    #[error("too many runs of this session are waiting")]
    TooManyRuns,
    /// As many clients read events as may.
    #[error("too many clients read events")]
    TooManyClients,
    /// Never there, or ended.
    #[error("no such run: `{0}`")]
    RunNotFound(String),
    /// Never there, or decided.
    #[error("not waiting for a decision: `{0}`")]
    ApprovalNotFound(String),
    /// The server is about to end.
    #[error("the server is stopping")]
    Stopping,
}

/// All sessions, runs and events.
pub struct Bridge {
    inner: Arc<Inner>,
    clients: Arc<Semaphore>,
    rate: Mutex<Rate>,
}

/// What runs need of the bridge.
struct Inner {
    catalog: Catalog,
    lifecycle: Lifecycle,
    settings: RwLock<Arc<BridgeSettings>>,
    /// Of the permissions of all runs.
    limit: ModeLimit,
    /// Of the folders of all runs.
    roots: RootsLimit,
    /// Cancelled when no run may use commands any more.
    no_commands: CancellationToken,
    board: Mutex<Board>,
    bus: Arc<Bus>,
    store: Option<Store>,
    /// The futures of the runs.
    running: TaskTracker,
}

impl Bridge {
    /// The sessions of the settings with their histories from `data`, where they are kept.
    /// Without it they last as long as the server.
    ///
    /// Reads files.
    pub fn new(
        settings: BridgeSettings,
        data: Option<PathBuf>,
        catalog: Catalog,
        lifecycle: Lifecycle,
    ) -> Arc<Self> {
        // Numbers go on after a restart: what a client has read of the server before is not taken
        // for something of this one.
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let first = since_epoch.map_or(1, |time| u64::try_from(time.as_micros()).unwrap_or(1));
        let store = data.map(Store::new);
        let board = Board::new(load_sessions(&settings, store.as_ref(), &[]));
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

    /// The settings that count now.
    pub fn settings(&self) -> Arc<BridgeSettings> {
        Arc::clone(&self.inner.settings.read())
    }

    /// Uses other settings from now on. Reads files.
    ///
    /// A folder that is no longer named goes off the list; what runs there goes on, with no more rights
    /// than the settings give. Approval that they require, and commands and roots that they
    /// forbid, stay so whatever later settings say.
    pub fn set_settings(&self, settings: BridgeSettings) {
        let known: Vec<String> = self.inner.board.lock().session_ids();
        let loaded = load_sessions(&settings, self.inner.store.as_ref(), &known);
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

    /// One session per workspace folder.
    pub fn sessions(&self) -> Vec<SessionSummary> {
        self.inner.board.lock().summaries()
    }

    /// A session's history, by its id or its absolute path.
    pub fn history(&self, id: &str) -> Result<SessionHistory, BridgeError> {
        let board = self.inner.board.lock();
        // The bus changes with the board locked only.
        let last_event_id = self.inner.bus.last_id();
        Ok(board.history(board.find(id)?, last_event_id))
    }

    /// Takes a message and starts its run, which waits for those before it.
    pub async fn send(&self, request: MessageRequest) -> Result<MessageAccepted, BridgeError> {
        let settings = Arc::clone(&self.inner.settings.read());
        let Order { text, mode, max_steps } = Order::read(&request, &settings.agent)?;
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

    /// Stops a run at once, whatever it does.
    pub fn cancel(&self, id: &str) -> Result<(), BridgeError> {
        let not_found = || BridgeError::RunNotFound(id.to_owned());
        let run = id.parse().map_err(|_| not_found())?;
        let stop = self.inner.board.lock().run(run).map(|run| run.stop.clone());
        stop.ok_or_else(not_found)?.cancel();
        Ok(())
    }

    /// Decides about a question. The first decision counts.
    pub fn decide(&self, approval_id: &str, approved: bool) -> Result<(), BridgeError> {
        let not_found = || BridgeError::ApprovalNotFound(approval_id.to_owned());
        let question = approval_id.parse().map_err(|_| not_found())?;
        let desk = self.inner.board.lock().desk_of(question).ok_or_else(not_found)?;
        let decision =
            if approved { PermissionDecision::Approve } else { PermissionDecision::Deny };
        desk.resolve(question, decision).map_err(|_| not_found())
    }

    /// Forgets the messages of a session, but for those of runs that go on.
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
        // In the background: it must happen even if the caller hangs up.
        let saved = self.inner.lifecycle.spawn(async move { inner.save(&session_id).await });
        if saved.await.is_err() {
            tracing::error!("saving a history has crashed");
        }
        Ok(())
    }

    /// Follows the events of one session, or of all.
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

    /// Cancels all runs, waits for their ends, then ends the events.
    pub async fn stop_all(&self) {
        self.inner.board.lock().close();
        self.inner.running.close();
        // Even if nobody waits any longer.
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
    /// Writes a session's history to where it is kept. The latest state wins.
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

/// The sessions of the settings that are not known yet, with what is kept of them.
fn load_sessions(
    settings: &BridgeSettings,
    store: Option<&Store>,
    known: &[String],
) -> Vec<Session> {
    let new = settings.workspaces.iter().filter(|folder| !known.contains(&folder.id()));
    new.map(|folder| {
        let document = store.and_then(|store| store.read(&folder.id()));
        Session::new(folder, document, iso_8601(SystemTime::now()))
    })
    .collect()
}

/// What a message asks for, checked.
struct Order {
    text: String,
    mode: Mode,
    max_steps: u32,
}

impl Order {
    fn read(request: &MessageRequest, rules: &AgentRules) -> Result<Self, BridgeError> {
        let text = request.text.as_deref().unwrap_or_default().trim();
        if text.len() > MAX_TEXT {
            return Err(BridgeError::TextTooLong);
        }
        let mode = match request.mode.as_deref() {
            // What other clients call a prompt.
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

/// A path as people write it names the same folder with and without a slash at its end.
fn same_folder(path: &Path, given: &str) -> bool {
    Path::new(given).is_absolute() && path.components().eq(Path::new(given).components())
}
