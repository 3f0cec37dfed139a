//! The menu of a line: what can be done with a session or a job. All lines share one menu, which the
//! browser keeps above everything else and closes by itself.

use leptos::ev::KeyboardEvent;
use leptos::html::Div;
use web_sys::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};
use wire::{HistoryItem, LiveId, SessionId};

use super::Listing;
use crate::api::{self, ApiError};
use crate::components::confirm::Confirm;
use crate::components::icon::draw_icon;
use crate::download;
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::links::{session_url, tracking_url};
use crate::reactive::prelude::*;
use crate::router::navigator;
use crate::state::history::{Action, actions, question_of, remove};

/// The id of the menu, by which buttons name it.
const ID: &str = "history-menu";

/// The menu.
#[derive(Clone, Copy)]
pub(super) struct Menu {
    listing: Listing,
    element: NodeRef<Div>,
    /// The item that it is about.
    chosen: RwSignal<Option<LiveId>>,
    /// What is asked before the item is deleted.
    question: RwSignal<Option<String>>,
    /// Whether something is being done.
    is_busy: RwSignal<bool>,
    go: Callback<String>,
}

impl Menu {
    pub(super) fn new(listing: Listing) -> Self {
        let go = navigator();
        Self {
            listing,
            element: NodeRef::new(),
            chosen: RwSignal::new(None),
            question: RwSignal::new(None),
            is_busy: RwSignal::new(false),
            go: Callback::new(move |url: String| go(&url)),
        }
    }

    /// The button of a line. Its browser function opens the menu, here it is only placed.
    pub(super) fn draw_button(self, id: LiveId, title: &str) -> Html {
        html! {
            <button
                type="button"
                class="icon-button history-menu-button"
                aria-label=format!("Actions for {title}")
                title="Actions"
                aria-haspopup="true"
                popovertarget=ID
                popovertargetaction="show"
                on:click=move |event| self.place(id, &event_target(&event))
            >
                {draw_icon(Icon::More)}
            </button>
        }
    }

    /// Puts the menu beside the button that opens it: above it in the lower half of the window.
    fn place(self, id: LiveId, button: &Element) {
        self.chosen.set(Some(id));
        let Some(menu) = self.element.get_untracked() else { return };
        let button = button.closest("button").ok().flatten();
        let Some(button) = button.map(|button| button.get_bounding_client_rect()) else { return };
        let size = |size: Result<web_sys::wasm_bindgen::JsValue, _>| {
            size.ok().and_then(|size| size.as_f64()).unwrap_or_default()
        };
        let (width, height) = (size(window().inner_width()), size(window().inner_height()));
        let is_low = button.top() > height / 2.0;
        let pixels = |length: f64| format!("{}px", whole(length));
        let auto = "auto".to_owned();
        let (top, bottom) = if is_low {
            (auto, pixels(height - button.top() + 4.0))
        } else {
            (pixels(button.bottom() + 4.0), auto)
        };
        let style = HtmlElement::style(&menu);
        for (name, value) in
            [("top", top), ("bottom", bottom), ("right", pixels(width - button.right()))]
        {
            // Fails only for a style that can't be changed.
            let _ = style.set_property(name, &value);
        }
    }

    /// The menu, and the question before a deletion.
    pub(super) fn draw(self) -> Html {
        let entries = move || {
            let item = self.chosen.get().and_then(|id| self.listing.item(id))?;
            let entry = |action| self.draw_entry(&item, action);
            Some(actions(&item).into_iter().map(entry).collect::<Html>())
        };
        let delete = Callback::new(move |()| {
            if let Some(id) = self.chosen.get_untracked() {
                self.delete(id);
            }
        });
        html! {
            <div
                id=ID
                class="menu history-menu"
                popover="auto"
                aria-label="Actions"
                role="group"
                node_ref=self.element
                on:toggle=move |_| self.enter()
                on:keydown=move |event| self.walk(&event)
            >
                {entries}
            </div>
            <Confirm question=self.question yes="Delete" on_yes=delete />
        }
    }

    fn draw_entry(self, item: &HistoryItem, action: Action) -> Html {
        let item = item.clone();
        html! {
            <button
                type="button"
                class:danger=action == Action::Delete
                disabled=self.is_busy
                on:click=move |_| self.act(&item, action)
            >
                {action.label()}
            </button>
        }
    }

