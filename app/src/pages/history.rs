//! `/history`: what is kept, filtered and searched. The address says what is looked for, so that a
//! reload, a link and the browser's Back show the same.

mod actions;
mod filters;
mod row;

use wire::{HistoryItem, LiveId};

use crate::api::{self, ApiError};
use crate::clock;
use crate::components::page_header::plain_header;
use crate::html::{Html, each, html};
use crate::load::{Load, Loader};
use crate::local_time::iso_time;
use crate::reactive::prelude::*;
use crate::router::address;
use crate::state::history::{Filter, PAGE, summary};
use crate::title::window_title;
use actions::Menu;
use filters::draw_filters;
use row::draw_row;

/// What is listed, and what is being done with it.
#[derive(Clone, Copy)]
struct Listing {
    filter: Memo<Filter>,
    items: RwSignal<Vec<HistoryItem>>,
    /// Where the next page begins, if there is one.
    next: RwSignal<Option<u64>>,
    /// How the latest request went. What was listed before stays until the answer has come.
    load: RwSignal<Load<()>>,
    /// Counts the requests: only the answer of the latest one counts.
    latest: StoredValue<u32>,
    /// The session whose title is being changed.
    renamed: RwSignal<Option<LiveId>>,
    /// What went wrong with an item.
    trouble: RwSignal<Option<(LiveId, String)>>,
}

impl Listing {
    fn new() -> Self {
        let address = address();
        let listing = Self {
            filter: Memo::new(move |_| Filter::read(|name| address.argument(name))),
            items: RwSignal::new(Vec::new()),
            next: RwSignal::new(None),
            load: RwSignal::new(Load::Pending),
            latest: StoredValue::new(0),
            renamed: RwSignal::new(None),
            trouble: RwSignal::new(None),
        };
        // Effects run in the browser only.
        Effect::new(move |_| {
            listing.filter.track();
            untrack(move || listing.request(None));
        });
        listing
    }

    /// Asks for the first page, or for the one that begins at `before`.
    fn request(self, before: Option<u64>) {
        let filter = self.filter.get_untracked();
        let since = filter.span.begins(untrack(clock::now)).map(iso_time).unwrap_or_default();
        let query = filter.query(&since, before);
        let number = self.latest.get_value() + 1;
        self.latest.set_value(number);
        self.load.set(Load::Pending);
        spawn_local(async move {
            let answer = api::history::list(&query).await;
            // The page may have been left, or asked for something else, in the meantime.
            if self.latest.try_get_value() == Some(number) {
                self.take(answer, before.is_some());
            }
        });
    }

    fn take(self, answer: Result<wire::History, ApiError>, is_more: bool) {
        match answer {
            Ok(page) => {
                self.items.update(|items| {
                    if !is_more {
                        items.clear();
                    }
                    items.extend(page.items);
                });
                self.next.set(page.next);
                self.load.set(Load::Ready(()));
            }
            Err(error) => self.load.set(Load::Failed(error)),
        }
    }

    fn item(self, id: LiveId) -> Option<HistoryItem> {
        self.items.with_untracked(|items| items.iter().find(|item| item.id == id).cloned())
    }
}

/// The page.
#[component]
pub(crate) fn HistoryPage() -> Html {
    let listing = Listing::new();
    let menu = Menu::new(listing);
    // What a row shows: it is drawn anew when that changes.
    let rows = move || {
        listing.items.with(|items| {
            let key = |item: &HistoryItem| {
                (item.id, item.title.clone(), item.state.as_str(), item.snippet.clone())
            };
            items.iter().map(key).collect::<Vec<_>>()
        })
    };
    let draw = move |(id, ..): (LiveId, String, &'static str, Option<String>)| {
        listing.item(id).map(|item| draw_row(&item, listing, menu))
    };
    let known = Loader::new(|| api::history::list("?limit=200&parts=false"));
    html! {
        {window_title(|| "History".to_owned())}
        {plain_header("History")}
        <section id="history-ui">
            {draw_filters(listing, known)}
            <div class="history-head">
                <p class="history-count" role="status">
                    {move || listing.load.with(|load| describe(load, listing))}
                </p>
                {move || listing.filter.with(draw_parts)}
            </div>
            {move || {
                listing.load.with(|load| match load {
                    Load::Failed(error) => Some(draw_failure(listing, error)),
                    _ => None,
                })
            }}
            <ul
                id="history-list"
                class="history-list"
                aria-label="History"
                aria-busy=move || listing.load.with(|load| *load == Load::Pending).to_string()
                hidden=move || listing.items.with(Vec::is_empty)
            >
                {each(rows, Clone::clone, draw)}
            </ul>
            {move || draw_empty(listing)}
            {move || listing.next.get().map(|next| draw_more(listing, next))}
            {menu.draw()}
        </section>
    }
}

fn describe(load: &Load<()>, listing: Listing) -> String {
    let (count, next) = (listing.items.with(Vec::len), listing.next.get());
    match load {
        Load::Pending => "Loading …".to_owned(),
        Load::Ready(()) if count > 0 => summary(count, next.is_some()),
        _ => String::new(),
    }
}

/// `.history-parts`: whether the tasks and sessions of jobs are listed, and a link for the opposite.
fn draw_parts(filter: &Filter) -> Option<Html> {
    let (text, link) = match (filter.is_broad(), filter.parts) {
        (false, _) => return None,
        (true, false) => ("Tasks of jobs are left out. ", "Show everything"),
        (true, true) => ("Tasks of jobs are listed, too. ", "Leave them out"),
    };
    let url = Filter { parts: !filter.parts, ..filter.clone() }.url();
    Some(html! { <p class="history-parts">{text}<a href=url>{link}</a></p> })
}

fn draw_failure(listing: Listing, error: &ApiError) -> Html {
    html! {
        <div class="history-failure">
            <p class="failure" role="alert">{error.to_string()}</p>
            <button type="button" class="button" on:click=move |_| listing.request(None)>
                "Try again"
            </button>
        </div>
    }
}

/// What is said where nothing is listed.
fn draw_empty(listing: Listing) -> Option<Html> {
    let is_answered = listing.load.with(|load| *load == Load::Ready(()));
    // A page of a long search can be empty and still have a next one.
    if !is_answered || !listing.items.with(Vec::is_empty) || listing.next.get().is_some() {
        return None;
    }
    Some(if listing.filter.with(Filter::is_empty) {
        html! {
            <p class="history-empty">
                "Nothing has happened yet. "
                <a href="/index.html">"Start a session."</a>
            </p>
        }
    } else {
        html! {
            <p class="history-empty">
                "Nothing matches. "
                <a id="history-clear" href=PAGE>
                    "Clear filters."
                </a>
            </p>
        }
    })
}

fn draw_more(listing: Listing, next: u64) -> Html {
    html! {
        <p class="history-more">
            <button
                type="button"
                id="history-more"
                class="button"
                disabled=move || listing.load.with(|load| *load == Load::Pending)
                on:click=move |_| listing.request(Some(next))
            >
                "Show more"
            </button>
        </p>
    }
}
