//! Maps records to rows of the table `entity`.

use rusqlite::{Row, types::Type};
use wire::EntityState;

use crate::journal::{Entity, Record};

/// The columns of a record, for [`read`].
pub(super) const COLUMNS: &str = "e.number, e.id, p.id, e.title, e.folder, e.model, e.state, \
     e.started_at, e.ended_at, e.usage, e.detail, e.facts, e.notes, p.title";

/// The tables of the columns: an entity and its parent.
pub(super) const FROM: &str = "entity e LEFT JOIN entity p ON p.number = e.parent";

/// An entity as it is stored in its row.
pub(super) struct EntityRow {
    pub(super) number: i64,
    pub(super) entity: Entity,
    pub(super) record: Record,
    pub(super) parent_title: Option<String>,
    pub(super) facts: u64,
    pub(super) notes: u64,
}

/// Reads the [columns](COLUMNS) of a row.
pub(super) fn read(row: &Row<'_>) -> Result<EntityRow, rusqlite::Error> {
    let parent: Option<String> = row.get(2)?;
    let state: String = row.get(6)?;
    let usage: String = row.get(9)?;
    Ok(EntityRow {
        number: row.get(0)?,
        entity: entity(1, &row.get::<_, String>(1)?)?,
        record: Record {
            parent: parent.map(|parent| entity(2, &parent)).transpose()?,
            title: row.get(3)?,
            folder: row.get(4)?,
            model: row.get(5)?,
            state: state.parse::<EntityState>().map_err(|error| unreadable(6, error))?,
            started_at: row.get(7)?,
            ended_at: row.get(8)?,
            usage: serde_json::from_str(&usage).map_err(|error| unreadable(9, error))?,
            detail: row.get(10)?,
        },
        facts: row.get(11)?,
        notes: row.get(12)?,
        parent_title: row.get(13)?,
    })
}

fn entity(column: usize, text: &str) -> Result<Entity, rusqlite::Error> {
    text.parse().map_err(|error| unreadable(column, error))
}

fn unreadable(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}

/// The key of a fact or note in its table.
pub(super) fn key(number: i64, seq: u64) -> i64 {
    (number << 32) | i64::try_from(seq).unwrap_or(i64::from(u32::MAX)).min(i64::from(u32::MAX))
}

/// Splits a key into the entity's number and the fact's or note's.
pub(super) fn split_key(key: i64) -> (i64, u64) {
    (key >> 32, u64::from(u32::try_from(key & i64::from(u32::MAX)).unwrap_or_default()))
}
