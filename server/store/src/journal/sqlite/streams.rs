//! The changes that the writer makes to streams, within its transaction.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use rusqlite::{Connection, OptionalExtension, params};
use wire::LiveToken;

use super::rows::key;
use crate::journal::{Append, Batch, Chunk, Cursor, Entity, Fact, Record, StoreError};

/// How many streams' numbers and lengths are cached.
const KNOWN_STREAMS: usize = 20_000;
/// How many entities expire in one command, during which writers wait.
const EXPIRED_PER_PASS: usize = 20;

/// Why one command of a transaction failed.
pub(super) enum Refusal {
    /// The caller is at fault; other commands of the transaction are unaffected.
    Conflict(StoreError),
    /// SQLite failed. Unless it is the command's fault, the whole transaction fails.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Conflict(error) => error,
            Refusal::Sqlite(error) => Self::Rejected(error.to_string()),
        }
    }
}

/// The writer's cache of recently used streams.
#[derive(Default)]
pub(super) struct Streams {
    known: HashMap<Entity, Known>,
}

/// What is remembered of a stored stream.
#[derive(Clone, Copy)]
struct Known {
    number: i64,
    facts: u64,
    notes: u64,
    /// Hash of the title.
    title: u64,
}

impl Streams {
    /// Clears the cache, which may be wrong after a rollback.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// Writes a batch, unless it conflicts with what is stored.
    pub(super) fn write(&mut self, database: &Connection, batch: &Batch) -> Result<(), Refusal> {
        for append in &batch.appends {
            self.append(database, append)?;
        }
        for chunk in &batch.chunks {
            self.add_chunk(database, chunk)?;
        }
        for cursor in &batch.cursors {
            self.set_cursor(database, cursor)?;
        }
        for (entity, reader) in &batch.forgotten {
            self.delete_cursor(database, *entity, reader)?;
        }
        Ok(())
    }

    fn append(&mut self, database: &Connection, append: &Append) -> Result<(), Refusal> {
        let Append { entity, after, facts, after_note, notes, record, closed_blocks, .. } = append;
        let stored = self.find(database, *entity)?;
        let (has_facts, has_notes) = stored.map_or((0, 0), |known| (known.facts, known.notes));
        for (expected, found) in [(*after, has_facts), (*after_note, has_notes)] {
            if expected != found {
                let conflict = StoreError::Conflict { entity: *entity, expected, found };
                return Err(Refusal::Conflict(conflict));
            }
        }
        let mut known = match (stored, record) {
            (Some(known), _) => known,
            (None, Some(record)) => self.begin(database, *entity, record)?,
            (None, None) => {
                let conflict = StoreError::Conflict { entity: *entity, expected: 0, found: 0 };
                return Err(Refusal::Conflict(conflict));
            }
        };
        known.facts = add(database, Table::Fact, known.number, known.facts, facts)?;
        if append.replaces_notes {
            database
                .prepare_cached("DELETE FROM note WHERE key BETWEEN ?1 AND ?2")?
                .execute(range(known.number))?;
            known.notes = 0;
        }
        known.notes = add(database, Table::Note, known.number, known.notes, notes)?;
        match record {
            Some(record) => {
                let title = hash(&record.title);
                replace(database, known, record)?;
                if stored.is_none() || title != known.title {
                    mark_unindexed(database, key(known.number, 0))?;
                }
                known.title = title;
            }
            None => {
                database
                    .prepare_cached("UPDATE entity SET facts = ?2, notes = ?3 WHERE number = ?1")?
                    .execute(params![known.number, known.facts, known.notes])?;
            }
        }
        for block in closed_blocks {
            database
                .prepare_cached("DELETE FROM chunk WHERE block = ?1")?
                .execute([key(known.number, *block)])?;
        }
        self.remember(*entity, known);
        Ok(())
    }

