//! The journal of a server that stores nothing on disk.

use std::collections::{BTreeMap, HashMap, VecDeque};

use async_trait::async_trait;
use parking_lot::Mutex;

use super::search::{Words, text_of};
use super::{
    Append, Batch, Chunk, Cursor, Entity, Fact, Found, HistoryPage, HistoryQuery, Journal,
    OnSettled, Page, Record, StoreError,
};

/// Stores everything in memory. If that is full, deletes ended entities, the oldest first. A batch
/// is "durable" at once.
#[derive(Debug)]
pub struct MemoryJournal {
    state: Mutex<State>,
    /// How many bytes of facts and notes of ended entities to hold before the first to end are
    /// deleted.
    capacity: usize,
}

#[derive(Debug, Default)]
struct State {
    streams: HashMap<Entity, Stream>,
    /// Entities in the order of their start.
    by_number: BTreeMap<u64, Entity>,
    /// The entities that belong to each entity.
    children: HashMap<Entity, Vec<Entity>>,
    last_number: u64,
    /// Ended entities without a parent, in the order of their end. Some may be deleted already.
    ended: VecDeque<Entity>,
    /// Bytes of facts and notes of all ended entities.
    ended_bytes: usize,
}

/// How many ended entities are kept, however large they are.
const KEPT_ANYWAY: usize = 16;
/// What an entity, and a fact beside its JSON, take in memory, more or less.
const ENTITY_BYTES: usize = 512;
const FACT_BYTES: usize = 64;

#[derive(Debug)]
struct Stream {
    number: u64,
    facts: Vec<Fact>,
    notes: Vec<Fact>,
    record: Record,
    chunks: Vec<Chunk>,
    cursors: Vec<Cursor>,
    bytes: usize,
}

impl Default for MemoryJournal {
    fn default() -> Self {
        Self::with_capacity(1024 * 1024)
    }
}

impl MemoryJournal {
    /// An empty journal that deletes ended entities when it has more bytes than `capacity`.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { state: Mutex::default(), capacity }
    }
}

impl State {
    fn check(&self, append: &Append) -> Result<(), StoreError> {
        let stream = self.streams.get(&append.entity);
        let (facts, notes) =
            stream.map_or((0, 0), |stream| (stream.facts.len(), stream.notes.len()));
        for (expected, found) in [(append.after, facts), (append.after_note, notes)] {
            let found = found as u64;
            if expected != found {
                return Err(StoreError::Conflict { entity: append.entity, expected, found });
            }
        }
        if stream.is_none() && append.record.is_none() {
            return Err(StoreError::Conflict { entity: append.entity, expected: 0, found: 0 });
        }
        Ok(())
    }

    fn append(&mut self, append: Append) {
        let Append { entity, facts, notes, replaces_notes, record, closed_blocks, .. } = append;
        let is_new = !self.streams.contains_key(&entity);
        if is_new {
            let Some(record) = record.clone() else { return };
            self.last_number += 1;
            if let Some(parent) = record.parent {
                self.children.entry(parent).or_default().push(entity);
            }
            self.by_number.insert(self.last_number, entity);
            self.streams.insert(entity, Stream::new(self.last_number, record));
        }
        let Some(stream) = self.streams.get_mut(&entity) else { return };
        let replaced = if replaces_notes { size(&std::mem::take(&mut stream.notes)) } else { 0 };
        let bytes = size(&facts) + size(&notes);
        stream.bytes = stream.bytes + bytes - replaced;
        stream.facts.extend(facts);
        stream.notes.extend(notes);
        stream.chunks.retain(|chunk| !closed_blocks.contains(&chunk.block));
        let had_ended = stream.has_ended() && !is_new;
        if let Some(record) = record {
            stream.record = record;
        }
        if had_ended {
            self.ended_bytes = self.ended_bytes + bytes - replaced;
        } else if stream.has_ended() {
            self.ended_bytes += stream.bytes;
            if stream.record.parent.is_none() {
                self.ended.push_back(entity);
            }
        }
    }

