//! Lists of entities, by age and by words.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::rows::{self, COLUMNS, EntityRow, FROM, key, split_key};
use crate::journal::search::{Words, text_of};
use crate::journal::{Cursor, Entity, Found, HistoryPage, HistoryQuery, Position};

/// How many entities with hits are examined for one page. If a filter rejects most of them, a page
/// can be short or empty and still have a next one.
const MAX_HITS: usize = 2_000;
/// How many further hits of one entity are passed over before the query is run again below it.
const MAX_SKIPPED: usize = 1_000;

/// The row of an entity.
pub(super) fn find(database: &Connection, number: i64) -> Result<EntityRow, rusqlite::Error> {
    database
        .prepare_cached(&format!("SELECT {COLUMNS} FROM {FROM} WHERE e.number = ?1"))?
        .query_row([number], rows::read)
}

/// How far the readers of an entity have read.
pub(super) fn cursors(
    database: &Connection,
    entity: Entity,
    number: i64,
) -> Result<Vec<Cursor>, rusqlite::Error> {
    let mut statement = database
        .prepare_cached("SELECT reader, seq, inside, finished FROM cursor WHERE number = ?1")?;
    let mut rows = statement.query([number])?;
    let mut cursors = Vec::new();
    while let Some(row) = rows.next()? {
        // We wrote it. If it can't be parsed, the reader just starts over.
        let Ok(reader) = row.get::<_, String>(0)?.parse() else { continue };
        let inside = serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or_default();
        let seq = row.get(1)?;
        let position = Position { seq, inside };
        cursors.push(Cursor { entity, reader, position, is_finished: row.get(3)? });
    }
    Ok(cursors)
}

/// Runs a query, by age or by words.
pub(super) fn history(
    database: &Connection,
    query: &HistoryQuery,
) -> Result<HistoryPage, rusqlite::Error> {
    let before = query.before.and_then(|before| i64::try_from(before).ok());
    let first = match query.since.map(i64::try_from) {
        None => 0,
        Some(Ok(since)) => first_since(database, since)?,
        Some(Err(_)) => return Ok(HistoryPage::default()),
    };
    match &query.words {
        None => by_age(database, query, first, before),
        Some(words) => match Words::new(words) {
            Some(words) => by_words(database, query, &words, first, before),
            None => Ok(HistoryPage::default()),
        },
    }
}

/// The lowest number that an entity of this time or later can have: numbers are given in the order of
/// the start, so it is found by halving. Where the clock was set back between two starts, some that
/// qualify may be below it.
fn first_since(database: &Connection, since: i64) -> Result<i64, rusqlite::Error> {
    let mut at_or_below = database.prepare_cached(
        "SELECT number, started_at FROM entity WHERE number <= ?1 AND started_at > 0 \
         ORDER BY number DESC LIMIT 1",
    )?;
    let last: Option<i64> =
        database.query_row("SELECT max(number) FROM entity", [], |row| row.get(0))?;
    let (mut low, mut high) = (0, last.unwrap_or_default() + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let found: Option<(i64, i64)> = at_or_below.query_row([middle], read).optional()?;
        match found {
            Some((number, started_at)) if started_at >= since => high = number,
            _ => low = middle + 1,
        }
    }
    Ok(low)
}

fn by_age(
    database: &Connection,
    query: &HistoryQuery,
    first: i64,
    before: Option<i64>,
) -> Result<HistoryPage, rusqlite::Error> {
    let mut conditions = vec![if query.questions {
        "e.kind = 'question'"
    } else if query.kind.is_some() {
        "e.kind IS NOT NULL"
    } else {
        // Neither questions nor the portal, whose kind is null.
        "e.kind <> 'question'"
    }];
    if query.is_open {
        conditions.push("e.ended_at IS NULL");
    }
    if query.is_whole {
        conditions.push("e.parent IS NULL");
    }
    let mut values: Vec<Value> = Vec::new();
    for (condition, value) in [
        ("e.kind = ?", query.kind.map(|kind| kind.as_str().to_owned().into())),
        ("e.state = ?", query.state.map(|state| state.as_str().to_owned().into())),
        ("e.folder = ?", query.folder.clone().map(Value::from)),
        ("e.number < ?", before.map(Value::from)),
        ("e.number >= ?", (first > 0).then_some(Value::from(first))),
        (
            "e.started_at >= ?",
            query.since.and_then(|since| i64::try_from(since).ok()).map(Value::from),
        ),
    ] {
        if let Some(value) = value {
            conditions.push(condition);
            values.push(value);
        }
    }
    // One more than asked for, to see whether there is a next page.
    values.push(i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1).into());
    let statement = format!(
        "SELECT {COLUMNS} FROM {FROM} WHERE {} ORDER BY e.number DESC LIMIT ?",
        conditions.join(" AND ")
    );
    let mut statement = database.prepare_cached(&statement)?;
    let found = statement.query_map(params_from_iter(values), rows::read)?;
    let mut page = HistoryPage::default();
    let mut last = None;
    for row in found {
        if page.items.len() == query.limit {
            page.next = last;
            break;
        }
        let EntityRow { number, entity, record, parent_title, .. } = row?;
        last = u64::try_from(number).ok();
        page.items.push(Found { entity, record, parent_title, snippet: None });
    }
    Ok(page)
}

/// Goes from hit to hit, the newest first, and takes the first one of each entity. The query is run
/// once for many entities: to look up the beginning of a word, SQLite merges the hits of all words
/// that begin so.
fn by_words(
    database: &Connection,
    query: &HistoryQuery,
    words: &Words,
    first: i64,
    before: Option<i64>,
) -> Result<HistoryPage, rusqlite::Error> {
    let wanted = words.to_match();
    let mut newest = database.prepare_cached(
        "SELECT rowid FROM search WHERE search MATCH ?1 AND rowid < ?2 AND rowid >= ?3 \
         ORDER BY rowid DESC",
    )?;
    let mut page = HistoryPage::default();
    let mut below = before.map_or(i64::MAX, |before| key(before, 0));
    let mut examined = 0;
    'queries: loop {
        let mut hits = newest.query(params![wanted, below, key(first, 0)])?;
        let mut skipped = 0;
        while let Some(hit) = hits.next()? {
            let hit: i64 = hit.get(0)?;
            if hit >= below {
                // Another one of the same entity.
                skipped += 1;
                if skipped == MAX_SKIPPED {
                    continue 'queries;
                }
                continue;
            }
            let (number, seq) = split_key(hit);
            if page.items.len() == query.limit || examined == MAX_HITS {
                page.next = u64::try_from(number + 1).ok();
                return Ok(page);
            }
            examined += 1;
            below = key(number, 0);
            let EntityRow { entity, record, parent_title, .. } = find(database, number)?;
            if query.takes(entity, &record) {
                let text = match seq {
                    0 => Some(record.title.clone()),
                    _ => text(database, hit)?,
                };
                let snippet = text.map(|text| words.snippet(&text));
                page.items.push(Found { entity, record, parent_title, snippet });
            }
        }
        return Ok(page);
    }
}

fn text(database: &Connection, key: i64) -> Result<Option<String>, rusqlite::Error> {
    let json: Option<String> = database
        .prepare_cached("SELECT json FROM fact WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    Ok(json.and_then(|json| text_of(&json)))
}
