//! The calls of readers: what they get, and how far they have come once it has arrived.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Call, LiveLog, Reader, State, to_json};
use crate::journal::Position;
use crate::live::call::{Begun, Source};
use crate::live::delivery::{Progress, Settle};
use crate::live::entry::LiveEntry;
use crate::live::history::{Piece, Place, Room, Timed};
use crate::live::{LiveShared, PollError, ReaderKey};

impl<E: LiveEntry> Source for LiveLog<E> {
    fn shared(&self) -> &LiveShared {
        &self.shared
    }

    fn changed(&self) -> &Notify {
        &self.changed
    }

    fn settled(&self) -> &Notify {
        &self.settled
    }

    fn try_begin(
        &self,
        key: &ReaderKey,
        after: Option<&Position>,
    ) -> Result<Option<Begun>, PollError> {
        let settings = &self.shared.settings;
        let now = Instant::now();
        let state = &mut *self.state.lock();
        if state
            .readers
            .get(key)
            .is_some_and(|reader| reader.is_forgotten(now, settings.forget_after))
        {
            state.readers.remove(key);
        }
        match state.readers.get(key) {
            Some(reader) if reader.finished => return Err(PollError::NotFound),
            Some(reader) if reader.call == Call::Waiting => return Err(PollError::Parallel),
            Some(reader) if reader.call == Call::Delivering => return Ok(None),
            None if state.count_down_is_over(now, settings.count_down) => {
                return Err(PollError::NotFound);
            }
            None if state.readers.len() >= settings.max_readers => {
                return Err(PollError::TooManyReaders);
            }
            Some(_) | None => {}
        }
        let pending = Arc::clone(&self.shared.pending_calls)
            .try_acquire_owned()
            .map_err(|_| PollError::TooManyPendingCalls)?;
        let reader = state.readers.entry(key.clone()).or_insert_with(|| {
            let place = after.map(|position| state.history.find::<E>(position));
            Reader { is_saved: place.is_none(), ..Reader::new(now, place.unwrap_or_default()) }
        });
        reader.call = Call::Waiting;
        reader.last_call = now;
        // One response a call: waiting would not make the answers fewer.
        let rationed_until = (*key != ReaderKey::Implicit)
            .then_some(reader.last_answer)
            .flatten()
            .map(|last| last + self.shared.pace.interval(now))
            .filter(|until| *until > now);
        Ok(Some(Begun { pending, rationed_until }))
    }

    fn take(&self, key: &ReaderKey, room: &mut Room) -> Option<(Vec<Timed<Piece>>, Progress)> {
        let mut state = self.state.lock();
        let is_over = state.is_over();
        let State { history, readers, .. } = &mut *state;
        let reader = readers.get_mut(key).expect("a pending reader is kept");
        let (pieces, next) = history.read(&reader.place, room);
        debug_assert_eq!(history.has_more(&reader.place), !pieces.is_empty());
        let progress = match (pieces.is_empty(), is_over) {
            (false, _) => Progress::Read(next),
            (true, true) => Progress::Closed,
            (true, false) => return None,
        };
        let now = Instant::now();
        reader.call = Call::Delivering;
        reader.last_answer = Some(now);
        self.shared.pace.note_answer(&mut reader.mark, now);
        Some((pieces, progress))
    }

    fn has_news(&self, key: &ReaderKey) -> bool {
        let state = self.state.lock();
        let reader = state.readers.get(key).expect("a pending reader is kept");
        state.is_over() || state.history.has_more(&reader.place)
    }

    fn release(&self, key: &ReaderKey) {
        let now = Instant::now();
        if let Some(reader) = self.state.lock().readers.get_mut(key) {
            reader.call = Call::None;
            reader.last_call = now;
        }
        self.settled.notify_waiters();
    }

    fn render(&self, piece: &Piece) -> Arc<str> {
        match piece {
            Piece::Entry(json) => json.clone(),
            Piece::Delta(block, part) => {
                let delta = E::delta(block.name(), block.text(part.clone()));
                to_json(&delta.expect("an entry of this kind was a delta before"))
            }
        }
    }
}

impl<E: LiveEntry> Settle for LiveLog<E> {
    fn settle(&self, key: &ReaderKey, arrived: Option<Progress>) {
        let now = Instant::now();
        if let Some(reader) = self.state.lock().readers.get_mut(key) {
            reader.call = Call::None;
            reader.last_call = now;
            reader.is_saved &= arrived.is_none();
            match arrived {
                Some(Progress::Read(place)) => reader.place = place,
                Some(Progress::Closed) => {
                    reader.finished = true;
                    reader.place = Place::default();
                }
                // Lost: the next call gets it at once.
                None => reader.last_answer = None,
            }
        }
        self.settled.notify_waiters();
    }
}
