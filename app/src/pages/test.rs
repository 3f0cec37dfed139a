//! `/test`: asks the API for a greeting. If it appears, page, server and browser work together.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::api;
use crate::erase::Erase;
use crate::load::{Load, Loader};

/// The page.
#[component]
pub(crate) fn TestPage() -> impl IntoView {
    let greeting = Loader::new(api::test);
    let message = move || match greeting.state.get() {
        Load::Pending => view! { <p class="waiting">"Asking the server …"</p> }.erase(),
        Load::Ready(reply) => view! { <p class="greeting">{reply.message}</p> }.erase(),
        Load::Failed(error) => view! { <p class="failure">{error.to_string()}</p> }.erase(),
    };
    view! {
        <Title text="Test" />
        <section class="card">
            <h1>"Connection test"</h1>
            <div role="status">{message}</div>
        </section>
    }
}
