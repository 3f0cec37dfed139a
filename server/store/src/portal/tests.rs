//! The log of the portal, over both journals and over restarts.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::fold::{FolderTrust, Installer, LoginFacts};
use crate::journal::{Batch, FILE_NAME, Journal, MemoryJournal, SqliteJournal};
use crate::live::LiveSettings;

fn login(id: &str) -> PortalNote {
    PortalNote::LoggedIn(LoginFacts {
        id: id.to_owned(),
        cookie_hash: format!("cookie of {id}"),
        key_proof: format!("proof of {id}"),
        secret_hash: format!("secret of {id}"),
        key: "operator".to_owned(),
        from: Some([127, 0, 0, 1].into()),
        agent: "a browser".to_owned(),
    })
}

fn ended(id: &str) -> PortalNote {
    PortalNote::LoginsEnded { ids: vec![id.to_owned()] }
}

fn trust(folder: &str, hash: Option<&str>) -> PortalNote {
    let allowed = |hash: &str| BTreeMap::from([("project/a".to_owned(), hash.to_owned())]);
    let trust = hash.map_or(FolderTrust::Forbidden, |hash| FolderTrust::Allowed(allowed(hash)));
    PortalNote::Trust { folder: folder.to_owned(), trust }
}

fn installed(hash: &str, bytes: usize) -> PortalNote {
    let (by, hash) = (Installer::TestApi, hash.to_owned());
    let entry = format!("{{\"{hash}\":\"{}\"}}", "x".repeat(bytes));
    PortalNote::EntryInstalled { by, hash, entry: Some(entry) }
}

async fn open(journal: Arc<dyn Journal>) -> Arc<PortalLog> {
    let shared = LiveShared::with_journal(LiveSettings::default(), journal);
    PortalLog::open(shared, &Lifecycle::new()).await.expect("a log")
}

fn sqlite(folder: &Path) -> Arc<SqliteJournal> {
    Arc::new(SqliteJournal::open(folder).expect("a store"))
}

fn fold(log: &PortalLog) -> PortalFold {
    log.read(Clone::clone)
}

