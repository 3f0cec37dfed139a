//! What somebody chose in this browser, kept in its storage. In the browser only.

use crate::storage;

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
    /// `sends` if Enter sends prompts; without it, Enter begins a line.
    Enter,
    /// The folders that were used last, one a line.
    Folders,
}

impl Preference {
    fn key(self) -> &'static str {
        match self {
            Self::Theme => "portal-theme",
            Self::Sidebar => "portal-sidebar",
            Self::JobView => "portal-job-view",
            Self::Expanded => "portal-expanded",
            Self::Enter => "portal-enter",
            Self::Folders => "portal-folders",
        }
    }
}

/// What was chosen, unless the browser keeps nothing.
pub(crate) fn read(preference: Preference) -> Option<String> {
    storage::read(preference.key())
}

/// Keeps a choice, or forgets it. A browser that keeps nothing still shows the choice until the page
/// is left.
pub(crate) fn write(preference: Preference, value: Option<&str>) {
    storage::write(preference.key(), value);
}
