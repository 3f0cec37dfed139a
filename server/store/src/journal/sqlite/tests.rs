//! What a journal in a file must guarantee in addition.

use std::fs;
use std::path::Path;

use wire::{EntityState, SessionId, Usage};

use super::*;
use crate::journal::Append;

fn append(entity: Entity, after: u64, facts: u64) -> Append {
    let record = Record {
        parent: None,
        title: "title".to_owned(),
        folder: String::new(),
        model: None,
        state: EntityState::Idle,
        started_at: 1,
        ended_at: None,
        usage: Usage::default(),
        detail: String::new(),
    };
    let fact = |at| Fact { at, json: format!("[{at}]").into(), is_searchable: false };
    Append {
        facts: (after + 1..=after + facts).map(fact).collect(),
        record: Some(record),
        ..Append::new(entity, after, 0)
    }
}

async fn keep(journal: &SqliteJournal, entity: Entity, after: u64, facts: u64) {
    journal.submit(append(entity, after, facts).into()).durable().await.expect("kept");
}

async fn count(journal: &SqliteJournal, entity: Entity) -> usize {
    let page = journal.read(entity, 0, usize::MAX, usize::MAX).await.expect("read");
    page.map_or(0, |page| page.facts.len())
}

fn write_raw(folder: &Path, sql: &str) {
    let connection = Connection::open(folder.join(FILE_NAME)).expect("a database");
    connection.execute_batch(sql).expect("sql");
}

#[tokio::test]
async fn what_was_kept_is_there_when_it_is_opened_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let entity = Entity::from(SessionId::generate());
    let journal = SqliteJournal::open(folder.path()).expect("a store");
    keep(&journal, entity, 0, 3).await;
    drop(journal);
    let names: Vec<_> = fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name != "portal.lock")
        .collect();
    assert_eq!(names, [FILE_NAME], "an orderly end leaves one file");

    let journal = SqliteJournal::open(folder.path()).expect("a store");
    assert_eq!(count(&journal, entity).await, 3);
    keep(&journal, entity, 3, 1).await;
    assert_eq!(count(&journal, entity).await, 4);
    assert_eq!(SqliteJournal::check(folder.path()).expect("checked"), Vec::<String>::new());
}

#[tokio::test]
async fn a_closed_journal_takes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = SqliteJournal::open(folder.path()).expect("a store");
    let entity = Entity::from(SessionId::generate());
    let last = journal.submit(append(entity, 0, 1).into());
    journal.close();
    last.durable().await.expect("what was submitted before is written");
    let late = journal.submit(append(entity, 1, 1).into()).durable().await;
    assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
    assert!(journal.delete(entity).await.is_err());
    assert!(journal.expire(9).await.is_err());
}

#[test]
fn a_folder_has_one_owner() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = SqliteJournal::open(folder.path()).expect("a store");
    let error = SqliteJournal::open(folder.path()).err().expect("refused").to_string();
    let process = format!("(process {})", std::process::id());
    assert!(error.contains(&process) && error.contains("--data-dir"), "{error}");
    assert!(!error.contains('\n'));
    assert!(SqliteJournal::vacuum(folder.path()).is_err(), "not while it is used");
    drop(first);
    SqliteJournal::open(folder.path()).expect("free again");
    SqliteJournal::vacuum(folder.path()).expect("free");
}

#[test]
fn a_damaged_or_foreign_file_is_left_as_it_is() {
    for contents in [&b"this is not a database, whatever its name says"[..], &[0; 8192]] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(FILE_NAME);
        fs::write(&file, contents).expect("written");
        let error = SqliteJournal::open(folder.path()).err().expect("refused");
        assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains(&*file.to_string_lossy()), "{error}");
        assert!(!error.to_string().contains('\n'));
        assert_eq!(fs::read(&file).expect("the file"), contents);
    }
}

#[tokio::test]
async fn a_store_of_a_newer_portal_is_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(SqliteJournal::open(folder.path()).expect("a store"));
    write_raw(
        folder.path(),
        "PRAGMA journal_mode = DELETE; DROP TABLE note; PRAGMA user_version = 99;",
    );
    let file = folder.path().join(FILE_NAME);
    let before = fs::read(&file).expect("the file");
    let error = SqliteJournal::open(folder.path()).err().expect("refused");
    assert!(matches!(error, OpenError::Newer { found: 99, .. }), "{error}");
    assert_eq!(fs::read(&file).expect("the file"), before);
    assert!(SqliteJournal::info(folder.path()).is_err());
}

#[cfg(unix)]
#[test]
fn its_files_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("data");
    let _journal = SqliteJournal::open(&inner).expect("a store");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&inner), 0o700);
    for entry in fs::read_dir(&inner).expect("the folder") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_can_t_be_written_is_named() {
    let error = SqliteJournal::open(Path::new("/proc/portal")).err().expect("refused").to_string();
    assert!(error.contains("/proc/portal") && error.contains("--data-dir"), "{error}");
}

