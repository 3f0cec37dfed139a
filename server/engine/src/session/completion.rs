//! Completes paths while somebody types: folders of the server, and files of a session's folder.

use std::path::{Path, PathBuf};

use agents::tools::{Workspace, complete_file};
use store::fold::SessionFold;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;
use wire::{Files, Folders, SessionId};

use super::{SessionError, SessionManager};

/// How many folders are offered, and how many names are looked at.
const MOST: usize = 50;
const MAX_ENTRIES: usize = 20_000;

/// Calls that look at folders at a time: each one keeps a thread busy.
static LOOKING: Semaphore = Semaphore::const_new(4);

async fn may_look() -> SemaphorePermit<'static> {
    LOOKING.acquire().await.expect("the semaphore is never closed")
}

impl SessionManager {
    /// The files below the folder of an open session whose paths contain a text. Only those that its
    /// tools may read, whatever tools its agent has.
    ///
    /// Cancel safe.
    pub async fn files(&self, id: SessionId, text: String) -> Result<Files, SessionError> {
        let log = self.load_log(id).await.filter(|log| !log.is_closed());
        let folder =
            log.and_then(|log| log.fold(|fold: &SessionFold| PathBuf::from(fold.folder())));
        let folder = folder.ok_or(SessionError::SessionNotFound)?;
        let permit = may_look().await;
        let (roots, guarded) = (self.policy().roots(), self.settings().safeguards.guarded.clone());
        let cancel = CancellationToken::new();
        let _cancels_on_drop = cancel.clone().drop_guard();
        let looking = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let workspace = Workspace::open(&folder, &roots).ok()?.guarded(&guarded);
            Some(complete_file(&workspace, &text, &cancel))
        });
        // A folder that is gone has no files.
        Ok(Files { files: looking.await.ok().flatten().unwrap_or_default() })
    }
}

/// The folders that complete an absolute path; none if it is not absolute, or cannot be read. Hidden
/// ones only if what is typed of the name begins with a dot.
pub async fn complete_folder(typed: String) -> Folders {
    let permit = may_look().await;
    let looking = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        folders(&typed)
    });
    Folders { folders: looking.await.unwrap_or_default() }
}

fn folders(typed: &str) -> Vec<String> {
    let Some(end) = typed.rfind(std::path::is_separator) else { return Vec::new() };
    let (parent, begun) = typed.split_at(end + 1);
    if !Path::new(parent).is_absolute() {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let mut found: Vec<String> = entries
        .take(MAX_ENTRIES)
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let is_wanted =
                name.starts_with(begun) && (begun.starts_with('.') || !name.starts_with('.'));
            // A link is followed, as it is when a session starts there.
            (is_wanted && entry.path().is_dir()).then(|| format!("{parent}{name}"))
        })
        .collect();
    found.sort_unstable();
    found.truncate(MOST);
    found
}