fn any_note() -> impl Strategy<Value = PortalNote> {
    let id = || prop::sample::select(vec!["a", "b", "c", "d"]);
    prop_oneof![
        id().prop_map(login),
        id().prop_map(|id| PortalNote::LoginUsed { id: id.to_owned() }),
        id().prop_map(ended),
        (id(), prop::option::of(id())).prop_map(|(folder, hash)| trust(folder, hash)),
        (id(), prop::sample::select(vec![10, 400_000, 2_000_000]))
            .prop_map(|(hash, bytes)| installed(&format!("{hash}{bytes}"), bytes)),
        Just(PortalNote::TrustAdopted {
            folders: BTreeMap::from([("e".to_owned(), FolderTrust::Forbidden)])
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_fewest_notes_come_to_the_same_fold(notes in prop::collection::vec(any_note(), 0..80)) {
        let mut fold = PortalFold::default();
        for (at, note) in (1..).zip(notes) {
            let stored = fold.shorten(note);
            fold.note(at, &stored);
        }
        let mut again = PortalFold::default();
        for (at, note) in fold.notes() {
            again.note(at, &note);
        }
        prop_assert_eq!(again, fold);
    }
}

/// A few decisions of each kind.
async fn decide(log: &PortalLog) -> PortalFold {
    log.keep(login("one")).await.expect("kept");
    log.keep(login("two")).await.expect("kept");
    log.note(ended("one"));
    log.note(PortalNote::LoginUsed { id: "two".to_owned() });
    log.note(trust("/src", Some("1")));
    log.note(trust("/other", None));
    log.keep(installed("entry", 10)).await.expect("kept");
    fold(log)
}

#[tokio::test]
async fn what_was_decided_is_there_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = sqlite(folder.path());
    let decided = decide(&*open(journal.clone()).await).await;
    journal.close();
    let journal = sqlite(folder.path());
    let log = open(journal.clone()).await;
    assert_eq!(fold(&log), decided);
    assert_eq!(log.read(|fold| fold.logins().count()), 1);
    log.keep(trust("/src", None)).await.expect("the log goes on");
    assert_eq!(journal.notes(Entity::Portal).await.expect("notes").len(), 8);
    assert_eq!(SqliteJournal::check(folder.path()).expect("checked"), Vec::<String>::new());
}

#[tokio::test]
async fn in_memory_it_lasts_as_long_as_the_journal() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let decided = decide(&*open(journal.clone()).await).await;
    assert_eq!(fold(&*open(journal).await), decided);
    let log = open(Arc::new(MemoryJournal::default())).await;
    assert_eq!(fold(&log), PortalFold::default());
}

#[tokio::test]
async fn it_does_not_grow_with_the_years() {
    let folder = tempfile::tempdir().expect("a folder");
    for journal in [Arc::new(MemoryJournal::default()) as Arc<dyn Journal>, sqlite(folder.path())] {
        let log = open(journal.clone()).await;
        log.note(login("stays"));
        log.note(installed("entry", 1000));
        for _ in 0..2_000 {
            log.note(login("goes"));
            log.note(ended("goes"));
            log.note(installed("entry", 1000));
        }
        log.durable().await.expect("kept");
        let notes = journal.notes(Entity::Portal).await.expect("notes");
        assert!(notes.len() < 2 * usize::try_from(REWRITE_AFTER).expect("few"), "{}", notes.len());
        let with_text = notes.iter().filter(|note| note.json.contains("xxx")).count();
        assert_eq!(with_text, 1, "a text is stored once");
        let (now, again) = (fold(&log), fold(&*open(journal).await));
        assert_eq!(again, now);
        assert_eq!(now.logins().map(|(login, ..)| &*login.id).collect::<Vec<_>>(), ["stays"]);
    }
    assert_eq!(SqliteJournal::check(folder.path()).expect("checked"), Vec::<String>::new());
}

#[tokio::test]
async fn notes_of_a_newer_portal_are_skipped_and_kept() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let newer =
        Fact { at: 1, json: r#"{"note":"somethingNew","value":1}"#.into(), is_searchable: false };
    let append = Append {
        notes: vec![newer.clone(), to_fact(2, &login("one"))],
        record: Some(PortalFold::default().record()),
        ..Append::new(Entity::Portal, 0, 0)
    };
    journal.submit(append.into()).durable().await.expect("kept");
    let log = open(journal.clone()).await;
    assert_eq!(log.read(|fold| fold.logins().count()), 1);
    for _ in 0..REWRITE_AFTER + 10 {
        log.note(login("two"));
    }
    log.durable().await.expect("kept");
    let notes = journal.notes(Entity::Portal).await.expect("notes");
    assert!(notes.len() < 100, "rewritten: {}", notes.len());
    assert!(notes.contains(&newer));
}

#[tokio::test]
async fn what_is_refused_is_submitted_again_and_nothing_is_kept_meanwhile() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = sqlite(folder.path());
    let log = open(journal.clone()).await;
    log.keep(login("one")).await.expect("kept");
    // A lock of another writer makes commits fail, just like a full disk.
    let blocker = rusqlite::Connection::open(folder.path().join(FILE_NAME)).expect("a database");
    blocker.execute_batch("BEGIN IMMEDIATE").expect("a transaction");
    let many = Fact { at: 1, json: "x".repeat(64 * 1024 * 1024).into(), is_searchable: false };
    let append = Append { facts: vec![many], ..Append::new(Entity::Portal, 99, 0) };
    let too_many = journal.submit(Batch::from(append));
    while journal.trouble().is_none() {
        tokio::task::yield_now().await;
    }

    let refused = log.keep(trust("/src", Some("1"))).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    log.note(ended("one"));
    assert!(log.durable().await.is_err(), "there is no room for it");
    assert_eq!(log.read(|fold| fold.logins().count()), 0, "but it holds");

    blocker.execute_batch("ROLLBACK").expect("the end");
    assert!(too_many.durable().await.is_err(), "it was wrong anyway");
    let mut settled = log.settled.subscribe();
    while log.state.lock().durable < 2 {
        settled.changed().await.expect("the log is there");
    }
    let again = fold(&*open(journal).await);
    assert_eq!((again.logins().count(), again.trust().count()), (0, 0));
}
