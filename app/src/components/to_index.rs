//! Leaves a page that lacks a required argument.

use leptos::prelude::*;
use leptos_router::components::Redirect;

/// Goes to the index page; on the server by a redirect, whatever the client accepts.
#[component]
pub(crate) fn ToIndex() -> impl IntoView {
    #[cfg(feature = "ssr")]
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>() {
        response.set_status(axum::http::StatusCode::FOUND);
    }
    view! { <Redirect path="/index.html" /> }
}
