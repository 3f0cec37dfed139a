//! The folders that sessions and jobs work in.

use std::path::{Path, PathBuf};

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
