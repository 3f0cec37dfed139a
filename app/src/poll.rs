//! What the loops of the browser have in common: how a connection stands, and how long to wait for
//! the next try.

use std::time::Duration;

use leptos::leptos_dom::helpers::set_timeout;

use crate::api::ApiError;

/// The state of the connection to what is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    /// No answer has arrived yet.
    Connecting,
    /// Responses arrive as they happen.
    Live,
    /// Lost; it is retried without being asked to.
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

/// The delay before the nth retry: doubling from half a second to eight seconds.
pub(crate) fn back_off(failures: u32) -> Duration {
    Duration::from_millis(500 << failures.saturating_sub(1).min(4))
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
}
