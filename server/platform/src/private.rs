//! Files and folders that only their owner may read: whatever the portal keeps in its data folder.
//! What people ask models is nobody else's business.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// The mode of folders: all rights for the owner, none for anyone else.
#[cfg(unix)]
const FOLDER: u32 = 0o700;
#[cfg(unix)]
const FILE: u32 = 0o600;
/// In a folder with this bit, such as `/tmp`, everybody may create files, so it is not ours alone.
#[cfg(unix)]
const STICKY: u32 = 0o1000;

/// Creates a folder and its missing parents.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER);
    builder.create(folder)
}

/// Replaces a file atomically: a reader finds the old or the new bytes, even after a crash. Calls
/// for the same file must not overlap.
pub fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        make_folder(folder)?;
    }
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    let beside = Path::new(&beside);
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE);
    let mut new = options.open(beside)?;
    // A file left by a crash may have been readable by others.
    #[cfg(unix)]
    new.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(FILE))?;
    new.write_all(bytes)?;
    new.sync_all()?;
    fs::rename(beside, file)
}

/// Revokes the rights of others to a data folder and its contents, two levels deep. A missing
/// folder is fine: it is created when something is written.
///
/// Links are not followed, and what belongs to another user is left alone; so is a file in place of
/// the folder, which whoever writes there will complain about.
#[cfg(unix)]
pub fn tighten(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let Some(data) = found(fs::metadata(folder))? else { return Ok(()) };
    if !data.is_dir() {
        return Ok(());
    }
    let mode = data.permissions().mode();
    if folder.parent().is_none() || mode & STICKY != 0 {
        let message = "others use it, too: choose one of your own with --data-dir";
        return Err(io::Error::other(message));
    }
    let folder = folder.canonicalize()?;
    narrow(&folder, &data)?;
    tighten_entries(&folder, 1)
}

/// Does nothing: there are no file modes on this system.
#[cfg(not(unix))]
pub fn tighten(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn tighten_entries(folder: &Path, depth: usize) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // For a link, the metadata of the link itself.
        let Some(data) = found(entry.metadata())? else { continue };
        if data.is_dir() {
            narrow(&entry.path(), &data)?;
            if depth > 0 {
                tighten_entries(&entry.path(), depth - 1)?;
            }
        } else if data.is_file() {
            narrow(&entry.path(), &data)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn narrow(path: &Path, data: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let mode = data.permissions().mode() & 0o777;
    let allowed = if data.is_dir() { FOLDER } else { FILE };
    if mode & !allowed == 0 || data.uid() != rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    tracing::info!(path = %path.display(), mode = format_args!("{mode:o}"), "revoked the access of other users");
    match fs::set_permissions(path, fs::Permissions::from_mode(mode & allowed)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(unix)]
fn found(data: io::Result<fs::Metadata>) -> io::Result<Option<fs::Metadata>> {
    match data {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        data => data.map(Some),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o7777
    }

    #[test]
    fn what_is_written_is_the_owners_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("deep/er/file.json");
        write(&file, b"old").expect("written");
        write(&file, b"new").expect("written");
        assert_eq!(fs::read(&file).expect("the file"), b"new");
        assert_eq!((mode(&file), mode(&folder.path().join("deep"))), (FILE, FOLDER));
        let names: Vec<_> = fs::read_dir(folder.path().join("deep/er")).expect("folder").collect();
        assert_eq!(names.len(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_shared_folder_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let shared = fs::Permissions::from_mode(0o1777);
        fs::set_permissions(folder.path(), shared).expect("a mode");
        assert!(tighten(folder.path()).is_err());
        assert_eq!(mode(folder.path()), 0o1777);
        tighten(&folder.path().join("missing")).expect("nothing to do");
        let file = folder.path().join("file");
        fs::write(&file, "").expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
        tighten(&file).expect("nothing to do");
        assert_eq!(mode(&file), 0o644);
    }
}
