//! How a session is left: the buttons for it, whom it concerns, and what is said then.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wire::SessionId;

use crate::api::{self, ApiError};
use crate::components::confirm::Confirm;

/// Why the page no longer shows the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Closed,
    ServerStopped,
}

/// `#stop-server-button` and `#close-session-button`.
#[component]
pub(super) fn LeaveButtons(
    id: SessionId,
    left: RwSignal<Option<Left>>,
    failure: RwSignal<Option<String>>,
) -> impl IntoView {
    let question = RwSignal::new(None::<String>);
    let close = move |_| {
        spawn_local(async move { leave(left, Left::Closed, end_session(id).await, failure) });
    };
    let stop = move || {
        spawn_local(async move {
            // A session that has ended already is no reason to keep the server.
            let _ = end_session(id).await;
            leave(left, Left::ServerStopped, api::stop_server().await, failure);
        });
    };
    let ask_stop = move |_| {
        spawn_local(async move {
            let others = match api::sessions().await {
                Ok(list) => list.sessions.iter().filter(|one| one.session_id != id).count(),
                Err(error) => return failure.set(Some(error.to_string())),
            };
            match stop_question(others) {
                Some(text) => question.set(Some(text)),
                None => stop(),
            }
        });
    };
    view! {
        <div class="button-group">
            <button type="button" id="stop-server-button" class="button danger" on:click=ask_stop>
                "Stop Server"
            </button>
            <button type="button" id="close-session-button" class="button" on:click=close>
                "Close Session"
            </button>
        </div>
        <Confirm question=question yes="Stop Server" on_yes=Callback::new(move |()| stop()) />
    }
}

/// Ends the session; one that is gone already is as good.
async fn end_session(id: SessionId) -> Result<(), ApiError> {
    match api::stop_session(id).await {
        Err(ApiError::Domain { name: wire::ErrorName::SessionNotFound, .. }) => Ok(()),
        result => result,
    }
}

/// Closes the window, or says that it may be closed where the browser refuses.
fn leave(
    left: RwSignal<Option<Left>>,
    why: Left,
    result: Result<(), ApiError>,
    failure: RwSignal<Option<String>>,
) {
    match result {
        Ok(()) => {
            left.set(Some(why));
            if can_close_window() {
                // The note stays where the browser refuses nevertheless.
                let _ = window().close();
            }
        }
        Err(error) => failure.set(Some(error.to_string())),
    }
}

/// Browsers close only what a script opened, or what has never shown anything else. Asking for
/// more makes them complain.
fn can_close_window() -> bool {
    let was_opened = window().opener().is_ok_and(|opener| !opener.is_null());
    let has_no_past = window().history().and_then(|history| history.length());
    was_opened || has_no_past.is_ok_and(|length| length <= 1)
}

/// What to ask before the server is stopped; nothing if nobody else is concerned.
fn stop_question(others: usize) -> Option<String> {
    match others {
        0 => None,
        1 => Some("Another session is open. Stop the server and end it, too?".to_owned()),
        n => Some(format!("{n} other sessions are open. Stop the server and end them, too?")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopping_asks_only_if_others_are_concerned() {
        assert_eq!(stop_question(0), None);
        assert!(stop_question(1).is_some_and(|text| text.contains("Another session")));
        assert!(stop_question(3).is_some_and(|text| text.contains("3 other sessions")));
    }
}
