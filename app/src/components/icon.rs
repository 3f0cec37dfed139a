//! Icons, and the icon and word of a state.

use wire::{AliveState, EntityState};

use crate::html::{Html, html};
use crate::icon::Icon;
use crate::wording::job_word;

/// An icon beside a text, which says the same in words.
pub(crate) fn draw_icon(icon: Icon) -> Html {
    html! {
        <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" inner_html=icon.body()></svg>
    }
}

/// The icon of a state, and its word for those who listen.
pub(crate) fn state_dot(state: AliveState) -> Html {
    let (icon, word) = alive_look(state);
    html! {
        <span class="state-dot" data-state=state.as_str()>
            {draw_icon(icon)}
            <span class="visually-hidden">{word}</span>
        </span>
    }
}

/// A state that is kept, as an icon and its word.
pub(crate) fn kept_badge(state: EntityState) -> Html {
    let icon = match state {
        EntityState::Idle => Icon::Idle,
        EntityState::Running => Icon::Working,
        EntityState::Waiting => Icon::Waiting,
        EntityState::Interrupted => Icon::Interrupted,
        EntityState::Succeeded | EntityState::Closed => Icon::Check,
        EntityState::Failed => Icon::Failed,
        EntityState::Canceled => Icon::Canceled,
    };
    state_badge(state.as_str(), icon, job_word(state))
}

/// The icon and the word of what is alive, in the colour of its state.
pub(crate) fn alive_badge(state: AliveState) -> Html {
    let (icon, word) = alive_look(state);
    state_badge(state.as_str(), icon, word)
}

/// The icon and the word of a state, in its colour. `name` is the one that style sheets know.
pub(crate) fn state_badge(name: &'static str, icon: Icon, word: &'static str) -> Html {
    html! {
        <span class="state-badge" data-state=name>
            {draw_icon(icon)}
            <span class="state-word">{word}</span>
        </span>
    }
}

fn alive_look(state: AliveState) -> (Icon, &'static str) {
    match state {
        AliveState::Working => (Icon::Working, "Working"),
        AliveState::Waiting => (Icon::Waiting, "Waits for you"),
        AliveState::Idle => (Icon::Idle, "Idle"),
        AliveState::Interrupted => (Icon::Interrupted, "Interrupted"),
        AliveState::Succeeded => (Icon::Check, "Succeeded"),
        AliveState::Failed => (Icon::Failed, "Failed"),
        AliveState::Canceled => (Icon::Canceled, "Canceled"),
    }
}
