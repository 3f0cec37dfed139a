//! `#theme-button`: light, dark, or as the system has it.

use crate::components::icon::draw_icon;
use crate::html::{Html, html};
use crate::reactive::prelude::*;
use crate::theme::Theme;

/// Goes from theme to theme.
pub(crate) fn theme_button() -> Html {
    let theme = RwSignal::new(Theme::default());
    Effect::new(move |_| theme.set(Theme::chosen()));
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
