//! The icon of a work's state, and its word for those who listen.

use wire::WorkState;

use super::icon::draw_icon;
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::wording::work_word;

/// The icon, with the word beside it for screen readers only.
pub(crate) fn work_dot(state: WorkState) -> Html {
    html! {
        <span class="state-dot" data-state=state.as_str()>
            {draw_icon(icon_of(state))}
            <span class="visually-hidden">{work_word(state)}</span>
        </span>
    }
}

fn icon_of(state: WorkState) -> Icon {
    match state {
        WorkState::NotReached => Icon::NotReached,
        WorkState::Queued => Icon::Queued,
        WorkState::Running => Icon::Working,
        WorkState::Waiting => Icon::Waiting,
        WorkState::Succeeded => Icon::Check,
        WorkState::Failed => Icon::Failed,
        WorkState::Canceled => Icon::Canceled,
        WorkState::Interrupted => Icon::Interrupted,
        WorkState::Skipped => Icon::Skipped,
        WorkState::True | WorkState::False => Icon::Split,
    }
}
