//! Light, dark, or as the system has it.

use crate::icon::Icon;
use crate::preference::{self, Preference};
use crate::reactive::prelude::*;

/// A theme that can be chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    /// The one that was chosen in this browser. In the browser only.
    pub(crate) fn chosen() -> Self {
        Self::parse(preference::read(Preference::Theme).as_deref())
    }

    fn parse(word: Option<&str>) -> Self {
        match word {
            Some("light") => Self::Light,
            Some("dark") => Self::Dark,
            _ => Self::System,
        }
    }

    /// The value of `data-theme`.
    fn word(self) -> Option<&'static str> {
        match self {
            Self::System => None,
            Self::Light => Some("light"),
            Self::Dark => Some("dark"),
        }
    }

    /// The one after it, of all in turn.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::System => Self::Light,
            Self::Light => Self::Dark,
            Self::Dark => Self::System,
        }
    }

    /// Its icon and its name.
    pub(crate) fn look(self) -> (Icon, &'static str) {
        match self {
            Self::System => (Icon::Monitor, "Theme: system"),
            Self::Light => (Icon::Sun, "Theme: light"),
            Self::Dark => (Icon::Moon, "Theme: dark"),
        }
    }

    /// Shows the theme, and keeps it for this browser.
    pub(crate) fn choose(self) {
        preference::write(Preference::Theme, self.word());
        if let Some(root) = document().document_element() {
            // Attributes have valid names.
            let _ = match self.word() {
                Some(word) => root.set_attribute("data-theme", word),
                None => root.remove_attribute("data-theme"),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_themes_are_reached_and_remembered() {
        let mut theme = Theme::System;
        let mut seen = Vec::new();
        for _ in 0..3 {
            assert_eq!(Theme::parse(theme.word()), theme);
            seen.push(theme);
            theme = theme.next();
        }
        assert_eq!(seen, [Theme::System, Theme::Light, Theme::Dark]);
        assert_eq!(theme, Theme::System);
    }
}
