//! The form above the history. What is chosen goes into the address, which is what the list follows.

use std::time::Duration;

use leptos::ev::{Event, SubmitEvent};
use leptos::leptos_dom::helpers::debounce;
use wire::{EntityKind, EntityState, HistoryItem};

use super::Listing;
use crate::components::icon::draw_icon;
use crate::html::{Html, each, html};
use crate::icon::Icon;
use crate::load::{Load, Loader};
use crate::reactive::prelude::*;
use crate::router::{navigator, replacer};
use crate::state::alive::Alive;
use crate::state::history::{Filter, Span};
use crate::state::title::short_folder;
use crate::wording::job_word;

/// How long nobody types before the search begins.
const PAUSE: Duration = Duration::from_millis(300);

/// The states that can be looked for; only sessions are idle or closed.
const STATES: [EntityState; 8] = [
    EntityState::Running,
    EntityState::Waiting,
    EntityState::Idle,
    EntityState::Succeeded,
    EntityState::Failed,
    EntityState::Canceled,
    EntityState::Interrupted,
    EntityState::Closed,
];

/// The form. `known` is what happened last, for the folders that can be chosen.
pub(super) fn draw_filters(listing: Listing, known: Loader<wire::History>) -> Html {
    let filter = listing.filter;
    let (go, replace) = (navigator(), replacer());
    let change = Callback::new(move |(set, value): (fn(&mut Filter, String), String)| {
        let mut changed = filter.get_untracked();
        set(&mut changed, value);
        go(&changed.url());
    });
    // Typing makes no entries in the browser's history.
    let search = move |words: String| {
        let before = filter.get_untracked();
        let changed = Filter { words, ..before.clone() };
        if changed.url() != before.url() {
            replace(&changed.url());
        }
    };
    let at_once = search.clone();
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if let Some(words) = typed() {
            at_once(words);
        }
    };
    let mut search_soon = debounce(PAUSE, move |()| {
        // The page may have been left in the meantime.
        if let Some(words) = typed() {
            search(words);
        }
    });
    let choose = move |set: fn(&mut Filter, String)| {
        move |event| change.run((set, event_target_value(&event)))
    };
    html! {
        <form class="history-filters" role="search" on:submit=submit>
            <input
                id="history-search"
                type="search"
                name="q"
                aria-label="Search titles, prompts and messages"
                placeholder="Search titles, prompts and messages"
                autocomplete="off"
                spellcheck="false"
                prop:value=move || filter.with(|filter| filter.words.clone())
                on:input=move |_| search_soon(())
            />
            {draw_kinds(filter, choose(|filter, value| filter.kind = value.parse().ok()))}
            {draw_states(filter, choose(|filter, value| filter.state = value.parse().ok()))}
            {draw_folders(listing, known, choose(|filter, value| filter.folder = value))}
            <select
                id="history-time"
                aria-label="Time"
                autocomplete="off"
                prop:value=move || filter.with(|filter| filter.span.word())
                on:change=choose(|filter, value| {
                    let known = Span::ALL.into_iter().find(|(_, word, _)| *word == value);
                    filter.span = known.map_or(Span::Any, |it| it.0);
                })
            >
                {Span::ALL.map(|(span, word, text)| {
                    option(word, text, move || filter.with(|it| it.span == span))
                })}
            </select>
            <button
                type="button"
                id="history-refresh"
                class="icon-button framed"
                aria-label="Refresh"
                title="Refresh"
                on:click=move |_| listing.request(None)
            >
                {draw_icon(Icon::Retry)}
            </button>
        </form>
    }
}

fn draw_kinds(filter: Memo<Filter>, choose: impl FnMut(Event) + 'static) -> Html {
    html! {
        <select
            id="history-kind"
            aria-label="Kind"
            autocomplete="off"
            prop:value=move || filter.with(|filter| filter.kind.map_or("", EntityKind::as_str))
            on:change=choose
        >
            {option("", "Any kind", move || filter.with(|filter| filter.kind.is_none()))}
            {[
                (EntityKind::Session, "Sessions"),
                (EntityKind::Job, "Jobs"),
                (EntityKind::Task, "Tasks"),
            ].map(|(kind, text)| {
                option(kind.as_str(), text, move || filter.with(|it| it.kind == Some(kind)))
            })}
        </select>
    }
}

fn draw_states(filter: Memo<Filter>, choose: impl FnMut(Event) + 'static) -> Html {
    html! {
        <select
            id="history-state"
            aria-label="State"
            autocomplete="off"
            prop:value=move || filter.with(|filter| filter.state.map_or("", EntityState::as_str))
            on:change=choose
        >
            {option("", "Any state", move || filter.with(|filter| filter.state.is_none()))}
            {STATES.map(|state| {
                let is_chosen = move || filter.with(|it| it.state == Some(state));
                option(state.as_str(), job_word(state), is_chosen)
            })}
        </select>
    }
}

/// What stands in the search field; `None` if the page has been left.
fn typed() -> Option<String> {
    use web_sys::HtmlInputElement;
    use web_sys::wasm_bindgen::JsCast;
    let field = document().get_element_by_id("history-search")?;
    Some(field.dyn_into::<HtmlInputElement>().ok()?.value())
}

/// The folders of what happened lately and of what is alive, and the chosen one.
fn draw_folders(
    listing: Listing,
    known: Loader<wire::History>,
    choose: impl FnMut(Event) + 'static,
) -> Html {
    let alive = use_context::<Alive>();
    let folders = Memo::new(move |_| {
        let mut folders: Vec<String> = alive
            .map(|alive| {
                alive.entries.track();
                alive.all().into_iter().map(|item| item.folder).collect()
            })
            .unwrap_or_default();
        let mut add = |items: &[HistoryItem]| {
            folders.extend(items.iter().map(|item| item.folder.clone()));
        };
        listing.items.with(|items| add(items));
        known.state.with(|known| {
            if let Load::Ready(known) = known {
                add(&known.items);
            }
        });
        folders.push(listing.filter.with(|filter| filter.folder.clone()));
        folders.retain(|folder| !folder.is_empty());
        folders.sort_unstable();
        folders.dedup();
        folders
    });
    let filter = listing.filter;
    let draw = move |folder: String| {
        let (text, own) = (short_folder(&folder, None), folder.clone());
        let is_chosen = move || filter.with(|filter| filter.folder == own);
        html! {
            <option value=folder.clone() title=folder selected=is_chosen>{text}</option>
        }
    };
    html! {
        <select
            id="history-folder"
            aria-label="Folder"
            autocomplete="off"
            prop:value=move || filter.with(|filter| filter.folder.clone())
            on:change=choose
        >
            {option("", "Any folder", move || filter.with(|filter| filter.folder.is_empty()))}
            {each(move || folders.get(), Clone::clone, draw)}
        </select>
    }
}

fn option(
    value: &'static str,
    text: &'static str,
    is_chosen: impl Fn() -> bool + Send + 'static,
) -> Html {
    html! {
        <option value=value selected=is_chosen>
            {text}
        </option>
    }
}
