//! Changes files atomically: a reader sees the old or the new content.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, OpenOptions, Permissions};

use super::{ContentHash, End, Fault, Inner, Links, Missing, SandboxError, Workspace};

impl Workspace {
    /// The resolved path of a new file. Fails if the file exists.
    pub(in crate::tools) fn check_new(&self, path: &str) -> Result<PathBuf, SandboxError> {
        let check = || {
            let walked = self.0.locate(path, Links::KeepLast, Missing::Suppose)?;
            match walked.end {
                End::Absent(..) | End::Nowhere => Ok(walked.real),
                End::Entry(..) | End::Folder(_) => Err(Fault::Exists),
            }
        };
        check().map_err(|fault: Fault| fault.at(path))
    }

    /// Creates a new file and its missing folders.
    ///
    /// The path must still lead where [`check_new`](Self::check_new) said.
    pub(in crate::tools) fn create(
        &self,
        path: &str,
        real: &Path,
        content: &[u8],
    ) -> Result<(), SandboxError> {
        let create = || {
            let walked = self.0.locate(path, Links::KeepLast, Missing::Create)?;
            match walked.end {
                End::Absent(..) if walked.real != real => Err(Fault::Changed),
                End::Absent(folder, name) => write_new(&folder, &name, content),
                End::Entry(..) | End::Folder(_) => Err(Fault::Exists),
                End::Nowhere => Err(Fault::Missing),
            }
        };
        create().map_err(|fault| fault.at(path))
    }

    /// Replaces a file's content if the file is still at `real` and its content still has `hash`.
    pub(in crate::tools) fn replace(
        &self,
        path: &str,
        real: &Path,
        hash: ContentHash,
        content: &[u8],
    ) -> Result<(), SandboxError> {
        let replace = || {
            let _changing = self.0.changing.lock();
            let walked = self.0.locate(path, Links::Follow, Missing::Fail)?;
            let (folder, name, metadata) = match walked.end {
                End::Entry(folder, name, metadata) if walked.real == real => {
                    (folder, name, metadata)
                }
                End::Absent(..) | End::Nowhere => return Err(Fault::Missing),
                End::Entry(..) | End::Folder(_) => return Err(Fault::Changed),
            };
            let mut file = self.0.open_entry(&folder, &name, &metadata, walked.real)?;
            if file.permissions.readonly() {
                return Err(Fault::ReadOnly);
            }
            // A file larger than a tool reads was never read as a whole.
            let limit = file.size.saturating_add(1);
            if ContentHash::of(&file.read_head(limit)?) != hash {
                return Err(Fault::Changed);
            }
            write_over(&folder, &name, file.permissions, content)
        };
        replace().map_err(|fault| fault.at(path))
    }
}

impl Inner {
    /// Creates one folder on the way to an allowed place.
    pub(super) fn create_folder(
        &self,
        parent: &Dir,
        real: &Path,
        name: &OsStr,
    ) -> Result<(), Fault> {
        if !self.leads_to_allowed(&real.join(name)) {
            return Err(Fault::NotAllowed);
        }
        match parent.create_dir(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.into()),
            // If it exists by now, the walk checks it again.
            _ => Ok(()),
        }
    }
}

/// Links the finished file into place: unlike a rename, this fails if the name is taken.
fn write_new(folder: &Dir, name: &OsStr, content: &[u8]) -> Result<(), Fault> {
    let mut temporary = Temporary::create(folder, None)?;
    temporary.fill(content)?;
    match folder.hard_link(&temporary.name, folder, name) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Fault::Exists),
        // Not every file system has hard links.
        Err(_) => write_in_place(folder, name, content),
    }
}

fn write_in_place(folder: &Dir, name: &OsStr, content: &[u8]) -> Result<(), Fault> {
    let mut file = folder.open_with(name, &new_file())?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    if written.is_err() {
        // Ours, created a moment ago. Failing to remove it matters less than the first error.
        let _ = folder.remove_file(name);
    }
    Ok(written?)
}

/// Renames over the file. If a link has taken its name, the link is replaced and not followed.
fn write_over(
    folder: &Dir,
    name: &OsStr,
    permissions: Permissions,
    content: &[u8],
) -> Result<(), Fault> {
    let mut temporary = Temporary::create(folder, Some(permissions))?;
    temporary.fill(content)?;
    folder.rename(&temporary.name, folder, name)?;
    temporary.gone = true;
    Ok(())
}

fn new_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).follow(FollowSymlinks::No);
    options
}

/// A temporary file, removed on drop unless it was renamed into place.
struct Temporary<'a> {
    folder: &'a Dir,
    name: String,
    file: File,
    gone: bool,
}

impl<'a> Temporary<'a> {
    /// Creates it with the permissions of the file that it is to replace, if any.
    fn create(folder: &'a Dir, permissions: Option<Permissions>) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut options = new_file();
        #[cfg(unix)]
        if permissions.is_some() {
            use cap_std::fs::OpenOptionsExt;
            // Nobody else may read it before it has its final mode.
            options.mode(0o600);
        }
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".portal-{}-{count}.tmp", std::process::id());
            match folder.open_with(&name, &options) {
                Ok(file) => {
                    let temporary = Self { folder, name, file, gone: false };
                    if let Some(permissions) = permissions {
                        temporary.file.set_permissions(plain(&permissions))?;
                    }
                    return Ok(temporary);
                }
                // Left behind by an earlier process with the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn fill(&mut self, content: &[u8]) -> io::Result<()> {
        self.file.write_all(content)?;
        self.file.sync_all()
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.gone {
            // Nothing more can be done; its name tells what it is.
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

/// Without the setuid and setgid bits, which writing to a file clears as well.
#[cfg(unix)]
fn plain(permissions: &Permissions) -> Permissions {
    use cap_std::fs::PermissionsExt;
    Permissions::from_mode(permissions.mode() & 0o777)
}

#[cfg(not(unix))]
fn plain(permissions: &Permissions) -> Permissions {
    permissions.clone()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Only the last step of [`Workspace::replace`].
    pub(crate) fn write_over(folder: &Dir, name: &str, content: &[u8]) {
        let permissions = folder.dir_metadata().expect("a folder").permissions();
        super::write_over(folder, OsStr::new(name), permissions, content).expect("written");
    }
}
