//! Everything that a page follows, with one call at a time.
//!
//! ```text
//!   sources ─► roster ─ ids, positions ─► live/{token} ─► answer ─► roster ─► each its own
//!      ▲                                       ▲  ✂ cut short: more is wanted, or the page is hidden
//!      └──────── token ◄── back-off ◄──────────┘    connection lost
//! ```
//!
//! A browser has six connections for all pages of a server. So a page has one call for all of its
//! [sources](Source), and a hidden page has none; when it is shown again it catches up. One hidden
//! page of the browser goes on following what is [kept](Source::is_kept), to notify people
//! (`live/keeper.rs` says which).
//!
//! After a lost connection it is unknown whether the last answer was lost with it, and so it is after
//! a call that was cut short. So each of them is followed by a new token, which begins at the
//! positions of the last answer that has arrived: nothing is missed, and nothing comes twice.
//!
//! An id belongs to one source, the one that named it last, and is read for it from the start. What
//! several parts of a page show, such as the inbox, is therefore one source for all of them, which
//! lives as long as the page (see `state/inbox.rs`).

mod election;
mod keeper;
mod roster;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use futures_channel::oneshot;
use leptos::leptos_dom::helpers::{set_timeout, set_timeout_with_handle};
use web_sys::{AbortController, AbortSignal};
use wire::{ErrorName, LiveBatch, LiveId, LiveToken};

use crate::api::{self, ApiError};
use crate::poll::{Connection, back_off};
use crate::presence::{self, Change};
use crate::reachability;
use crate::reactive::prelude::*;
use keeper::Keeper;
use roster::{Key, Range, Roster};

/// A first call that is not answered by then has no history: what is followed is new, and counts as
/// connected although nothing has happened in it yet.
const QUIET: Duration = Duration::from_millis(250);

/// What an answer means for its source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Go on.
    Continue,
    /// Wait, then go on with a new token.
    Retry(ApiError),
    /// Nothing more will come.
    End(Connection),
}

/// Something that is followed. A trait object, so that the download contains the loop once.
pub(crate) trait Source {
    /// Whether it is followed even by the hidden page that notifies. What it names comes and goes, so
    /// its preface is read with each new token.
    fn is_kept(&self) -> bool {
        false
    }

    /// The path of what is read before any response: at first, after a loss of the connection, and
    /// after the page was hidden.
    fn preface(&self) -> Option<String> {
        None
    }

    /// Processes what was read from the path of the preface.
    fn take_preface(&self, _answer: &str) -> Next {
        Next::Continue
    }

    /// What the next call asks for. If more is wanted before an answer has come, [`refresh`] cuts the
    /// call short.
    fn ids(&self) -> Vec<LiveId>;

    /// Processes what an answer says of its ids.
    fn take(&self, batch: LiveBatch) -> Next;

    /// Reports the state of the connection.
    fn tell(&self, connection: Connection);
}

/// Follows something until it ends or the caller's reactive owner is disposed. In the browser only.
pub(crate) fn follow(source: Rc<dyn Source>) {
    let key = follow_on(source);
    on_cleanup(move || HUB.with(|hub| hub.leave(key)));
}

/// Follows something until it ends or the page is gone. In the browser only.
pub(crate) fn follow_on(source: Rc<dyn Source>) -> Key {
    HUB.with(|hub| hub.join(source))
}

/// Some source names more ids than before.
pub(crate) fn refresh() {
    HUB.with(|hub| hub.look());
}

/// Follows nothing, or everything again: a page that stops its server does not miss it.
pub(crate) fn rest(is_resting: bool) {
    HUB.with(|hub| {
        hub.is_resting.set(is_resting);
        hub.look();
    });
}

/// Whether this hidden page notifies for all pages of the browser.
pub(crate) fn is_keeper() -> bool {
    HUB.with(|hub| hub.keeper.is_elected())
}

/// Parses the answer of a call; without items if nothing has happened.
pub(crate) fn read_batch(answer: &str) -> Result<LiveBatch, ApiError> {
    match api::accept::<LiveBatch>(answer) {
        Err(ApiError::Domain { name: ErrorName::HttpRequestTimeout, .. }) => {
            Ok(LiveBatch::default())
        }
        result => result,
    }
}

