//! Which extensions may be started in which folders. People allow extensions with their current
//! contents: one that has changed, or is new, has to be allowed again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use platform::private;
use serde::{Deserialize, Serialize};

/// The decisions, in memory and in a file.
pub(super) struct Trust {
    /// `None` if decisions are not stored.
    file: Option<PathBuf>,
    everywhere: bool,
    allowed: Vec<PathBuf>,
    decided: Mutex<BTreeMap<String, Record>>,
}

/// The decision about a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Record {
    /// Forbidden; or allowed before contents were recorded, which no longer counts.
    Plain(bool),
    /// Allowed, with the hash of each extension.
    Allowed(BTreeMap<String, String>),
}

/// Which extensions of a folder may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// None, for this reason.
    Untrusted(&'static str),
    /// Those with these hashes.
    Trusted(BTreeMap<String, String>),
}

const NOT_TRUSTED: &str = "the folder is not trusted";
const OLD_RECORD: &str = "it was allowed before contents were remembered: allow it again";

/// The format of the file.
#[derive(Default, Serialize, Deserialize)]
struct Document {
    #[serde(default)]
    folders: BTreeMap<String, Record>,
}

impl Trust {
    /// Reads earlier decisions. A file that cannot be read counts as empty.
    pub(super) fn new(file: Option<PathBuf>, everywhere: bool, allowed: Vec<PathBuf>) -> Self {
        let decided = file.as_deref().map(read).unwrap_or_default();
        let old = decided.iter().filter(|(_, record)| **record == Record::Plain(true));
        for (folder, _) in old {
            tracing::warn!(folder, "extensions are untrusted there: {OLD_RECORD}");
        }
        let allowed = allowed.into_iter().map(|folder| folder.canonicalize().unwrap_or(folder));
        Self { file, everywhere, allowed: allowed.collect(), decided: Mutex::new(decided) }
    }

    /// Whether any extension may be started in the folder. Decisions of people override settings.
    pub(super) fn is_trusted(&self, folder: &Path) -> bool {
        match self.record(folder) {
            Some(record) => matches!(record, Record::Allowed(_)),
            None => self.is_allowed(folder),
        }
    }

    /// Which extensions may be started in the folder. If settings allow it, the first contents that
    /// are found become the allowed ones: `found` returns their hashes. Blocks.
    pub(super) fn standing(
        &self,
        folder: &Path,
        found: impl FnOnce() -> BTreeMap<String, String>,
    ) -> Standing {
        match self.record(folder) {
            Some(Record::Allowed(hashes)) => Standing::Trusted(hashes),
            Some(Record::Plain(true)) => Standing::Untrusted(OLD_RECORD),
            None if self.is_allowed(folder) => {
                let found = found();
                self.write_down(folder, Record::Allowed(found.clone()));
                Standing::Trusted(found)
            }
            Some(Record::Plain(false)) | None => Standing::Untrusted(NOT_TRUSTED),
        }
    }

    /// Allows extensions with these hashes, now and later. Blocks.
    pub(super) fn allow(&self, folder: &Path, hashes: BTreeMap<String, String>) {
        self.write_down(folder, Record::Allowed(hashes));
    }

    /// Forbids all extensions, now and later. Blocks.
    pub(super) fn forbid(&self, folder: &Path) {
        self.write_down(folder, Record::Plain(false));
    }

    fn is_allowed(&self, folder: &Path) -> bool {
        self.everywhere || self.allowed.iter().any(|one| one == folder)
    }

    fn record(&self, folder: &Path) -> Option<Record> {
        self.decided.lock().get(folder.to_str()?).cloned()
    }

    fn write_down(&self, folder: &Path, record: Record) {
        let Some(name) = folder.to_str() else {
            tracing::warn!(folder = %folder.display(), "the name of this folder is not text");
            return;
        };
        let mut decided = self.decided.lock();
        decided.insert(name.to_owned(), record);
        // Written under the lock, so that the last decision is the one that stays.
        if let Some(file) = &self.file
            && let Err(error) = write(file, &decided)
        {
            tracing::warn!(file = %file.display(), %error, "cannot store the trusted folders");
        }
    }
}

fn read(file: &Path) -> BTreeMap<String, Record> {
    let text = match std::fs::read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return BTreeMap::new(),
        Err(error) => {
            tracing::warn!(file = %file.display(), %error, "cannot read the trusted folders");
            return BTreeMap::new();
        }
    };
    let document: Document = serde_json::from_slice(&text).unwrap_or_else(|error| {
        tracing::warn!(file = %file.display(), %error, "cannot read the trusted folders");
        Document::default()
    });
    document.folders
}

fn write(file: &Path, decided: &BTreeMap<String, Record>) -> std::io::Result<()> {
    let text = serde_json::to_vec_pretty(&Document { folders: decided.clone() })?;
    private::write(file, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(hash: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("project/a".to_owned(), hash.to_owned())])
    }

    #[test]
    fn decisions_are_remembered_and_come_before_settings() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("state/extensions.json");
        let (one, other) = (Path::new("/one"), Path::new("/other"));
        let open = || Trust::new(Some(file.clone()), false, vec![other.to_owned()]);
        let trust = open();
        assert!(!trust.is_trusted(one) && trust.is_trusted(other));
        trust.allow(one, hashes("1"));
        trust.forbid(other);
        assert!(trust.is_trusted(one) && !trust.is_trusted(other));
        let trust = open();
        assert!(trust.is_trusted(one) && !trust.is_trusted(other), "another start");
        assert_eq!(trust.standing(one, || hashes("2")), Standing::Trusted(hashes("1")));
        assert!(!trust.is_trusted(Path::new("/one/inside")), "exactly that folder");
        std::fs::write(&file, "{").expect("a file");
        assert!(!open().is_trusted(one), "nothing is decided by a broken file");
    }

    #[test]
    fn what_settings_allow_is_what_is_found_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("extensions.json");
        let one = Path::new("/one");
        let open = || Trust::new(Some(file.clone()), true, Vec::new());
        let trust = open();
        assert_eq!(trust.standing(one, || hashes("1")), Standing::Trusted(hashes("1")));
        assert_eq!(trust.standing(one, || hashes("2")), Standing::Trusted(hashes("1")));
        assert_eq!(open().standing(one, || hashes("2")), Standing::Trusted(hashes("1")));
    }

    #[test]
    fn a_record_without_hashes_counts_no_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("extensions.json");
        std::fs::write(&file, r#"{"folders":{"/one":true,"/two":false}}"#).expect("a file");
        let trust = Trust::new(Some(file), true, Vec::new());
        assert!(!trust.is_trusted(Path::new("/one")) && !trust.is_trusted(Path::new("/two")));
        let standing = trust.standing(Path::new("/one"), BTreeMap::new);
        assert_eq!(standing, Standing::Untrusted(OLD_RECORD));
    }

    #[test]
    fn without_a_file_it_is_kept_in_memory() {
        let trust = Trust::new(None, true, Vec::new());
        assert!(trust.is_trusted(Path::new("/anywhere")));
        trust.forbid(Path::new("/anywhere"));
        assert!(!trust.is_trusted(Path::new("/anywhere")));
    }
}
