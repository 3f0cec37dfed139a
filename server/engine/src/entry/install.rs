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
    /// It may not be read from there, or can't be.
    #[error("{}: {problem}", file.display())]
    File {
        /// The file that was to be read.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// It breaks rules. One line for each.
    #[error(transparent)]
    Invalid(#[from] Problems),
    /// It would change what runs.
    #[error("a session is running: stop all sessions first")]
    SessionRunning,
    /// It names models that there are not. Lists those there are.
    #[error("{0}")]
    UnknownModel(String),
}

/// Keeps the entry that is installed, if any. Runs keep the one that they were started with.
#[derive(Debug, Default)]
pub struct EntryStore {
    current: RwLock<Option<Arc<Entry>>>,
}

impl EntryStore {
    /// Nothing installed.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The installed entry.
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

    /// Installs the entry of a file that must lie in a folder, whatever links and dots say.
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

    /// Installs the entry that needs nothing but the simulated models.
    pub async fn install_sample(&self, sessions: &SessionManager) -> Result<(), InstallError> {
        let entry = Entry::parse(super::SAMPLE);
        let entry = entry.map_err(InstallError::Invalid)?;
        self.install(entry, sessions).await
    }

    /// Installs an entry, if no session runs and all its models are there.
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
