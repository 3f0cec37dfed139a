//! The folder that tools work in. Every file access of a tool goes through [`Workspace`].
//!
//! A path is walked one name at a time. Each folder is opened from the handle of its parent,
//! without following links; a link is read and its target walked in the same way. So what was
//! checked is what is open, whatever happens to the names in the meantime: the system never
//! resolves a path a second time.

mod error;
mod visit;
mod write;

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions, Permissions};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::guarded::{Guarded, Identity};
use crate::names;

use super::roots::{AllowedRoots, ResolvedRoots, RootsLimit};

pub use error::{Fault, SandboxError};
pub(super) use visit::{Found, Visited};

/// The limit that Linux has.
const MAX_LINKS: usize = 40;

/// A folder that tools may use, and nothing outside it. Clones share the open folder.
#[derive(Clone)]
pub struct Workspace(Arc<Inner>);

struct Inner {
    root: PathBuf,
    folder: Dir,
    roots: RootsLimit,
    /// The roots allowed when they were last checked, with their resolved paths.
    resolved: Mutex<ResolvedRoots>,
    guarded: Guarded,
    /// Whether the whole folder belongs to the portal's own data.
    is_guarded: bool,
    /// Held from the last check of a file until it is replaced.
    changing: Mutex<()>,
    #[cfg(test)]
    before_open: Mutex<Option<BeforeOpen>>,
}

/// Called with a name that was checked and is about to be opened.
#[cfg(test)]
type BeforeOpen = Box<dyn Fn(&OsStr) + Send>;

/// Hash of a file's content when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContentHash([u8; 32]);

impl ContentHash {
    pub(super) fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }
}

/// An open regular file.
pub(super) struct OpenFile {
    /// Its path with links resolved, relative to the root.
    pub(super) real: PathBuf,
    /// In bytes, when it was opened.
    pub(super) size: u64,
    file: File,
    permissions: Permissions,
}

/// The whole text of a file.
pub(super) struct TextFile {
    /// Its path with links resolved, relative to the root.
    pub(super) real: PathBuf,
    pub(super) text: String,
    pub(super) hash: ContentHash,
}

/// Where a path leads.
struct Walked {
    real: PathBuf,
    end: End,
}

enum End {
    Folder(Dir),
    /// Not a folder: a file, or a link that was not followed.
    Entry(Dir, OsString, Metadata),
    /// The folder exists, the name in it does not.
    Absent(Dir, OsString),
    /// Even the folder does not exist.
    Nowhere,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    Follow,
    /// A link at the end of the path is not followed.
    KeepLast,
}

/// What to do about missing folders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Fail,
    Suppose,
    Create,
}

impl Workspace {
    /// Opens a folder. Tools may use what `roots` allow at that moment: narrowing them later takes
    /// effect at once.
    pub fn open(root: &Path, roots: &RootsLimit) -> Result<Self, SandboxError> {
        let shown = root.display().to_string();
        let fault = |error: io::Error| Fault::from(error).at(&shown);
        let root = root.canonicalize().map_err(fault)?;
        let folder = Dir::open_ambient_dir(&root, ambient_authority()).map_err(fault)?;
        let inner = Inner {
            root,
            folder,
            roots: roots.clone(),
            resolved: Mutex::default(),
            guarded: Guarded::default(),
            is_guarded: false,
            changing: Mutex::new(()),
            #[cfg(test)]
            before_open: Mutex::new(None),
        };
        let roots = roots.get();
        let mut real = HashMap::new();
        if let AllowedRoots::Only(names) = &*roots {
            for name in names {
                let found = inner.find_root(name).map_err(|fault| fault.at(name))?;
                real.insert(name.clone(), found);
            }
        }
        *inner.resolved.lock() = ResolvedRoots { roots, real: Arc::new(real) };
        Ok(Self(Arc::new(inner)))
    }

    /// The same folder, but with guarded paths off limits. Must be called before the first use.
    #[must_use]
    pub fn guarded(self, guarded: &Guarded) -> Self {
        let Ok(mut inner) = Arc::try_unwrap(self.0) else {
            unreachable!("nobody uses it yet");
        };
        inner.is_guarded = guarded.covers(&inner.root);
        inner.guarded = guarded.clone();
        Self(Arc::new(inner))
    }

