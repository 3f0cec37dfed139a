//! Where the keyboard is in the inbox: when a question has gone, the next one gets the focus.

use leptos::ev::KeyboardEvent;
use web_sys::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};
use wire::PermissionId;

use super::Key;
use crate::reactive::prelude::*;
use crate::state::question::next_after;

/// The card in which the focus is, or was when the card went.
#[derive(Clone, Copy)]
pub(super) struct Focus {
    keys: Memo<Vec<Key>>,
    at: StoredValue<Option<PermissionId>>,
}

impl Focus {
    /// Follows the items of the inbox.
    pub(super) fn follow(keys: Memo<Vec<Key>>) -> Self {
        let focus = Self { keys, at: StoredValue::new(None) };
        Effect::new(move |before: Option<Vec<PermissionId>>| {
            let now = focus.ids();
            if let (Some(before), Some(gone)) = (before, focus.at.get_value())
                && !now.contains(&gone)
            {
                let next = next_after(&before, &now, gone);
                focus.at.set_value(None);
                // Once the card is no longer drawn.
                request_animation_frame(move || move_on(next));
            }
            now
        });
        focus
    }

    fn ids(self) -> Vec<PermissionId> {
        self.keys.with(|keys| keys.iter().map(|(id, _)| *id).collect())
    }

    /// An element has got the focus.
    pub(super) fn came(self, element: &Element) {
        let item = element.closest(".inbox-item").ok().flatten();
        let card = item.and_then(|item| item.query_selector(".permission-card").ok().flatten());
        let id = card.and_then(|card| card.get_attribute("data-request-id"));
        self.at.set_value(id.and_then(|id| id.parse().ok()));
    }

    /// The focus has gone: to another element, or because its own has gone.
    pub(super) fn left(self, to_another: bool) {
        if to_another {
            self.at.set_value(None);
        }
    }

    /// Arrows go from card to card, where they do not scroll or move in a text.
    pub(super) fn pressed(self, event: &KeyboardEvent) {
        let step = match &*event.key() {
            "ArrowDown" => 1,
            "ArrowUp" => -1,
            _ => return,
        };
        let name = event_target::<Element>(event).local_name();
        if matches!(&*name, "textarea" | "input" | "pre") || event.default_prevented() {
            return;
        }
        let ids = untrack(|| self.ids());
        let at = self.at.get_value().and_then(|id| ids.iter().position(|other| *other == id));
        let next = at.and_then(|at| at.checked_add_signed(step)).and_then(|at| ids.get(at));
        if let Some(id) = next {
            event.prevent_default();
            focus(&card(*id));
        }
    }
}

/// Focuses the next card, or says that there is none, unless the focus is somewhere else by now.
fn move_on(next: Option<PermissionId>) {
    if document().active_element().is_none_or(|active| active.tag_name() == "BODY") {
        match next {
            Some(id) => focus(&card(id)),
            None => focus(".inbox-count"),
        }
    }
}

fn card(id: PermissionId) -> String {
    format!(".permission-card[data-request-id=\"{id}\"]")
}

fn focus(selector: &str) {
    let found = document().query_selector(selector).ok().flatten();
    if let Some(found) = found.and_then(|found| found.dyn_into::<HtmlElement>().ok()) {
        // Fails only for what is not in the document.
        let _ = found.focus();
    }
}
