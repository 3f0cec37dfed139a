//! What is drawn at an address: the pages, of which the start page and a session share one.

#[cfg(any(feature = "ssr", feature = "split"))]
use crate::Page;
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

// One file with everything is there for all of them.
#[cfg(any(feature = "ssr", feature = "split"))]
impl View {
    /// What is shown at an address; `None` if that needs no bundle.
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

    /// The name of the bundle that it is in: `app/src/bundle.rs` has what is in it.
    #[cfg(feature = "ssr")]
    pub(crate) fn bundle(self) -> &'static str {
        match self {
            Self::Start | Self::Jobs => "start",
            Self::Session => "session",
            Self::JobTracking => "job",
            Self::Inbox | Self::History | Self::Bridge => "lists",
        }
    }
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
