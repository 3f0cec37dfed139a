//! The bytes of attachments: private files below the data folder, or in memory. Sessions write and
//! read them; nothing else looks into the folder.
//!
//! ```text
//!   DATA/attachments/session-…/file-…      0700 / 0600
//! ```

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use parking_lot::Mutex;
use platform::private;
use wire::{AttachmentId, SessionId};

/// The folder below the data folder.
pub const ATTACHMENTS_FOLDER: &str = "attachments";

/// How many attachments a session may have. A person attaches a few; a script that attaches more
/// should put them into the session's folder.
pub const MOST_ATTACHMENTS: usize = 200;
/// How many bytes they may have together.
pub const MOST_BYTES: usize = 100 * 1024 * 1024;

/// Why an attachment was not kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The session has too many of them, or too many bytes.
    #[error("a session may have {MOST_ATTACHMENTS} attachments and {MOST_BYTES} bytes of them")]
    TooMany,
    /// They can't be written.
    #[error("the attachment can't be written: {0}")]
    Io(#[from] io::Error),
}

/// The attachments of all sessions. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct AttachmentStore(Arc<Place>);

type Files = HashMap<AttachmentId, Arc<[u8]>>;

#[derive(Debug)]
enum Place {
    Memory(Mutex<HashMap<SessionId, Files>>),
    Folder {
        folder: PathBuf,
        /// Held while one is written, so that two together don't exceed a limit.
        writing: Mutex<()>,
    },
}

impl Default for Place {
    fn default() -> Self {
        Self::Memory(Mutex::default())
    }
}

impl AttachmentStore {
    /// Below the data folder. Nothing is created until it is needed.
    pub fn in_folder(data: &Path) -> Self {
        let folder = data.join(ATTACHMENTS_FOLDER);
        Self(Arc::new(Place::Folder { folder, writing: Mutex::default() }))
    }

    /// Keeps an attachment, and returns when it is durable.
    pub async fn keep(
        &self,
        session: SessionId,
        id: AttachmentId,
        bytes: Vec<u8>,
    ) -> Result<(), KeepError> {
        self.on_thread(move |place| place.keep(session, id, bytes)).await
    }

    /// The bytes of an attachment; `None` if the session has none of that id.
    pub async fn read(&self, session: SessionId, id: AttachmentId) -> Option<Vec<u8>> {
        self.on_thread(move |place| place.read(session, id)).await.ok()
    }

    /// Gives a session the attachments of an earlier one, which may be deleted later.
    pub async fn inherit(&self, session: SessionId, earlier: SessionId) -> io::Result<()> {
        self.on_thread(move |place| place.inherit(session, earlier)).await
    }

    /// Deletes all attachments of a session.
    pub async fn delete(&self, session: SessionId) -> io::Result<()> {
        self.on_thread(move |place| place.delete(session)).await
    }

    /// The sessions that have any.
    pub async fn sessions(&self) -> io::Result<Vec<SessionId>> {
        self.on_thread(Place::sessions).await
    }

    /// Disks can take their time. Not cancelled if nobody waits.
    async fn on_thread<T: Send + 'static, E: From<io::Error> + Send + 'static>(
        &self,
        work: impl FnOnce(&Place) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let place = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || work(&place)).await;
        done.unwrap_or_else(|error| Err(io::Error::other(error).into()))
    }
}

impl Place {
    fn keep(&self, session: SessionId, id: AttachmentId, bytes: Vec<u8>) -> Result<(), KeepError> {
        match self {
            Self::Memory(sessions) => {
                let mut sessions = sessions.lock();
                let kept = sessions.entry(session).or_default();
                check(kept.values().map(|bytes| bytes.len()), bytes.len())?;
                kept.insert(id, bytes.into());
            }
            Self::Folder { folder, writing } => {
                let folder = folder.join(session.to_string());
                let _one_at_a_time = writing.lock();
                let kept = files(&folder)?;
                let sizes = kept.iter().filter_map(|(file, _)| fs::metadata(file).ok());
                check(
                    sizes.map(|file| usize::try_from(file.len()).unwrap_or(usize::MAX)),
                    bytes.len(),
                )?;
                private::write(&folder.join(id.to_string()), &bytes)?;
                // A file is found after a power failure only if its folders are written, too.
                sync(&folder)?;
                if kept.is_empty() {
                    folder.ancestors().skip(1).take(2).try_for_each(sync)?;
                }
            }
        }
        Ok(())
    }

    fn read(&self, session: SessionId, id: AttachmentId) -> io::Result<Vec<u8>> {
        match self {
            Self::Memory(sessions) => {
                let sessions = sessions.lock();
                let bytes = sessions.get(&session).and_then(|kept| kept.get(&id));
                bytes.map(|bytes| bytes.to_vec()).ok_or(io::ErrorKind::NotFound.into())
            }
            Self::Folder { folder, .. } => {
                fs::read(folder.join(session.to_string()).join(id.to_string()))
            }
        }
    }

    fn inherit(&self, session: SessionId, earlier: SessionId) -> io::Result<()> {
        match self {
            Self::Memory(sessions) => {
                let mut sessions = sessions.lock();
                let inherited = sessions.get(&earlier).cloned().unwrap_or_default();
                if !inherited.is_empty() {
                    sessions.entry(session).or_default().extend(inherited);
                }
            }
            Self::Folder { folder, .. } => {
                let own = folder.join(session.to_string());
                let inherited = files(&folder.join(earlier.to_string()))?;
                if inherited.is_empty() {
                    return Ok(());
                }
                private::make_folder(&own)?;
                for (file, id) in inherited {
                    let own = own.join(id.to_string());
                    // Not every file system has links.
                    if fs::hard_link(&file, &own).is_err() {
                        private::write(&own, &fs::read(&file)?)?;
                    }
                }
                sync(&own)?;
            }
        }
        Ok(())
    }

