//! `.turn-end`: says that a turn was aborted, interrupted or failed, and offers to try it again.

use wire::TurnEnding;

use super::Said;
use crate::api;
use crate::components::icon::draw_icon;
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::local_time::local_clock;
use crate::reactive::prelude::*;
use crate::state::blocks::{Block, BlockKey};

/// The line. The last one offers to send its prompt again.
pub(super) fn turn_end(key: &BlockKey, block: &ArcRwSignal<Block>, said: Said) -> Html {
    let Block { ending, body: prompt, began, .. } = block.get_untracked();
    let (state, icon, text) = match ending {
        Some(TurnEnding::Aborted) => ("canceled", Icon::Canceled, "Aborted"),
        Some(TurnEnding::Interrupted) => {
            ("interrupted", Icon::Interrupted, "Interrupted: the server stopped")
        }
        Some(TurnEnding::Failed | TurnEnding::Completed) | None => {
            ("failed", Icon::Failed, "The turn failed")
        }
    };
    let (key, failure) = (key.clone(), RwSignal::new(None::<String>));
    let can_retry = Memo::new(move |_| {
        let is_last =
            said.blocks.with(|blocks| blocks.last().is_some_and(|(last, _)| *last == key));
        is_last && !said.works.get()
    });
    let session = said.session.get_value().filter(|_| !prompt.is_empty());
    let prompt = StoredValue::new(prompt);
    let retry = move |_| {
        let Some(session) = session else { return };
        failure.set(None);
        said.to_end.update(|wishes| *wishes += 1);
        spawn_local(async move {
            if let Err(error) = api::query(session, &prompt.get_value()).await {
                failure.try_set(Some(error.to_string()));
            }
        });
    };
    html! {
        <div class="turn-end" data-state=state>
            {draw_icon(icon)}
            <span>{text}", "{local_clock(began)}</span>
            {move || {
                (session.is_some() && can_retry.get()).then(|| html! {
                    <button type="button" class="button retry-button" on:click=retry>
                        {draw_icon(Icon::Retry)}
                        "Retry"
                    </button>
                })
            }}
            {move || {
                failure.get().map(|reason| html! { <span class="failure" role="alert">{reason}</span> })
            }}
        </div>
    }
}
