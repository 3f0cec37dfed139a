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

type Deliver = dyn Fn(&str) -> Result<Option<ErrorName>, ApiError>;

/// What the loop needs of what it follows. Without its type, so that the loop is in the download
/// once and not once for each kind.
struct Source {
    path: String,
    closed: ErrorName,
    not_found: ErrorName,
    /// Hands on the responses of an answer, or else says which error it is.
    deliver: Box<Deliver>,
    /// Hands on how the connection is; nothing means that the history comes again.
    tell: Rc<dyn Fn(Option<Connection>)>,
}

impl Source {
    fn new<Id: Followed>(id: &Id, sink: impl Fn(Event<Id::Response>) + 'static) -> Self {
        let sink = Rc::new(sink);
        let teller = sink.clone();
        Self {
            path: api::live_path(id),
            closed: Id::CLOSED,
            not_found: Id::NOT_FOUND,
            deliver: Box::new(move |answer| match api::parse(answer)? {
                LiveReply::Responses { responses } => {
                    sink(Event::Responses(responses));
                    Ok(None)
                }
                LiveReply::Error(reply) => Ok(Some(reply.error)),
            }),
            tell: Rc::new(move |state| teller(state.map_or(Event::Rewind, Event::Connection))),
        }
    }

    fn next_step(&self, error: ErrorName) -> Next {
        match error {
            ErrorName::HttpRequestTimeout => Next::Continue,
            name if name == self.closed => Next::End(Connection::Ended),
            // Without an entry no task or job was ever started.
            name if name == self.not_found || name == ErrorName::EntryNotInstalled => {
                Next::End(Connection::NotFound)
            }
            name => Next::Retry(ApiError::Domain { name, message: None }),
        }
    }
}

/// Follows something until it ends or the reactive owner of the caller is gone.
pub(crate) fn follow<Id: Followed>(id: &Id, sink: impl Fn(Event<Id::Response>) + 'static) {
    follow_source(Source::new(id, sink));
}

fn follow_source(source: Source) {
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
                Next::End(connection) => return (source.tell)(Some(connection)),
                Next::Retry(error) => {
                    failures += 1;
                    (source.tell)(Some(Connection::Lost(error)));
                }
                Next::Continue => {}
            }
        }
    });
}

/// Reads the whole history and whatever follows, under a new token.
async fn read_from_start(source: &Source, signal: &AbortSignal, failures: &mut u32) -> Next {
    let token: LiveToken = match api::token().await {
        Ok(token) => token,
        Err(error) => return Next::Retry(error),
    };
    if signal.aborted() {
        return Next::Continue;
    }
    (source.tell)(None);
    let answered = say_live_when_quiet(source, signal);
    loop {
        let answer = api::follow(&source.path, &token, signal).await;
        answered.set(true);
        if signal.aborted() {
            return Next::Continue;
        }
        let next = match answer.and_then(|answer| (source.deliver)(&answer)) {
            Ok(None) => Next::Continue,
            Ok(Some(error)) => source.next_step(error),
            Err(error) => Next::Retry(error),
        };
        if next != Next::Continue {
            return next;
        }
        *failures = 0;
        (source.tell)(Some(Connection::Live));
    }
}

/// Counts as connected unless the cell that it returns is set before [`QUIET`] is over.
fn say_live_when_quiet(source: &Source, signal: &AbortSignal) -> Rc<Cell<bool>> {
    let answered = Rc::new(Cell::new(false));
    let (tell, signal, seen) = (source.tell.clone(), signal.clone(), answered.clone());
    set_timeout(
        move || {
            if !seen.get() && !signal.aborted() {
                tell(Some(Connection::Live));
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
    use wire::TaskId;

    use super::*;

    #[test]
    fn the_wait_doubles_up_to_eight_seconds() {
        let waits: Vec<_> = (1..=7).map(|failures| back_off(failures).as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
    }

    #[test]
    fn only_its_own_end_ends_the_loop() {
        let id = "task-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11".parse::<TaskId>().expect("id");
        let task = Source::new(&id, |_| {});
        assert_eq!(task.path, format!("/api/copilot/task/{id}/live"));
        assert_eq!(task.next_step(ErrorName::HttpRequestTimeout), Next::Continue);
        assert_eq!(task.next_step(ErrorName::TaskClosed), Next::End(Connection::Ended));
        for gone in [ErrorName::TaskNotFound, ErrorName::EntryNotInstalled] {
            assert_eq!(task.next_step(gone), Next::End(Connection::NotFound));
        }
        for other in [ErrorName::ParallelCallNotSupported, ErrorName::SessionClosed] {
            let next = task.next_step(other);
            assert!(matches!(next, Next::Retry(ApiError::Domain { .. })), "{next:?}");
        }
    }

    #[test]
    fn responses_reach_the_sink_and_errors_the_loop() {
        let id = "task-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11".parse::<TaskId>().expect("id");
        let seen = Rc::new(Cell::new(0));
        let count = seen.clone();
        let task = Source::new(&id, move |event| {
            if let Event::Responses(responses) = event {
                count.set(count.get() + responses.len());
            }
        });
        let answer = r#"{"responses":[{"callback":"taskFailed"},{"taskError":"x"}]}"#;
        assert_eq!((task.deliver)(answer), Ok(None));
        assert_eq!(seen.get(), 2);
        let answer = r#"{"error":"TaskClosed"}"#;
        assert_eq!((task.deliver)(answer), Ok(Some(ErrorName::TaskClosed)));
        assert!(matches!((task.deliver)("<html>"), Err(ApiError::Malformed(_))));
    }
}
