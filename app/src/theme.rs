//! Light, dark, or as the system has it.

use leptos::prelude::*;

use crate::components::icon::draw_icon;
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::preference::{self, Preference};

/// A theme that can be chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
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

    fn next(self) -> Self {
        match self {
            Self::System => Self::Light,
            Self::Light => Self::Dark,
            Self::Dark => Self::System,
        }
    }

    fn look(self) -> (Icon, &'static str) {
        match self {
            Self::System => (Icon::Monitor, "Theme: system"),
            Self::Light => (Icon::Sun, "Theme: light"),
            Self::Dark => (Icon::Moon, "Theme: dark"),
        }
    }

    /// Shows the theme, and keeps it for this browser.
    fn choose(self) {
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

/// `#theme-button`: goes from theme to theme.
pub(crate) fn theme_button() -> Html {
    let theme = RwSignal::new(Theme::default());
    Effect::new(move |_| theme.set(Theme::parse(preference::read(Preference::Theme).as_deref())));
    let next = move |_| {
        let next = theme.get_untracked().next();
        next.choose();
        theme.set(next);
    };
    html! {
        <button
            type="button"
            id="theme-button"
            class="button quiet icon-button"
            title=move || theme.get().look().1
            aria-label=move || theme.get().look().1
            on:click=next
        >
            {move || draw_icon(theme.get().look().0)}
        </button>
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
