//! The one long-poll loop of the browser.
//!
//! ```text
//!   token ─► live/{token} ─► responses ─► sink ─┐
//!     ▲            ▲────────────────────────────┘   one call at a time, until Closed
//!     └── back-off ◄── connection lost
//! ```
//!
//! After a lost connection nobody knows whether the last answer was lost with it. So the loop takes
//! a new token and reads the history from its beginning: nothing is missed, and the sink, which is
//! told to rewind, shows nothing twice.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use leptos::leptos_dom::helpers::set_timeout;
use leptos::prelude::*;
use leptos::task::spawn_local;
use web_sys::{AbortController, AbortSignal};
use wire::{ErrorName, LiveReply, LiveToken, SessionId, SessionResponse};

use crate::api::{self, ApiError};

/// How the connection to a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    /// Not yet known.
    Connecting,
    /// Responses arrive as they happen.
    Live,
    /// Lost; the next try comes by itself.
    Lost(ApiError),
    /// The session has ended, and everything was read.
    Ended,
    /// There is no such session, or not any more.
    NotFound,
}

/// A first call that is not answered by then has no history to bring: the session is new, and
/// its reader need not wait for something to happen in it.
const QUIET: Duration = Duration::from_millis(250);

/// What the loop tells.
pub(crate) enum Event {
    /// The history comes again from its beginning.
    Rewind,
    /// More responses.
    Responses(Vec<SessionResponse>),
    /// The connection is so now.
    Connection(Connection),
}

/// The wait before the nth try: doubling from half a second to eight.
fn back_off(failures: u32) -> Duration {
    Duration::from_millis(500 << failures.saturating_sub(1).min(4))
}

/// What an answer means for the loop.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Read on.
    Continue,
    /// Wait, then begin anew.
    Retry(ApiError),
    /// Nothing more will come.
    End(Connection),
}

fn next_step(error: ErrorName) -> Next {
    match error {
        ErrorName::HttpRequestTimeout => Next::Continue,
        ErrorName::SessionClosed => Next::End(Connection::Ended),
        ErrorName::SessionNotFound => Next::End(Connection::NotFound),
        name => Next::Retry(ApiError::Domain { name, message: None }),
    }
}

/// Follows a session until it ends or the calling component is gone.
pub(crate) fn follow_session(id: SessionId, sink: impl Fn(Event) + 'static) {
    let Ok(controller) = AbortController::new() else { return };
    let signal = controller.signal();
    let controller = send_wrapper::SendWrapper::new(controller);
    on_cleanup(move || controller.abort());
    let sink: Rc<dyn Fn(Event)> = Rc::new(sink);
    spawn_local(async move {
        let mut failures = 0;
        loop {
            if failures > 0 {
                sleep(back_off(failures)).await;
            }
            if signal.aborted() {
                return;
            }
            match read_from_start(id, &signal, &sink, &mut failures).await {
                _ if signal.aborted() => return,
                Next::End(connection) => return sink(Event::Connection(connection)),
                Next::Retry(error) => {
                    failures += 1;
                    sink(Event::Connection(Connection::Lost(error)));
                }
                Next::Continue => {}
            }
        }
    });
}

/// Reads the whole history and whatever follows, under a new token.
async fn read_from_start(
    id: SessionId,
    signal: &AbortSignal,
    sink: &Rc<dyn Fn(Event)>,
    failures: &mut u32,
) -> Next {
    let token: LiveToken = match api::token().await {
        Ok(token) => token,
        Err(error) => return Next::Retry(error),
    };
    sink(Event::Rewind);
    let answered = say_live_when_quiet(sink, signal);
    loop {
        let reply = api::follow_session(id, &token, signal).await;
        answered.set(true);
        if signal.aborted() {
            return Next::Continue;
        }
        let next = match reply {
            Ok(LiveReply::Responses { responses }) => {
                sink(Event::Responses(responses));
                Next::Continue
            }
            Ok(LiveReply::Error(error)) => next_step(error.error),
            Err(error) => Next::Retry(error),
        };
        if next != Next::Continue {
            return next;
        }
        *failures = 0;
        sink(Event::Connection(Connection::Live));
    }
}

/// Counts as connected unless the cell that it returns is set before [`QUIET`] is over.
fn say_live_when_quiet(sink: &Rc<dyn Fn(Event)>, signal: &AbortSignal) -> Rc<Cell<bool>> {
    let answered = Rc::new(Cell::new(false));
    let (sink, signal, seen) = (sink.clone(), signal.clone(), answered.clone());
    set_timeout(
        move || {
            if !seen.get() && !signal.aborted() {
                sink(Event::Connection(Connection::Live));
            }
        },
        QUIET,
    );
    answered
}

async fn sleep(duration: Duration) {
    let (done, wait) = futures_channel::oneshot::channel();
    set_timeout(
        move || {
            // Nobody waits any more: fine.
            let _ = done.send(());
        },
        duration,
    );
    let _ = wait.await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_eight_seconds() {
        let waits: Vec<_> = (1..=7).map(|failures| back_off(failures).as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
    }

    #[test]
    fn only_the_end_of_a_session_ends_the_loop() {
        assert_eq!(next_step(ErrorName::HttpRequestTimeout), Next::Continue);
        assert_eq!(next_step(ErrorName::SessionClosed), Next::End(Connection::Ended));
        assert_eq!(next_step(ErrorName::SessionNotFound), Next::End(Connection::NotFound));
        let busy = next_step(ErrorName::ParallelCallNotSupported);
        assert!(matches!(busy, Next::Retry(ApiError::Domain { .. })), "{busy:?}");
    }
}
