//! `#continue-button`: goes on in a new session that knows what was said in the closed one.

use wire::SessionId;

use crate::api;
use crate::html::{Html, html};
use crate::pages::index::session_url;
use crate::reactive::prelude::*;
use crate::router::navigator;
use crate::state::composer::draft_key;
use crate::storage;

/// The button, and the reason if the session can't be continued.
#[component]
pub(super) fn Continue(id: SessionId) -> Html {
    let starting = RwSignal::new(false);
    let failure = RwSignal::new(None::<String>);
    let navigate = navigator();
    let start = move |_| {
        starting.set(true);
        failure.set(None);
        let navigate = navigate.clone();
        spawn_local(async move {
            match api::continue_session(id).await {
                Ok(new) => {
                    hand_over_draft(id, new);
                    navigate(&session_url(new));
                }
                Err(error) => {
                    failure.set(Some(error.to_string()));
                    starting.set(false);
                }
            }
        });
    };
    html! {
        <div class="continue-session">
            <button
                type="button"
                id="continue-button"
                class="button primary"
                disabled=starting
                on:click=start
            >
                "Continue in a new session"
            </button>
            {move || {
                failure.get().map(|reason| html! { <p class="failure" role="alert">{reason}</p> })
            }}
        </div>
    }
}

/// What was typed in the closed session goes on in the new one.
fn hand_over_draft(from: SessionId, to: SessionId) {
    let (from, to) = (draft_key(&from.to_string()), draft_key(&to.to_string()));
    if let Some(text) = storage::read(&from) {
        storage::write(&to, Some(&text));
    }
}
