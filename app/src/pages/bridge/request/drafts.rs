//! Messages that others posted, for a person to edit and send: what of them is in the form, what
//! waits beside it, and what of the form survives a reload.

use web_sys::Storage;
use wire::MessageId;
use wire::bridge::Draft;

use super::Form;
use crate::api;
use crate::html::{Html, html};
use crate::local_time::local_time;
use crate::reactive::prelude::*;
use crate::state::composer::draft_key;
use crate::state::drafts::first_words;

impl Form {
    /// The text was changed by hand.
    pub(super) fn write(self, text: String) {
        self.content.update(|content| content.text = text);
        self.keep();
    }

    /// Follows the drafts that wait.
    pub(super) fn take_drafts(self, now: Vec<Draft>) {
        let before = self.drafts.get_untracked();
        let mut content = self.content.get_untracked();
        if let Some(mode) = content.follow(&before, &now) {
            self.mode.set(mode);
        }
        if self.content.with_untracked(|known| *known != content) {
            self.content.set(content);
            self.keep();
        }
        self.drafts.set(now);
    }

    /// Fills the form again once it is empty.
    pub(super) fn follow_drafts(self) {
        if let Some(drafts) = self.drafts.try_get_untracked() {
            self.take_drafts(drafts);
        }
    }

    /// Keeps what is in the form in this browser.
    pub(super) fn keep(self) {
        let Some((storage, text_key, from_key)) = self.storage() else { return };
        let Some(content) = self.content.try_get_untracked() else { return };
        let from: Vec<_> = content.from.iter().map(ToString::to_string).collect();
        // A browser that keeps nothing still has it until the page is left.
        let _ = storage.set_item(&text_key, &content.text);
        let _ = storage.set_item(&from_key, &from.join(" "));
    }

    /// What was in the form before the page was left. In the browser only.
    pub(super) fn restore(self) {
        let Some((storage, text_key, from_key)) = self.storage() else { return };
        let read = |key: &str| storage.get_item(key).ok().flatten().unwrap_or_default();
        let from = read(&from_key).split(' ').filter_map(|id| id.parse().ok()).collect();
        self.content.update(|content| {
            content.text = read(&text_key);
            content.from = from;
        });
    }

    fn storage(self) -> Option<(Storage, String, String)> {
        let storage = window().local_storage().ok()??;
        let key = draft_key(&format!("bridge-{}", self.id.try_get_value()?));
        let from_key = format!("{key}-from");
        Some((storage, key, from_key))
    }

    fn insert(self, draft: &Draft) {
        self.content.update(|content| content.insert(draft));
        self.keep();
    }

    /// Its end is told as an event, which takes it out of the form.
    fn discard(self, id: MessageId) {
        spawn_local(async move {
            if let Err(error) = api::bridge::discard(id).await {
                self.failure.try_set(Some(error.to_string()));
            }
        });
    }
}

/// `#bridge-drafts`: where the text in the form comes from, and the drafts beside it.
pub(super) fn draw_drafts(form: Form) -> Html {
    let rows = move || {
        let from = form.content.with(|content| content.from.clone());
        let drafts = form.drafts.get().into_iter();
        drafts.map(|draft| draw_draft(form, &draft, from.contains(&draft.id))).collect::<Html>()
    };
    html! {
        <ul
            id="bridge-drafts"
            class="queue"
            aria-label="Drafts"
            aria-live="polite"
            hidden=move || form.drafts.with(Vec::is_empty)
        >
            {rows}
        </ul>
    }
}

fn draw_draft(form: Form, draft: &Draft, is_inside: bool) -> Html {
    let (id, whole) = (draft.id, draft.clone());
    let origin = format!("Draft from {}, {}", draft.source, local_time(&draft.at));
    let insert = (!is_inside).then(|| {
        html! {
            <button type="button" class="button draft-insert" on:click=move |_| form.insert(&whole)>
                "Insert"
            </button>
        }
    });
    let words = (!is_inside).then(|| first_words(&draft.text).to_owned());
    html! {
        <li class="queue-row" class:inserted=is_inside data-draft-id=id.to_string()>
            <span class="draft-origin">{origin}</span>
            <span class="queue-text">{words}</span>
            {insert}
            <button type="button" class="button draft-discard" on:click=move |_| form.discard(id)>
                "Discard"
            </button>
        </li>
    }
}