    /// Inserts the row of a new entity; [`replace`] fills it in.
    fn begin(
        &mut self,
        database: &Connection,
        entity: Entity,
        record: &Record,
    ) -> Result<Known, rusqlite::Error> {
        let parent = match record.parent {
            Some(parent) => self.find(database, parent)?.map(|parent| parent.number),
            None => None,
        };
        database
            .prepare_cached(
                "INSERT INTO entity (id, kind, parent, title, folder, state, started_at, usage, \
                 detail, facts, notes) VALUES (?1, ?2, ?3, '', '', '', 0, '', '', 0, 0)",
            )?
            .execute(params![entity.to_string(), entity.stored_kind(), parent])?;
        Ok(Known { number: database.last_insert_rowid(), facts: 0, notes: 0, title: hash("") })
    }

    fn add_chunk(&mut self, database: &Connection, chunk: &Chunk) -> Result<(), Refusal> {
        // The entity may have been deleted in the meantime.
        let Some(known) = self.find(database, chunk.entity)? else { return Ok(()) };
        database
            .prepare_cached(
                "INSERT OR REPLACE INTO chunk (block, start, text) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![key(known.number, chunk.block), chunk.from, chunk.text])?;
        Ok(())
    }

    fn set_cursor(&mut self, database: &Connection, cursor: &Cursor) -> Result<(), Refusal> {
        let Some(known) = self.find(database, cursor.entity)? else { return Ok(()) };
        let inside = serde_json::to_string(&cursor.position.inside).unwrap_or_default();
        database
            .prepare_cached(
                "INSERT OR REPLACE INTO cursor (number, reader, seq, inside, finished) \
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                known.number,
                cursor.reader.as_str(),
                cursor.position.seq,
                inside,
                cursor.is_finished
            ])?;
        Ok(())
    }

    fn delete_cursor(
        &mut self,
        database: &Connection,
        entity: Entity,
        reader: &LiveToken,
    ) -> Result<(), Refusal> {
        let Some(known) = self.find(database, entity)? else { return Ok(()) };
        database
            .prepare_cached("DELETE FROM cursor WHERE number = ?1 AND reader = ?2")?
            .execute(params![known.number, reader.as_str()])?;
        Ok(())
    }

    fn find(
        &mut self,
        database: &Connection,
        entity: Entity,
    ) -> Result<Option<Known>, rusqlite::Error> {
        if let Some(known) = self.known.get(&entity) {
            return Ok(Some(*known));
        }
        let known = database
            .prepare_cached("SELECT number, facts, notes, title FROM entity WHERE id = ?1")?
            .query_row([entity.to_string()], |row| {
                Ok(Known {
                    number: row.get(0)?,
                    facts: row.get(1)?,
                    notes: row.get(2)?,
                    title: hash(row.get_ref(3)?.as_str()?),
                })
            })
            .optional()?;
        if let Some(known) = known {
            self.remember(entity, known);
        }
        Ok(known)
    }

    fn remember(&mut self, entity: Entity, known: Known) {
        if self.known.len() >= KNOWN_STREAMS {
            self.known.clear();
        }
        self.known.insert(entity, known);
    }

    /// Deletes an entity with all that belongs to it.
    pub(super) fn delete(&mut self, database: &Connection, entity: Entity) -> Result<(), Refusal> {
        if entity != Entity::Portal
            && let Some(known) = self.find(database, entity)?
        {
            self.delete_tree(database, known.number)?;
        }
        Ok(())
    }

    /// Deletes some of the entities that ended before a time, and returns how many.
    pub(super) fn expire(&mut self, database: &Connection, before: u64) -> Result<u64, Refusal> {
        let numbers: Vec<i64> = database
            .prepare_cached(
                "SELECT number FROM entity WHERE ended_at < ?1 AND parent IS NULL \
                 ORDER BY ended_at LIMIT ?2",
            )?
            .query_map(
                params![i64::try_from(before).unwrap_or(i64::MAX), EXPIRED_PER_PASS],
                |row| row.get(0),
            )?
            .collect::<Result<_, _>>()?;
        for number in &numbers {
            self.delete_tree(database, *number)?;
        }
        Ok(numbers.len() as u64)
    }

