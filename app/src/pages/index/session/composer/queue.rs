//! The prompts that wait for their turn, above the box.

use leptos::ev::KeyboardEvent;
use leptos::html::Textarea;

use super::draft::Draft;
use crate::api::{self, ApiError, session};
use crate::components::icon::draw_icon;
use crate::html::{Html, each, html};
use crate::icon::Icon;
use crate::reactive::prelude::*;

/// A prompt that is being edited.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edited {
    id: u64,
    text: String,
}

/// The queue of a session.
#[derive(Clone, Copy)]
struct Queue {
    draft: Draft,
    edited: RwSignal<Option<Edited>>,
}

/// The queued prompts, one a row.
pub(super) fn draw_queue(draft: Draft) -> Html {
    let queue = Queue { draft, edited: RwSignal::new(None) };
    let waiting = draft.feed().queue;
    // The turn of a prompt may begin while it is edited.
    Effect::new(move |_| {
        let is_gone = queue.edited.with(|edited| {
            let Some(edited) = edited else { return false };
            waiting.with(|all| all.iter().all(|one| one.id != edited.id))
        });
        if is_gone && let Some(edited) = queue.edited.get_untracked() {
            queue.edited.set(None);
            queue.too_late(&edited.text);
        }
    });
    html! {
        <ul
            class="queue"
            aria-label="Queued prompts"
            hidden=move || waiting.with(Vec::is_empty)
        >
            {each(move || waiting.get(), |one| one.id, move |one| queue.draw_row(one.id))}
        </ul>
    }
}

impl Queue {
    fn draw_row(self, id: u64) -> Html {
        let is_edited =
            Memo::new(move |_| self.edited.with(|it| it.as_ref().is_some_and(|it| it.id == id)));
        let content =
            move || if is_edited.get() { self.draw_editor(id) } else { self.draw_line(id) };
        html! { <li class="queue-row" data-prompt-id=id.to_string()>{content}</li> }
    }

    fn draw_line(self, id: u64) -> Html {
        let waiting = self.draft.feed().queue;
        let text = move || {
            let found = waiting
                .with(|all| all.iter().find(|one| one.id == id).map(|one| one.prompt.clone()));
            found.unwrap_or_default()
        };
        let is_first = move || waiting.with(|all| all.first().is_some_and(|one| one.id == id));
        let at_once = move || {
            if self.draft.about.can_steer().get() {
                let steer = move |_| self.steer(id);
                return Some(button("queue-steer", "Steer", "Hands it to the running turn", steer));
            }
            let abort = move |_| self.draft.abort();
            (is_first() && self.draft.feed().is_working())
                .then(|| button("queue-send", "Send now", "Aborts the running turn for it", abort))
        };
        html! {
            {draw_icon(Icon::Queued)}
            <span class="queue-text" title=text>
                <span class="queue-word">"queued: "</span>
                {text}
            </span>
            {button("queue-edit", "Edit", "Changes this prompt", move |_| self.edit(id))}
            {button("queue-remove", "Remove", "Takes it out of the queue", move |_| self.remove(id))}
            {at_once}
        }
    }

    fn draw_editor(self, id: u64) -> Html {
        let field = NodeRef::<Textarea>::new();
        Effect::new(move |_| {
            if let Some(field) = field.get() {
                // Without the focus it can still be clicked.
                let _ = field.focus();
            }
        });
        let cancel = move || self.edited.set(None);
        let press = move |event: KeyboardEvent| {
            if event.is_composing() {
                return;
            }
            match &*event.key() {
                "Enter" if event.ctrl_key() || event.meta_key() => self.save(),
                "Escape" => cancel(),
                _ => return,
            }
            event.prevent_default();
        };
        let text = move || self.edited.with(|it| it.as_ref().map(|it| it.text.clone()));
        html! {
            <textarea
                node_ref=field
                class="queue-editor"
                aria-label="Queued prompt"
                rows="2"
                prop:value=text
                on:input=move |event| {
                    self.edited.set(Some(Edited { id, text: event_target_value(&event) }));
                }
                on:keydown=press
            ></textarea>
            {button("queue-save", "Save", "Ctrl+Enter", move |_| self.save())}
            {button("queue-cancel", "Cancel", "Esc", move |_| cancel())}
        }
    }

    /// Opens the editor with the whole text: the page knows only its first line.
    fn edit(self, id: u64) {
        self.draft.failure.set(None);
        spawn_local(async move {
            match session::queued(self.draft.id(), id).await {
                Ok(Some(text)) => {
                    // What is being edited is not thrown away for it.
                    self.edited.try_update(|edited| edited.get_or_insert(Edited { id, text }).id);
                }
                Ok(None) => self.fail(&wire::ErrorName::NotQueued.into()),
                Err(error) => self.fail(&error),
            }
        });
    }

    fn save(self) {
        let Some(edited) = self.edited.get_untracked() else { return };
        if edited.text.trim().is_empty() {
            self.edited.set(None);
            return self.remove(edited.id);
        }
        spawn_local(async move {
            match session::edit_queued(self.draft.id(), edited.id, &edited.text).await {
                Ok(()) => {
                    self.edited.try_set(None);
                }
                // What was typed stays.
                Err(error) => self.fail(&error),
            }
        });
    }

    fn remove(self, id: u64) {
        spawn_local(async move {
            if let Err(error) = session::remove_queued(self.draft.id(), id).await {
                self.fail(&error);
            }
        });
    }

    /// Takes a prompt out of the queue and hands it to the running turn.
    fn steer(self, id: u64) {
        let (session, to_end) = (self.draft.id(), self.draft.feed().to_end);
        spawn_local(async move {
            let Ok(Some(text)) = session::queued(session, id).await else {
                return self.fail(&wire::ErrorName::NotQueued.into());
            };
            if let Err(error) = session::remove_queued(session, id).await {
                return self.fail(&error);
            }
            // It is in no queue now: whatever happens, it must end up somewhere.
            if session::steer(session, &text).await.is_ok() {
                to_end.try_update(|times| *times += 1);
            } else if let Err(error) = api::query(session, &text).await {
                self.draft.give_back(&text);
                self.fail(&error);
            }
        });
    }

    fn too_late(self, text: &str) {
        self.draft.give_back(text);
        self.fail(&wire::ErrorName::NotQueued.into());
    }

    fn fail(self, error: &ApiError) {
        self.draft.failure.try_set(Some(error.to_string()));
    }
}

fn button(
    name: &'static str,
    label: &'static str,
    help: &'static str,
    press: impl FnMut(leptos::ev::MouseEvent) + 'static,
) -> Html {
    html! {
        <button type="button" class=format!("button plain {name}") title=help on:click=press>
            {label}
        </button>
    }
}