#[tokio::test]
async fn damage_inside_is_found_by_a_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let entity = Entity::from(SessionId::generate());
    let journal = SqliteJournal::open(folder.path()).expect("a store");
    keep(&journal, entity, 0, 5).await;
    drop(journal);
    write_raw(folder.path(), "DELETE FROM fact WHERE key & 0xffffffff = 3;");
    let problems = SqliteJournal::check(folder.path()).expect("checked");
    assert_eq!(problems, [format!("{entity} lacks facts, or has more than it should")]);
}

#[tokio::test]
async fn an_operator_sees_what_is_in_it_and_takes_it_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = SqliteJournal::info(folder.path()).expect_err("nothing there");
    assert!(matches!(missing, OpenError::Missing { .. }), "{missing}");
    let entity = Entity::from(SessionId::generate());
    let journal = SqliteJournal::open(folder.path()).expect("a store");
    keep(&journal, entity, 0, 2).await;

    // While a server uses it.
    let info = SqliteJournal::info(folder.path()).expect("info");
    assert_eq!((info.version, info.facts), (2, 2));
    assert_eq!(info.entities, [("session".to_owned(), "idle".to_owned(), 1)]);
    let mut out = Vec::new();
    SqliteJournal::export(folder.path(), &mut out).expect("exported");
    let line: serde_json::Value = serde_json::from_slice(&out).expect("one line of JSON");
    assert_eq!(line["id"], entity.to_string());
    assert_eq!(line["events"][1]["fact"], serde_json::json!([2]));
}

#[tokio::test]
async fn a_full_disk_holds_everything_back_until_there_is_room() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = SqliteJournal::open(folder.path()).expect("a store");
    let entity = Entity::from(SessionId::generate());
    keep(&journal, entity, 0, 1).await;
    // A lock of another writer makes commits fail, just like a full disk.
    let blocker = Connection::open(folder.path().join(FILE_NAME)).expect("a database");
    blocker.execute_batch("BEGIN IMMEDIATE").expect("a transaction");
    let ticket = journal.submit(append(entity, 1, 2).into());
    while journal.trouble().is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(count(&journal, entity).await, 1, "readers do not wait");
    let more = journal.submit(append(entity, 3, 1).into());
    blocker.execute_batch("ROLLBACK").expect("the end");
    ticket.durable().await.expect("kept");
    more.durable().await.expect("kept");
    assert_eq!(journal.trouble(), None);
    assert_eq!(count(&journal, entity).await, 4);
}

#[tokio::test]
async fn an_older_store_is_copied_and_then_migrated() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(FILE_NAME);
    let entity = Entity::from(SessionId::generate());
    let journal = SqliteJournal::open(folder.path()).expect("a store");
    keep(&journal, entity, 0, 3).await;
    drop(journal);
    let copy = folder.path().join(format!("{FILE_NAME}.version-{}", schema::VERSION));
    // From an attempt that was cut off.
    fs::write(&copy, "half a copy").expect("written");

    let further = "ALTER TABLE entity ADD COLUMN colour TEXT NOT NULL DEFAULT 'green';";
    let migrations = [schema::MIGRATIONS, &[further]].concat();
    let newer = schema::open_migrated(&file, &migrations).expect("migrated");
    let newest = i64::try_from(migrations.len()).expect("few");
    assert_eq!(schema::version(&newer), Ok(newest));
    let query = "SELECT e.colour, count(*) FROM entity e, fact GROUP BY 1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    assert_eq!(newer.query_row(query, [], read), Ok(("green".to_owned(), 3)));
    drop(newer);
    assert!(matches!(SqliteJournal::open(folder.path()), Err(OpenError::Newer { .. })));

    // The copy is as good as the store was.
    fs::rename(&copy, &file).expect("renamed");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    }
    let journal = SqliteJournal::open(folder.path()).expect("a store");
    assert_eq!(count(&journal, entity).await, 3);
}

#[tokio::test]
async fn a_migration_that_fails_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(FILE_NAME);
    let entity = Entity::from(SessionId::generate());
    let journal = SqliteJournal::open(folder.path()).expect("a store");
    keep(&journal, entity, 0, 3).await;
    drop(journal);
    let wrong = "DROP TABLE fact; CREATE TABLE entity (number INTEGER);";
    let migrations = [schema::MIGRATIONS, &[wrong]].concat();
    assert!(schema::open_migrated(&file, &migrations).is_err());
    let journal = SqliteJournal::open(folder.path()).expect("a store");
    assert_eq!(count(&journal, entity).await, 3);
}
