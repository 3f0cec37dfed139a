//! The folders that sessions and jobs work in.

use std::path::{Path, PathBuf};

use extensions::trusted_folder;

use super::StartError;

/// Checks that a path is absolute and names an existing folder.
pub async fn check_folder(path: &str) -> Result<PathBuf, StartError> {
    let folder = Path::new(path);
    if !folder.is_absolute() {
        return Err(StartError::WorkingDirectoryNotAbsolutePath(path.to_owned()));
    }
    let metadata = tokio::fs::metadata(folder).await;
    if !metadata.is_ok_and(|metadata| metadata.is_dir()) {
        return Err(StartError::WorkingDirectoryNotExists(path.to_owned()));
    }
    Ok(folder.to_owned())
}

/// What a session has to know about its folder before it starts.
pub(super) struct ResolvedFolder {
    /// The folder with symbolic links resolved.
    pub(super) real: PathBuf,
    /// The folder that has to be trusted for its extensions to be started.
    pub(super) root: PathBuf,
}

/// Looks at the folder of a session that is about to start.
pub(super) async fn resolve(folder: &Path) -> ResolvedFolder {
    let given = folder.to_owned();
    let resolving = tokio::task::spawn_blocking(move || ResolvedFolder {
        root: trusted_folder(&given),
        real: given.canonicalize().unwrap_or(given),
    });
    let unresolved = |_| ResolvedFolder { real: folder.to_owned(), root: folder.to_owned() };
    resolving.await.unwrap_or_else(unresolved)
}
