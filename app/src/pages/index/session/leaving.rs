//! How a session is left: the buttons, and the note afterwards.

use wire::SessionId;

use crate::api::{self, ApiError};
use crate::components::stop_server::StopServer;
use crate::html::{Html, html};
use crate::reactive::prelude::*;

/// Why the page no longer shows the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Closed,
    ServerStopped,
}

/// Ends the session and leaves the page.
pub(super) fn close_session(
    id: SessionId,
    left: RwSignal<Option<Left>>,
    failure: RwSignal<Option<String>>,
) -> Callback<()> {
    Callback::new(move |()| {
        spawn_local(async move {
            match end_session(id).await {
                Ok(()) => leave(left, Left::Closed),
                Err(error) => failure.set(Some(error.to_string())),
            }
        });
    })
}

/// The buttons `#stop-server-button` and `#close-session-button`.
#[component]
pub(super) fn LeaveButtons(
    left: RwSignal<Option<Left>>,
    close: Callback<()>,
    failure: RwSignal<Option<String>>,
) -> Html {
    let stopped = Callback::new(move |()| leave(left, Left::ServerStopped));
    html! {
        <div class="leave-buttons">
            <StopServer on_stopped=stopped failure=failure />
            <button
                type="button"
                id="close-session-button"
                class="button"
                on:click=move |_| close.run(())
            >
                "Close Session"
            </button>
        </div>
    }
}

/// Ends the session; it is fine if it has already ended.
async fn end_session(id: SessionId) -> Result<(), ApiError> {
    match api::stop_session(id).await {
        Err(ApiError::Domain { name: wire::ErrorName::SessionNotFound, .. }) => Ok(()),
        result => result,
    }
}

/// Closes the window, or tells the user to do so if the browser refuses.
fn leave(left: RwSignal<Option<Left>>, why: Left) {
    left.set(Some(why));
    if can_close_window() {
        // If the browser refuses after all, the note stays.
        let _ = window().close();
    }
}

/// Browsers only close windows that a script opened or that have shown nothing else. Trying more
/// makes them complain.
fn can_close_window() -> bool {
    let was_opened = window().opener().is_ok_and(|opener| !opener.is_null());
    let has_no_past = window().history().and_then(|history| history.length());
    was_opened || has_no_past.is_ok_and(|length| length <= 1)
}
