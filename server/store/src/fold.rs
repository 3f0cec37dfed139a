//! Folds: what a stream comes to.
//!
//! A fold is the result of applying a stream's facts and notes in order, and of nothing else: live
//! or from the store after a restart, the same function gives the same record. No clock, no I/O.

mod job;
mod portal;
mod question;
mod session;
mod task;

#[cfg(test)]
pub(crate) mod tests;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wire::SessionId;

pub use job::{
    Canceler, CarriedRun, JobFold, JobHistory, JobNote, PlannedWork, WorkEnd, WorkFold, WorkRun,
};
pub use portal::{FolderTrust, InstalledEntry, Installer, LoginFacts, PortalFold, PortalNote};
pub use question::{QuestionDetail, QuestionFold, QuestionNote};
pub use session::{
    OpenQuestion, ProjectLink, ProjectState, PromptAuthor, QueuedPrompt, SessionDetail,
    SessionFold, SessionNote,
};
pub use task::{JobToolCall, NoAnswer, TaskEvent, TaskFold, TaskHistory, TaskNote, TaskOrigin};

use crate::journal::{Append, Entity, Fact, Journal, Record, StoreError};

/// What a stream of facts `E` comes to.
pub trait Fold<E>: Default + Send + 'static {
    /// What the portal stores beside the facts.
    type Note: Serialize + DeserializeOwned + Send + 'static;

    /// Applies the next fact, which happened at this time (microseconds since the Unix epoch). True
    /// if the record may have changed.
    fn apply(&mut self, at: u64, fact: &E) -> bool;

    /// Applies the next note. A note always changes the record.
    fn note(&mut self, at: u64, note: &Self::Note);

    /// The record of everything applied so far.
    fn record(&self) -> Record;
}

/// The reason of whatever ended because the server stopped.
pub const INTERRUPTED: &str = "interrupted: the server stopped";

/// The fields of a task's or job's record that are not columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunDetail {
    /// Why it did not succeed, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many works of a job have succeeded in their latest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<u32>,
    /// How many works a job has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    /// The session that a task runs in, if that is a user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

impl RunDetail {
    /// Reads them; empty if there are none.
    pub fn read(record: &Record) -> Self {
        serde_json::from_str(&record.detail).unwrap_or_default()
    }

    /// As they are kept in a record.
    fn write(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The longest title, in characters.
const MAX_TITLE: usize = 120;

/// The first line of a text, shortened to a title.
fn first_line(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(MAX_TITLE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The stored stream of an entity, and its fold.
#[derive(Debug)]
pub struct Stored<F> {
    /// The fold of the facts and notes.
    pub fold: F,
    /// All facts, in order: the first one has the number 1.
    pub facts: Vec<Fact>,
    /// How many notes there are.
    pub notes: u64,
}

/// Folds the stored stream of an entity; `None` if it is unknown.
pub async fn refold<E, F>(journal: &dyn Journal, entity: Entity) -> Result<Option<F>, StoreError>
where
    E: DeserializeOwned,
    F: Fold<E>,
{
    Ok(load::<E, F>(journal, entity).await?.map(|stored| stored.fold))
}

/// Reads the stored stream of an entity and folds it; `None` if it is unknown.
pub async fn load<E, F>(
    journal: &dyn Journal,
    entity: Entity,
) -> Result<Option<Stored<F>>, StoreError>
where
    E: DeserializeOwned,
    F: Fold<E>,
{
    let Some(page) = journal.read(entity, 0, usize::MAX, usize::MAX).await? else {
        return Ok(None);
    };
    let facts: Vec<Fact> = page.facts.into_iter().map(|(_, fact)| fact).collect();
    let notes = journal.notes(entity).await?;
    let count = notes.len() as u64;
    let mut notes = notes.into_iter().peekable();
    let mut fold = F::default();
    let mut take_notes = |fold: &mut F, until: u64| {
        while let Some(note) = notes.next_if(|note| note.at < until) {
            // We wrote it, so it parses unless a newer version added its kind. Then it can be
            // skipped.
            if let Ok(known) = serde_json::from_str(&note.json) {
                fold.note(note.at, &known);
            }
        }
    };
    for fact in &facts {
        take_notes(&mut fold, fact.at);
        if let Ok(known) = serde_json::from_str::<E>(&fact.json) {
            fold.apply(fact.at, &known);
        }
    }
    take_notes(&mut fold, u64::MAX);
    Ok(Some(Stored { fold, facts, notes: count }))
}

/// What [`extend`] adds to a stream.
pub struct Addition<E, N> {
    /// Facts with their times, in microseconds since the Unix epoch.
    pub facts: Vec<(u64, E)>,
    /// Notes with their times, in microseconds since the Unix epoch.
    pub notes: Vec<(u64, N)>,
    /// The blocks that the facts close, by the number of the fact that opened each.
    pub closed_blocks: Vec<u64>,
}

/// Adds to the stream of an entity without a live log, and returns when that is durable. False if
/// the entity is unknown.
pub async fn extend<E, F>(
    journal: &dyn Journal,
    entity: Entity,
    addition: Addition<E, F::Note>,
) -> Result<bool, StoreError>
where
    E: Serialize + DeserializeOwned,
    F: Fold<E>,
{
    let Some(stored) = load::<E, F>(journal, entity).await? else { return Ok(false) };
    let mut fold = stored.fold;
    let mut append = Append::new(entity, stored.facts.len() as u64, stored.notes);
    append.closed_blocks = addition.closed_blocks;
    let mut notes = addition.notes.into_iter().peekable();
    let mut take_notes = |fold: &mut F, until: u64| {
        while let Some((at, note)) = notes.next_if(|(at, _)| *at < until) {
            fold.note(at, &note);
            append.notes.push(to_fact(at, &note));
        }
    };
    // In the order of their times, as `load` applies them.
    for (at, fact) in addition.facts {
        take_notes(&mut fold, at);
        fold.apply(at, &fact);
        append.facts.push(to_fact(at, &fact));
    }
    take_notes(&mut fold, u64::MAX);
    append.record = Some(fold.record());
    journal.submit(append.into()).durable().await?;
    Ok(true)
}

/// A fact or a note as it is stored, outside of the search.
pub fn to_fact(at: u64, what: &impl Serialize) -> Fact {
    let json = serde_json::to_string(what).unwrap_or_default().into();
    Fact { at, json, is_searchable: false }
}
