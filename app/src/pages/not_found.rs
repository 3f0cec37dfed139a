//! The page for all other paths.

use crate::html::{Html, html};
use crate::reactive::prelude::*;
use crate::title::window_title;

/// The page, with status 404 when the server renders it.
#[component]
pub(crate) fn NotFoundPage() -> Html {
    #[cfg(feature = "ssr")]
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>() {
        response.set_status(axum::http::StatusCode::NOT_FOUND);
    }
    html! {
        {window_title(|| "Page not found".to_owned())}
        <section class="card">
            <h1>"Page not found"</h1>
            <p>"There is nothing at this address."</p>
            <p>
                <a href="/" class="button">
                    "Go to the start"
                </a>
            </p>
        </section>
    }
}