    /// The folder's path with links resolved.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Opens a regular file for reading. Never blocks, as opening a FIFO would.
    pub(super) fn open_file(&self, path: &str) -> Result<OpenFile, SandboxError> {
        self.0.open_file(path).map_err(|fault| fault.at(path))
    }

    /// Opens a folder, for a command to run in.
    pub(super) fn open_folder(&self, path: &str) -> Result<(Dir, PathBuf), SandboxError> {
        let open = || {
            let walked = self.0.locate(path, Links::Follow, Missing::Fail)?;
            match walked.end {
                End::Folder(folder) => Ok((folder, walked.real)),
                End::Entry(..) => Err(Fault::NotAFolder),
                End::Absent(..) | End::Nowhere => Err(Fault::Missing),
            }
        };
        open().map_err(|fault| fault.at(path))
    }

    /// Reads a file as text, if it is text and at most `limit` bytes long.
    pub(super) fn read_text(&self, path: &str, limit: u64) -> Result<TextFile, SandboxError> {
        let mut file = self.open_file(path)?;
        file.read_text(limit).map_err(|fault| fault.at(path))
    }

    #[cfg(test)]
    pub(super) fn before_open(&self, hook: impl Fn(&OsStr) + Send + 'static) {
        *self.0.before_open.lock() = Some(Box::new(hook));
    }
}

impl Inner {
    fn open_file(&self, path: &str) -> Result<OpenFile, Fault> {
        let walked = self.locate(path, Links::Follow, Missing::Fail)?;
        match walked.end {
            End::Entry(folder, name, metadata) => {
                self.open_entry(&folder, &name, &metadata, walked.real)
            }
            End::Folder(_) => Err(Fault::NotAFile),
            End::Absent(..) | End::Nowhere => Err(Fault::Missing),
        }
    }

