//! `/test`: gets a greeting from the API. If it appears, page, server and browser work together.
//! The greeting is the page's only text: scripts compare the text of its body.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::api;
use crate::erase::Erase;
use crate::load::{Load, Loader};

#[component]
pub(crate) fn TestPage() -> impl IntoView {
    let greeting = Loader::new(api::test);
    let message = move || match greeting.state.get() {
        Load::Pending => ().erase(),
        Load::Ready(reply) => view! { <h1 class="greeting">{reply.message}</h1> }.erase(),
        Load::Failed(error) => {
            view! { <p class="failure" role="alert">{error.to_string()}</p> }.erase()
        }
    };
    view! {
        <Title text="Test" />
        <section class="card" aria-live="polite">
            {message}
        </section>
    }
}
