//! The data folder has one owner at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use super::OpenError;

/// Name of the database in the data folder.
pub const FILE_NAME: &str = "portal.db";
/// Name of the file that a server locks while it uses the folder. Contains its process id.
const LOCK_NAME: &str = "portal.lock";

/// Exclusive use of the folder, until this is dropped or the process ends in any way.
#[derive(Debug)]
pub(super) struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Creates the folder if it is missing, and locks it.
    pub(super) fn take(folder: &Path) -> Result<Self, OpenError> {
        let path = folder.join(LOCK_NAME);
        let refused = |error| OpenError::refused(&path, error);
        platform::private::make_folder(folder)
            .map_err(|error| OpenError::refused(folder, error))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(refused)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                // The owner may not have written its id yet.
                let _ = file.read_to_string(&mut owner);
                let process = match owner.trim() {
                    "" => String::new(),
                    id => format!(" (process {id})"),
                };
                return Err(OpenError::InUse { folder: folder.to_owned(), process });
            }
            Err(TryLockError::Error(error)) => return Err(refused(error)),
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(refused)?;
        writeln!(file, "{}", std::process::id()).map_err(refused)?;
        Ok(Self { _file: file })
    }
}
