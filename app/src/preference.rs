//! What somebody chose in this browser, kept in its storage. In the browser only.

use leptos::prelude::*;

/// A choice that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preference {
    /// `light` or `dark`; the system's theme without one. The document reads it before it is drawn.
    Theme,
    /// `full` or `rail`.
    Sidebar,
    /// `Outline`, `Chart` or `Definition`; the number of its tasks decides without one.
    JobView,
    /// `yes` if blocks that are still received are shown in full.
    Expanded,
}

impl Preference {
    fn key(self) -> &'static str {
        match self {
            Self::Theme => "portal-theme",
            Self::Sidebar => "portal-sidebar",
            Self::JobView => "portal-job-view",
            Self::Expanded => "portal-expanded",
        }
    }
}

/// What was chosen, unless the browser keeps nothing.
pub(crate) fn read(preference: Preference) -> Option<String> {
    window().local_storage().ok()??.get_item(preference.key()).ok()?
}

/// Keeps a choice, or forgets it.
pub(crate) fn write(preference: Preference, value: Option<&str>) {
    // A browser that keeps nothing still shows the choice until the page is left.
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = match value {
            Some(value) => storage.set_item(preference.key(), value),
            None => storage.remove_item(preference.key()),
        };
    }
}
