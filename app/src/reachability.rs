//! Whether the server can be reached, as the connections of the page find out.

use web_sys::js_sys::Date;

use crate::api::ApiError;
use crate::reactive::prelude::*;

/// Whether the server can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reachability {
    /// It answered last time, or was not asked yet.
    Reachable,
    /// It did not answer.
    Gone {
        /// Since when, in milliseconds since the Unix epoch on the browser's clock.
        #[allow(dead_code, reason = "for the bar that says so")]
        since: u64,
    },
}

thread_local! {
    // One page has one thread. On the server nobody asks, so it is always reachable there.
    static SERVER: ArcRwSignal<Reachability> = ArcRwSignal::new(Reachability::Reachable);
}

/// Whether the server can be reached; the same signal on every page.
pub(crate) fn server() -> ArcRwSignal<Reachability> {
    SERVER.with(Clone::clone)
}

/// The server has answered.
pub(crate) fn answered() {
    let server = server();
    if server.get_untracked() != Reachability::Reachable {
        server.set(Reachability::Reachable);
    }
}

/// A call has failed. A server that refuses is still there.
pub(crate) fn failed(error: &ApiError) {
    if *error != ApiError::Unreachable {
        return answered();
    }
    let server = server();
    if server.get_untracked() == Reachability::Reachable {
        server.set(Reachability::Gone { since: now() });
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole milliseconds")]
fn now() -> u64 {
    Date::now() as u64
}
