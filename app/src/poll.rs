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
use wire::{ErrorName, LiveReply, LiveToken};

use crate::api::{self, ApiError, Followed};

/// How the connection to what is followed is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    /// Not yet known.
    Connecting,
    /// Responses arrive as they happen.
    Live,
    /// Lost; the next try comes by itself.
    Lost(ApiError),
    /// It has ended, and everything was read.
    Ended,
    /// There is no such thing, or not any more.
    NotFound,
}

/// A first call that is not answered by then has no history to bring: what is followed is new, and
/// its reader need not wait for something to happen in it.
const QUIET: Duration = Duration::from_millis(250);

/// What the loop tells.
pub(crate) enum Event<R> {
    /// The history comes again from its beginning.
    Rewind,
    /// More responses.
    Responses(Vec<R>),
    /// The connection is so now.
    Connection(Connection),
}

/// The wait before the nth try: doubling from half a second to eight.
pub(crate) fn back_off(failures: u32) -> Duration {
    Duration::from_millis(500 << failures.saturating_sub(1).min(4))
}

/// What an answer means for the loop.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Read on.
    Continue,
    /// Wait, then begin anew.
    Retry(ApiError),
    /// Nothing more will come.
    End(Connection),
}

/// What the loop needs of what it follows. Without its type, so that the loop is in the download
/// once and not once for each kind.
pub(crate) trait Source {
    /// What is read at each beginning, before any response: its path.
    fn preface(&self) -> Option<String> {
        None
    }

    /// Takes that in.
    fn take_preface(&self, _answer: &str) -> Next {
        Next::Continue
    }

    /// The history comes again from its beginning.
    fn rewind(&self);

    /// The next call: its path up to the token, and its body if it has one.
    fn call(&self) -> (String, Option<String>);

    /// Takes in an answer.
    fn take(&self, answer: &str) -> Next;

    /// The connection is so now.
    fn tell(&self, connection: Connection);
}

/// One thing that is followed for itself.
struct Single<Id: Followed, S> {
    id: Id,
    sink: S,
}

impl<Id: Followed, S: Fn(Event<Id::Response>)> Source for Single<Id, S> {
    fn rewind(&self) {
        (self.sink)(Event::Rewind);
    }

    fn call(&self) -> (String, Option<String>) {
        (api::live_path(&self.id), None)
    }

    fn take(&self, answer: &str) -> Next {
        match api::parse(answer) {
            Ok(LiveReply::Responses { responses }) => {
                (self.sink)(Event::Responses(responses));
                Next::Continue
            }
            Ok(LiveReply::Error(reply)) => next_step(reply.error, Id::CLOSED, Id::NOT_FOUND),
            Err(error) => Next::Retry(error),
        }
    }

    fn tell(&self, connection: Connection) {
        (self.sink)(Event::Connection(connection));
    }
}

fn next_step(error: ErrorName, closed: ErrorName, not_found: ErrorName) -> Next {
    match error {
        ErrorName::HttpRequestTimeout => Next::Continue,
        name if name == closed => Next::End(Connection::Ended),
        // Without an entry no task or job was ever started.
        name if name == not_found || name == ErrorName::EntryNotInstalled => {
            Next::End(Connection::NotFound)
        }
        name => Next::Retry(name.into()),
    }
}

/// Follows something until it ends or the reactive owner of the caller is gone.
pub(crate) fn follow<Id: Followed>(id: &Id, sink: impl Fn(Event<Id::Response>) + 'static) {
    follow_source(Rc::new(Single { id: *id, sink }));
}

/// The same for anything.
pub(crate) fn follow_source(source: Rc<dyn Source>) {
    let Ok(controller) = AbortController::new() else { return };
    let signal = controller.signal();
    let controller = send_wrapper::SendWrapper::new(controller);
    on_cleanup(move || controller.abort());
    spawn_local(async move {
        let mut failures = 0;
        loop {
            if failures > 0 {
                sleep(back_off(failures)).await;
            }
            if signal.aborted() {
                return;
            }
            match read_from_start(&source, &signal, &mut failures).await {
                _ if signal.aborted() => return,
                Next::End(connection) => return source.tell(connection),
                Next::Retry(error) => {
                    failures += 1;
                    source.tell(Connection::Lost(error));
                }
                Next::Continue => {}
            }
        }
    });
}

