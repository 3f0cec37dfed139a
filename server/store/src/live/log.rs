//! One entity's responses and their readers.
//!
//! A log of an entity that is kept shows a fact once it is durable; what belongs to no entity is
//! shown at once.

mod calls;

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::call::LiveSource;
use super::delivery::Delivery;
use super::entry::LiveEntry;
use super::history::{History, Piece, Place, Room, Timed};
use super::keeping::{Keeping, Submission};
use super::pace::PaceMark;
use super::{LiveShared, PollError, ReaderKey};
use crate::fold::{Fold, Stored};
use crate::journal::{Batch, Cursor, Entity, StoreError};

/// The responses of one entity, from the first one, and the positions of its readers.
pub struct LiveLog<E: LiveEntry> {
    this: Weak<Self>,
    shared: Arc<LiveShared>,
    state: Mutex<State<E>>,
    /// Something was pushed or became durable, or the log was closed.
    changed: Notify,
    /// An answer was committed or lost. Apart from `changed`, or every settled answer would wake
    /// all other readers.
    settled: Notify,
}

struct State<E: LiveEntry> {
    history: History,
    /// `None` if nothing is kept.
    keeping: Option<Keeping<E>>,
    readers: HashMap<ReaderKey, Reader>,
    ended: Option<Instant>,
}

impl<E: LiveEntry> State<E> {
    /// Adds an entry. True if it waits to become durable.
    fn push(&mut self, entry: &E, at: u64) -> bool {
        let Self { history, keeping, .. } = self;
        let staged = history.push(entry, at, to_json);
        let is_delta = staged.facts.is_empty();
        let waits = keeping.as_mut().is_some_and(|keeping| keeping.stage(at, entry, staged));
        if !waits && !is_delta {
            history.settle(usize::MAX);
        }
        waits
    }

    /// Adds a note. True if it is to be kept.
    fn note(&mut self, note: &Note<E>, at: u64) -> bool {
        let Some(keeping) = &mut self.keeping else { return false };
        keeping.note(at, note);
        true
    }
}

/// Something to add to a log, for [`LiveLog::append`].
pub enum LiveItem<E: LiveEntry> {
    /// What readers see.
    Entry(E),
    /// What the portal notes.
    Note(Note<E>),
}

/// What the portal notes beside the entries `E` of a log.
pub type Note<E> = <<E as LiveEntry>::Fold as Fold<E>>::Note;

struct Reader {
    place: Place,
    call: Call,
    last_call: Instant,
    last_answer: Option<Instant>,
    mark: PaceMark,
    /// It was told that the entity is closed. Remembered, or it could begin anew.
    finished: bool,
    /// Whether the journal knows how far it has come.
    is_saved: bool,
}

/// What the journal has of a log, apart from its chunks.
pub(super) struct Kept<F> {
    pub(super) stored: Stored<F>,
    pub(super) cursors: Vec<Cursor>,
    /// How long ago it ended, if it did.
    pub(super) ended: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    None,
    Waiting,
    Delivering,
}

impl<E: LiveEntry> LiveLog<E> {
    /// An empty log that is not kept.
    pub fn new(shared: Arc<LiveShared>) -> Arc<Self> {
        Self::with(shared, None)
    }

    /// An empty log that is not kept, with positions of its own: those of an earlier log with the
    /// same purpose are before its beginning.
    pub(super) fn begin_anew(shared: Arc<LiveShared>) -> Arc<Self> {
        let began = usize::try_from(shared.next_time()).unwrap_or_default();
        let log = Self::with(shared, None);
        log.state.lock().history = History::starting_at(began);
        log
    }

    /// The empty log of an entity that may yet fail to start. Nothing of it is kept, or shown,
    /// before it [begins](Self::begin).
    pub fn prepare(shared: Arc<LiveShared>, entity: Entity) -> Arc<Self> {
        Self::with(shared, Some(Keeping::new(entity)))
    }

    /// The log of an entity that is kept, with the readers it had.
    pub(super) fn restore(
        shared: Arc<LiveShared>,
        entity: Entity,
        kept: Kept<E::Fold>,
    ) -> Arc<Self> {
        let Kept { stored, cursors, ended } = kept;
        let facts = stored.facts.len() as u64;
        let keeping = Keeping::restored(entity, stored.fold, facts, stored.notes);
        let log = Self::with(shared, Some(keeping));
        let facts = stored.facts.into_iter().map(|fact| Timed { at: fact.at, what: fact.json });
        let now = Instant::now();
        let mut state = log.state.lock();
        state.ended = ended.map(|ago| now.checked_sub(ago).unwrap_or(now));
        state.history = History::restored(facts.collect());
        for cursor in cursors {
            let place = state.history.find::<E>(&cursor.position);
            let reader =
                Reader { finished: cursor.is_finished, is_saved: true, ..Reader::new(now, place) };
            state.readers.insert(cursor.reader.into(), reader);
        }
        drop(state);
        log
    }

