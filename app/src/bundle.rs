//! The code of the pages, in bundles of which a browser loads those that it needs.
//!
//! ```text
//!  a release:       the frame, always ◄─ start │ session │ jobs │ lists, before their pages are drawn
//!  everything else: one file
//! ```
//!
//! `cargo xtask` builds releases with the feature `split`, and divides what the compiler made of them
//! where functions have the attribute of this module. Whatever several bundles need goes into files of
//! its own, so nothing is loaded twice. Other builds, also those of cargo-leptos, are one file: there
//! the same functions are called directly.

#[cfg(any(feature = "ssr", feature = "split"))]
use crate::Page;
use crate::html::{Html, html};
use crate::pages::bridge::BridgePage;
use crate::pages::history::HistoryPage;
use crate::pages::inbox::InboxPage;
use crate::pages::index::{SessionInAddress, Setup};
use crate::pages::job_tracking::JobTrackingPage;
use crate::pages::jobs::JobsPage;
#[cfg(any(feature = "ssr", feature = "split"))]
use crate::router::find_argument;

/// What is drawn of a page once its bundle is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Start,
    Session,
    Jobs,
    JobTracking,
    Inbox,
    History,
    Bridge,
}

/// The bundle could not be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotLoaded;

impl View {
    /// What is shown at an address; `None` if that needs no bundle.
    #[cfg(any(feature = "ssr", feature = "split"))]
    pub(crate) fn at(path: &str, query: &str) -> Option<Self> {
        Some(match Page::at(path)? {
            Page::Index if find_argument(query, "session").is_some() => Self::Session,
            Page::Index => Self::Start,
            Page::Jobs => Self::Jobs,
            Page::JobTracking => Self::JobTracking,
            Page::Inbox => Self::Inbox,
            Page::History => Self::History,
            Page::Bridge => Self::Bridge,
            Page::Test => return None,
        })
    }

    /// The name of the bundle that it is in.
    #[cfg(feature = "ssr")]
    pub(crate) fn bundle(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Session => "session",
            Self::Jobs | Self::JobTracking => "jobs",
            Self::Inbox | Self::History | Self::Bridge => "lists",
        }
    }
}

/// Draws a view.
type Draw = fn() -> Html;

/// Declares what draws the views, each in a bundle.
macro_rules! views {
    ($($bundle:ident $name:ident: $view:ident => $html:expr;)*) => {
        mod bundled {
            use super::*;

            $(
                #[cfg_attr(feature = "split", wasm_split_helpers::wasm_split($bundle, fallible))]
                #[cfg_attr(
                    not(feature = "split"),
                    expect(clippy::unnecessary_wraps, reason = "bundles may be out of reach")
                )]
                pub(super) fn $name() -> Result<Draw, NotLoaded> {
                    Ok(|| $html)
                }
            )*
        }

        /// Loads what draws a view.
        #[cfg(feature = "split")]
        async fn find(view: View) -> Result<Draw, NotLoaded> {
            match view {
                $(View::$view => bundled::$name().await,)*
            }
        }

        /// What draws a view.
        #[cfg(not(feature = "split"))]
        fn find(view: View) -> Result<Draw, NotLoaded> {
            match view {
                $(View::$view => bundled::$name(),)*
            }
        }
    };
}

views! {
    start start: Start => html! { <Setup /> };
    session session: Session => html! { <SessionInAddress /> };
    jobs matrix: Jobs => html! { <JobsPage /> };
    jobs tracking: JobTracking => html! { <JobTrackingPage /> };
    lists inbox: Inbox => html! { <InboxPage /> };
    lists history: History => html! { <HistoryPage /> };
    lists bridge: Bridge => html! { <BridgePage /> };
}

#[cfg(feature = "split")]
mod loaded {
    use std::cell::RefCell;

    use super::{Draw, NotLoaded, View, find};

    thread_local! {
        // One page has one thread.
        static LOADED: RefCell<Vec<(View, Draw)>> = const { RefCell::new(Vec::new()) };
    }

    impl From<wasm_split_helpers::SplitLoaderError> for NotLoaded {
        fn from(_: wasm_split_helpers::SplitLoaderError) -> Self {
            Self
        }
    }

    pub(crate) fn get(view: View) -> Option<Draw> {
        LOADED.with_borrow(|loaded| {
            loaded.iter().find(|(known, _)| *known == view).map(|(_, draw)| *draw)
        })
    }

    /// Loads the bundle of a view, unless it is there.
    pub(crate) async fn load(view: View) -> Result<(), NotLoaded> {
        if get(view).is_none() {
            let draw = find(view).await?;
            LOADED.with_borrow_mut(|loaded| loaded.push((view, draw)));
        }
        Ok(())
    }
}

#[cfg(feature = "split")]
pub(crate) use loaded::load;

/// Draws a view; nothing if its bundle is not there.
pub(crate) fn draw(view: View) -> Html {
    #[cfg(feature = "split")]
    let found = loaded::get(view);
    #[cfg(not(feature = "split"))]
    let found = find(view).ok();
    found.map_or_else(Html::fragment, |draw| draw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_but_the_test_page_has_a_bundle() {
        for (path, page) in crate::PATHS {
            assert_eq!(View::at(path, "").is_none(), page == Page::Test, "{path}");
        }
        assert_eq!(View::at("/nowhere", ""), None);
    }

    #[test]
    fn a_running_session_has_another_bundle_than_the_start_page() {
        assert_eq!(View::at("/", "project=x").map(View::bundle), Some("start"));
        assert_eq!(View::at("/index.html", "session=x").map(View::bundle), Some("session"));
    }
}
