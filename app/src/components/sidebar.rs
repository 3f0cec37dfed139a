//! The side bar: the pages, and what is alive. It is the same on every page; on phones it is a
//! drawer, and a rail of icons where the page needs the width.

use wire::{AliveItem, AliveState, LiveId};

use crate::clock;
use crate::components::icon::{draw_icon, state_dot};
use crate::components::theme_button::theme_button;
use crate::config;
use crate::html::{Html, each, html};
use crate::icon::Icon;
use crate::links::{jobs_url, session_url, tracking_url};
use crate::preference::{self, Preference};
use crate::reactive::prelude::*;
use crate::router;
use crate::state::alive::{Alive, Depth, Entry};
use crate::state::duration::{age, clock as minutes};
use crate::state::inbox::InboxFeed;
use crate::state::title::short_folder;

/// How wide the side bar is where there is room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    Full,
    Rail,
}

impl Width {
    fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Rail => "rail",
        }
    }
}

/// How the side bar is shown. [`SidebarState::provide`] puts it into the context.
#[derive(Clone, Copy)]
pub(crate) struct SidebarState {
    /// What somebody chose; the page and the width of the window decide before.
    chosen: RwSignal<Option<Width>>,
    /// Whether the drawer of a phone is open.
    is_open: RwSignal<bool>,
}

impl SidebarState {
    /// Reads what was chosen before.
    pub(crate) fn provide() -> Self {
        let state = Self { chosen: RwSignal::new(None), is_open: RwSignal::new(false) };
        provide_context(state);
        Effect::new(move |_| {
            let words = [Width::Full, Width::Rail];
            let chosen = preference::read(Preference::Sidebar);
            let chosen = words.into_iter().find(|width| chosen.as_deref() == Some(width.word()));
            if chosen.is_some() {
                state.chosen.set(chosen);
            }
        });
        // Whoever goes to another page has found what the drawer was opened for.
        let address = router::address();
        Effect::new(move |_| {
            address.track();
            state.is_open.set(false);
        });
        state
    }

    /// The value of `data-sidebar`; without one, the width of the window decides.
    pub(crate) fn mode(self, needs_width: bool) -> Option<&'static str> {
        let by_page = needs_width.then_some(Width::Rail);
        self.chosen.get().or(by_page).map(Width::word)
    }

    /// Makes it narrow or wide; on phones, opens or closes it.
    pub(crate) fn toggle(self) {
        let phone = window().match_media("(max-width: 768px)").ok().flatten();
        if phone.is_some_and(|phone| phone.matches()) {
            self.is_open.update(|is_open| *is_open = !*is_open);
            return;
        }
        let bar = document().query_selector(".sidebar").ok().flatten();
        let is_narrow = bar.is_some_and(|bar| bar.client_width() < 150);
        let width = if is_narrow { Width::Full } else { Width::Rail };
        self.chosen.set(Some(width));
        preference::write(Preference::Sidebar, Some(width.word()));
    }

    fn close(self) {
        self.is_open.set(false);
    }
}

/// The side bar. `actions` come last, before the theme.
pub(crate) fn sidebar(state: SidebarState, alive: Alive, actions: Html) -> Html {
    let config = config();
    let inbox = InboxFeed::new();
    let waiting = Memo::new(move |_| inbox.items.with(Vec::len));
    let address = router::address();
    let path = address.path;
    let is_here = move |known: &'static str| {
        path.with(|path| path.strip_suffix(".html").unwrap_or(path) == known).then_some("page")
    };
    // A running session has a row of its own.
    let starts_session = move || {
        is_here("/index").or_else(|| is_here("/")).filter(|_| address.argument("session").is_none())
    };
    let count = move || match waiting.get() {
        0 => String::new(),
        count => count.to_string(),
    };
    html! {
        <div
            class="sidebar-backdrop"
            hidden=move || !state.is_open.get()
            on:click=move |_| state.close()
        ></div>
        <nav
            id="sidebar"
            class="sidebar"
            class:open=state.is_open
            aria-label="Sessions and pages"
        >
            <div class="sidebar-head">
                <a class="brand" href="/">
                    <svg class="brand-mark" viewBox="0 0 32 32" aria-hidden="true">
                        <rect x="2" y="2" width="28" height="28" rx="8"></rect>
                        <path d="M10 11l5 5-5 5M17 21h6"></path>
                    </svg>
                    <span>"Copilot Portal"</span>
                </a>
                <button
                    type="button"
                    id="sidebar-button"
                    class="button quiet icon-button"
                    aria-label="Narrow or wide side bar"
                    title="Narrow or wide side bar"
                    on:click=move |_| state.toggle()
                >
                    {draw_icon(Icon::Sidebar)}
                </button>
            </div>
            <ul class="sidebar-nav">
                {link("/index.html", Icon::Plus, "New session", starts_session)}
                {link(jobs_url(&config.repo_root), Icon::Chart, "New job", move || is_here("/jobs"))}
                <li>
                    <a href="/inbox.html" title="Inbox" aria-current=move || is_here("/inbox")>
                        {draw_icon(Icon::Inbox)}
                        <span>"Inbox"</span>
                        <span class="count" id="inbox-count">
                            {count}
                        </span>
                    </a>
                </li>
                {link("/history.html", Icon::History, "History", move || is_here("/history"))}
                {link("/bridge.html", Icon::Bridge, "Bridge", move || is_here("/bridge"))}
            </ul>
            <div id="alive-list" class="sidebar-list">
                {each(
                    move || alive.entries.get(),
                    Clone::clone,
                    move |entry| draw_entry(&entry, alive),
                )}
                {move || {
                    let is_empty = alive.is_known.get() && alive.entries.with(Vec::is_empty);
                    is_empty.then(|| html! {
                        <p class="sidebar-empty">"No sessions yet. Start one, or try an example."</p>
                    })
                }}
            </div>
            <div class="sidebar-foot">
                {actions}
                {theme_button()}
                {config.locked.then(|| html! {
                    // Not a page of the app: the browser has to load it.
                    <a class="button quiet" href="/logins" rel="external">
                        "Logins"
                    </a>
                })}
            </div>
        </nav>
    }
}

