//! Finds extensions: direct subfolders with a file `extension.mjs`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use wire::ExtensionSource;

use super::content::hash_folder;

/// Relative to the root of a repository.
const PROJECT_FOLDER: &str = ".github/extensions";
/// The entry point that every extension has.
pub(super) const ENTRY: &str = "extension.mjs";
/// Limit of extensions in one folder; the rest is ignored.
const MOST: usize = 64;

/// An extension that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) source: ExtensionSource,
    /// The path of its `extension.mjs`.
    pub(super) path: PathBuf,
    /// Whether an extension of the project has the same name.
    pub(super) is_shadowed: bool,
}

impl Found {
    /// The key under which trust in it is stored.
    pub(super) fn key(&self) -> String {
        format!("{}/{}", self.source, self.name)
    }

    /// The hash of its current content. Blocks.
    pub(super) fn hash(&self) -> std::io::Result<String> {
        hash_folder(self.path.parent().unwrap_or(&self.path))
    }
}

/// The folder with the extensions of a source.
pub(super) fn folder_of(
    source: ExtensionSource,
    root: &Path,
    user_folder: Option<&Path>,
) -> Option<PathBuf> {
    match source {
        ExtensionSource::Project => Some(root.join(PROJECT_FOLDER)),
        ExtensionSource::User => user_folder.map(Path::to_owned),
    }
}

/// The extensions for a repository, by name. If two have the same name, the project's comes first
/// and shadows the other. Blocks.
pub(super) fn discover(root: &Path, user_folder: Option<&Path>) -> Vec<Found> {
    let mut all = Vec::new();
    let mut names = HashSet::new();
    for source in [ExtensionSource::Project, ExtensionSource::User] {
        let Some(folder) = folder_of(source, root, user_folder) else { continue };
        for (name, path) in scan(&folder) {
            let is_shadowed = !names.insert(name.clone());
            all.push(Found { name, source, path, is_shadowed });
        }
    }
    // A stable sort: the project's extensions stay in front.
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

fn scan(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let path = entry.path().join(ENTRY);
            path.is_file().then_some((name, path))
        })
        .collect();
    found.sort();
    if found.len() > MOST {
        tracing::warn!(folder = %folder.display(), "only the first {MOST} extensions are used");
        found.truncate(MOST);
    }
    found
}

#[cfg(test)]
mod tests {
    use wire::ExtensionSource::{Project, User};

    use super::*;

    fn extension(folder: &Path, name: &str) {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(ENTRY), "").expect("a file");
    }

    #[test]
    fn direct_subfolders_with_the_file_are_found_by_name() {
        let root = tempfile::tempdir().expect("a folder");
        let user = tempfile::tempdir().expect("a folder");
        let project = root.path().join(PROJECT_FOLDER);
        extension(&project, "b");
        extension(&project, "a");
        extension(&project, "deep/inside");
        std::fs::create_dir(project.join("empty")).expect("a folder");
        std::fs::write(project.join(ENTRY), "").expect("a file");
        extension(user.path(), "b");
        extension(user.path(), "c");
        let found = discover(root.path(), Some(user.path()));
        let found: Vec<_> =
            found.iter().map(|found| (&*found.name, found.source, found.is_shadowed)).collect();
        let expected =
            [("a", Project, false), ("b", Project, false), ("b", User, true), ("c", User, false)];
        assert_eq!(found, expected);
        assert_eq!(discover(&root.path().join("nowhere"), None), []);
    }
}
