//! `/test`: gets a greeting from the API. If it appears, page, server and browser work together.
//! The greeting is the page's only text: scripts compare the text of its body.

use crate::api;
use crate::html::{Html, html};
use crate::load::{Load, Loader};
use crate::reactive::prelude::*;
use crate::title::window_title;

#[component]
pub(crate) fn TestPage() -> Html {
    let greeting = Loader::new(api::test);
    let message = move || match greeting.state.get() {
        Load::Pending => Html::fragment(),
        Load::Ready(reply) => html! { <h1 class="greeting">{reply.message}</h1> },
        Load::Failed(error) => {
            html! { <p class="failure" role="alert">{error.to_string()}</p> }
        }
    };
    html! {
        {window_title(|| "Test".to_owned())}
        <section class="card" aria-live="polite">
            {message}
        </section>
    }
}