    /// Opens the entry behind a name, if it is a regular file.
    fn open_entry(
        &self,
        folder: &Dir,
        name: &OsStr,
        metadata: &Metadata,
        real: PathBuf,
    ) -> Result<OpenFile, Fault> {
        // Opening some devices has side effects, so check first.
        if !metadata.is_file() {
            return Err(Fault::NotAFile);
        }
        self.about_to_open(name);
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let file = folder.open_with(name, &options)?;
        // The name may belong to something else by now.
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(Fault::NotAFile);
        }
        // Checked by identity, because a file may have several names.
        if self.guarded.look().is_file(&self.identity(&metadata, &real)) {
            return Err(Fault::Guarded);
        }
        Ok(OpenFile { real, size: metadata.len(), file, permissions: metadata.permissions() })
    }

    /// Walks a path given by a model to a place that is allowed.
    fn locate(&self, path: &str, links: Links, missing: Missing) -> Result<Walked, Fault> {
        if path.is_empty() || path.contains('\0') {
            return Err(Fault::NotAPath);
        }
        if self.is_guarded {
            return Err(Fault::Guarded);
        }
        let walked = self.walk(Path::new(path), links, missing)?;
        self.check_guarded(&walked)?;
        if self.is_allowed(&walked.real) { Ok(walked) } else { Err(Fault::NotAllowed) }
    }

    fn walk(&self, path: &Path, links: Links, missing: Missing) -> Result<Walked, Fault> {
        let mut ahead = VecDeque::new();
        self.prepend(&mut ahead, path)?;
        let mut trail: Vec<(OsString, Dir)> = Vec::new();
        let mut followed = 0;
        while let Some(step) = ahead.pop_front() {
            let Step::Down(name) = step else {
                trail.pop().ok_or(Fault::Outside)?;
                continue;
            };
            if names::is_git(&name) {
                return Err(Fault::Git);
            }
            let here = trail.last().map_or(&self.folder, |(_, folder)| folder);
            let last = ahead.is_empty();
            let metadata = match here.symlink_metadata(&name) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if last {
                        let real = path_to(&trail).join(&name);
                        return Ok(Walked { real, end: End::Absent(here.try_clone()?, name) });
                    }
                    match missing {
                        Missing::Fail => return Err(Fault::Missing),
                        Missing::Suppose => return suppose(path_to(&trail).join(&name), ahead),
                        Missing::Create => {
                            self.check_name(here, &path_to(&trail), &name)?;
                            self.create_folder(here, &path_to(&trail), &name)?;
                        }
                    }
                    ahead.push_front(Step::Down(name));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if metadata.is_symlink() && !(last && links == Links::KeepLast) {
                followed += 1;
                if followed > MAX_LINKS {
                    return Err(Fault::TooManyLinks);
                }
                let target = here.read_link_contents(&name)?;
                if target.is_absolute() {
                    trail.clear();
                }
                self.prepend(&mut ahead, &target)?;
            } else if metadata.is_dir() {
                self.about_to_open(&name);
                let folder = here.open_dir_nofollow(&name)?;
                let real = path_to(&trail).join(&name);
                self.check_folder(&folder, &real)?;
                trail.push((name, folder));
            } else if last {
                let real = path_to(&trail).join(&name);
                return Ok(Walked { real, end: End::Entry(here.try_clone()?, name, metadata) });
            } else {
                return Err(Fault::NotAFolder);
            }
        }
        let real = path_to(&trail);
        let folder = match trail.pop() {
            Some((_, folder)) => folder,
            None => self.folder.try_clone()?,
        };
        Ok(Walked { real, end: End::Folder(folder) })
    }

    /// Prepends the steps of a path to those still to be walked. The text of an absolute path has
    /// to begin with the root; the walk finds out where it really leads.
    fn prepend(&self, ahead: &mut VecDeque<Step>, path: &Path) -> Result<(), Fault> {
        let inside = match path.strip_prefix(&self.root) {
            Ok(inside) if path.is_absolute() => inside,
            _ => path,
        };
        let mut steps = Vec::new();
        for part in inside.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => steps.push(Step::Up),
                Component::Normal(name) => steps.push(Step::Down(name.to_owned())),
                Component::RootDir | Component::Prefix(_) => return Err(Fault::Outside),
            }
        }
        for step in steps.into_iter().rev() {
            ahead.push_front(step);
        }
        Ok(())
    }

    /// Refuses what governs the portal, by its identity or by where it would be created.
    fn check_guarded(&self, walked: &Walked) -> Result<(), Fault> {
        let is_guarded = match &walked.end {
            // Checked when it was opened.
            End::Folder(_) => false,
            End::Entry(folder, name, metadata) => {
                self.check_name(folder, walked.real.parent().unwrap_or(Path::new("")), name)?;
                self.guarded.look().is_file(&self.identity(metadata, &walked.real))
            }
            End::Absent(folder, name) => {
                self.check_name(folder, walked.real.parent().unwrap_or(Path::new("")), name)?;
                false
            }
            End::Nowhere => self.guarded.look().is_path(&self.root.join(&walked.real)),
        };
        if is_guarded { Err(Fault::Guarded) } else { Ok(()) }
    }

    fn check_folder(&self, folder: &Dir, real: &Path) -> Result<(), Fault> {
        if self.guarded.is_empty() {
            return Ok(());
        }
        let identity = self.identity(&folder.dir_metadata()?, real);
        if self.guarded.look().is_file(&identity) { Err(Fault::Guarded) } else { Ok(()) }
    }

    /// Refuses a guarded name in a folder, whose resolved path is `real`.
    fn check_name(&self, folder: &Dir, real: &Path, name: &OsStr) -> Result<(), Fault> {
        if self.guarded.is_empty() {
            return Ok(());
        }
        let identity = self.identity(&folder.dir_metadata()?, real);
        if self.guarded.look().is_name(&identity, name) { Err(Fault::Guarded) } else { Ok(()) }
    }

    #[cfg(unix)]
    #[expect(clippy::unused_self, reason = "elsewhere, the path tells what it is")]
    fn identity(&self, metadata: &Metadata, _real: &Path) -> Identity {
        use cap_std::fs::MetadataExt;
        Identity::of_numbers(metadata.dev(), metadata.ino())
    }

    #[cfg(not(unix))]
    fn identity(&self, _metadata: &Metadata, real: &Path) -> Identity {
        Identity::of_path(&self.root.join(real))
    }

    fn is_allowed(&self, real: &Path) -> bool {
        self.allowed().any(|root| real.starts_with(root))
    }

    /// Whether something below the folder may be allowed.
    fn leads_to_allowed(&self, real: &Path) -> bool {
        self.allowed().any(|root| real.starts_with(root) || root.starts_with(real))
    }

    /// The roots that are allowed now. One that was allowed before is where it was then; one that
    /// leads nowhere in this folder is left out.
    fn allowed(&self) -> ResolvedRoots {
        let mut resolved = self.resolved.lock();
        let roots = self.roots.get();
        if !Arc::ptr_eq(&roots, &resolved.roots) {
            let names = match &*roots {
                AllowedRoots::Everything => &[][..],
                AllowedRoots::Only(names) => names,
            };
            let find = |name: &String| {
                let known = resolved.real.get(name).cloned();
                Some((name.clone(), known.or_else(|| self.find_root(name).ok())?))
            };
            let real = names.iter().filter_map(find).collect();
            *resolved = ResolvedRoots { roots, real: Arc::new(real) };
        }
        resolved.clone()
    }

    /// The resolved path of a root, whether or not it exists.
    fn find_root(&self, name: &str) -> Result<PathBuf, Fault> {
        let walked = self.walk(Path::new(name), Links::Follow, Missing::Suppose);
        walked.map(|walked| walked.real)
    }

    #[cfg(test)]
    fn about_to_open(&self, name: &OsStr) {
        if let Some(hook) = &*self.before_open.lock() {
            hook(name);
        }
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "tests do something here")]
    fn about_to_open(&self, _name: &OsStr) {}
}

