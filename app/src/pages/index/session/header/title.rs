//! The title, which is the page's `h1`; a click renames the session in place.

use leptos::ev::KeyboardEvent;
use leptos::html::{Button, Input};

use super::super::about::About;
use crate::api::session;
use crate::html::{Html, html};
use crate::reactive::prelude::*;
use crate::state::session_head::Standing;

/// The title as a button, or as the field in which it is changed.
pub(super) fn draw_title(about: About, problem: RwSignal<Option<String>>) -> Html {
    let text = RwSignal::new(None::<String>);
    let is_editing = Memo::new(move |_| text.with(Option::is_some));
    let (field, button) = (NodeRef::<Input>::new(), NodeRef::<Button>::new());
    Effect::new(move |_| {
        if let Some(field) = field.get() {
            // Without the focus it can still be clicked.
            let _ = field.focus();
            field.select();
        }
    });
    let begin = move |_| {
        problem.set(None);
        text.set(Some(untrack(|| about.title())));
    };
    let finish = move |is_kept: bool| {
        // Leaving the field ends the editing, too, even if a key did so before.
        let Some(title) = text.get_untracked() else { return };
        text.set(None);
        problem.set(None);
        let title = title.trim().to_owned();
        if is_kept && !title.is_empty() && title != untrack(|| about.title()) {
            about.renamed().set(Some(title.clone()));
            spawn_local(save(about, title, text, problem));
        }
    };
    let press = move |event: KeyboardEvent| {
        let is_kept = match &*event.key() {
            "Enter" if !event.is_composing() => true,
            "Escape" if !event.is_composing() => false,
            _ => return,
        };
        event.prevent_default();
        finish(is_kept);
        request_animation_frame(move || {
            if let Some(button) = button.try_get_untracked() {
                let _ = button.focus();
            }
        });
    };
    let shown = move || {
        if is_editing.get() {
            return html! {
                <input
                    node_ref=field
                    type="text"
                    id="title-input"
                    class="page-title"
                    aria-label="Title of the session"
                    autocomplete="off"
                    maxlength="200"
                    prop:value=move || text.get()
                    on:input=move |event| text.set(Some(event_target_value(&event)))
                    on:keydown=press
                    on:blur=move |_| finish(true)
                />
            };
        }
        html! {
            <button
                node_ref=button
                type="button"
                id="title-button"
                title=move || format!("{} (click to rename)", about.title())
                disabled=move || about.standing() == Some(Standing::Gone)
                on:click=begin
            >
                {move || about.title()}
            </button>
        }
    };
    html! { <h1 class="page-title session-title">{shown}</h1> }
}

async fn save(
    about: About,
    title: String,
    text: RwSignal<Option<String>>,
    problem: RwSignal<Option<String>>,
) {
    // The page may have been left when the answer arrives.
    let renamed = about.renamed();
    match session::rename(about.id(), &title).await {
        Ok(()) => about.reload(),
        // What was typed stays.
        Err(error) => {
            renamed.try_set(None);
            text.try_set(Some(title));
            problem.try_set(Some(error.to_string()));
        }
    }
}
