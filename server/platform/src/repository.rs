//! Finds the folder that the portal works in, and what is checked out in one.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// More than any file has that says what is checked out.
const MAX_BYTES: u64 = 4096;
/// How much of a commit's hash names it.
const SHORT_HASH: usize = 7;

/// The nearest folder at or above `start` that contains `.git`, or else `start` itself.
///
/// `.git` may be a file, as in linked work trees and submodules.
pub fn repo_root(start: &Path) -> PathBuf {
    start.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(start).to_path_buf()
}

/// The branch that is checked out in a folder or in the nearest one above it that is a work tree, or
/// the beginning of the commit's hash if it is no branch.
///
/// Reads what git wrote and does not run it: a repository can make git run programs. Blocks for two
/// small files. What they hold is not passed on unless it is a name of a branch or a hash, so a file
/// that leads elsewhere reveals nothing.
pub fn branch(folder: &Path) -> Option<String> {
    let (root, marker) = folder.ancestors().find_map(|folder| {
        let marker = folder.join(".git").symlink_metadata().ok()?;
        Some((folder, marker))
    })?;
    let git = root.join(".git");
    let git = if marker.is_file() {
        // A linked work tree, or a submodule.
        let text = read_small(&git).ok()?;
        root.join(text.strip_prefix("gitdir:")?.trim())
    } else {
        git
    };
    checked_out(read_small(&git.join("HEAD")).ok()?.trim_end())
}

/// What the text of a HEAD file names.
fn checked_out(head: &str) -> Option<String> {
    if let Some(name) = head.strip_prefix("ref: refs/heads/") {
        // Repositories with another storage of references keep them from old versions of git in this
        // way.
        let is_name = !name.is_empty() && name != ".invalid" && !name.contains(char::is_control);
        return is_name.then(|| name.to_owned());
    }
    let is_hash = [40, 64].contains(&head.len()) && head.bytes().all(|it| it.is_ascii_hexdigit());
    is_hash.then(|| head[..SHORT_HASH].to_owned())
}

/// The text of a small regular file.
fn read_small(path: &Path) -> io::Result<String> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Does not follow a link in place of the file, nor wait for whoever writes to a pipe.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;

    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    if !path.symlink_metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    OpenOptions::new().read(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_folder_with_git_wins() {
        let outer = tempfile::tempdir().expect("temporary folder");
        let inner = outer.path().join("nested");
        let deep = inner.join("src/bin");
        std::fs::create_dir_all(&deep).expect("folders");
        std::fs::create_dir(outer.path().join(".git")).expect("repository");
        assert_eq!(repo_root(&deep), outer.path());

        std::fs::write(inner.join(".git"), "gitdir: elsewhere").expect("work tree marker");
        assert_eq!(repo_root(&deep), inner);
        assert_eq!(repo_root(&inner), inner);
    }

    fn repository(head: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("temporary folder");
        std::fs::create_dir(folder.path().join(".git")).expect("repository");
        std::fs::write(folder.path().join(".git/HEAD"), head).expect("HEAD");
        folder
    }

    #[test]
    fn a_branch_is_named_from_anywhere_below_its_work_tree() {
        let folder = repository("ref: refs/heads/feature/side-bar\n");
        let deep = folder.path().join("src/bin");
        std::fs::create_dir_all(&deep).expect("folders");
        for path in [folder.path(), &deep] {
            assert_eq!(branch(path).as_deref(), Some("feature/side-bar"));
        }
    }

    #[test]
    fn a_detached_commit_is_named_by_the_beginning_of_its_hash() {
        let folder = repository("0123456789abcdef0123456789abcdef01234567\n");
        assert_eq!(branch(folder.path()).as_deref(), Some("0123456"));
    }

    #[test]
    fn a_linked_work_tree_has_a_branch_of_its_own() {
        let main = repository("ref: refs/heads/main\n");
        let own = main.path().join(".git/worktrees/side");
        std::fs::create_dir_all(&own).expect("folders");
        std::fs::write(own.join("HEAD"), "ref: refs/heads/side\n").expect("HEAD");
        let linked = tempfile::tempdir().expect("temporary folder");
        let marker = linked.path().join(".git");
        std::fs::write(&marker, format!("gitdir: {}\n", own.display())).expect("marker");
        assert_eq!(branch(linked.path()).as_deref(), Some("side"));
        // Relative to the work tree, as submodules have it.
        let inner = main.path().join("inner");
        std::fs::create_dir(&inner).expect("folder");
        std::fs::write(inner.join(".git"), "gitdir: ../.git/worktrees/side").expect("marker");
        assert_eq!(branch(&inner).as_deref(), Some("side"));
        assert_eq!(branch(main.path()).as_deref(), Some("main"));
    }

    #[test]
    fn what_is_no_head_reveals_nothing() {
        assert_eq!(branch(Path::new("/definitely/not/a/repository")), None);
        let long = format!("ref: refs/heads/{}", "a".repeat(5_000));
        for head in ["", "password: secret", "ref: refs/heads/", "ref: refs/heads/a\nsecret", &long]
        {
            assert_eq!(branch(repository(head).path()), None, "{head}");
        }
        let folder = tempfile::tempdir().expect("temporary folder");
        std::fs::write(folder.path().join(".git"), "gitdir: /definitely/not").expect("marker");
        assert_eq!(branch(folder.path()), None);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let other = repository("ref: refs/heads/other\n");
        let folder = repository("");
        let head = folder.path().join(".git/HEAD");
        std::fs::remove_file(&head).expect("HEAD");
        std::os::unix::fs::symlink(other.path().join(".git/HEAD"), &head).expect("link");
        assert_eq!(branch(folder.path()), None);
    }

    #[test]
    fn without_a_repository_the_folder_itself_is_used() {
        // The root of the file system has no parent that could hold a repository.
        let folder = Path::new("/definitely/not/a/repository");
        assert_eq!(repo_root(folder), folder);
    }
}
