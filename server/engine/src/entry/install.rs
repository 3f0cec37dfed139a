//! Reads, checks and installs entries.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::Value;
use sha2::{Digest, Sha256};
use store::fold::{Installer, PortalNote};
use store::journal::StoreError;
use store::portal::PortalLog;
use wire::Models;
use wire::entry::{Entry, Problems};

use crate::session::SessionManager;

/// The largest entry file. A hundred times what a person writes.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Why an entry was not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The file is not allowed or can't be read.
    #[error("{}: {problem}", file.display())]
    File {
        /// The file that should have been read.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The entry breaks rules; displays one line per problem.
    #[error(transparent)]
    Invalid(#[from] Problems),
    /// An entry is not replaced while sessions are open.
    #[error("a session is running: stop all sessions first")]
    SessionRunning,
    /// It names unknown models; the message lists the known ones.
    #[error("{0}")]
    UnknownModel(String),
    /// The install can't be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Holds the installed entry, if any. Runs keep the entry that they were started with.
///
/// Each install is noted in the log of the portal, as history: what is installed at a start is up
/// to the command line.
#[derive(Debug)]
pub struct EntryStore {
    current: RwLock<Option<Arc<Entry>>>,
    log: Arc<PortalLog>,
    /// Held by an install, so that the latest note is about the installed entry.
    installing: tokio::sync::Mutex<()>,
}

impl EntryStore {
    /// Creates a store without an installed entry.
    pub fn new(log: Arc<PortalLog>) -> Arc<Self> {
        Arc::new(Self {
            current: RwLock::default(),
            log,
            installing: tokio::sync::Mutex::default(),
        })
    }

    /// The installed entry; `None` until there is one.
    pub fn current(&self) -> Option<Arc<Entry>> {
        self.current.read().clone()
    }

    /// Installs the entry of a file.
    pub async fn install_file(
        &self,
        file: &Path,
        by: Installer,
        sessions: &SessionManager,
    ) -> Result<(), InstallError> {
        let text = read(file).await?;
        self.install(&text, by, sessions).await.map_err(|error| match error {
            InstallError::Invalid(problems @ Problems::NotJson { .. }) => {
                InstallError::File { file: file.to_owned(), problem: problems.to_string() }
            }
            error => error,
        })
    }

    /// Installs the entry of a file, which must be inside a folder after resolving links and `..`.
    pub async fn install_file_within(
        &self,
        folder: &Path,
        file: &Path,
        by: Installer,
        sessions: &SessionManager,
    ) -> Result<(), InstallError> {
        let refuse = |problem: &str| InstallError::File {
            file: file.to_owned(),
            problem: problem.to_owned(),
        };
        if !file.is_absolute() {
            return Err(refuse("not an absolute path"));
        }
        let real = tokio::fs::canonicalize(file).await.map_err(|error| unreadable(file, &error))?;
        let folder =
            tokio::fs::canonicalize(folder).await.map_err(|error| unreadable(folder, &error))?;
        if !real.starts_with(folder) {
            return Err(refuse("outside the test folder"));
        }
        self.install_file(&real, by, sessions).await
    }

    /// Installs the sample entry, which needs only the simulated models.
    pub async fn install_sample(&self, sessions: &SessionManager) -> Result<(), InstallError> {
        self.install(super::SAMPLE, Installer::Sample, sessions).await
    }

    /// Installs an entry from its JSON, if no session is open and all its models are known. Returns when that is
    /// durable; at a start nobody waits for it, as a store that fails must not keep the server from
    /// starting.
    pub async fn install(
        &self,
        text: &str,
        by: Installer,
        sessions: &SessionManager,
    ) -> Result<(), InstallError> {
        let entry = Entry::parse(text)?;
        let models = sessions.catalog().models().await;
        check_models(&entry, &models)?;
        let _installing = self.installing.lock().await;
        if sessions.has_running() {
            return Err(InstallError::SessionRunning);
        }
        let note = to_note(text, by);
        match by {
            Installer::Sample | Installer::CommandLine => self.log.note(note),
            Installer::TestApi => self.log.keep(note).await?,
        }
        tracing::info!(tasks = entry.tasks.len(), jobs = entry.jobs.len(), "entry installed");
        *self.current.write() = Some(Arc::new(entry));
        Ok(())
    }
}

/// What is kept of an install: the document without its white space, which does not count.
fn to_note(text: &str, by: Installer) -> PortalNote {
    let document: Value = serde_json::from_str(text).unwrap_or_default();
    let text = document.to_string();
    let mut hash = String::new();
    for byte in Sha256::digest(&text) {
        // Writing into a string can't fail.
        let _ = write!(hash, "{byte:02x}");
    }
    PortalNote::EntryInstalled { by, hash, entry: Some(text) }
}

async fn read(file: &Path) -> Result<String, InstallError> {
    let metadata = tokio::fs::metadata(file).await.map_err(|error| unreadable(file, &error))?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        let problem = format!("not a file of at most {MAX_FILE_BYTES} bytes");
        return Err(InstallError::File { file: file.to_owned(), problem });
    }
    tokio::fs::read_to_string(file).await.map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &io::Error) -> InstallError {
    InstallError::File { file: file.to_owned(), problem: format!("can't be read: {error}") }
}

fn check_models(entry: &Entry, models: &Models) -> Result<(), InstallError> {
    let known = |id: &str| models.models.iter().any(|model| model.id == id);
    let mut message = String::new();
    for model in entry.model_ids().iter().filter(|model| !known(&model.id)) {
        // Writing into a string can't fail.
        let _ = writeln!(message, "{}: Unknown model: {}.", model.path, model.id);
    }
    if message.is_empty() {
        return Ok(());
    }
    message += "The models are:";
    for model in &models.models {
        let _ =
            write!(message, "\n- {}: {} (multiplier {})", model.name, model.id, model.multiplier);
    }
    Err(InstallError::UnknownModel(message))
}

#[cfg(test)]
mod tests {
    use agents::Catalog;
    use agents::simulated::{Simulated, SimulatedSettings};
    use platform::lifecycle::Lifecycle;
    use store::journal::SqliteJournal;
    use store::live::{LiveSettings, LiveShared};

    use super::super::SAMPLE;
    use super::*;
    use crate::session::SessionSettings;

    /// A server on a data folder.
    struct Server {
        entries: Arc<EntryStore>,
        sessions: Arc<SessionManager>,
        journal: Arc<SqliteJournal>,
    }

    impl Server {
        async fn start(folder: &Path) -> Self {
            let journal = Arc::new(SqliteJournal::open(folder).expect("a store"));
            let live = LiveShared::with_journal(LiveSettings::for_tests(), journal.clone());
            let lifecycle = Lifecycle::new();
            let log = PortalLog::open(live.clone(), &lifecycle).await.expect("a log");
            let simulated = Simulated::new(SimulatedSettings::for_tests());
            let catalog = Catalog::new([Arc::new(simulated) as Arc<_>]);
            let settings = SessionSettings::new("/");
            let sessions = SessionManager::new(catalog, settings, live, lifecycle);
            Self { entries: EntryStore::new(log), sessions, journal }
        }

        async fn install(&self, by: Installer) -> Result<(), InstallError> {
            self.entries.install(SAMPLE, by, &self.sessions).await
        }
    }

    #[tokio::test]
    async fn installs_are_kept_with_their_entries_and_nothing_is_installed_by_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start(folder.path()).await;
        server.install(Installer::CommandLine).await.expect("installed");
        server.install(Installer::TestApi).await.expect("installed");
        server.journal.close();

        let server = Server::start(folder.path()).await;
        assert!(server.entries.current().is_none(), "the command line decides");
        server.entries.log.read(|fold| {
            let installs: Vec<_> = fold.installs().collect();
            let by: Vec<_> = installs.iter().map(|install| install.by).collect();
            assert_eq!(by, [Installer::CommandLine, Installer::TestApi]);
            assert_eq!(installs[0].hash, installs[1].hash);
            let text = fold.entry(&installs[1].hash).expect("its text");
            assert_eq!(Entry::parse(text).expect("valid"), Entry::parse(SAMPLE).expect("valid"));
        });
    }

    #[tokio::test]
    async fn an_entry_is_installed_by_a_call_only_if_that_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start(folder.path()).await;
        server.journal.close();
        let refused = server.install(Installer::TestApi).await;
        assert!(matches!(refused, Err(InstallError::Store(_))), "{refused:?}");
        assert!(server.entries.current().is_none());
        server.install(Installer::CommandLine).await.expect("a server starts without a store");
        assert!(server.entries.current().is_some());
    }
}
