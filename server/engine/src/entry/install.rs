//! Reads, checks and installs entries.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
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
}

/// Holds the installed entry, if any. Runs keep the entry that they were started with.
#[derive(Debug, Default)]
pub struct EntryStore {
    current: RwLock<Option<Arc<Entry>>>,
}

impl EntryStore {
    /// Creates a store without an installed entry.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The installed entry; `None` until there is one.
    pub fn current(&self) -> Option<Arc<Entry>> {
        self.current.read().clone()
    }

    /// Installs the entry of a file.
    pub async fn install_file(
        &self,
        file: &Path,
        sessions: &SessionManager,
    ) -> Result<(), InstallError> {
        let text = read(file).await?;
        let entry = Entry::parse(&text).map_err(|problems| match problems {
            Problems::NotJson { .. } => {
                InstallError::File { file: file.to_owned(), problem: problems.to_string() }
            }
            Problems::Invalid { .. } => InstallError::Invalid(problems),
        })?;
        self.install(entry, sessions).await
    }

    /// Installs the entry of a file, which must be inside a folder after resolving links and `..`.
    pub async fn install_file_within(
        &self,
        folder: &Path,
        file: &Path,
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
        self.install_file(&real, sessions).await
    }

    /// Installs the sample entry, which needs only the simulated models.
    pub async fn install_sample(&self, sessions: &SessionManager) -> Result<(), InstallError> {
        let entry = Entry::parse(super::SAMPLE);
        let entry = entry.map_err(InstallError::Invalid)?;
        self.install(entry, sessions).await
    }

    /// Installs an entry, if no session is open and all its models are known.
    pub async fn install(
        &self,
        entry: Entry,
        sessions: &SessionManager,
    ) -> Result<(), InstallError> {
        let models = sessions.catalog().models().await;
        check_models(&entry, &models)?;
        if sessions.has_running() {
            return Err(InstallError::SessionRunning);
        }
        tracing::info!(tasks = entry.tasks.len(), jobs = entry.jobs.len(), "entry installed");
        *self.current.write() = Some(Arc::new(entry));
        Ok(())
    }
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
