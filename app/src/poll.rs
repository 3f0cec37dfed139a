//! The one long-poll loop of the browser.
//!
//! ```text
//!   token ─► live/{token} ─► responses ─► source ─┐
//!     ▲            ▲──────────────────────────────┘   one call at a time, until Closed
//!     └── back-off ◄── connection lost
//! ```
//!
//! After a lost connection it is unknown whether the last answer was lost with it. So the loop
//! takes a new token, which begins at the positions of the last answer that has arrived: nothing is
//! missed, and nothing comes twice.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use leptos::leptos_dom::helpers::set_timeout;
use leptos::prelude::*;
use leptos::task::spawn_local;
use web_sys::{AbortController, AbortSignal};
use wire::{ErrorName, LiveBatch, LiveId, LiveToken};

use crate::api::{self, ApiError};

/// The state of the connection to what is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    /// No answer has arrived yet.
    Connecting,
    /// Responses arrive as they happen.
    Live,
    /// Lost; the loop retries on its own.
    Lost(ApiError),
    /// It has ended, and everything was read.
    Ended,
    /// It does not exist, or no longer exists.
    NotFound,
}

/// What people are told of a lost connection.
pub(crate) fn explain_loss(error: &ApiError) -> String {
    match error {
        ApiError::Unreachable => "Connection lost: the server has stopped, or can't be reached. \
                                  This page goes on by itself when the server is back."
            .to_owned(),
        error => format!("Connection lost, trying again … {error}"),
    }
}

/// A first call that is not answered by then has no history: what is followed is new, and counts as
/// connected although nothing has happened in it yet.
const QUIET: Duration = Duration::from_millis(250);

/// The delay before the nth retry: doubling from half a second to eight seconds.
pub(crate) fn back_off(failures: u32) -> Duration {
    Duration::from_millis(500 << failures.saturating_sub(1).min(4))
}

/// What an answer means for the loop.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Make the next call.
    Continue,
    /// Wait, then go on with a new token.
    Retry(ApiError),
    /// Nothing more will come.
    End(Connection),
}

/// What the loop needs of what it follows. A trait object, so that the download contains the loop
/// once instead of once per page.
pub(crate) trait Source {
    /// The path of what is read with each new token, before any response.
    fn preface(&self) -> Option<String> {
        None
    }

    /// Processes what was read from the path of the preface.
    fn take_preface(&self, _answer: &str) -> Next {
        Next::Continue
    }

    /// What the next call asks for.
    fn ids(&self) -> Vec<LiveId>;

    /// Processes all of an answer.
    fn take(&self, batch: LiveBatch) -> Next;

    /// Reports the state of the connection.
    fn tell(&self, connection: Connection);
}

/// Parses the answer of a call for many entities; the error says how the loop continues.
pub(crate) fn read_batch(answer: &str) -> Result<LiveBatch, Next> {
    // Errors are short, so only they are parsed twice.
    match api::parse(answer).or_else(|_| api::accept::<LiveBatch>(answer)) {
        Ok(batch) => Ok(batch),
        Err(ApiError::Domain { name: ErrorName::HttpRequestTimeout, .. }) => Err(Next::Continue),
        Err(error) => Err(Next::Retry(error)),
    }
}

/// Follows something until it ends or the caller's reactive owner is disposed.
pub(crate) fn follow_source(source: Rc<dyn Source>) {
    let Ok(controller) = AbortController::new() else { return };
    let signal = controller.signal();
    let controller = send_wrapper::SendWrapper::new(controller);
    on_cleanup(move || controller.abort());
    spawn_local(async move {
        let mut failures = 0;
        let mut positions = Positions::default();
        loop {
            if failures > 0 {
                sleep(back_off(failures)).await;
            }
            if signal.aborted() {
                return;
            }
            match read_on(&source, &signal, &mut positions, &mut failures).await {
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

/// How far everything was read.
#[derive(Default)]
struct Positions(HashMap<LiveId, String>);

impl Positions {
    /// The body of a call: one id per line, with the position if it was read before.
    fn lines(&self, ids: &[LiveId]) -> String {
        let line = |id: &LiveId| match self.0.get(id) {
            Some(position) => format!("{id} {position}"),
            None => id.to_string(),
        };
        ids.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Reads with a new token, from the positions on.
async fn read_on(
    source: &Rc<dyn Source>,
    signal: &AbortSignal,
    positions: &mut Positions,
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
    let answered = say_live_when_quiet(source, signal);
    loop {
        let answer = api::follow(&token, &positions.lines(&source.ids()), signal).await;
        answered.set(true);
        let next = match answer.map(|answer| read_batch(&answer)) {
            _ if signal.aborted() => return Next::Continue,
            Ok(Ok(mut batch)) => {
                positions.0.extend(std::mem::take(&mut batch.positions));
                source.take(batch)
            }
            Ok(Err(next)) => next,
            Err(error) => Next::Retry(error),
        };
        if next != Next::Continue {
            return next;
        }
        *failures = 0;
        source.tell(Connection::Live);
    }
}

/// Reports [`Connection::Live`] after [`QUIET`], unless the returned cell is set before.
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
            // Fails if nobody waits any more, which is fine.
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
    fn what_was_read_before_is_asked_for_with_its_position() {
        let id = |kind: &str| format!("{kind}-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11");
        let ids = [id("session"), id("task")].map(|id| id.parse().expect("an id"));
        let mut positions = Positions::default();
        assert_eq!(positions.lines(&ids), format!("{}\n{}", id("session"), id("task")));
        let answer = format!(
            r#"{{"live":[{{"id":"{}","responses":[{{"callback":"taskFailed"}}],"at":[1],"position":"7.3-9"}}]}}"#,
            id("task")
        );
        positions.0.extend(read_batch(&answer).expect("a batch").positions);
        assert_eq!(positions.lines(&ids), format!("{}\n{} 7.3-9", id("session"), id("task")));
    }

    #[test]
    fn only_a_timeout_goes_on_without_an_answer() {
        let timeout = read_batch(r#"{"error":"HttpRequestTimeout"}"#);
        assert_eq!(timeout.expect_err("nothing happened"), Next::Continue);
        let other = read_batch(r#"{"error":"TooManyPendingCalls"}"#).expect_err("an error");
        assert!(matches!(other, Next::Retry(ApiError::Domain { .. })), "{other:?}");
        let page = read_batch("<html>").expect_err("no answer");
        assert!(matches!(page, Next::Retry(ApiError::Malformed(_))), "{page:?}");
        assert!(read_batch(r#"{"live":[]}"#).is_ok());
    }
}