enum Step {
    Down(OsString),
    Up,
}

fn path_to(trail: &[(OsString, Dir)]) -> PathBuf {
    trail.iter().map(|(name, _)| name).collect()
}

/// Where a path would lead if its missing folders existed.
fn suppose(mut real: PathBuf, ahead: VecDeque<Step>) -> Result<Walked, Fault> {
    for step in ahead {
        match step {
            Step::Down(name) if names::is_git(&name) => return Err(Fault::Git),
            Step::Down(name) => real.push(name),
            Step::Up => return Err(Fault::Missing),
        }
    }
    Ok(Walked { real, end: End::Nowhere })
}

impl OpenFile {
    /// Reads at most `limit` bytes from the beginning.
    pub(super) fn read_head(&mut self, limit: u64) -> Result<Vec<u8>, Fault> {
        let mut content = Vec::new();
        self.file.by_ref().take(limit).read_to_end(&mut content)?;
        Ok(content)
    }

    /// Reads the whole file. It may grow while it is read, so its initial size proves nothing.
    pub(super) fn read_whole(&mut self, limit: u64) -> Result<Vec<u8>, Fault> {
        let too_large = |size| Fault::TooLarge { size, limit };
        if self.size > limit {
            return Err(too_large(self.size));
        }
        let content = self.read_head(limit + 1)?;
        let size = content.len() as u64;
        if size > limit { Err(too_large(size)) } else { Ok(content) }
    }

    /// Reads the whole file as text.
    pub(super) fn read_text(&mut self, limit: u64) -> Result<TextFile, Fault> {
        let content = self.read_whole(limit)?;
        let hash = ContentHash::of(&content);
        let text = text_of(content).ok_or(Fault::Binary)?;
        Ok(TextFile { real: self.real.clone(), text, hash })
    }
}

/// The content as text; `None` if it is binary.
pub(super) fn text_of(content: Vec<u8>) -> Option<String> {
    if content.contains(&0) { None } else { String::from_utf8(content).ok() }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Workspace").field(&self.0.root).finish()
    }
}

#[cfg(test)]
mod tests;
