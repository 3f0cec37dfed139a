//! Finds the folder that the portal works in.

use std::path::{Path, PathBuf};

/// The nearest folder at or above `start` that contains `.git`, or else `start` itself.
///
/// `.git` may be a file, as in linked work trees and submodules.
pub fn repo_root(start: &Path) -> PathBuf {
    start.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(start).to_path_buf()
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

    #[test]
    fn without_a_repository_the_folder_itself_is_used() {
        // The root of the file system has no parent that could hold a repository.
        let folder = Path::new("/definitely/not/a/repository");
        assert_eq!(repo_root(folder), folder);
    }
}