    fn with(shared: Arc<LiveShared>, keeping: Option<Keeping<E>>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            shared,
            state: Mutex::new(State {
                history: History::default(),
                keeping,
                readers: HashMap::new(),
                ended: None,
            }),
            changed: Notify::new(),
            settled: Notify::new(),
        })
    }

    /// The entity is there: keeps this note of how it was started, and whatever happened already.
    pub fn begin(&self, started: &Note<E>) {
        if let Some(keeping) = &mut self.state.lock().keeping {
            keeping.begin();
        }
        self.note(started);
    }

    /// Adds an entry. False if the log is closed: then nothing is added.
    ///
    /// Costs the same whatever is in the log and however many readers it has; those with a call
    /// pending are woken.
    pub fn push(&self, entry: &E) -> bool {
        let waits = {
            let mut state = self.state.lock();
            if state.ended.is_some() {
                return false;
            }
            state.push(entry, self.shared.clock.next())
        };
        self.pushed(waits);
        true
    }

    /// Keeps a note, which no reader sees. Possible after the end, too.
    pub fn note(&self, note: &Note<E>) {
        if self.state.lock().note(note, self.shared.clock.next()) {
            self.submit();
        }
    }

    /// Adds entries and notes, of which either all become durable or none. Notes are possible after
    /// the end, too; entries are left out then.
    pub fn append(&self, items: &[LiveItem<E>]) {
        let mut waits = false;
        {
            let mut state = self.state.lock();
            for item in items {
                let at = self.shared.clock.next();
                waits |= match item {
                    LiveItem::Entry(_) if state.ended.is_some() => false,
                    LiveItem::Entry(entry) => state.push(entry, at),
                    LiveItem::Note(note) => state.note(note, at),
                };
            }
        }
        self.pushed(waits);
    }

    fn pushed(&self, waits: bool) {
        if waits {
            self.submit();
        } else {
            self.changed.notify_waiters();
        }
    }

    /// Hands what is staged to the journal, one after the other. Never under the lock: the journal
    /// may settle it at once.
    fn submit(&self) {
        let mut is_submitting = false;
        loop {
            let submission =
                self.state.lock().keeping.as_mut().and_then(|keeping| keeping.take(is_submitting));
            let Some(Submission { append, facts, staged }) = submission else { return };
            is_submitting = true;
            let log = self.this.clone();
            let settled = move |result| {
                if let Some(log) = log.upgrade() {
                    log.settle_facts(facts, staged, result);
                }
            };
            self.shared.journal.submit_then(append.into(), Box::new(settled));
        }
    }

    fn settle_facts(&self, facts: usize, staged: u64, result: Result<(), StoreError>) {
        {
            let mut state = self.state.lock();
            let State { history, keeping, .. } = &mut *state;
            let is_lost = keeping.as_mut().is_some_and(|keeping| keeping.settle(staged, result));
            history.settle(if is_lost { usize::MAX } else { facts });
        }
        self.changed.notify_waiters();
    }

    /// Waits until everything that was pushed and noted so far is durable. Cancel safe.
    pub async fn durable(&self) -> Result<(), StoreError> {
        let mut changed = std::pin::pin!(self.changed.notified());
        let Some(target) = self.state.lock().keeping.as_ref().map(Keeping::staged) else {
            return Ok(());
        };
        loop {
            // Registered before the look, or what settles in between is missed.
            changed.as_mut().enable();
            let is_durable = match &self.state.lock().keeping {
                Some(keeping) => keeping.is_durable(target)?,
                None => true,
            };
            if is_durable {
                return Ok(());
            }
            changed.as_mut().await;
            changed.set(self.changed.notified());
        }
    }

    /// Adds to a batch what has happened since the last time and is no fact: text of open blocks,
    /// and how far readers have come. Together, so that no reader is ahead of the text.
    pub(super) fn take_unsaved(&self, batch: &mut Batch) {
        let mut state = self.state.lock();
        let State { history, keeping: Some(keeping), readers, .. } = &mut *state else { return };
        let Some(entity) = keeping.kept_entity() else { return };
        batch.chunks.extend(keeping.chunks(history.take_unsaved()));
        for (key, reader) in readers {
            if let ReaderKey::Token(token) = key
                && !std::mem::replace(&mut reader.is_saved, true)
            {
                batch.cursors.push(Cursor {
                    entity,
                    reader: token.clone(),
                    position: reader.place.position(),
                    is_finished: reader.finished,
                });
            }
        }
    }

    /// What the log comes to so far; `None` if it is not kept.
    pub fn fold<T>(&self, read: impl FnOnce(&E::Fold) -> T) -> Option<T> {
        self.state.lock().keeping.as_ref().map(|keeping| read(keeping.fold()))
    }

    /// Nothing more will happen. Readers drain what is left, then are told so.
    pub fn close(&self) {
        {
            let mut state = self.state.lock();
            if state.ended.is_some() {
                return;
            }
            state.ended = Some(Instant::now());
            state.history.shrink();
        }
        self.changed.notify_waiters();
    }

    /// True after [`Self::close`].
    pub fn is_closed(&self) -> bool {
        self.state.lock().ended.is_some()
    }

    /// How many readers are remembered.
    pub fn readers(&self) -> usize {
        self.state.lock().readers.len()
    }

    /// Waits for something new for a reader.
    ///
    /// Cancel safe: a dropped call frees the reader's place and loses nothing.
    pub async fn poll(self: &Arc<Self>, reader: ReaderKey) -> Result<Delivery, PollError> {
        self.source().poll(reader).await
    }

    /// This log among others, for [`poll_many`](super::poll_many).
    pub fn source(self: &Arc<Self>) -> LiveSource {
        LiveSource::new(self.clone())
    }

    /// What comes after a place, as long as there is room, and the place after that.
    pub(super) fn read_after(&self, place: &Place, room: &mut Room) -> (Vec<Timed<Piece>>, Place) {
        self.state.lock().history.read(place, room)
    }

    /// Whether [`Self::read_after`] would find anything.
    pub(super) fn has_more(&self, place: &Place) -> bool {
        self.state.lock().history.has_more(place)
    }

    /// Whether the entity has ended and all of it is durable.
    pub(super) fn is_over(&self) -> bool {
        self.state.lock().is_over()
    }

    /// Forgets readers, also in the journal by a batch. True if nobody can read this log any more.
    pub(super) fn sweep(&self, now: Instant, batch: &mut Batch) -> bool {
        let settings = &self.shared.settings;
        let mut state = self.state.lock();
        let over = state.count_down_is_over(now, settings.count_down);
        let entity = state.keeping.as_ref().and_then(Keeping::kept_entity);
        let forgotten = state.readers.extract_if(|_, reader| {
            let forgotten = reader.is_forgotten(now, settings.forget_after);
            // Once nobody can join, an unknown token and a finished one get the same answer.
            forgotten || over && reader.finished
        });
        for (key, _) in forgotten {
            if let (ReaderKey::Token(token), Some(entity)) = (key, entity) {
                batch.forgotten.push((entity, token));
            }
        }
        if state.readers.capacity() > 4 * state.readers.len() + 16 {
            state.readers.shrink_to_fit();
        }
        let State { history, readers, .. } = &mut *state;
        history.forget_removed(readers.values().map(|reader| &reader.place));
        over && state.readers.is_empty()
    }

    /// Whether the journal has everything that is in this log: it has no readers, and nothing waits
    /// to be stored. Then it can be freed if nobody holds it, and loaded again.
    pub(super) fn is_unread(&self) -> bool {
        let state = self.state.lock();
        let is_stored =
            |keeping: &Keeping<E>| keeping.kept_entity().is_some() && keeping.is_settled();
        state.ended.is_none()
            && state.readers.is_empty()
            && state.keeping.as_ref().is_some_and(is_stored)
    }

    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        self.state.lock().history.len()
    }

    #[cfg(test)]
    pub(super) fn delta_bytes(&self) -> usize {
        self.state.lock().history.delta_bytes()
    }
}

fn to_json<E: LiveEntry>(entry: &E) -> Arc<str> {
    serde_json::to_string(entry).expect("entries are structs of strings and numbers").into()
}

impl<E: LiveEntry> State<E> {
    /// Whether the entity has ended and all of it is durable.
    fn is_over(&self) -> bool {
        self.ended.is_some()
            && self.history.is_settled()
            && self.keeping.as_ref().is_none_or(Keeping::is_settled)
    }

    fn count_down_is_over(&self, now: Instant, count_down: Duration) -> bool {
        self.ended.is_some_and(|ended| now >= ended + count_down)
    }
}

impl Reader {
    fn new(now: Instant, place: Place) -> Self {
        Self {
            place,
            call: Call::None,
            last_call: now,
            last_answer: None,
            mark: PaceMark::default(),
            finished: false,
            // A reader that has read nothing begins in the same place without being kept.
            is_saved: true,
        }
    }

    fn is_forgotten(&self, now: Instant, after: Duration) -> bool {
        self.call == Call::None && now >= self.last_call + after
    }
}
