//! The web app: pages and components, rendered on the server first and then hydrated.
//!
//! A page reads signals and draws; plain functions decide what to draw, and every request goes
//! through [`api`]. `server` renders [`shell`], `frontend` hydrates [`App`].

// Views are nested types; those of whole pages exceed the compiler's default limit.
#![recursion_limit = "256"]
#![expect(unreachable_pub, reason = "the component macro makes everything it generates public")]

pub mod api;
mod badge;
mod bundle;
mod clock;
mod components;
mod download;
mod events;
mod explain;
mod flow_chart;
mod html;
pub mod icon;
mod links;
mod live;
mod load;
mod local_time;
mod notification;
mod pages;
mod poll;
mod preference;
mod presence;
mod reachability;
mod reactive;
mod router;
#[cfg(feature = "ssr")]
pub mod shell;
mod size_observer;
mod state;
mod storage;
mod store_trouble;
mod theme;
mod title;
mod view;
mod wording;

use leptos::prelude::{IntoView, SharedValue};
use wire::json;
use wire::server::ConfigReply;

use bundle::draw;
use components::frame::Frame;
use html::html;
use pages::index::IndexPage;
use pages::not_found::NotFoundPage;
use pages::test::TestPage;
use state::inbox::InboxFeed;
use view::View;

use crate::reactive::prelude::*;

/// What is known before any request: the server's configuration, given to the first rendering and
/// passed to the browser within the page.
#[derive(Clone, Debug)]
pub struct Config(pub ConfigReply);

/// The whole app. Every page has two spellings, and hydration also matches the path, so each
/// spelling has its own route.
#[component]
pub fn App() -> impl IntoView {
    #[cfg(feature = "ssr")]
    leptos_meta::provide_meta_context();
    let config = SharedValue::new_str(served_config).into_inner();
    provide_context(Config(json::from_str(&config).expect("the server writes its configuration")));
    router::provide(is_page, bundle::prepare);
    mark_hydrated();
    provide_context(Waiting(count_waiting()));
    let path = router::address().path;
    let page = Memo::new(move |_| path.with(|path| Page::at(path)));
    let content = move || match page.get() {
        Some(Page::Index) => html! { <IndexPage draw=draw /> },
        Some(Page::Jobs) => draw(View::Jobs),
        Some(Page::JobTracking) => draw(View::JobTracking),
        Some(Page::Inbox) => draw(View::Inbox),
        Some(Page::History) => draw(View::History),
        Some(Page::Bridge) => draw(View::Bridge),
        Some(Page::Test) => html! { <TestPage /> },
        None => html! { <NotFoundPage /> },
    };
    html! { <Frame>{content}</Frame> }
}

/// Loads what the page at the address of the window needs. Without it the page can be read, but not
/// used; the console says why.
#[cfg(feature = "hydrate")]
pub async fn load_page() {
    let (path, query) = router::now();
    if let Some(loading) = bundle::prepare(&path, &query) {
        let _ = loading.await;
    }
}

/// The pages of the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Index,
    Jobs,
    JobTracking,
    Inbox,
    History,
    Bridge,
    Test,
}

impl Page {
    /// The page at a path, in any of its spellings.
    fn at(path: &str) -> Option<Self> {
        let found = PATHS.iter().find(|(known, _)| *known == path)?;
        Some(found.1)
    }
}

/// Every page in each of its spellings.
const PATHS: [(&str, Page); 15] = [
    ("/", Page::Index),
    ("/index", Page::Index),
    ("/index.html", Page::Index),
    ("/jobs", Page::Jobs),
    ("/jobs.html", Page::Jobs),
    ("/jobTracking", Page::JobTracking),
    ("/jobTracking.html", Page::JobTracking),
    ("/inbox", Page::Inbox),
    ("/inbox.html", Page::Inbox),
    ("/history", Page::History),
    ("/history.html", Page::History),
    ("/bridge", Page::Bridge),
    ("/bridge.html", Page::Bridge),
    ("/test", Page::Test),
    ("/test.html", Page::Test),
];

/// The paths of all pages, for the server's routes.
pub fn paths() -> impl Iterator<Item = &'static str> {
    PATHS.iter().map(|(path, _)| *path)
}

/// Whether there is a page at the path.
pub fn is_page(path: &str) -> bool {
    Page::at(path).is_some()
}

/// How much waits for a person.
#[derive(Clone, Copy)]
struct Waiting(Signal<usize>);

/// How much waits for a person, also shown in the icon of the tab. The test page shows nothing but
/// its greeting.
fn count_waiting() -> Signal<usize> {
    let inbox = InboxFeed::shared();
    Effect::new(move |_| {
        let path = window().location().pathname().unwrap_or_default();
        if !path.starts_with("/test") {
            InboxFeed::follow();
        }
    });
    let waiting = Signal::derive(move || inbox.items.with(Vec::len));
    badge::mark_icon(waiting);
    waiting
}

/// The configuration as JSON, to go with the page.
#[cfg(feature = "ssr")]
fn served_config() -> String {
    let Config(config) = use_context().expect("the server provides the configuration");
    serde_json::to_string(&config).expect("plain structs serialise")
}

/// Pages find it in themselves: none is made in the browser.
#[cfg(not(feature = "ssr"))]
fn served_config() -> String {
    String::new()
}

/// The server's configuration, for any component below [`App`].
fn config() -> ConfigReply {
    expect_context::<Config>().0
}

/// Marks the root element as hydrated: scripts and tests wait for this. Effects run in the browser
/// only, after hydration.
fn mark_hydrated() {
    Effect::new(|_| {
        if let Some(root) = document().document_element() {
            // Setting an attribute with a valid name cannot fail.
            let _ = root.set_attribute("data-hydrated", "true");
        }
    });
}
