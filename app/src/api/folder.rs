//! Folders of the server's machine.

use wire::Folders;

use super::{ApiError, fetch};
use crate::router::with_argument;

/// The folders that complete an absolute path.
pub(crate) async fn complete(typed: &str) -> Result<Vec<String>, ApiError> {
    let answer: Folders = fetch(&with_argument("/api/copilot/folders", "path", typed)).await?;
    Ok(answer.folders)
}