/// Reads the whole history and whatever follows, under a new token.
async fn read_from_start(
    source: &Rc<dyn Source>,
    signal: &AbortSignal,
    failures: &mut u32,
) -> Next {
    let token: LiveToken = match api::token().await {
        Ok(token) => token,
        Err(error) => return Next::Retry(error),
    };
    if let Some(path) = source.preface() {
        let answer = api::get_text(&path, Some(signal)).await;
        let next = match answer {
            _ if signal.aborted() => return Next::Continue,
            Ok(answer) => source.take_preface(&answer),
            Err(error) => Next::Retry(error),
        };
        if next != Next::Continue {
            return next;
        }
    }
    if signal.aborted() {
        return Next::Continue;
    }
    source.rewind();
    let answered = say_live_when_quiet(source, signal);
    loop {
        let (path, body) = source.call();
        let answer = api::follow(&path, &token, body, signal).await;
        answered.set(true);
        let next = match answer {
            _ if signal.aborted() => return Next::Continue,
            Ok(answer) => source.take(&answer),
            Err(error) => Next::Retry(error),
        };
        if next != Next::Continue {
            return next;
        }
        *failures = 0;
        source.tell(Connection::Live);
    }
}

/// Counts as connected unless the cell that it returns is set before [`QUIET`] is over.
fn say_live_when_quiet(source: &Rc<dyn Source>, signal: &AbortSignal) -> Rc<Cell<bool>> {
    let answered = Rc::new(Cell::new(false));
    let (source, signal, seen) = (source.clone(), signal.clone(), answered.clone());
    set_timeout(
        move || {
            if !seen.get() && !signal.aborted() {
                source.tell(Connection::Live);
            }
        },
        QUIET,
    );
    answered
}

pub(crate) async fn sleep(duration: Duration) {
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
    use wire::TaskId;

    use super::*;

    #[test]
    fn the_wait_doubles_up_to_eight_seconds() {
        let waits: Vec<_> = (1..=7).map(|failures| back_off(failures).as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
    }

    const ID: &str = "task-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";

    #[test]
    fn only_its_own_end_ends_the_loop() {
        let task = Single { id: ID.parse::<TaskId>().expect("id"), sink: |_| {} };
        assert_eq!(task.call(), (format!("/api/copilot/task/{ID}/live"), None));
        let said = |error: ErrorName| task.take(&format!(r#"{{"error":"{error}"}}"#));
        assert_eq!(said(ErrorName::HttpRequestTimeout), Next::Continue);
        assert_eq!(said(ErrorName::TaskClosed), Next::End(Connection::Ended));
        for gone in [ErrorName::TaskNotFound, ErrorName::EntryNotInstalled] {
            assert_eq!(said(gone), Next::End(Connection::NotFound));
        }
        for other in [ErrorName::ParallelCallNotSupported, ErrorName::SessionClosed] {
            let next = said(other);
            assert!(matches!(next, Next::Retry(ApiError::Domain { .. })), "{next:?}");
        }
    }

    #[test]
    fn responses_reach_the_sink() {
        let seen = Rc::new(Cell::new(0));
        let count = seen.clone();
        let sink = move |event| {
            if let Event::Responses(responses) = event {
                let responses: Vec<_> = responses;
                count.set(count.get() + responses.len());
            }
        };
        let task = Single { id: ID.parse::<TaskId>().expect("id"), sink };
        let answer = r#"{"responses":[{"callback":"taskFailed"},{"taskError":"x"}]}"#;
        assert_eq!(task.take(answer), Next::Continue);
        assert_eq!(seen.get(), 2);
        assert!(matches!(task.take("<html>"), Next::Retry(ApiError::Malformed(_))));
    }
}
