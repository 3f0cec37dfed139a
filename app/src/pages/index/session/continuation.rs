//! `#continue-button`: goes on in a new session that knows what was said in the closed one.

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use wire::SessionId;

use crate::api;
use crate::pages::index::session_url;

/// The button, and the reason if the session can't be continued.
#[component]
pub(super) fn Continue(id: SessionId) -> impl IntoView {
    let starting = RwSignal::new(false);
    let failure = RwSignal::new(None::<String>);
    let navigate = use_navigate();
    let start = move |_| {
        starting.set(true);
        failure.set(None);
        let navigate = navigate.clone();
        spawn_local(async move {
            match api::continue_session(id).await {
                Ok(new) => navigate(&session_url(new), NavigateOptions::default()),
                Err(error) => {
                    failure.set(Some(error.to_string()));
                    starting.set(false);
                }
            }
        });
    };
    view! {
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
                failure.get().map(|reason| view! { <p class="failure" role="alert">{reason}</p> })
            }}
        </div>
    }
}
