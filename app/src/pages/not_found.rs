//! The page for all other paths.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::components::A;

/// The page, with status 404 when the server renders it.
#[component]
pub(crate) fn NotFoundPage() -> impl IntoView {
    #[cfg(feature = "ssr")]
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>() {
        response.set_status(axum::http::StatusCode::NOT_FOUND);
    }
    view! {
        <Title text="Page not found" />
        <section class="card">
            <h1>"Page not found"</h1>
            <p>"There is nothing at this address."</p>
            <p>
                <A href="/" attr:class="button">
                    "Go to the start"
                </A>
            </p>
        </section>
    }
}
