//! `#stop-server-button`: stops the server, and always asks first.

use super::confirm::Confirm;
use crate::html::{Html, html};
use crate::reactive::prelude::*;
use crate::state::stop_question::stop_question;
use crate::{api, config, live};

/// The button, and its confirmation.
#[component]
pub(crate) fn StopServer(
    /// Called after the server has stopped.
    on_stopped: Callback<()>,
    /// Set if stopping failed.
    failure: RwSignal<Option<String>>,
) -> Html {
    let lasts = config().lasting;
    let question = RwSignal::new(None::<String>);
    let stop = move || {
        spawn_local(async move {
            live::rest(true);
            match api::stop_server().await {
                Ok(()) => on_stopped.run(()),
                Err(error) => {
                    live::rest(false);
                    failure.set(Some(error.to_string()));
                }
            }
        });
    };
    let ask = move |_| {
        spawn_local(async move {
            // Asked anew: the side bar of a page that was away is not up to date yet.
            let alive = api::alive::all().await.ok();
            let items = alive.as_ref().map(|alive| &*alive.items);
            question.try_set(Some(stop_question(items, lasts)));
        });
    };
    html! {
        <button type="button" id="stop-server-button" class="button danger" on:click=ask>
            "Stop Server"
        </button>
        <Confirm question=question yes="Stop Server" on_yes=Callback::new(move |()| stop()) />
    }
}