    fn write(&mut self, batch: Batch) -> Result<(), StoreError> {
        for append in &batch.appends {
            self.check(append)?;
        }
        for append in batch.appends {
            self.append(append);
        }
        for chunk in batch.chunks {
            if let Some(stream) = self.streams.get_mut(&chunk.entity) {
                stream.chunks.push(chunk);
            }
        }
        for cursor in batch.cursors {
            if let Some(stream) = self.streams.get_mut(&cursor.entity) {
                stream.cursors.retain(|other| other.reader != cursor.reader);
                stream.cursors.push(cursor);
            }
        }
        for (entity, reader) in batch.forgotten {
            if let Some(stream) = self.streams.get_mut(&entity) {
                stream.cursors.retain(|cursor| cursor.reader != reader);
            }
        }
        Ok(())
    }

    /// Deletes an entity and what belongs to it.
    fn delete(&mut self, entity: Entity) {
        if let Some(stream) = self.streams.remove(&entity) {
            self.by_number.remove(&stream.number);
            if stream.has_ended() {
                self.ended_bytes -= stream.bytes;
            }
        }
        let children = self.children.remove(&entity).unwrap_or_default();
        for child in children {
            self.delete(child);
        }
    }

    /// The oldest entity without a parent that ended before a time.
    fn ended(&self, before: u64) -> Option<Entity> {
        let is_over = |record: &Record| record.ended_at.is_some_and(|ended| ended < before);
        let mut entities = self.by_number.values();
        let found = entities.find(|entity| {
            self.streams
                .get(entity)
                .is_some_and(|stream| stream.record.parent.is_none() && is_over(&stream.record))
        });
        found.copied()
    }

    fn make_room(&mut self, capacity: usize) {
        while self.ended_bytes > capacity && self.ended.len() > KEPT_ANYWAY {
            if let Some(entity) = self.ended.pop_front() {
                self.delete(entity);
            }
        }
    }
}

/// What facts or notes take in memory, more or less.
fn size(facts: &[Fact]) -> usize {
    facts.iter().map(|fact| FACT_BYTES + fact.json.len()).sum()
}

impl Stream {
    fn new(number: u64, record: Record) -> Self {
        Self {
            number,
            facts: Vec::new(),
            notes: Vec::new(),
            record,
            chunks: Vec::new(),
            cursors: Vec::new(),
            bytes: ENTITY_BYTES,
        }
    }

    fn has_ended(&self) -> bool {
        self.record.ended_at.is_some()
    }

