//! Histories on disk: one JSON file per project, replaced as a whole.

use std::fs;
use std::io;
use std::path::PathBuf;

use platform::private;
use serde::{Deserialize, Serialize};
use wire::bridge::HistoryMessage;

/// A project's history as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Document {
    /// The folder, for people who read the file.
    pub(super) path: String,
    /// When the project was first seen, in ISO 8601.
    pub(super) created: String,
    /// The history's messages, oldest first.
    pub(super) messages: Vec<HistoryMessage>,
}

/// The folder that has the histories.
#[derive(Clone, Debug)]
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The stored history of a project. A file that can't be read is renamed, so that nothing is
    /// lost.
    pub(super) fn read(&self, session_id: &str) -> Option<Document> {
        let file = self.file(session_id);
        let problem = match fs::read(&file) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(document) => return Some(document),
                Err(error) => error.to_string(),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => error.to_string(),
        };
        let aside = file.with_extension("json.damaged");
        let kept = fs::rename(&file, &aside);
        let aside = aside.display();
        match kept {
            Ok(()) => tracing::warn!(%problem, %aside, "a history can't be read, it is put aside"),
            Err(error) => tracing::warn!(%problem, %error, %aside, "a history can't be read"),
        }
        None
    }

    /// Replaces the stored history of a project. Calls for one project must not overlap.
    pub(super) fn write(&self, session_id: &str, document: &Document) -> io::Result<()> {
        let json = serde_json::to_vec(document).map_err(io::Error::other)?;
        private::write(&self.file(session_id), &json)
    }

    fn file(&self, session_id: &str) -> PathBuf {
        self.folder.join(format!("{session_id}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        Document { path: "/x".to_owned(), created: "t".to_owned(), messages: Vec::new() }
    }

    #[test]
    fn what_was_written_is_read_again_and_only_by_its_owner() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let store = Store::new(folder.path().join("deep/er"));
        assert_eq!(store.read("a"), None);
        store.write("a", &document()).expect("written");
        let newer = Document { created: "u".to_owned(), ..document() };
        store.write("a", &newer).expect("written");
        assert_eq!(store.read("a"), Some(newer));
        assert_eq!(store.read("b"), None);
        let names: Vec<_> = fs::read_dir(folder.path().join("deep/er")).expect("folder").collect();
        assert_eq!(names.len(), 1, "nothing is left beside it");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let file = fs::metadata(store.file("a")).expect("file");
            assert_eq!(file.permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_damaged_file_is_put_aside() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let store = Store::new(folder.path().to_owned());
        for damaged in [&b"{\"path\":"[..], b"[]", b"\xff\xfe", b""] {
            fs::write(folder.path().join("a.json"), damaged).expect("file");
            assert_eq!(store.read("a"), None);
            assert!(!folder.path().join("a.json").exists());
            let aside = fs::read(folder.path().join("a.json.damaged")).expect("kept");
            assert_eq!(aside, damaged);
        }
        store.write("a", &document()).expect("written");
        assert_eq!(store.read("a"), Some(document()));
    }
}
