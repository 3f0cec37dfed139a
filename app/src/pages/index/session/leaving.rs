//! How a session is left: the buttons for it, and what is said then.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wire::SessionId;

use crate::api::{self, ApiError};
use crate::components::stop_server::StopServer;

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
    let close = move |_| {
        spawn_local(async move {
            match end_session(id).await {
                Ok(()) => leave(left, Left::Closed),
                Err(error) => failure.set(Some(error.to_string())),
            }
        });
    };
    let stopped = Callback::new(move |()| leave(left, Left::ServerStopped));
    view! {
        <div class="button-group">
            <StopServer own=Some(id) on_stopped=stopped failure=failure />
            <button type="button" id="close-session-button" class="button" on:click=close>
                "Close Session"
            </button>
        </div>
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
fn leave(left: RwSignal<Option<Left>>, why: Left) {
    left.set(Some(why));
    if can_close_window() {
        // The note stays where the browser refuses nevertheless.
        let _ = window().close();
    }
}

/// Browsers close only what a script opened, or what has never shown anything else. Asking for
/// more makes them complain.
fn can_close_window() -> bool {
    let was_opened = window().opener().is_ok_and(|opener| !opener.is_null());
    let has_no_past = window().history().and_then(|history| history.length());
    was_opened || has_no_past.is_ok_and(|length| length <= 1)
}
