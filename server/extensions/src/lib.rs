//! Extensions: programs of the project or of the user that take part in a session.
//!
//! They are written for the Copilot CLI and run here unchanged: each is a separate Node process per
//! session, adds tools, and has hooks for prompts, tool calls and errors. Project code is started
//! only in folders that somebody has allowed.
//!
//! ```text
//!   SessionManager ─► SessionExtensions ─► Program ─► process: bootstrap ─► extension.mjs
//!   Conversation ─ hooks ─┘    │   ▲          │              ▲                  │ joinSession
//!   ToolSet ── calls ──────────┘   └─ Peer ◄──┴── frames ◄───┴──────────────────┘
//! ```
//!
//! - `discovery`, `content`, `trust`, `runtime`: which extensions exist, whether they may run, and
//!   on what.
//! - `process`, `frames`, `peer`: a process and the messages on its pipes.
//! - `program`: one extension in one session, from its start to its end.
//! - `session`: all extensions of one session; `hooks` calls them, `events` informs them, `tool`
//!   adds their tools, `manage` has the tools by which a model writes its own.

mod content;
mod discovery;
mod events;
mod frames;
mod peer;
mod process;
mod result;
mod runtime;
mod schema;
mod session;
mod tool;
mod trust;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use platform::clock;
use platform::lifecycle::Lifecycle;
use platform::repository::repo_root;
use tokio::sync::OnceCell;

use discovery::{Found, discover};
use runtime::{Missing, Runtime};
use trust::{Standing, Trust};

pub use session::hooks::ErrorHandling;
pub use session::{SessionExtensions, SessionParts, SessionPort};
pub use trust::{Decision, NotKept, TrustStore, read_trust_file};

/// Where extensions are found, and which may run.
#[derive(Clone, Debug)]
pub struct ExtensionSettings {
    /// The folder of the user's extensions.
    pub user_folder: Option<PathBuf>,
    /// Keeps which folders are allowed; without it, decisions last as long as the process.
    pub trust_store: Option<Arc<dyn TrustStore>>,
    /// Whether extensions are allowed in every folder.
    pub allow_everywhere: bool,
    /// Folders in which extensions are allowed.
    pub allowed: Vec<PathBuf>,
    /// The package `@github/copilot-sdk`, if it need not be searched for.
    pub sdk_path: Option<PathBuf>,
    /// The Node executable, if it is not the one in `PATH`.
    pub node: Option<PathBuf>,
    /// Environment variables with keys, hidden from extensions.
    pub secrets: Vec<String>,
    /// How long an extension may take to join the session.
    pub join_time_out: Duration,
    /// How long a hook may take.
    pub hook_time_out: Duration,
    /// How long an extension may take to exit before it is killed.
    pub stop_time_out: Duration,
}

impl Default for ExtensionSettings {
    /// Finds no extensions, and allows none.
    fn default() -> Self {
        Self {
            user_folder: None,
            trust_store: None,
            allow_everywhere: false,
            allowed: Vec::new(),
            sdk_path: None,
            node: None,
            secrets: Vec::new(),
            join_time_out: Duration::from_secs(10),
            hook_time_out: Duration::from_secs(10),
            stop_time_out: Duration::from_secs(5),
        }
    }
}

/// What the extensions of all sessions share.
pub struct ExtensionHost {
    settings: ExtensionSettings,
    trust: Trust,
    runtime: OnceCell<Runtime>,
    lifecycle: Lifecycle,
}

impl ExtensionHost {
    /// Loads the decisions that were stored before.
    pub fn new(settings: ExtensionSettings, lifecycle: Lifecycle) -> Arc<Self> {
        let (store, allowed) = (settings.trust_store.clone(), settings.allowed.clone());
        let trust = Trust::new(store, settings.allow_everywhere, allowed);
        Arc::new(Self { settings, trust, runtime: OnceCell::new(), lifecycle })
    }

    /// Whether every extension in a folder (see [`trusted_folder`]) may be started in its current
    /// content. For agents that start all of them or none.
    pub async fn trusts_all(&self, folder: &Path) -> bool {
        self.trust.is_trusted(folder)
            && self.judge(folder).await.into_iter().all(|(_, problem)| problem.is_none())
    }

    /// Each of the extensions that are found, with the reason if it must not be started.
    async fn judge(&self, folder: &Path) -> Vec<(Found, Option<String>)> {
        let found = self.find(folder).await;
        let standing = self.trust.standing(folder, known_hashes(&found)).await;
        let judged = found.into_iter().map(|(found, hash)| {
            let problem = match (&standing, hash) {
                (Standing::Untrusted(reason), _) => Some(reason.clone()),
                (Standing::Trusted(_), Err(error)) => Some(format!("it can't be checked: {error}")),
                (Standing::Trusted(hashes), Ok(hash)) => match hashes.get(&found.key()) {
                    Some(trusted) if *trusted == hash => None,
                    Some(_) => Some("it has changed since it was allowed".to_owned()),
                    None => Some("it is new since extensions were allowed".to_owned()),
                },
            };
            (found, problem)
        });
        judged.collect()
    }

    /// Allows the current extensions of a folder, now and later. Takes effect when it is durable.
    async fn allow(&self, folder: &Path) -> Result<(), NotKept> {
        let found = self.find(folder).await;
        self.trust.allow(folder, known_hashes(&found)).await
    }

    /// The extensions of a folder, each with the hash of its content.
    async fn find(&self, folder: &Path) -> Vec<(Found, Result<String, String>)> {
        let (folder, user_folder) = (folder.to_owned(), self.settings.user_folder.clone());
        let finding = tokio::task::spawn_blocking(move || {
            let hashed = |found: Found| {
                let hash = found.hash().map_err(|error| error.to_string());
                (found, hash)
            };
            discover(&folder, user_folder.as_deref()).into_iter().map(hashed).collect()
        });
        finding.await.unwrap_or_default()
    }

    /// Searches until the runtime is found, then keeps it.
    async fn runtime(&self) -> Result<&Runtime, Missing> {
        self.runtime.get_or_try_init(|| Runtime::find(&self.settings)).await
    }
}

fn known_hashes(found: &[(Found, Result<String, String>)]) -> BTreeMap<String, String> {
    let known = found.iter();
    known.filter_map(|(found, hash)| Some((found.key(), hash.as_ref().ok()?.clone()))).collect()
}

/// The folder that trust is given to: the repository that contains `folder`, or `folder` itself.
/// Blocks.
pub fn trusted_folder(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    repo_root(&folder)
}

fn iso_8601() -> String {
    clock::iso_8601(SystemTime::now())
}

fn milliseconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
