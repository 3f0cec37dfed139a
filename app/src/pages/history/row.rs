//! A line of the history: what it was, how it ended, and where it is shown as it looked.

use leptos::ev::{KeyboardEvent, SubmitEvent};
use leptos::html::Input;
use web_sys::HtmlElement;
use web_sys::wasm_bindgen::JsCast;
use wire::{HistoryItem, LiveId, SessionId};

use super::Listing;
use super::actions::Menu;
use crate::api;
use crate::clock;
use crate::components::icon::kept_badge;
use crate::html::{Html, html};
use crate::local_time::{local_time, millis_of};
use crate::reactive::prelude::*;
use crate::state::duration::{age, took};
use crate::state::history::{actions, describe_kind, page_of, split_hit, title_of};
use crate::state::spending;
use crate::state::title::short_folder;

/// The line of an item.
pub(super) fn draw_row(item: &HistoryItem, listing: Listing, menu: Menu) -> Html {
    let id = item.id;
    let title = title_of(item);
    let (text, url) = (title.clone(), page_of(item));
    let old = item.title.clone();
    let heading = move || {
        if let (true, LiveId::Session(session)) = (listing.renamed.get() == Some(id), id) {
            return draw_rename(session, old.clone(), listing);
        }
        let text = text.clone();
        if let Some(url) = url.clone() {
            html! { <a class="history-title" href=url>{text}</a> }
        } else {
            html! { <span class="history-title">{text}</span> }
        }
    };
    let trouble = move || {
        let trouble = listing.trouble.get().filter(|(about, _)| *about == id);
        trouble.map(|(_, text)| html! { <p class="failure" role="alert">{text}</p> })
    };
    let snippet = item.snippet.as_deref().map(draw_snippet);
    let state = item.state.as_str();
    let reason = item.reason.clone().map(|text| {
        html! { <p class="history-reason" data-state=state>{text}</p> }
    });
    html! {
        <li class="history-row" data-id=id.to_string() data-kind=item.kind.as_str()>
            {kept_badge(item.state)}
            <div class="history-main">
                {heading}
                {draw_meta(item)}
                {reason}
                {snippet}
                {trouble}
            </div>
            {draw_time(item)}
            {(!actions(item).is_empty()).then(|| menu.draw_button(id, &title))}
        </li>
    }
}

fn draw_meta(item: &HistoryItem) -> Html {
    let texts = [
        Some(describe_kind(item)),
        item.model.clone(),
        item.usage.as_ref().and_then(spending::describe),
    ];
    let [kind, model, usage] = texts.map(|text| text.map(|text| html! { <span>{text}</span> }));
    let folder = item.folder.clone();
    html! {
        <p class="history-meta">
            {kind}
            <span title=folder.clone()>{short_folder(&folder, None)}</span>
            {model}
            {usage}
        </p>
    }
}

/// When it started, and how long it took.
fn draw_time(item: &HistoryItem) -> Html {
    let started = millis_of(&item.started_at);
    let ended = item.ended_at.as_deref().map(millis_of);
    let taken = ended.and_then(|ended| took(ended - started));
    let taken = taken.map(|taken| html! { <span class="history-took">{taken}</span> });
    let ago = format!("{} ago", age(untrack(clock::now) - started));
    html! {
        <span class="history-time">
            <time datetime=item.started_at.clone() title=local_time(&item.started_at)>{ago}</time>
            {taken}
        </span>
    }
}

/// The text around a hit. Both may come from a model, so they are shown as text.
fn draw_snippet(snippet: &str) -> Html {
    let (before, hit, after) = split_hit(snippet);
    let hit = hit.map(|hit| html! { <mark>{hit.to_owned()}</mark> });
    html! {
        <p class="history-snippet">
            {before.to_owned()}
            {hit}
            {after.to_owned()}
        </p>
    }
}

/// The field in the place of the title.
fn draw_rename(id: SessionId, old: String, listing: Listing) -> Html {
    let field = NodeRef::<Input>::new();
    let is_sent = RwSignal::new(false);
    Effect::new(move |_| {
        if let Some(field) = field.get() {
            // Neither fails for a field in the document.
            let _ = field.focus();
            field.select();
        }
    });
    let leave = move || {
        listing.trouble.set(None);
        listing.renamed.set(None);
        focus_soon(id.into());
    };
    let save = move |event: SubmitEvent| {
        event.prevent_default();
        let Some(field) = field.get_untracked().filter(|_| !is_sent.get_untracked()) else {
            return;
        };
        let title = field.value().trim().to_owned();
        is_sent.set(true);
        spawn_local(async move {
            let renamed = api::session::rename(id, &title).await;
            if is_sent.try_set(false).is_some() {
                // The page has been left.
                return;
            }
            match renamed {
                Ok(()) => {
                    leave();
                    listing.items.update(|items| {
                        if let Some(item) = items.iter_mut().find(|item| item.id == id.into()) {
                            item.title = title;
                        }
                    });
                }
                Err(error) => listing.trouble.set(Some((id.into(), error.to_string()))),
            }
        });
    };
    let press = move |event: KeyboardEvent| {
        if event.key() == "Escape" && !event.is_composing() {
            event.prevent_default();
            leave();
        }
    };
    html! {
        <form class="history-rename" on:submit=save>
            <input
                node_ref=field
                type="text"
                aria-label="Title"
                autocomplete="off"
                value=old
                on:keydown=press
            />
            <button type="submit" class="button primary" disabled=is_sent>
                "Save"
            </button>
            <button type="button" class="button" on:click=move |_| leave()>
                "Cancel"
            </button>
        </form>
    }
}

/// Gives the focus back to a row whose field has gone.
fn focus_soon(id: LiveId) {
    request_animation_frame(move || {
        let row = format!("[data-id=\"{id}\"] .history-menu-button");
        let button = document().query_selector(&row).ok().flatten();
        if let Some(button) = button.and_then(|button| button.dyn_into::<HtmlElement>().ok()) {
            // Fails only for what is not in the document.
            let _ = button.focus();
        }
    });
}
