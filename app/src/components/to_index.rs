//! Leaves a page that lacks an argument it can't do without.

use leptos::prelude::*;
use leptos_router::components::Redirect;

/// Goes to the index page; on the server as a redirect for every client, whatever it accepts.
#[component]
pub(crate) fn ToIndex() -> impl IntoView {
    #[cfg(feature = "ssr")]
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>() {
        response.set_status(axum::http::StatusCode::FOUND);
    }
    view! { <Redirect path="/index.html" /> }
}
