//! Folds: what a stream comes to.
//!
//! A fold is made by applying the facts and notes of a stream in order, and by nothing else: while
//! it happens, and after a restart from what was stored, the same function gives the same record.
//! No clock, no I/O.

mod job;
mod session;
mod task;

#[cfg(test)]
mod tests;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use job::{JobFold, JobNote};
pub use session::{PromptAuthor, QueuedPrompt, SessionFold, SessionNote};
pub use task::{TaskFold, TaskNote};

use crate::journal::{Append, Entity, Fact, Journal, Record, StoreError};

/// What a stream of facts `E` comes to.
pub trait Fold<E>: Default + Send + 'static {
    /// What the portal notes beside the facts.
    type Note: Serialize + DeserializeOwned + Send + 'static;

    /// Takes the next fact, which happened then. True if the record may be another one now.
    fn apply(&mut self, at: u64, fact: &E) -> bool;

    /// Takes the next note. It always changes the record.
    fn note(&mut self, at: u64, note: &Self::Note);

    /// The record so far.
    fn record(&self) -> Record;
}

/// The most characters that a title has.
const MAX_TITLE: usize = 120;

/// The first line of a text, for a title.
fn first_line(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(MAX_TITLE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Folds what is stored of an entity; `None` if nothing is.
pub async fn refold<E, F>(journal: &dyn Journal, entity: Entity) -> Result<Option<F>, StoreError>
where
    E: DeserializeOwned,
    F: Fold<E>,
{
    let Some(page) = journal.read(entity, 0, usize::MAX, usize::MAX).await? else {
        return Ok(None);
    };
    let mut notes = journal.notes(entity).await?.into_iter().peekable();
    let mut fold = F::default();
    let mut take_notes = |fold: &mut F, until: u64| {
        while let Some(note) = notes.next_if(|note| note.at < until) {
            // Written by us. One that this version does not know changes nothing that it knows.
            if let Ok(known) = serde_json::from_str(&note.json) {
                fold.note(note.at, &known);
            }
        }
    };
    for (_, fact) in page.facts {
        take_notes(&mut fold, fact.at);
        if let Ok(known) = serde_json::from_str::<E>(&fact.json) {
            fold.apply(fact.at, &known);
        }
    }
    take_notes(&mut fold, u64::MAX);
    Ok(Some(fold))
}

/// What is added to a stream that nobody has open.
pub struct Addition<E, N> {
    /// Facts and when they happened.
    pub facts: Vec<(u64, E)>,
    /// Notes and when they were made.
    pub notes: Vec<(u64, N)>,
    /// Blocks that the facts close, by the numbers of the facts that opened them.
    pub closed_blocks: Vec<u64>,
}

/// Adds to the stream of an entity that nobody has open, and returns when that is durable. False
/// if the entity is unknown.
pub async fn extend<E, F>(
    journal: &dyn Journal,
    entity: Entity,
    addition: Addition<E, F::Note>,
) -> Result<bool, StoreError>
where
    E: Serialize + DeserializeOwned,
    F: Fold<E>,
{
    let Some((_, facts, notes)) = journal.record(entity).await? else { return Ok(false) };
    let Some(mut fold) = refold::<E, F>(journal, entity).await? else { return Ok(false) };
    let mut append = Append::new(entity, facts, notes);
    append.closed_blocks = addition.closed_blocks;
    for (at, fact) in addition.facts {
        fold.apply(at, &fact);
        append.facts.push(stored(at, &fact));
    }
    for (at, note) in addition.notes {
        fold.note(at, &note);
        append.notes.push(stored(at, &note));
    }
    append.record = Some(fold.record());
    journal.submit(append.into()).durable().await?;
    Ok(true)
}

fn stored(at: u64, what: &impl Serialize) -> Fact {
    let json = serde_json::to_string(what).unwrap_or_default().into();
    Fact { at, json, is_searchable: false }
}
