//! In which folders extensions may be started. Somebody has to say so once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// What was decided, in memory and in a file.
pub(super) struct Trust {
    /// Where it is remembered; nowhere if there is none.
    file: Option<PathBuf>,
    everywhere: bool,
    allowed: Vec<PathBuf>,
    decided: Mutex<BTreeMap<String, bool>>,
}

/// The file's shape.
#[derive(Default, Serialize, Deserialize)]
struct Document {
    #[serde(default)]
    folders: BTreeMap<String, bool>,
}

impl Trust {
    /// Reads what was decided before. A file that can't be read has decided nothing.
    pub(super) fn new(file: Option<PathBuf>, everywhere: bool, allowed: Vec<PathBuf>) -> Self {
        let decided = file.as_deref().map(read).unwrap_or_default();
        let allowed = allowed.into_iter().map(|folder| folder.canonicalize().unwrap_or(folder));
        Self { file, everywhere, allowed: allowed.collect(), decided: Mutex::new(decided) }
    }

    /// Whether extensions may be started there. What people decide comes before settings.
    pub(super) fn is_trusted(&self, folder: &Path) -> bool {
        let decided = folder.to_str().and_then(|name| self.decided.lock().get(name).copied());
        decided.unwrap_or_else(|| self.everywhere || self.allowed.iter().any(|one| one == folder))
    }

    /// Decides for now and for later. Blocks.
    pub(super) fn decide(&self, folder: &Path, is_trusted: bool) {
        let Some(name) = folder.to_str() else {
            tracing::warn!(folder = %folder.display(), "the name of this folder is not text");
            return;
        };
        let mut decided = self.decided.lock();
        decided.insert(name.to_owned(), is_trusted);
        // With the lock held, so that the last decision is the one that stays.
        if let Some(file) = &self.file
            && let Err(error) = write(file, &decided)
        {
            tracing::warn!(file = %file.display(), %error, "trust can't be remembered");
        }
    }
}

fn read(file: &Path) -> BTreeMap<String, bool> {
    let text = match std::fs::read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return BTreeMap::new(),
        Err(error) => {
            tracing::warn!(file = %file.display(), %error, "trust can't be read");
            return BTreeMap::new();
        }
    };
    let document: Document = serde_json::from_slice(&text).unwrap_or_else(|error| {
        tracing::warn!(file = %file.display(), %error, "trust can't be read");
        Document::default()
    });
    document.folders
}

fn write(file: &Path, decided: &BTreeMap<String, bool>) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let text = serde_json::to_vec_pretty(&Document { folders: decided.clone() })?;
    // Beside its place and renamed over it: whoever reads finds the old or the new text.
    let beside = file.with_extension("new");
    std::fs::write(&beside, text)?;
    std::fs::rename(beside, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_remembered_and_come_before_settings() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("state/extensions.json");
        let (one, other) = (Path::new("/one"), Path::new("/other"));
        let open = || Trust::new(Some(file.clone()), false, vec![other.to_owned()]);
        let trust = open();
        assert!(!trust.is_trusted(one) && trust.is_trusted(other));
        trust.decide(one, true);
        trust.decide(other, false);
        assert!(trust.is_trusted(one) && !trust.is_trusted(other));
        let trust = open();
        assert!(trust.is_trusted(one) && !trust.is_trusted(other), "another start");
        assert!(!trust.is_trusted(Path::new("/one/inside")), "exactly that folder");
        std::fs::write(&file, "{").expect("a file");
        assert!(!open().is_trusted(one), "nothing is decided by a broken file");
    }

    #[test]
    fn without_a_file_it_is_kept_in_memory() {
        let trust = Trust::new(None, true, Vec::new());
        assert!(trust.is_trusted(Path::new("/anywhere")));
        trust.decide(Path::new("/anywhere"), false);
        assert!(!trust.is_trusted(Path::new("/anywhere")));
    }
}
