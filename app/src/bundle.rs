//! The code of the pages, in bundles of which a browser loads those that it needs.
//!
//! ```text
//!  a release:       the frame, always ◄─ start │ session │ job │ lists, before their pages are drawn
//!  everything else: one file
//! ```
//!
//! `cargo xtask` builds releases with the feature `split`, and divides what the compiler made of them
//! where functions have the attribute of this module. Whatever several bundles need goes into files of
//! its own, so nothing is loaded twice. Other builds, also those of cargo-leptos, are one file: there
//! the same functions are called directly.

use crate::html::{Html, html};
use crate::pages::bridge::BridgePage;
use crate::pages::history::HistoryPage;
use crate::pages::inbox::InboxPage;
use crate::pages::index::{SessionInAddress, Setup};
use crate::pages::job_tracking::JobTrackingPage;
use crate::pages::jobs::JobsPage;
use crate::router::{Loading, NotLoaded};
use crate::view::View;

/// Draws a view.
type Draw = fn() -> Html;

/// Declares what draws the views, each in a bundle.
macro_rules! views {
    ($($bundle:ident $name:ident: $view:ident => $html:expr;)*) => {
        mod bundled {
            use super::*;

            $(
                #[cfg_attr(feature = "split", wasm_split_helpers::wasm_split($bundle, fallible))]
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
    start matrix: Jobs => html! { <JobsPage /> };
    job tracking: JobTracking => html! { <JobTrackingPage /> };
    lists inbox: Inbox => html! { <InboxPage /> };
    lists history: History => html! { <HistoryPage /> };
    lists bridge: Bridge => html! { <BridgePage /> };
}

#[cfg(feature = "split")]
mod loaded {
    use std::cell::RefCell;

    use super::{Draw, Loading, NotLoaded, View, find};

    thread_local! {
        // One page has one thread.
        static LOADED: RefCell<Vec<(View, Draw)>> = const { RefCell::new(Vec::new()) };
    }

    impl From<wasm_split_helpers::SplitLoaderError> for NotLoaded {
        fn from(_: wasm_split_helpers::SplitLoaderError) -> Self {
            Self
        }
    }

    pub(super) fn get(view: View) -> Option<Draw> {
        LOADED.with_borrow(|loaded| {
            loaded.iter().find(|(known, _)| *known == view).map(|(_, draw)| *draw)
        })
    }

    pub(super) fn prepare(path: &str, query: &str) -> Option<Loading> {
        let view = View::at(path, query).filter(|view| get(*view).is_none())?;
        Some(Box::pin(async move {
            let draw = find(view).await?;
            LOADED.with_borrow_mut(|loaded| loaded.push((view, draw)));
            Ok(())
        }))
    }
}

/// Loads the bundle of an address; `None` if it is there.
pub(crate) fn prepare(path: &str, query: &str) -> Option<Loading> {
    #[cfg(feature = "split")]
    return loaded::prepare(path, query);
    #[cfg(not(feature = "split"))]
    {
        let _ = (path, query);
        None
    }
}

/// Draws a view; nothing if its bundle is not there.
pub(crate) fn draw(view: View) -> Html {
    #[cfg(feature = "split")]
    let found = loaded::get(view);
    #[cfg(not(feature = "split"))]
    let found = find(view).ok();
    found.map_or_else(Html::fragment, |draw| draw())
}