    fn delete(&self, session: SessionId) -> io::Result<()> {
        match self {
            Self::Memory(sessions) => {
                sessions.lock().remove(&session);
                Ok(())
            }
            Self::Folder { folder, .. } => {
                match fs::remove_dir_all(folder.join(session.to_string())) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    removed => removed,
                }
            }
        }
    }

    fn sessions(&self) -> io::Result<Vec<SessionId>> {
        match self {
            Self::Memory(sessions) => Ok(sessions.lock().keys().copied().collect()),
            Self::Folder { folder, .. } => {
                Ok(named::<SessionId>(folder)?.into_iter().map(|(_, id)| id).collect())
            }
        }
    }
}

/// Whether another attachment of a size is within the limits.
fn check(kept: impl Iterator<Item = usize>, new: usize) -> Result<(), KeepError> {
    let (mut number, mut bytes) = (1, new);
    for size in kept {
        number += 1;
        bytes = bytes.saturating_add(size);
    }
    if number > MOST_ATTACHMENTS || bytes > MOST_BYTES {
        return Err(KeepError::TooMany);
    }
    Ok(())
}

fn files(folder: &Path) -> io::Result<Vec<(PathBuf, AttachmentId)>> {
    named(folder)
}

/// What is in a folder and named by an id. Nothing else is ours; half-written files are not, either.
fn named<I: FromStr>(folder: &Path) -> io::Result<Vec<(PathBuf, I)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
            found.push((entry.path(), id));
        }
    }
    Ok(found)
}

#[cfg(unix)]
fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// Folders cannot be opened here; the system writes them on its own.
#[cfg(not(unix))]
fn sync(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> (tempfile::TempDir, [AttachmentStore; 2]) {
        let data = tempfile::tempdir().expect("a folder");
        let stores = [AttachmentStore::default(), AttachmentStore::in_folder(data.path())];
        (data, stores)
    }

    #[tokio::test]
    async fn what_is_kept_is_read_by_its_own_session_alone() {
        let (_data, stores) = places();
        for store in stores {
            let (session, other) = (SessionId::generate(), SessionId::generate());
            let id = AttachmentId::generate();
            store.keep(session, id, b"bytes".to_vec()).await.expect("kept");
            assert_eq!(store.read(session, id).await.as_deref(), Some(&b"bytes"[..]));
            assert_eq!(store.read(other, id).await, None);
            assert_eq!(store.read(session, AttachmentId::generate()).await, None);
            assert_eq!(store.sessions().await.expect("a list"), [session]);
            store.delete(session).await.expect("deleted");
            store.delete(session).await.expect("nothing to do");
            assert_eq!(store.read(session, id).await, None);
            assert_eq!(store.sessions().await.expect("a list"), []);
        }
    }

    #[tokio::test]
    async fn inherited_attachments_outlive_the_earlier_session() {
        let (_data, stores) = places();
        for store in stores {
            let (earlier, later) = (SessionId::generate(), SessionId::generate());
            store.inherit(later, earlier).await.expect("nothing to do");
            assert_eq!(store.sessions().await.expect("a list"), []);
            let id = AttachmentId::generate();
            store.keep(earlier, id, b"bytes".to_vec()).await.expect("kept");
            store.inherit(later, earlier).await.expect("inherited");
            store.delete(earlier).await.expect("deleted");
            assert_eq!(store.read(later, id).await.as_deref(), Some(&b"bytes"[..]));
        }
    }

    #[tokio::test]
    async fn a_session_has_a_limited_number_of_attachments_and_of_bytes() {
        let (_data, stores) = places();
        for store in stores {
            let (many, large) = (SessionId::generate(), SessionId::generate());
            for _ in 0..MOST_ATTACHMENTS {
                store.keep(many, AttachmentId::generate(), Vec::new()).await.expect("kept");
            }
            let refused = store.keep(many, AttachmentId::generate(), Vec::new()).await;
            assert!(matches!(refused, Err(KeepError::TooMany)));
            let half = vec![0; MOST_BYTES / 2];
            for _ in 0..2 {
                store.keep(large, AttachmentId::generate(), half.clone()).await.expect("kept");
            }
            let refused = store.keep(large, AttachmentId::generate(), vec![0]).await;
            assert!(matches!(refused, Err(KeepError::TooMany)));
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn files_are_their_owners_alone_and_others_are_left_alone() {
        use std::os::unix::fs::PermissionsExt;

        let (data, [_, store]) = places();
        let (session, id) = (SessionId::generate(), AttachmentId::generate());
        store.keep(session, id, b"bytes".to_vec()).await.expect("kept");
        let all = data.path().join(ATTACHMENTS_FOLDER);
        let own = all.join(session.to_string());
        let modes = [&all, &own, &own.join(id.to_string())]
            .map(|path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777);
        assert_eq!(modes, [0o700, 0o700, 0o600]);
        fs::create_dir(all.join("not ours")).expect("a folder");
        assert_eq!(store.sessions().await.expect("a list"), [session]);
    }
}