    /// A snippet of the newest text that has all words, or else of the title.
    fn find(&self, words: &Words) -> Option<String> {
        let searched = self.facts.iter().rev().filter(|fact| fact.is_searchable);
        let mut texts = searched.filter_map(|fact| text_of(&fact.json));
        let text = texts.find(|text| words.are_in(text));
        let text =
            text.or_else(|| words.are_in(&self.record.title).then(|| self.record.title.clone()));
        text.map(|text| words.snippet(&text))
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    fn submit_then(&self, batch: Batch, settled: OnSettled) {
        let result = {
            let mut state = self.state.lock();
            let result = state.write(batch);
            state.make_room(self.capacity);
            result
        };
        settled(result);
    }

    async fn read(
        &self,
        entity: Entity,
        after: u64,
        max_facts: usize,
        max_bytes: usize,
    ) -> Result<Option<Page>, StoreError> {
        let state = self.state.lock();
        let Some(stream) = state.streams.get(&entity) else { return Ok(None) };
        let mut page = Page { facts: Vec::new(), is_end: true };
        let mut bytes = 0;
        let skipped = usize::try_from(after).unwrap_or(usize::MAX);
        for (seq, fact) in (1..).zip(&stream.facts).skip(skipped) {
            if page.facts.len() >= max_facts || bytes >= max_bytes {
                page.is_end = false;
                break;
            }
            bytes += fact.json.len();
            page.facts.push((seq, fact.clone()));
        }
        Ok(Some(page))
    }

    async fn notes(&self, entity: Entity) -> Result<Vec<Fact>, StoreError> {
        let state = self.state.lock();
        Ok(state.streams.get(&entity).map(|stream| stream.notes.clone()).unwrap_or_default())
    }

    async fn record(&self, entity: Entity) -> Result<Option<(Record, u64, u64)>, StoreError> {
        let state = self.state.lock();
        Ok(state.streams.get(&entity).map(|stream| {
            (stream.record.clone(), stream.facts.len() as u64, stream.notes.len() as u64)
        }))
    }

    async fn chunks(&self, entity: Entity) -> Result<Vec<Chunk>, StoreError> {
        let state = self.state.lock();
        Ok(state.streams.get(&entity).map(|stream| stream.chunks.clone()).unwrap_or_default())
    }

    async fn cursors(&self, entity: Entity) -> Result<Vec<Cursor>, StoreError> {
        let state = self.state.lock();
        Ok(state.streams.get(&entity).map(|stream| stream.cursors.clone()).unwrap_or_default())
    }

    async fn history(&self, query: HistoryQuery) -> Result<HistoryPage, StoreError> {
        let words = match &query.words {
            Some(words) => match Words::new(words) {
                Some(words) => Some(words),
                None => return Ok(HistoryPage::default()),
            },
            None => None,
        };
        let state = self.state.lock();
        let mut page = HistoryPage::default();
        let mut last = None;
        for (number, entity) in state.by_number.range(..query.before.unwrap_or(u64::MAX)).rev() {
            let Some(stream) = state.streams.get(entity) else { continue };
            if !query.takes(*entity, &stream.record) {
                continue;
            }
            let snippet = match &words {
                Some(words) => match stream.find(words) {
                    Some(snippet) => Some(snippet),
                    None => continue,
                },
                None => None,
            };
            if page.items.len() == query.limit {
                page.next = last;
                break;
            }
            last = Some(*number);
            let record = stream.record.clone();
            let parent = record.parent.and_then(|parent| state.streams.get(&parent));
            let parent_title = parent.map(|parent| parent.record.title.clone());
            page.items.push(Found { entity: *entity, record, parent_title, snippet });
        }
        Ok(page)
    }

    async fn delete(&self, entity: Entity) -> Result<(), StoreError> {
        if entity != Entity::Portal {
            self.state.lock().delete(entity);
        }
        Ok(())
    }

    async fn expire(&self, ended_before: u64) -> Result<u64, StoreError> {
        let mut state = self.state.lock();
        let mut expired = 0;
        while let Some(entity) = state.ended(ended_before) {
            state.delete(entity);
            expired += 1;
        }
        Ok(expired)
    }
}

#[cfg(test)]
mod tests {
    use wire::{EntityState, SessionId, Usage};

    use super::*;

    #[tokio::test]
    async fn what_ended_first_is_forgotten_when_there_is_too_much() {
        let journal = MemoryJournal::with_capacity(1_000);
        let mut sessions = Vec::new();
        for index in 0..100 {
            let entity = Entity::from(SessionId::generate());
            sessions.push(entity);
            let json: std::sync::Arc<str> = "x".repeat(100).into();
            let record = Record {
                parent: None,
                title: String::new(),
                folder: String::new(),
                model: None,
                state: EntityState::Closed,
                started_at: 1,
                // The first one goes on.
                ended_at: (index > 0).then_some(2),
                usage: Usage::default(),
                detail: String::new(),
            };
            let facts = vec![Fact { at: 1, json, is_searchable: false }];
            let append = Append { facts, record: Some(record), ..Append::new(entity, 0, 0) };
            journal.submit(append.into()).durable().await.expect("kept");
        }
        let mut kept = 0;
        for entity in &sessions {
            kept += usize::from(journal.record(*entity).await.expect("read").is_some());
        }
        assert_eq!(kept, 1 + KEPT_ANYWAY);
        assert!(journal.record(sessions[0]).await.expect("read").is_some(), "it has not ended");
        assert!(journal.record(sessions[99]).await.expect("read").is_some(), "the last one");
        assert!(journal.record(sessions[1]).await.expect("read").is_none(), "the first to end");
    }
}