thread_local! {
    // One page has one thread.
    static HUB: Rc<Hub> = Rc::default();
}

/// The loop of a page.
#[derive(Default)]
struct Hub {
    roster: RefCell<Roster>,
    keeper: Keeper,
    is_running: Cell<bool>,
    /// Whether nothing is followed although the page is shown.
    is_resting: Cell<bool>,
    failures: Cell<u32>,
    /// Ends what is read with the current token, which asks for this range.
    reading: RefCell<Option<(AbortController, Range)>>,
    /// Whether a call is under way, and how many there were.
    is_calling: Cell<bool>,
    calls: Cell<u32>,
    /// Ends a wait.
    wake: RefCell<Option<oneshot::Sender<()>>>,
}

impl Hub {
    fn join(self: &Rc<Self>, source: Rc<dyn Source>) -> Key {
        let key = self.roster.borrow_mut().join(source);
        if self.is_running.replace(true) {
            self.look();
        } else {
            let hub = self.clone();
            presence::listen(Rc::new(move |change| hub.clone().hear(change)));
            self.clone().stand_for_keeper();
            spawn_local(self.clone().run());
        }
        key
    }

    fn leave(&self, key: Key) {
        self.roster.borrow_mut().leave(key);
        self.look();
    }

    /// What is followed now.
    fn range(&self) -> Range {
        if self.is_resting.get() {
            Range::Nothing
        } else if !presence::is_away() {
            Range::All
        } else if self.keeper.is_elected() {
            Range::Kept
        } else {
            Range::Nothing
        }
    }

    fn hear(self: Rc<Self>, change: Change) {
        match change {
            Change::Away => {
                // Everybody catches up when the page is shown again.
                self.roster.borrow_mut().reset();
                self.clone().stand_for_keeper();
            }
            Change::Back => self.keeper.resign(),
            Change::Online => {}
        }
        self.failures.set(0);
        self.look();
    }

    /// Stands for election if the page is hidden.
    fn stand_for_keeper(self: Rc<Self>) {
        if presence::is_away() {
            let hub = self.clone();
            self.keeper.stand(Rc::new(move || hub.look()));
        }
    }

    /// Something has changed: ends a wait, and a call that no longer asks for what is wanted.
    fn look(&self) {
        if let Some(wake) = self.wake.take() {
            // Fails if nobody waits any more, which is fine.
            let _ = wake.send(());
        }
        let range = self.range();
        if let Some((stop, known)) = &*self.reading.borrow() {
            let is_cut =
                *known != range || self.is_calling.get() && !self.roster.borrow().is_asked(range);
            if is_cut {
                stop.abort();
            }
        }
    }

    async fn run(self: Rc<Self>) {
        loop {
            let range = self.range();
            if self.roster.borrow().is_idle(range) {
                self.wait(None).await;
                continue;
            }
            let Ok(stop) = AbortController::new() else { return };
            let signal = stop.signal();
            self.reading.replace(Some((stop, range)));
            let read = self.read_on(range, &signal).await;
            self.reading.take();
            if let Err(error) = read
                && !signal.aborted()
            {
                self.lose(range, &error);
                self.wait(Some(back_off(self.failures.get()))).await;
            }
        }
    }

    /// Waits until something has changed, or the time is over.
    async fn wait(&self, time: Option<Duration>) {
        let (wake, woken) = oneshot::channel();
        self.wake.replace(Some(wake));
        let timer = time.map(|time| {
            let look = || HUB.with(|hub| hub.look());
            set_timeout_with_handle(look, time)
        });
        let _ = woken.await;
        if let Some(Ok(timer)) = timer {
            timer.clear();
        }
    }

    /// The connection is lost.
    fn lose(&self, range: Range, error: &ApiError) {
        self.failures.set(self.failures.get() + 1);
        reachability::failed(error);
        let following = {
            let mut roster = self.roster.borrow_mut();
            let all = [roster.joining(range), roster.following(range)].concat();
            roster.reset();
            all
        };
        for (_, source) in following {
            source.tell(Connection::Lost(error.clone()));
        }
    }

