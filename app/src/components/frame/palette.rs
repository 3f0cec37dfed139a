//! The palette: one field from which every session, job and page can be reached, jobs are started
//! and the history is searched.

use leptos::ev::KeyboardEvent;
use leptos::html::{Dialog, Input};
use wire::LiveId;

use crate::components::icon::{draw_icon, state_dot};
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::links::{history_url, jobs_url, session_url, tracking_url};
use crate::load::{Load, Loader};
use crate::reactive::prelude::*;
use crate::state::alive::Alive;
use crate::state::palette::{Offer, rank};
use crate::state::title::short_folder;
use crate::{api, config, router};

/// The most offers that are shown; more can be found by typing.
const MOST: usize = 50;

/// Where an offer leads, and what stands before it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Goal {
    url: String,
    look: Look,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Icon(Icon),
    State(wire::AliveState),
}

/// The palette.
pub(super) struct Palette {
    /// Whether it is shown.
    pub(super) open: RwSignal<bool>,
    pub(super) view: Html,
}

/// The palette over what is alive.
pub(super) fn palette(alive: Alive) -> Palette {
    let open = RwSignal::new(false);
    Palette { open, view: draw(open, alive) }
}

fn draw(open: RwSignal<bool>, alive: Alive) -> Html {
    let (dialog, field) = (NodeRef::<Dialog>::new(), NodeRef::<Input>::new());
    let query = RwSignal::new(String::new());
    let chosen = RwSignal::new(0_usize);
    let jobs = Loader::when(open, api::jobs);
    let repo_root = StoredValue::new(config().repo_root);
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if !open.get() {
            return dialog.close();
        }
        if !dialog.open() {
            query.set(String::new());
            chosen.set(0);
            // Fails only for a dialog outside the document.
            let _ = dialog.show_modal();
            if let Some(field) = field.get_untracked() {
                field.set_value("");
                // Not by an attribute: pages focus something else as they load.
                let _ = field.focus();
            }
        }
    });
    let offers = Memo::new(move |_| {
        if !open.get() {
            return Vec::new();
        }
        let names = jobs.state.with(|jobs| match jobs {
            Load::Ready(list) => list.jobs.keys().cloned().collect(),
            _ => Vec::new(),
        });
        let all = repo_root.with_value(|root| all_offers(alive, names, root));
        query.with(|query| {
            let found = rank(query, &all).into_iter().take(MOST);
            let mut found: Vec<_> = found.map(|index| all[index].clone()).collect();
            found.extend(search(query));
            found
        })
    });
    let pick = move |index: usize| {
        let url = offers.with(|offers| offers.get(index).map(|offer| offer.kind.url.clone()));
        open.set(false);
        url
    };
    let navigate = router::navigator();
    let go = move |index| {
        if let Some(url) = untrack(move || pick(index)) {
            navigate(&url);
        }
    };
    let by_key = go.clone();
    let press = move |event: KeyboardEvent| {
        let last = offers.with_untracked(Vec::len).saturating_sub(1);
        let now = chosen.get_untracked();
        match &*event.key() {
            "ArrowDown" => chosen.set(if now >= last { 0 } else { now + 1 }),
            "ArrowUp" => chosen.set(if now == 0 { last } else { now - 1 }),
            "Enter" if !event.is_composing() => by_key(now),
            _ => return,
        }
        event.prevent_default();
        request_animation_frame(|| {
            let option = document().query_selector("#palette-list [aria-selected=true]");
            if let Some(option) = option.ok().flatten() {
                option.scroll_into_view_with_bool(false);
            }
        });
    };
    let rows = move || {
        let draw =
            |(index, offer): (usize, &Offer<Goal>)| offer_row(index, offer, chosen, go.clone());
        offers.with(|offers| offers.iter().enumerate().map(draw).collect::<Html>())
    };
    html! {
        <dialog
            id="palette"
            class="palette"
            aria-label="Go to"
            node_ref=dialog
            on:close=move |_| open.set(false)
        >
            <input
                node_ref=field
                type="text"
                role="combobox"
                aria-label="Go to a session, job or page"
                aria-expanded="true"
                aria-controls="palette-list"
                aria-activedescendant=move || format!("palette-{}", chosen.get())
                placeholder="Go to …"
                autocomplete="off"
                spellcheck="false"
                on:input=move |event| {
                    query.set(event_target_value(&event));
                    chosen.set(0);
                }
                on:keydown=press
            />
            <ul id="palette-list" role="listbox" aria-label="Results">
                {rows}
            </ul>
        </dialog>
    }
}

fn offer_row(
    index: usize,
    offer: &Offer<Goal>,
    chosen: RwSignal<usize>,
    go: impl Fn(usize) + 'static,
) -> Html {
    let look = match offer.kind.look {
        Look::Icon(icon) => draw_icon(icon),
        Look::State(state) => state_dot(state),
    };
    html! {
        <li
            id=format!("palette-{index}")
            role="option"
            aria-selected=move || (chosen.get() == index).to_string()
            on:click=move |_| go(index)
        >
            {look}
            <span class="row-title">{offer.title.clone()}</span>
            <span class="palette-hint">{offer.detail.clone()}</span>
        </li>
    }
}

/// Everything that can be gone to: what is alive, the pages, and the jobs that can be started.
fn all_offers(alive: Alive, jobs: Vec<String>, repo_root: &str) -> Vec<Offer<Goal>> {
    let icon = |url: String, icon| Goal { url, look: Look::Icon(icon) };
    let offer = |kind, title: &str, detail: &str| Offer {
        kind,
        title: title.to_owned(),
        detail: detail.to_owned(),
    };
    let mut all: Vec<_> = alive.all();
    all.sort_by_key(|item| std::cmp::Reverse(item.since));
    let mut offers: Vec<_> = all
        .into_iter()
        .filter_map(|item| {
            let url = match item.id {
                LiveId::Session(id) => session_url(id),
                LiveId::Job(id) => tracking_url(&item.title, Some(id)),
                LiveId::Task(_) | LiveId::Inbox | LiveId::Alive => return None,
            };
            let kind = Goal { url, look: Look::State(item.state) };
            Some(Offer { kind, title: item.title, detail: short_folder(&item.folder, None) })
        })
        .collect();
    offers.extend([
        offer(icon("/index.html".to_owned(), Icon::Plus), "New session", "Page"),
        offer(icon(jobs_url(repo_root), Icon::Chart), "New job", "Page"),
        offer(icon("/inbox.html".to_owned(), Icon::Inbox), "Inbox", "Page"),
        offer(icon("/history.html".to_owned(), Icon::History), "History", "Page"),
        offer(icon("/bridge.html".to_owned(), Icon::Bridge), "Bridge", "Page"),
    ]);
    offers.extend(jobs.into_iter().map(|name| {
        let url = format!("{}&job={}", jobs_url(repo_root), router::encode(&name));
        offer(icon(url, Icon::Chart), &name, "Start a job")
    }));
    offers
}

/// The offer to search the history.
fn search(query: &str) -> Option<Offer<Goal>> {
    let query = query.trim();
    (!query.is_empty()).then(|| Offer {
        kind: Goal { url: history_url(query), look: Look::Icon(Icon::Search) },
        title: format!("Search the history for “{query}”"),
        detail: String::new(),
    })
}