    fn delete_tree(&mut self, database: &Connection, root: i64) -> Result<(), Refusal> {
        let mut tree = vec![root];
        let mut seen = 0;
        while let Some(number) = tree.get(seen).copied() {
            let mut children =
                database.prepare_cached("SELECT number FROM entity WHERE parent = ?1")?;
            for child in children.query_map([number], |row| row.get(0))? {
                tree.push(child?);
            }
            seen += 1;
        }
        // Children are deleted before their parents.
        for number in tree.into_iter().rev() {
            delete_one(database, number)?;
        }
        self.forget();
        Ok(())
    }
}

/// Writes the current record of an entity to its row.
fn replace(database: &Connection, known: Known, record: &Record) -> Result<(), rusqlite::Error> {
    let usage = serde_json::to_string(&record.usage).unwrap_or_default();
    database
        .prepare_cached(
            "UPDATE entity SET title = ?2, model = ?3, state = ?4, usage = ?5, detail = ?6, \
             facts = ?7, notes = ?8 WHERE number = ?1",
        )?
        .execute(params![
            known.number,
            record.title,
            record.model,
            record.state.as_str(),
            usage,
            record.detail,
            known.facts,
            known.notes,
        ])?;
    // SQLite writes the indexes of columns that are set, even to what they were.
    database
        .prepare_cached(
            "UPDATE entity SET folder = ?2, started_at = ?3, ended_at = ?4 WHERE number = ?1 \
             AND (folder <> ?2 OR started_at <> ?3 OR ended_at IS NOT ?4)",
        )?
        .execute(params![known.number, record.folder, record.started_at, record.ended_at])?;
    Ok(())
}

fn hash(title: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    title.hash(&mut hasher);
    hasher.finish()
}

/// The two tables of a stream.
#[derive(Clone, Copy, PartialEq)]
enum Table {
    Fact,
    Note,
}

/// Adds rows to a stream, and returns its new length.
fn add(
    database: &Connection,
    table: Table,
    number: i64,
    mut seq: u64,
    facts: &[Fact],
) -> Result<u64, rusqlite::Error> {
    for fact in facts {
        seq += 1;
        let key = key(number, seq);
        database
            .prepare_cached(match table {
                Table::Fact => "INSERT INTO fact (key, at, json) VALUES (?1, ?2, ?3)",
                Table::Note => "INSERT INTO note (key, at, json) VALUES (?1, ?2, ?3)",
            })?
            .execute(params![key, fact.at, &*fact.json])?;
        if table == Table::Fact && fact.is_searchable {
            mark_unindexed(database, key)?;
        }
    }
    Ok(seq)
}

/// The first and the last key of an entity.
fn range(number: i64) -> [i64; 2] {
    [key(number, 0), key(number, u64::from(u32::MAX))]
}

fn mark_unindexed(database: &Connection, key: i64) -> Result<(), rusqlite::Error> {
    database
        .prepare_cached("INSERT OR IGNORE INTO unindexed (key) VALUES (?1)")?
        .execute([key])
        .map(drop)
}

fn delete_one(database: &Connection, number: i64) -> Result<(), rusqlite::Error> {
    let range = range(number);
    // Texts are deleted from a contentless index by key; `search_docsize` has the keys.
    let indexed: Vec<i64> = database
        .prepare_cached("SELECT id FROM search_docsize WHERE id BETWEEN ?1 AND ?2")?
        .query_map(range, |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for key in indexed {
        database.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([key])?;
    }
    for statement in [
        "DELETE FROM fact WHERE key BETWEEN ?1 AND ?2",
        "DELETE FROM note WHERE key BETWEEN ?1 AND ?2",
        "DELETE FROM unindexed WHERE key BETWEEN ?1 AND ?2",
        "DELETE FROM chunk WHERE block BETWEEN ?1 AND ?2",
    ] {
        database.prepare_cached(statement)?.execute(range)?;
    }
    database.prepare_cached("DELETE FROM cursor WHERE number = ?1")?.execute([number])?;
    database.prepare_cached("DELETE FROM entity WHERE number = ?1")?.execute([number])?;
    Ok(())
}
