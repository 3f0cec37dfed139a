//! Which extensions may be started in which folders. Somebody has to say so, and says it of what they
//! consist of then: one that has changed, or is new, has to be allowed again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use platform::private;
use serde::{Deserialize, Serialize};

/// What was decided, in memory and in a file.
pub(super) struct Trust {
    /// Where it is remembered; nowhere if there is none.
    file: Option<PathBuf>,
    everywhere: bool,
    allowed: Vec<PathBuf>,
    decided: Mutex<BTreeMap<String, Record>>,
}

/// What was decided about a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Record {
    /// Forbidden; or allowed at a time when contents were not looked at, which counts no more.
    Plain(bool),
    /// Allowed, with what each extension consisted of.
    Allowed(BTreeMap<String, String>),
}

/// How the extensions of a folder stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// None is started.
    Untrusted(&'static str),
    /// Those are, with these hashes.
    Trusted(BTreeMap<String, String>),
}

const NOT_TRUSTED: &str = "the folder is not trusted";
const OLD_RECORD: &str = "it was allowed before contents were remembered: allow it again";

/// The file's shape.
#[derive(Default, Serialize, Deserialize)]
struct Document {
    #[serde(default)]
    folders: BTreeMap<String, Record>,
}

impl Trust {
    /// Reads what was decided before. A file that can't be read has decided nothing.
    pub(super) fn new(file: Option<PathBuf>, everywhere: bool, allowed: Vec<PathBuf>) -> Self {
        let decided = file.as_deref().map(read).unwrap_or_default();
        let old = decided.iter().filter(|(_, record)| **record == Record::Plain(true));
        for (folder, _) in old {
            tracing::warn!(folder, "extensions are untrusted there: {OLD_RECORD}");
        }
        let allowed = allowed.into_iter().map(|folder| folder.canonicalize().unwrap_or(folder));
        Self { file, everywhere, allowed: allowed.collect(), decided: Mutex::new(decided) }
    }

    /// Whether some extensions may be started there. What people decide comes before settings.
    pub(super) fn is_trusted(&self, folder: &Path) -> bool {
        match self.record(folder) {
            Some(record) => matches!(record, Record::Allowed(_)),
            None => self.is_allowed(folder),
        }
    }

    /// Which may be started there. Where settings allow a folder, what is found in it first is
    /// allowed: `found` are the hashes of now. Blocks.
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

    /// Allows extensions with these hashes, for now and for later. Blocks.
    pub(super) fn allow(&self, folder: &Path, hashes: BTreeMap<String, String>) {
        self.write_down(folder, Record::Allowed(hashes));
    }

    /// Forbids all of them, for now and for later. Blocks.
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
        // With the lock held, so that the last decision is the one that stays.
        if let Some(file) = &self.file
            && let Err(error) = write(file, &decided)
        {
            tracing::warn!(file = %file.display(), %error, "trust can't be remembered");
        }
    }
}

fn read(file: &Path) -> BTreeMap<String, Record> {
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
