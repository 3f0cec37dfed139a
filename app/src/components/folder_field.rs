//! The field for a folder of the server: completes paths as somebody types, and offers the folders
//! that were used before.

use leptos::ev::KeyboardEvent;

use crate::api;
use crate::components::icon::draw_icon;
use crate::html::{Html, IntoHtml, html};
use crate::icon::Icon;
use crate::preference::{self, Preference};
use crate::reactive::prelude::*;
use crate::state::folders::{Act, Moment, Offer, act, offers, remember};

/// What the field shows besides its text.
#[derive(Clone, Copy)]
struct FolderField {
    id: &'static str,
    folder: RwSignal<String>,
    is_open: RwSignal<bool>,
    /// Whether something was typed since the list was opened.
    is_typing: RwSignal<bool>,
    recent: RwSignal<Vec<String>>,
    found: RwSignal<Vec<String>>,
    marked: RwSignal<Option<usize>>,
    settled: Option<Callback<()>>,
}

impl FolderField {
    /// What is offered; nothing while the list is closed.
    fn offers(self) -> Vec<Offer> {
        if !self.is_open.get() {
            return Vec::new();
        }
        let (typed, is_typing) = (self.folder.get(), self.is_typing.get());
        self.recent.with(|recent| self.found.with(|found| offers(&typed, is_typing, recent, found)))
    }

    /// Shows what there is for the text in the field.
    fn open(self, is_typing: bool) {
        self.marked.set(None);
        self.is_typing.set(is_typing);
        self.recent.set(recent_folders());
        self.is_open.set(true);
        let typed = self.folder.get_untracked();
        spawn_local(async move {
            let found = api::folder::complete(&typed).await.unwrap_or_default();
            // What was typed since then has an answer of its own.
            if self.folder.try_get_untracked().is_some_and(|now| now == typed) {
                self.found.set(found);
            }
        });
    }

    fn close(self) {
        self.is_open.set(false);
        self.marked.set(None);
    }

    fn write(self, text: String) {
        self.folder.set(text);
        self.open(true);
    }

    fn pick(self, path: String) {
        self.folder.set(path);
        self.close();
        self.settle();
    }

    fn settle(self) {
        if let Some(settled) = self.settled {
            settled.run(());
        }
    }

    fn press(self, event: &KeyboardEvent) {
        let has_modifier =
            event.shift_key() || event.ctrl_key() || event.alt_key() || event.meta_key();
        if has_modifier || event.is_composing() {
            return;
        }
        let (offers, typed) = untrack(move || (self.offers(), self.folder.get()));
        let marked = self.marked.get_untracked();
        let Some(act) = act(&event.key(), Moment { offers: &offers, marked, typed: &typed }) else {
            return;
        };
        event.prevent_default();
        match act {
            Act::Open => self.open(false),
            Act::Close => {
                // The page has its own use for this key.
                event.stop_propagation();
                self.close();
            }
            Act::Mark(index) => self.mark(index),
            Act::Pick(index) => {
                if let Some(offer) = offers.into_iter().nth(index) {
                    self.pick(offer.path);
                }
            }
            Act::Type(text) => self.write(text),
        }
    }

    fn mark(self, index: usize) {
        self.marked.set(Some(index));
        let marked = format!("#{}-{index}", self.id);
        request_animation_frame(move || {
            if let Ok(Some(option)) = document().query_selector(&marked) {
                option.scroll_into_view_with_bool(false);
            }
        });
    }

    fn draw_offer(self, index: usize, offer: Offer) -> Html {
        let (icon, hint) = if offer.is_recent {
            (Icon::History, Some(html! { <span class="menu-hint">"used before"</span> }))
        } else {
            (Icon::Folder, None)
        };
        let path = offer.path.clone();
        html! {
            <li
                id=format!("{}-{index}", self.id)
                role="option"
                aria-selected=move || (self.marked.get() == Some(index)).to_string()
                on:click=move |_| self.pick(path.clone())
            >
                {draw_icon(icon)}
                <span class="path">{offer.path}</span>
                {hint}
            </li>
        }
    }
}

/// The field. `reason` says why the folder was refused; `settled` is called when somebody has picked
/// or typed another one.
pub(crate) fn folder_field(
    id: &'static str,
    folder: RwSignal<String>,
    reason: impl IntoHtml,
    settled: Option<Callback<()>>,
) -> Html {
    let field = FolderField {
        id,
        folder,
        is_open: RwSignal::new(false),
        is_typing: RwSignal::new(false),
        recent: RwSignal::new(Vec::new()),
        found: RwSignal::new(Vec::new()),
        marked: RwSignal::new(None),
        settled,
    };
    let offers = Memo::new(move |_| field.offers());
    let is_shown = move || !offers.with(Vec::is_empty);
    let list_id = format!("{id}-list");
    let help_id = format!("{id}-help");
    html! {
        <div class="field folder-field">
            <label class="field-label" for=id>
                "Folder"
            </label>
            <div class="folder-box">
                <input
                    id=id
                    class="path"
                    type="text"
                    role="combobox"
                    aria-autocomplete="list"
                    aria-expanded=move || is_shown().to_string()
                    aria-controls=list_id.clone()
                    aria-describedby=help_id.clone()
                    aria-activedescendant=move || {
                        field.marked.get().map(|index| format!("{id}-{index}"))
                    }
                    autocomplete="off"
                    autocapitalize="off"
                    spellcheck="false"
                    prop:value=folder
                    value=folder.get_untracked()
                    on:input=move |event| field.write(event_target_value(&event))
                    on:click=move |_| {
                        if !field.is_open.get_untracked() {
                            field.open(false);
                        }
                    }
                    on:keydown=move |event| field.press(&event)
                    on:blur=move |_| field.close()
                    on:change=move |_| field.settle()
                />
                <ul
                    id=list_id
                    class="menu completions"
                    role="listbox"
                    aria-label="Folders"
                    hidden=move || !is_shown()
                    // The field keeps the focus while somebody picks.
                    on:mousedown=|event| event.prevent_default()
                >
                    {move || {
                        let offers = offers.get().into_iter().enumerate();
                        offers.map(|(index, offer)| field.draw_offer(index, offer)).collect::<Html>()
                    }}
                </ul>
            </div>
            {reason.into_html()}
            <span class="field-help" id=help_id>
                "Folder on the server, e.g. /home/me/project"
            </span>
        </div>
    }
}

/// Remembers a folder in which something was started.
pub(crate) fn remember_folder(folder: &str) {
    let recent = remember(recent_folders(), folder);
    preference::write(Preference::Folders, Some(&recent.join("\n")));
}

fn recent_folders() -> Vec<String> {
    let stored = preference::read(Preference::Folders).unwrap_or_default();
    stored.lines().map(str::to_owned).collect()
}
