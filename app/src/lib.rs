//! The web app: pages and components, rendered on the server first and then hydrated.
//!
//! A page reads signals and draws; plain functions decide what to draw, and every request goes
//! through [`api`]. `server` renders [`shell`], `frontend` hydrates [`App`].

// Views are nested types; those of whole pages exceed the compiler's default limit.
#![recursion_limit = "256"]
#![expect(unreachable_pub, reason = "the component macro makes everything it generates public")]

pub mod api;
mod components;
mod erase;
mod events;
mod explain;
mod flow_chart;
mod links;
mod load;
mod local_time;
mod markdown;
mod notification;
mod pages;
mod poll;
#[cfg(feature = "ssr")]
pub mod shell;
mod state;
mod store_trouble;
mod wording;

use leptos::prelude::*;
use leptos_meta::{Title, provide_meta_context};
use leptos_router::components::{Route, Router, Routes};
use leptos_router::path;
use wire::server::ConfigReply;

use components::frame::Frame;
use pages::bridge::BridgePage;
use pages::inbox::InboxPage;
use pages::index::IndexPage;
use pages::job_tracking::JobTrackingPage;
use pages::jobs::JobsPage;
use pages::not_found::NotFoundPage;
use pages::test::TestPage;

pub use components::flow_chart::{FlowChart, NodeStatus};

/// What is known before any request: the server's configuration, given to the first rendering and
/// passed to the browser within the page.
#[derive(Clone, Debug)]
pub struct Config(pub ConfigReply);

/// The whole app. Every page has two spellings, and hydration also matches the path, so each
/// spelling has its own route.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    let config = SharedValue::new(|| {
        use_context::<Config>().expect("the server provides the configuration").0
    });
    provide_context(Config(config.into_inner()));
    mark_hydrated();

    view! {
        <Title formatter=|title: String| {
            if title.is_empty() { "Copilot Portal".into() } else { format!("{title} · Copilot Portal") }
        } />
        <Router>
            <Frame>
                <Routes fallback=NotFoundPage>
                    <Route path=path!("/") view=IndexPage />
                    <Route path=path!("/index") view=IndexPage />
                    <Route path=path!("/index.html") view=IndexPage />
                    <Route path=path!("/jobs") view=JobsPage />
                    <Route path=path!("/jobs.html") view=JobsPage />
                    <Route path=path!("/jobTracking") view=JobTrackingPage />
                    <Route path=path!("/jobTracking.html") view=JobTrackingPage />
                    <Route path=path!("/inbox") view=InboxPage />
                    <Route path=path!("/inbox.html") view=InboxPage />
                    <Route path=path!("/bridge") view=BridgePage />
                    <Route path=path!("/bridge.html") view=BridgePage />
                    <Route path=path!("/test") view=TestPage />
                    <Route path=path!("/test.html") view=TestPage />
                </Routes>
            </Frame>
        </Router>
    }
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
