//! What operators do with a store: inspect, check, export and compact it.

use std::io::{self, Write};
use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::folder::FolderLock;
use super::rows::{self, COLUMNS, FROM, key};
use super::{FILE_NAME, OpenError, SqliteJournal, schema};

/// What a store contains, in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Version of its tables.
    pub version: i64,
    /// Size of the database file in bytes, without the WAL.
    pub bytes: u64,
    /// Number of entities by kind and state.
    pub entities: Vec<(String, String, u64)>,
    /// Number of facts over all entities.
    pub facts: u64,
}

/// Something wrong in a store, in one line.
pub type Problem = String;

impl SqliteJournal {
    /// Inspects the store of a data folder. A server may be using it.
    pub fn info(folder: &Path) -> Result<Info, OpenError> {
        let (connection, file) = open(folder)?;
        let bytes = file.metadata().map_err(|error| OpenError::refused(&file, error))?.len();
        let read = || {
            let mut statement = connection.prepare(
                "SELECT coalesce(kind, 'portal'), state, count(*) FROM entity GROUP BY 1, 2 \
                 ORDER BY 1, 2",
            )?;
            let rows =
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            let entities = rows.collect::<Result<_, _>>()?;
            let facts =
                connection.query_row("SELECT coalesce(sum(facts), 0) FROM entity", [], |row| {
                    row.get(0)
                })?;
            Ok(Info { version: schema::version(&connection)?, bytes, entities, facts })
        };
        read().map_err(|error| OpenError::from_sqlite(&file, &error))
    }

    /// Looks for damage in the file, and for inconsistencies between its tables. Reads all of it. A
    /// server may be using it.
    pub fn check(folder: &Path) -> Result<Vec<Problem>, OpenError> {
        let (connection, file) = open(folder)?;
        check(&connection).map_err(|error| OpenError::from_sqlite(&file, &error))
    }

    /// Writes everything as JSON, one entity per line, oldest first. A server may be using it.
    pub fn export(folder: &Path, out: &mut dyn Write) -> Result<(), OpenError> {
        let (mut connection, file) = open(folder)?;
        let failed = |error: rusqlite::Error| OpenError::from_sqlite(&file, &error);
        let snapshot = connection.transaction().map_err(failed)?;
        export(&snapshot, out).map_err(|error| match error {
            ExportError::Sqlite(error) => failed(error),
            ExportError::Out(error) => OpenError::refused(&file, error),
        })
    }

    /// Returns unused space to the file system. No server may be using it.
    pub fn vacuum(folder: &Path) -> Result<(), OpenError> {
        find(folder)?;
        let _lock = FolderLock::take(folder)?;
        let file = folder.join(FILE_NAME);
        let connection = schema::open_writer(&file)?;
        let vacuum = connection.execute_batch(
            "INSERT INTO search (search) VALUES ('optimize'); VACUUM; PRAGMA wal_checkpoint (TRUNCATE);",
        );
        vacuum.map_err(|error| OpenError::from_sqlite(&file, &error))
    }
}

fn find(folder: &Path) -> Result<std::path::PathBuf, OpenError> {
    let file = folder.join(FILE_NAME);
    if file.is_file() { Ok(file) } else { Err(OpenError::Missing { folder: folder.to_owned() }) }
}

fn open(folder: &Path) -> Result<(Connection, std::path::PathBuf), OpenError> {
    let file = find(folder)?;
    let failed = |error: rusqlite::Error| OpenError::from_sqlite(&file, &error);
    let connection = schema::open_reader(&file).map_err(failed)?;
    let found = schema::version(&connection).map_err(failed)?;
    if usize::try_from(found).is_ok_and(|found| found > schema::VERSION) {
        return Err(OpenError::Newer { file, found });
    }
    Ok((connection, file))
}

fn check(database: &Connection) -> Result<Vec<Problem>, rusqlite::Error> {
    let mut problems: Vec<Problem> = database
        .prepare("PRAGMA integrity_check")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    problems.retain(|line| line != "ok");
    for (question, what) in [
        (
            "SELECT e.id FROM entity e WHERE e.facts <> (SELECT count(*) FROM fact \
             WHERE key > e.number << 32 AND key <= e.number << 32 | e.facts)",
            "lacks facts, or has more than it should",
        ),
        (
            "SELECT e.id FROM entity e WHERE e.notes <> (SELECT count(*) FROM note \
             WHERE key > e.number << 32 AND key <= e.number << 32 | e.notes)",
            "lacks notes, or has more than it should",
        ),
        (
            "SELECT DISTINCT 'entity ' || (key >> 32) FROM fact \
             WHERE key >> 32 NOT IN (SELECT number FROM entity)",
            "has facts but no record",
        ),
    ] {
        let mut statement = database.prepare(question)?;
        for id in statement.query_map([], |row| row.get::<_, String>(0))? {
            problems.push(format!("{} {what}", id?));
        }
    }
    Ok(problems)
}

enum ExportError {
    Sqlite(rusqlite::Error),
    Out(io::Error),
}

impl From<rusqlite::Error> for ExportError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        Self::Out(error)
    }
}

fn export(database: &Connection, out: &mut dyn Write) -> Result<(), ExportError> {
    let query = format!("SELECT {COLUMNS} FROM {FROM} ORDER BY e.number");
    let mut statement = database.prepare(&query)?;
    for row in statement.query_map([], rows::read)? {
        let row = row?;
        let record = &row.record;
        let events =
            texts(database, "SELECT at, json FROM fact WHERE key > ?1 AND key < ?2", row.number)?;
        let notes =
            texts(database, "SELECT at, json FROM note WHERE key > ?1 AND key < ?2", row.number)?;
        let line = json!({
            "id": row.entity.to_string(),
            "parent": record.parent.map(|parent| parent.to_string()),
            "title": record.title,
            "folder": record.folder,
            "model": record.model,
            "state": record.state,
            "startedAt": record.started_at,
            "endedAt": record.ended_at,
            "usage": record.usage,
            "events": events,
            "notes": notes,
        });
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

fn texts(database: &Connection, query: &str, number: i64) -> Result<Vec<Value>, rusqlite::Error> {
    let mut statement = database.prepare_cached(query)?;
    let rows = statement.query_map([key(number, 0), key(number + 1, 0)], |row| {
        let (at, text): (i64, String) = (row.get(0)?, row.get(1)?);
        // We wrote it as JSON. If it isn't, the raw text is more useful than an error.
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(json!({ "at": at, "fact": value }))
    })?;
    rows.collect()
}
