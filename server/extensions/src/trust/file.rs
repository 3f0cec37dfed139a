//! The file in which decisions were stored before they were kept with everything else.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Deserialize;

use super::Decision;

/// The format of the file.
#[derive(Default, Deserialize)]
struct Document {
    #[serde(default)]
    folders: BTreeMap<String, Record>,
}

/// The decision about a folder.
#[derive(Deserialize)]
#[serde(untagged)]
enum Record {
    /// Forbidden; or allowed before contents were recorded.
    Plain(bool),
    /// Allowed, with the hash of each extension.
    Allowed(BTreeMap<String, String>),
}

/// Reads the decisions, by folder. None if there is no file. Blocks.
pub fn read_trust_file(file: &Path) -> io::Result<BTreeMap<String, Decision>> {
    let text = match std::fs::read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let document: Document = serde_json::from_slice(&text)?;
    let decision = |record| match record {
        Record::Plain(false) => Decision::Forbidden,
        Record::Plain(true) => Decision::Outdated,
        Record::Allowed(hashes) => Decision::Allowed(hashes),
    };
    Ok(document.folders.into_iter().map(|(name, record)| (name, decision(record))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_of_all_versions_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("extensions.json");
        assert_eq!(read_trust_file(&file).expect("no file"), BTreeMap::new());
        let text = r#"{"folders":{"/one":true,"/two":false,"/three":{"project/a":"1"}}}"#;
        std::fs::write(&file, text).expect("a file");
        let allowed = BTreeMap::from([("project/a".to_owned(), "1".to_owned())]);
        let expected = [
            ("/one", Decision::Outdated),
            ("/two", Decision::Forbidden),
            ("/three", Decision::Allowed(allowed)),
        ];
        let expected: BTreeMap<_, _> =
            expected.map(|(name, decision)| (name.to_owned(), decision)).into();
        assert_eq!(read_trust_file(&file).expect("a file"), expected);
        std::fs::write(&file, "{").expect("a file");
        assert!(read_trust_file(&file).is_err(), "nothing is decided by a broken file");
    }
}
