//! Files and folders that govern the portal, and that no tool may touch: settings, keys, its data.
//!
//! They are recognised by file identity, not by name: hard and symbolic links lead to the same
//! file. One that does not exist yet is recognised by its folder and name.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::names::normal;

/// The guarded paths. Clones share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guarded(Arc<Vec<PathBuf>>);

impl Guarded {
    /// Takes absolute paths of files, and of folders with everything in them.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut all = Vec::new();
        for path in paths {
            // Both the link and its target are guarded.
            all.extend(path.canonicalize().ok().filter(|real| *real != path));
            all.push(path);
        }
        Self(Arc::new(all))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the paths lead to now, because files are created and replaced over time. Blocks.
    pub(crate) fn look(&self) -> Look<'_> {
        let seen = self.0.iter().map(|path| Seen {
            path,
            identity: Identity::of(path),
            folder: path.parent().and_then(Identity::of),
            name: path.file_name().map(|name| normal(&name.to_string_lossy())),
        });
        Look(seen.collect())
    }

    /// Whether a path leads to a guarded file or into a guarded folder. Blocks.
    pub fn covers(&self, path: &Path) -> bool {
        if self.is_empty() {
            return false;
        }
        let look = self.look();
        let is_name = || {
            let folder = path.parent().and_then(Identity::of);
            folder.zip(path.file_name()).is_some_and(|(folder, name)| look.is_name(&folder, name))
        };
        // An ancestor may be a symbolic link.
        let real = path.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
        let on_the_way = path.ancestors().chain(real.iter().flat_map(|real| real.ancestors()));
        let mut identities = on_the_way.filter_map(Identity::of);
        identities.any(|identity| look.is_file(&identity)) || is_name() || look.is_path(path)
    }
}

/// A snapshot of what the guarded paths lead to.
pub(crate) struct Look<'a>(Vec<Seen<'a>>);

struct Seen<'a> {
    path: &'a Path,
    identity: Option<Identity>,
    folder: Option<Identity>,
    name: Option<String>,
}

impl Look<'_> {
    /// Whether the identity is that of a guarded file or folder.
    pub(crate) fn is_file(&self, identity: &Identity) -> bool {
        self.0.iter().any(|seen| seen.identity.as_ref() == Some(identity))
    }

    /// Whether a guarded path has that name in that folder, whether or not it exists.
    pub(crate) fn is_name(&self, folder: &Identity, name: &OsStr) -> bool {
        let name = normal(&name.to_string_lossy());
        let is = |seen: &Seen<'_>| {
            seen.folder.as_ref() == Some(folder) && seen.name.as_ref() == Some(&name)
        };
        self.0.iter().any(is)
    }

    /// Whether the path, compared as text, is guarded or lies below a guarded one.
    pub(crate) fn is_path(&self, path: &Path) -> bool {
        let given = parts(path);
        self.0.iter().any(|seen| given.starts_with(&parts(seen.path)))
    }
}

fn parts(path: &Path) -> Vec<String> {
    let names = path.components().filter(|part| *part != Component::CurDir);
    names.map(|part| normal(&part.as_os_str().to_string_lossy())).collect()
}

/// The identity of a file, whatever its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity(#[cfg(unix)] (u64, u64), #[cfg(not(unix))] PathBuf);

#[cfg(unix)]
impl Identity {
    /// The device number and the inode number on that device.
    pub(crate) fn of_numbers(device: u64, number: u64) -> Self {
        Self((device, number))
    }

    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self((metadata.dev(), metadata.ino())))
    }
}

#[cfg(not(unix))]
impl Identity {
    /// The canonical path, or the normalised path if it does not exist.
    pub(crate) fn of_path(path: &Path) -> Self {
        Self::of(path).unwrap_or_else(|| Self(parts(path).into_iter().collect()))
    }

    fn of(path: &Path) -> Option<Self> {
        Some(Self(parts(&path.canonicalize().ok()?).into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarded_path_is_known_whatever_leads_to_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("data/inside")).expect("a folder");
        std::fs::write(at("key"), "secret").expect("a file");
        std::fs::write(at("data/inside/file"), "").expect("a file");
        let guarded = Guarded::new([at("key"), at("data"), at("later.toml"), at("no/such.toml")]);
        let mut covered = vec![
            "key",
            "KEY.",
            "data",
            "data/inside/file",
            "data/new",
            "later.toml",
            "no/such.toml",
        ];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("key"), at("link")).expect("a link");
            std::os::unix::fs::symlink(at("data/inside"), at("way")).expect("a link");
            std::fs::hard_link(at("key"), at("twin")).expect("a link");
            covered.extend(["link", "twin", "way/file", "way/new"]);
        }
        if cfg!(not(unix)) {
            covered.retain(|name| *name != "KEY.");
        }
        for name in covered {
            assert!(guarded.covers(&at(name)), "{name}");
        }
        for name in ["other", "later.tom", "dat", "no/other.toml", "key2"] {
            assert!(!guarded.covers(&at(name)), "{name}");
        }
        assert!(!Guarded::default().covers(&at("key")));
    }
}