    /// Reads with a new token, from the positions on, until the wishes change.
    async fn read_on(self: &Rc<Self>, range: Range, signal: &AbortSignal) -> Result<(), ApiError> {
        self.roster.borrow_mut().begin();
        let token: LiveToken = api::token().await?;
        reachability::answered();
        loop {
            self.read_prefaces(range, signal).await?;
            if signal.aborted() {
                return Ok(());
            }
            let body = self.roster.borrow_mut().ask(range);
            let Some(body) = body else { return Ok(()) };
            self.say_live_when_quiet(range);
            self.is_calling.set(true);
            let answer = api::follow(&token, &body, signal).await;
            self.is_calling.set(false);
            if signal.aborted() {
                return Ok(());
            }
            let batch = read_batch(&answer?)?;
            self.failures.set(0);
            self.deal(batch);
            self.say_live(range);
        }
    }

    async fn read_prefaces(
        self: &Rc<Self>,
        range: Range,
        signal: &AbortSignal,
    ) -> Result<(), ApiError> {
        loop {
            let joining = self.roster.borrow().joining(range);
            let Some((key, source)) = joining.into_iter().next() else { return Ok(()) };
            let next = match source.preface() {
                None => Next::Continue,
                Some(path) => {
                    let answer = api::get_text(&path, Some(signal)).await;
                    if signal.aborted() {
                        return Ok(());
                    }
                    match answer {
                        // It may have gone meanwhile.
                        _ if !self.roster.borrow().has(key) => continue,
                        Ok(answer) => source.take_preface(&answer),
                        Err(ApiError::Unreachable) => return Err(ApiError::Unreachable),
                        Err(error) => Next::Retry(error),
                    }
                }
            };
            if next == Next::Continue {
                self.roster.borrow_mut().follow(key);
            } else {
                self.settle(key, &*source, next);
            }
        }
    }

    /// Gives each source what an answer says of it.
    fn deal(self: &Rc<Self>, batch: LiveBatch) {
        let sorted = self.roster.borrow_mut().sort(batch);
        for (key, source, batch) in sorted {
            // One may have gone because of what another one took.
            if self.roster.borrow().has(key) {
                let next = source.take(batch);
                self.settle(key, &*source, next);
            }
        }
    }

    /// Does what a source says.
    fn settle(self: &Rc<Self>, key: Key, source: &dyn Source, next: Next) {
        match next {
            Next::Continue => self.roster.borrow_mut().succeed(key),
            Next::End(connection) => {
                self.roster.borrow_mut().leave(key);
                source.tell(connection);
            }
            Next::Retry(error) => {
                let failures = self.roster.borrow_mut().rest(key);
                source.tell(Connection::Lost(error));
                let hub = self.clone();
                let rejoin = move || {
                    hub.roster.borrow_mut().rejoin(key);
                    hub.look();
                };
                set_timeout(rejoin, back_off(failures));
            }
        }
    }

    fn say_live(&self, range: Range) {
        let following = self.roster.borrow().following(range);
        self.roster.borrow_mut().told();
        for (_, source) in following {
            source.tell(Connection::Live);
        }
    }

    /// Reports [`Connection::Live`] if the call that begins is not answered after [`QUIET`].
    fn say_live_when_quiet(self: &Rc<Self>, range: Range) {
        let call = self.calls.get().wrapping_add(1);
        self.calls.set(call);
        if !self.roster.borrow().is_untold() {
            return;
        }
        let hub = self.clone();
        let say = move || {
            if hub.is_calling.get() && hub.calls.get() == call {
                hub.say_live(range);
            }
        };
        set_timeout(say, QUIET);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_timeout_is_an_answer_without_items() {
        let timeout = read_batch(r#"{"error":"HttpRequestTimeout"}"#);
        assert_eq!(timeout, Ok(LiveBatch::default()));
        let other = read_batch(r#"{"error":"TooManyPendingCalls"}"#).expect_err("an error");
        assert!(matches!(other, ApiError::Domain { .. }), "{other:?}");
        let page = read_batch("<html>").expect_err("no answer");
        assert!(matches!(page, ApiError::Malformed(_)), "{page:?}");
        assert!(read_batch(r#"{"live":[]}"#).is_ok());
    }
}