    fn act(self, item: &HistoryItem, action: Action) {
        self.close();
        self.listing.trouble.set(None);
        let title = item.title.clone();
        match (action, item.id) {
            (Action::Continue, LiveId::Session(id)) => self.carry_out(item.id, async move {
                let new = api::continue_session(id).await?;
                Ok(Some(session_url(new)))
            }),
            (Action::Retry, LiveId::Job(id)) => self.carry_out(item.id, async move {
                let new = api::retry_job(id, None).await?;
                Ok(Some(tracking_url(&title, Some(new))))
            }),
            (Action::ExportMarkdown, LiveId::Session(id)) => {
                self.carry_out(item.id, export(id, "md"));
            }
            (Action::ExportJson, LiveId::Session(id)) => {
                self.carry_out(item.id, export(id, "json"));
            }
            (Action::RunAgain, LiveId::Job(id)) => self.go.run(tracking_url(&title, Some(id))),
            (Action::Rename, id) => self.listing.renamed.set(Some(id)),
            (Action::Delete, _) => self.question.set(Some(question_of(item))),
            _ => {}
        }
    }

    /// Does something, which may end on another page.
    fn carry_out(
        self,
        about: LiveId,
        deed: impl Future<Output = Result<Option<String>, ApiError>> + 'static,
    ) {
        self.is_busy.set(true);
        spawn_local(async move {
            let done = deed.await;
            if self.is_busy.try_set(false).is_some() {
                // The page has been left.
                return;
            }
            match done {
                Ok(Some(url)) => self.go.run(url),
                Ok(None) => {}
                Err(error) => self.listing.trouble.set(Some((about, error.to_string()))),
            }
        });
    }

    fn delete(self, id: LiveId) {
        spawn_local(async move {
            let deleted = api::history::delete(id).await;
            let listing = self.listing;
            match deleted {
                Ok(()) => {
                    listing.items.try_update(|items| remove(items, id));
                }
                Err(error) => {
                    listing.trouble.try_set(Some((id, error.to_string())));
                }
            }
        });
    }

    fn close(self) {
        if let Some(menu) = self.element.get_untracked() {
            // Fails if it is closed already.
            let _ = menu.hide_popover();
        }
    }

    /// Gives the focus to the first entry, once the menu is open.
    fn enter(self) {
        let Some(menu) = self.element.get_untracked() else { return };
        let first = menu.query_selector(":popover-open button").ok().flatten();
        if let Some(first) = first.and_then(|first| first.dyn_into::<HtmlElement>().ok()) {
            // Fails only for what is not in the document.
            let _ = first.focus();
        }
    }

    /// Arrows go from entry to entry.
    fn walk(self, event: &KeyboardEvent) {
        let Some(menu) = self.element.get_untracked() else { return };
        let Ok(entries) = menu.query_selector_all("button") else { return };
        let focused = document().active_element();
        let at =
            (0..entries.length()).find(|index| entries.item(*index).as_ref() == focused.as_deref());
        let last = entries.length().saturating_sub(1);
        let to = match (&*event.key(), at) {
            ("ArrowDown", Some(at)) if at < last => at + 1,
            ("ArrowDown" | "Home", _) => 0,
            ("ArrowUp", Some(at)) if at > 0 => at - 1,
            ("ArrowUp" | "End", _) => last,
            _ => return,
        };
        event.prevent_default();
        if let Some(entry) = entries.item(to).and_then(|entry| entry.dyn_into::<HtmlElement>().ok())
        {
            // Fails only for what is not in the document.
            let _ = entry.focus();
        }
    }
}

/// Saves a conversation, without leaving the page.
async fn export(id: SessionId, kind: &str) -> Result<Option<String>, ApiError> {
    let text = api::session::export(id, kind).await?;
    let media = if kind == "json" { "application/json" } else { "text/markdown" };
    download::save(&format!("{id}.{kind}"), media, &text);
    Ok(None)
}

#[expect(clippy::cast_possible_truncation, reason = "pixels of a window")]
fn whole(length: f64) -> i32 {
    length as i32
}
