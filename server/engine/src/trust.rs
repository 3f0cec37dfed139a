//! Keeps which extensions are trusted in the log of the portal, for the host of extensions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use extensions::{Decision, NotKept, TrustStore, read_trust_file};
use futures_util::future::{BoxFuture, ready};
use store::fold::{FolderTrust, PortalFold, PortalNote};
use store::portal::PortalLog;

/// The decisions about extensions in the log of the portal.
#[derive(Debug)]
pub struct PortalTrust(pub Arc<PortalLog>);

impl PortalTrust {
    /// Takes over the decisions of the file that had them in earlier versions, unless that was done
    /// before. The file is left as it is, and its later changes are ignored. One that can't be read
    /// decides nothing, and is tried again with the next start; so is one whose decisions could not
    /// be stored.
    pub async fn adopt_file(&self, file: &Path) {
        if self.0.read(PortalFold::has_adopted_trust) {
            return;
        }
        let path = file.to_owned();
        let reading = tokio::task::spawn_blocking(move || read_trust_file(&path)).await;
        let found = match reading.map_err(Into::into).flatten() {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(file = %file.display(), %error, "cannot read the trusted folders");
                return;
            }
        };
        let folders: BTreeMap<_, _> =
            found.iter().map(|(name, decision)| (name.clone(), to_stored(decision))).collect();
        if !folders.is_empty() {
            let file = file.display();
            tracing::info!(%file, folders = folders.len(), "took over the trusted folders");
        }
        self.0.note(PortalNote::TrustAdopted { folders });
    }
}

impl TrustStore for PortalTrust {
    fn decisions(&self) -> BTreeMap<String, Decision> {
        let decision = |(name, trust): (&str, &FolderTrust)| (name.to_owned(), of_stored(trust));
        self.0.read(|fold| fold.trust().map(decision).collect())
    }

    fn keep(&self, folder: &str, decision: &Decision) -> BoxFuture<'static, Result<(), NotKept>> {
        let is_given = matches!(decision, Decision::Allowed(_));
        if is_given && let Err(error) = self.0.check_store() {
            return Box::pin(ready(Err(NotKept(error.to_string()))));
        }
        self.0.note(PortalNote::Trust { folder: folder.to_owned(), trust: to_stored(decision) });
        let log = Arc::clone(&self.0);
        Box::pin(async move { log.durable().await.map_err(|error| NotKept(error.to_string())) })
    }
}

fn to_stored(decision: &Decision) -> FolderTrust {
    match decision {
        Decision::Forbidden => FolderTrust::Forbidden,
        Decision::Outdated => FolderTrust::Outdated,
        Decision::Allowed(hashes) => FolderTrust::Allowed(hashes.clone()),
    }
}

fn of_stored(trust: &FolderTrust) -> Decision {
    match trust {
        FolderTrust::Forbidden => Decision::Forbidden,
        FolderTrust::Outdated => Decision::Outdated,
        FolderTrust::Allowed(hashes) => Decision::Allowed(hashes.clone()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use platform::lifecycle::Lifecycle;
    use store::journal::{FILE_NAME, SqliteJournal};
    use store::live::{LiveSettings, LiveShared};

    use super::*;

    async fn open(folder: &Path) -> (PortalTrust, Arc<SqliteJournal>) {
        let journal = Arc::new(SqliteJournal::open(folder).expect("a store"));
        let live = LiveShared::with_journal(LiveSettings::default(), journal.clone());
        let log = PortalLog::open(live, &Lifecycle::new()).await.expect("a log");
        (PortalTrust(log), journal)
    }

    fn allowed(hash: &str) -> Decision {
        Decision::Allowed(BTreeMap::from([("project/a".to_owned(), hash.to_owned())]))
    }

    #[tokio::test]
    async fn the_file_of_earlier_versions_is_taken_over_once_and_left_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("extensions.json");
        fs::write(&file, "{").expect("a file");
        let (trust, journal) = open(folder.path()).await;
        trust.adopt_file(&file).await;
        assert_eq!(trust.decisions(), BTreeMap::new(), "a broken file decides nothing");
        trust.keep("/decided", &Decision::Forbidden).await.expect("kept");

        let text = r#"{"folders":{"/one":true,"/two":{"project/a":"1"},"/decided":{}}}"#;
        fs::write(&file, text).expect("a file");
        trust.adopt_file(&file).await;
        let decided = BTreeMap::from([
            ("/decided".to_owned(), Decision::Forbidden),
            ("/one".to_owned(), Decision::Outdated),
            ("/two".to_owned(), allowed("1")),
        ]);
        assert_eq!(trust.decisions(), decided, "what was decided since counts");
        assert_eq!(fs::read_to_string(&file).expect("the file"), text);
        journal.close();

        fs::write(&file, r#"{"folders":{"/three":{"project/a":"1"}}}"#).expect("a file");
        let (trust, _) = open(folder.path()).await;
        trust.adopt_file(&file).await;
        assert_eq!(trust.decisions(), decided);
    }

    #[tokio::test]
    async fn a_file_that_comes_later_is_ignored() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("extensions.json");
        let (trust, _) = open(folder.path()).await;
        trust.adopt_file(&file).await;
        fs::write(&file, r#"{"folders":{"/three":{"project/a":"1"}}}"#).expect("a file");
        trust.adopt_file(&file).await;
        assert_eq!(trust.decisions(), BTreeMap::new());
    }

    #[tokio::test]
    async fn a_failing_store_takes_no_trust_but_every_withdrawal() {
        let folder = tempfile::tempdir().expect("a folder");
        let (trust, journal) = open(folder.path()).await;
        trust.keep("/one", &allowed("1")).await.expect("kept");
        // A lock of another writer makes commits fail, just like a full disk.
        let file = folder.path().join(FILE_NAME);
        let blocker = rusqlite::Connection::open(file).expect("a database");
        blocker.execute_batch("BEGIN IMMEDIATE").expect("a transaction");
        let forbidden = trust.keep("/one", &Decision::Forbidden);
        while store::journal::Journal::trouble(&*journal).is_none() {
            tokio::task::yield_now().await;
        }
        assert!(trust.keep("/two", &allowed("1")).await.is_err());
        assert!(forbidden.await.is_err(), "it is not durable in time");
        blocker.execute_batch("ROLLBACK").expect("the end");
        trust.0.durable().await.expect("kept");
        journal.close();
        let (trust, _) = open(folder.path()).await;
        let decided = BTreeMap::from([("/one".to_owned(), Decision::Forbidden)]);
        assert_eq!(trust.decisions(), decided);
    }
}
