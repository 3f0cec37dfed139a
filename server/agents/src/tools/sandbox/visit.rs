//! All files of a workspace, except those that `.gitignore` excludes.
//!
//! Each folder is opened from its parent's handle, as in a walk; links to folders are not followed.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tokio_util::sync::CancellationToken;

use super::{Fault, Inner, OpenFile, Workspace, text_of};
use crate::names;

/// Every open folder on the way down takes a file handle.
const MAX_DEPTH: usize = 64;
/// How many names are visited before giving up.
const MAX_ENTRIES: usize = 200_000;
const MAX_GITIGNORE: u64 = 256 * 1024;

/// A file that was found.
pub(in crate::tools) struct Found<'a> {
    /// Relative to the root, with `/`.
    pub(in crate::tools) path: String,
    inner: &'a Inner,
    folder: &'a Dir,
    name: &'a OsStr,
    real: PathBuf,
    /// `None` for a link.
    metadata: Option<Metadata>,
}

impl Found<'_> {
    /// Whether it is a link to a file, which is also found under its own name.
    pub(in crate::tools) fn is_link(&self) -> bool {
        self.metadata.is_none()
    }

    /// Opens it for reading.
    pub(in crate::tools) fn open(&self) -> Result<OpenFile, Fault> {
        match &self.metadata {
            Some(metadata) => {
                self.inner.open_entry(self.folder, self.name, metadata, self.real.clone())
            }
            None => self.inner.open_file(&self.path),
        }
    }
}

/// What a visit had to leave out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::tools) struct Visited {
    /// Files whose names are not UTF-8.
    pub(in crate::tools) unnamed: usize,
    /// Whether the limit of names or of depth was reached.
    pub(in crate::tools) incomplete: bool,
}

impl Workspace {
    /// Calls `each` for every file by name, the files of a folder before its subfolders. Ends early
    /// if `each` breaks or `cancel` is cancelled.
    pub(in crate::tools) fn visit(
        &self,
        cancel: &CancellationToken,
        each: &mut dyn FnMut(&Found<'_>) -> ControlFlow<()>,
    ) -> Result<Visited, Fault> {
        self.visit_some(MAX_ENTRIES, cancel, each)
    }

    /// The same, but gives up after so many names.
    pub(in crate::tools) fn visit_some(
        &self,
        max_entries: usize,
        cancel: &CancellationToken,
        each: &mut dyn FnMut(&Found<'_>) -> ControlFlow<()>,
    ) -> Result<Visited, Fault> {
        let mut visit = Visit {
            max_entries,
            inner: &self.0,
            cancel,
            each,
            ignored: Vec::new(),
            entries: 0,
            visited: Visited::default(),
        };
        if self.0.is_guarded {
            return Err(Fault::Guarded);
        }
        // Cancellation is not an error: the caller asked for it.
        let _ = visit.folder(&self.0.folder.try_clone()?, Path::new(""), 0);
        Ok(visit.visited)
    }
}

struct Visit<'a> {
    inner: &'a Inner,
    cancel: &'a CancellationToken,
    each: &'a mut dyn FnMut(&Found<'_>) -> ControlFlow<()>,
    /// The ignore rules of the folders on the way, outermost first.
    ignored: Vec<Gitignore>,
    max_entries: usize,
    entries: usize,
    visited: Visited,
}

impl Visit<'_> {
    /// Visits a folder. One that cannot be read is skipped.
    fn folder(&mut self, folder: &Dir, real: &Path, depth: usize) -> ControlFlow<()> {
        let Ok(names) = self.names(folder) else { return ControlFlow::Continue(()) };
        self.ignored.push(self.rules(folder, real));
        let flow = self.entries(folder, real, names, depth);
        self.ignored.pop();
        flow
    }

    fn names(&mut self, folder: &Dir) -> Result<Vec<OsString>, Fault> {
        let mut names = Vec::new();
        for entry in folder.entries()? {
            if self.entries >= self.max_entries {
                self.visited.incomplete = true;
                break;
            }
            self.entries += 1;
            if self.cancel.is_cancelled() {
                break;
            }
            names.push(entry?.file_name());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn entries(
        &mut self,
        folder: &Dir,
        real: &Path,
        names: Vec<OsString>,
        depth: usize,
    ) -> ControlFlow<()> {
        let mut folders = Vec::new();
        for name in names {
            if self.cancel.is_cancelled() {
                return ControlFlow::Break(());
            }
            let Ok(metadata) = folder.symlink_metadata(&name) else { continue };
            let path = real.join(&name);
            if names::is_git(&name) || self.is_ignored(&path, metadata.is_dir()) {
                continue;
            }
            if metadata.is_dir() {
                folders.push((name, path));
            } else if self.inner.is_allowed(&path) {
                self.file(folder, &name, path, metadata)?;
            }
        }
        for (name, path) in folders {
            if !self.inner.leads_to_allowed(&path) {
                continue;
            }
            if depth >= MAX_DEPTH {
                self.visited.incomplete = true;
                continue;
            }
            self.inner.about_to_open(&name);
            // Removed, or replaced by a link: skip it.
            let Ok(inside) = folder.open_dir_nofollow(&name) else { continue };
            if self.inner.check_folder(&inside, &path).is_err() {
                continue;
            }
            self.folder(&inside, &path, depth + 1)?;
        }
        ControlFlow::Continue(())
    }

    fn file(
        &mut self,
        folder: &Dir,
        name: &OsStr,
        real: PathBuf,
        metadata: Metadata,
    ) -> ControlFlow<()> {
        if !metadata.is_file() && !metadata.is_symlink() {
            return ControlFlow::Continue(());
        }
        let Some(path) = names::path_text(&real) else {
            self.visited.unnamed += 1;
            return ControlFlow::Continue(());
        };
        // A link is listed if it leads to a readable file.
        if metadata.is_symlink() && self.inner.open_file(&path).is_err() {
            return ControlFlow::Continue(());
        }
        let metadata = metadata.is_file().then_some(metadata);
        (self.each)(&Found { path, inner: self.inner, folder, name, real, metadata })
    }

    /// The rules in a folder's `.gitignore`; invalid lines are ignored, as git does.
    fn rules(&self, folder: &Dir, real: &Path) -> Gitignore {
        let mut rules = GitignoreBuilder::new(Path::new("/").join(real));
        let name = OsStr::new(".gitignore");
        let content = || {
            let metadata = folder.symlink_metadata(name)?;
            let mut file = self.inner.open_entry(folder, name, &metadata, real.join(name))?;
            file.read_whole(MAX_GITIGNORE)
        };
        let text = content().ok().and_then(text_of).unwrap_or_default();
        for line in text.trim_start_matches('\u{feff}').lines() {
            let _ = rules.add_line(None, line);
        }
        rules.build().unwrap_or_else(|_| Gitignore::empty())
    }

    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        let path = Path::new("/").join(path);
        for rules in self.ignored.iter().rev() {
            match rules.matched(&path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}