fn link(
    url: impl Into<std::borrow::Cow<'static, str>>,
    icon: Icon,
    name: &'static str,
    current: impl Fn() -> Option<&'static str> + Send + 'static,
) -> Html {
    html! {
        <li>
            <a href=url.into() title=name aria-current=current>
                {draw_icon(icon)}
                <span>{name}</span>
            </a>
        </li>
    }
}

fn draw_entry(entry: &Entry, alive: Alive) -> Html {
    match entry {
        Entry::Waits => heading("Waits for you".to_owned(), None),
        Entry::Folder(folder) => heading(short_folder(folder, None), Some(folder.clone())),
        Entry::Row(id, depth) => match alive.item(*id) {
            Some(item) => row(*id, *depth, item),
            None => Html::fragment(),
        },
    }
}

fn heading(text: String, folder: Option<String>) -> Html {
    html! {
        <div class="sidebar-group">
            <h2 title=folder>{text}</h2>
        </div>
    }
}

fn row(id: LiveId, depth: Depth, item: ArcRwSignal<AliveItem>) -> Html {
    let item = RwSignal::from(item);
    let state = Memo::new(move |_| item.with(|item| item.state));
    let url = item.with_untracked(address_of);
    let address = router::address();
    let is_here = move || {
        let name = if matches!(id, LiveId::Job(_)) { "jobId" } else { "session" };
        (address.argument(name).as_deref() == Some(&*id.to_string())).then_some("page")
    };
    html! {
        <a
            class="sidebar-row"
            class:nested=depth == Depth::Nested
            href=url
            title=move || item.with(|item| item.title.clone())
            data-id=id.to_string()
            data-state=move || state.get().as_str()
            aria-current=is_here
        >
            {move || state_dot(state.get())}
            <span class="row-title">{move || item.with(title_of)}</span>
            <span class="row-time">{move || item.with(time_of)}</span>
        </a>
    }
}

fn address_of(item: &AliveItem) -> String {
    match item.id {
        LiveId::Session(id) => session_url(id),
        LiveId::Job(id) => tracking_url(&item.title, Some(id)),
        LiveId::Task(_) | LiveId::Inbox | LiveId::Alive => String::new(),
    }
}

/// The title; of a job also how far it is.
fn title_of(item: &AliveItem) -> String {
    match (item.done, item.total, &item.label) {
        (Some(done), Some(total), _) => format!("{} · {done} of {total}", item.title),
        (_, _, Some(label)) => label.clone(),
        _ => item.title.clone(),
    }
}

/// How long it works, or for how long it has been as it is.
fn time_of(item: &AliveItem) -> String {
    let since = i64::try_from(item.since).unwrap_or(i64::MAX);
    match item.state {
        AliveState::Working => minutes((clock::now() - since).max(0)),
        AliveState::Waiting => age((clock::now() - since).max(0)),
        AliveState::Idle => "idle".to_owned(),
        AliveState::Succeeded => "done".to_owned(),
        AliveState::Failed => "failed".to_owned(),
        AliveState::Canceled => "stopped".to_owned(),
        AliveState::Interrupted => "cut off".to_owned(),
    }
}
