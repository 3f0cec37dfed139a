//! What a log hands to the journal.
//!
//! ```text
//!   push, note ──▶ Keeping (numbers, folds, stages) ──▶ outbox ──▶ Journal
//!                                                                    │ settled, in order
//!   readers see it ◀── History::settle ◀─────────────────────────────┘
//! ```

use std::sync::Arc;

use super::entry::LiveEntry;
use super::history::Staged;
use crate::fold::Fold;
use crate::journal::{Append, Chunk, Entity, Fact, StoreError};

/// The stored side of one log.
pub(super) struct Keeping<E: LiveEntry> {
    entity: Entity,
    fold: E::Fold,
    facts: u64,
    notes: u64,
    /// What is to be submitted next.
    outbox: Option<Append>,
    /// Nothing is submitted before the entity has begun: it may yet fail to start.
    has_begun: bool,
    /// Somebody is submitting. Others leave what they have in the outbox, or the order would be lost.
    is_submitting: bool,
    /// Appends that were put into the outbox, and how many of those are durable.
    staged: u64,
    settled: u64,
    /// Nothing more is kept: the journal has refused something.
    failure: Option<StoreError>,
}

/// Something to submit, and what it settles.
pub(super) struct Submission {
    pub(super) append: Append,
    /// How many facts the append has.
    pub(super) facts: usize,
    /// How much is settled with it.
    pub(super) staged: u64,
}

impl<E: LiveEntry> Keeping<E> {
    pub(super) fn new(entity: Entity) -> Self {
        Self {
            entity,
            fold: E::Fold::default(),
            facts: 0,
            notes: 0,
            outbox: None,
            has_begun: false,
            is_submitting: false,
            staged: 0,
            settled: 0,
            failure: None,
        }
    }

    /// An entity of which so much is stored.
    pub(super) fn restored(entity: Entity, fold: E::Fold, facts: u64, notes: u64) -> Self {
        Self { fold, facts, notes, has_begun: true, ..Self::new(entity) }
    }

    /// The entity, unless nothing of it is kept: not yet, or no longer.
    pub(super) fn kept_entity(&self) -> Option<Entity> {
        (self.has_begun && self.failure.is_none()).then_some(self.entity)
    }

    /// Pieces of open blocks, to be stored beside the facts.
    pub(super) fn chunks(&self, unsaved: Vec<(u64, usize, String)>) -> impl Iterator<Item = Chunk> {
        let chunk = |(block, from, text): (u64, usize, String)| Chunk {
            entity: self.entity,
            block,
            from: from as u64,
            text,
        };
        unsaved.into_iter().map(chunk)
    }

    pub(super) fn fold(&self) -> &E::Fold {
        &self.fold
    }

    /// From now on, what is staged is submitted.
    pub(super) fn begin(&mut self) {
        self.has_begun = true;
    }

    /// Takes what an entry adds to the facts. True if that waits to become durable.
    pub(super) fn stage(&mut self, at: u64, entry: &E, staged: Staged) -> bool {
        let changes_record = self.fold.apply(at, entry);
        if staged.facts.is_empty() || self.failure.is_some() {
            return false;
        }
        let is_searchable = entry.is_searchable();
        let record = changes_record.then(|| self.fold.record());
        let added = staged.facts.len() as u64;
        let append = self.next();
        append.facts.extend(staged.facts.into_iter().map(|fact| Fact {
            at: fact.at,
            json: fact.what,
            is_searchable,
        }));
        append.closed_blocks.extend(staged.closed_block);
        append.record = record.or_else(|| append.record.take());
        self.facts += added;
        true
    }

    /// Folds a note and stages it for the next append.
    pub(super) fn note(&mut self, at: u64, note: &<E::Fold as Fold<E>>::Note) {
        self.fold.note(at, note);
        if self.failure.is_some() {
            return;
        }
        let record = self.fold.record();
        let json: Arc<str> = serde_json::to_string(note).unwrap_or_default().into();
        let append = self.next();
        append.notes.push(Fact { at, json, is_searchable: false });
        append.record = Some(record);
        self.notes += 1;
    }

    fn next(&mut self) -> &mut Append {
        self.staged += 1;
        let (entity, facts, notes) = (self.entity, self.facts, self.notes);
        self.outbox.get_or_insert_with(|| Append::new(entity, facts, notes))
    }

    /// What is to be submitted now, by the caller and by nobody else until it asks again.
    pub(super) fn take(&mut self, is_submitting: bool) -> Option<Submission> {
        if self.is_submitting != is_submitting || !self.has_begun || self.failure.is_some() {
            return None;
        }
        let append = self.outbox.take();
        self.is_submitting = append.is_some();
        let append = append?;
        Some(Submission { facts: append.facts.len(), append, staged: self.staged })
    }

    /// What was submitted is durable, or will not be. True if everything is to be shown, because
    /// nothing is kept any more.
    pub(super) fn settle(&mut self, staged: u64, result: Result<(), StoreError>) -> bool {
        match result {
            Ok(()) => self.settled = self.settled.max(staged),
            Err(error) => {
                if self.failure.is_none() {
                    tracing::error!(entity = %self.entity, %error, "no longer kept");
                }
                self.failure = Some(error);
                self.outbox = None;
            }
        }
        self.failure.is_some()
    }

    /// How much was staged so far, for [`is_durable`](Self::is_durable).
    pub(super) fn staged(&self) -> u64 {
        self.staged
    }

    /// Whether everything up to there is durable; an error if it never will be.
    pub(super) fn is_durable(&self, staged: u64) -> Result<bool, StoreError> {
        match &self.failure {
            _ if self.settled >= staged => Ok(true),
            Some(error) => Err(error.clone()),
            None => Ok(false),
        }
    }

    /// Whether there is nothing left to wait for.
    pub(super) fn is_settled(&self) -> bool {
        self.failure.is_some() || self.settled >= self.staged
    }
}
