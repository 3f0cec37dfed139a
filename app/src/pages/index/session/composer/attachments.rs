//! The files that go with the next prompt: taken by paste, drop and `#attach-button`, and shown as
//! chips above the text.

use leptos::html::Input;
use web_sys::{ClipboardEvent, DataTransfer, DragEvent, File, FileList};
use wire::AttachmentKind;

use super::super::about::About;
use crate::api::ApiError;
use crate::api::attachments::{attach, attachment_url};
use crate::components::icon::draw_icon;
use crate::html::{Html, each, html};
use crate::icon::Icon;
use crate::reactive::prelude::*;
use crate::state::composer::attachments::{Chip, ChipState, is_uploading, refusal, without_files};

/// The files of a draft.
#[derive(Clone, Copy)]
pub(super) struct Files {
    about: About,
    pub(super) chips: RwSignal<Vec<Chip>>,
    /// The key of the next chip.
    next: StoredValue<u32>,
    /// Whether files are held above the composer.
    pub(super) is_over: RwSignal<bool>,
}

impl Files {
    pub(super) fn new(about: About) -> Self {
        Self {
            about,
            chips: RwSignal::new(Vec::new()),
            next: StoredValue::new(0),
            is_over: RwSignal::new(false),
        }
    }

    /// Whether nothing can be sent yet.
    pub(super) fn are_uploading(self) -> bool {
        self.chips.with(|chips| is_uploading(chips))
    }

    /// Whether a prompt would have any.
    pub(super) fn are_any(self) -> bool {
        let is_ready = |chip: &Chip| matches!(chip.state, ChipState::Ready { .. });
        self.chips.with(|chips| chips.iter().any(is_ready))
    }

    /// Removes what is about to be sent. What could not be attached stays, until it is removed.
    pub(super) fn forget_sent(self) {
        let is_failed = |chip: &Chip| matches!(chip.state, ChipState::Failed(_));
        self.chips.update(|chips| chips.retain(is_failed));
    }

    /// Puts the files of a prompt before those that are there, and returns its text.
    pub(super) fn give_back(self, prompt: &str) -> String {
        let first = self.next.try_get_value().unwrap_or_default();
        let (text, mut files) = without_files(prompt, first);
        if !files.is_empty() {
            self.take_keys(files.len());
            self.chips.try_update(|chips| {
                files.append(chips);
                *chips = files;
            });
        }
        text
    }

    /// Takes keys for that many chips; the first of them.
    fn take_keys(self, number: usize) -> u32 {
        let first = self.next.try_get_value().unwrap_or_default();
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        self.next.try_set_value(first.saturating_add(number));
        first
    }

    /// Takes the files that are pasted, if there are any: text is pasted as ever.
    pub(super) fn paste(self, event: &ClipboardEvent) {
        let files = event.clipboard_data().and_then(|data| data.files());
        if let Some(files) = files.filter(|files| files.length() > 0) {
            event.prevent_default();
            self.add(&files);
        }
    }

    /// Files are held above the composer, or not any more.
    pub(super) fn hover(self, event: &DragEvent, is_over: bool) {
        if event.data_transfer().is_some_and(|data| has_files(&data)) {
            // Else the browser would open them in place of the page.
            event.prevent_default();
            self.is_over.set(is_over);
        }
    }

    pub(super) fn drop(self, event: &DragEvent) {
        self.hover(event, false);
        if let Some(files) = event.data_transfer().and_then(|data| data.files()) {
            self.add(&files);
        }
    }

    fn add(self, files: &FileList) {
        if untrack(move || self.about.is_over()) {
            return;
        }
        (0..files.length()).filter_map(|place| files.get(place)).for_each(|file| self.upload(file));
    }

    fn upload(self, file: File) {
        let key = self.take_keys(1);
        let size = whole(file.size());
        let takes_images = untrack(move || self.about.of_head(|head| head.takes_images));
        let refusal = refusal(size, &file.type_(), takes_images.unwrap_or(true));
        let state = match refusal {
            Some(reason) => ChipState::Failed(reason.to_owned()),
            None => ChipState::Uploading,
        };
        self.chips.update(|chips| chips.push(Chip { key, name: file.name(), state }));
        if refusal.is_some() {
            return;
        }
        let session = self.about.id();
        spawn_local(async move {
            let state = match attach(session, &file).await {
                Ok(attached) => ChipState::Ready {
                    kind: attached.kind,
                    id: attached.attachment_id,
                    size: Some(size),
                },
                // The server knows what is wrong with this file.
                Err(ApiError::Domain { details: Some(details), .. }) => ChipState::Failed(details),
                Err(error) => ChipState::Failed(error.to_string()),
            };
            // The page may have been left, or the chip removed.
            self.chips.try_update(|chips| {
                if let Some(chip) = chips.iter_mut().find(|chip| chip.key == key) {
                    chip.state = state;
                }
            });
        });
    }

    fn remove(self, key: u32) {
        self.chips.update(|chips| chips.retain(|chip| chip.key != key));
    }

    /// The chips above the text.
    pub(super) fn draw_chips(self, focus: impl Fn() + Copy + Send + 'static) -> Html {
        html! {
            <ul
                class="chips"
                aria-label="Attached files"
                hidden=move || self.chips.with(Vec::is_empty)
            >
                {each(
                    move || self.chips.get(),
                    |chip| chip.key,
                    move |chip| self.draw_chip(chip.key, chip.name, focus),
                )}
            </ul>
        }
    }

    fn draw_chip(self, key: u32, name: String, focus: impl Fn() + Copy + Send + 'static) -> Html {
        let find =
            move || self.chips.with(|chips| chips.iter().find(|chip| chip.key == key).cloned());
        let remove = format!("Remove {name}");
        let look = move || match find().map(|chip| chip.state) {
            Some(ChipState::Ready { kind: AttachmentKind::Image, id, .. }) => {
                html! { <img src=attachment_url(self.about.id(), id) alt="" /> }
            }
            Some(ChipState::Failed(_)) => draw_icon(Icon::Failed),
            _ => draw_icon(Icon::File),
        };
        let is_failed = move || find().is_some_and(|chip| chip.state_name() == "failed");
        html! {
            <li class="chip" data-state=move || find().map(|chip| chip.state_name())>
                {look}
                <span class="chip-name">{name}</span>
                <span class="chip-note" role=move || is_failed().then_some("alert")>
                    {move || find().map(|chip| chip.note())}
                </span>
                <button
                    type="button"
                    aria-label=remove.clone()
                    title=remove
                    on:click=move |_| {
                        self.remove(key);
                        // Its button is gone, and with it the focus.
                        focus();
                    }
                >
                    {draw_icon(Icon::Close)}
                </button>
            </li>
        }
    }

    /// `#attach-button`: chooses files.
    pub(super) fn draw_button(self) -> Html {
        let field = NodeRef::<Input>::new();
        let choose = move |_| {
            if let Some(field) = field.get_untracked() {
                field.click();
            }
        };
        let chosen = move |_| {
            let Some(field) = field.get_untracked() else { return };
            if let Some(files) = field.files() {
                self.add(&files);
            }
            // Else the same file could not be chosen again.
            field.set_value("");
        };
        html! {
            <button
                type="button"
                id="attach-button"
                class="icon-button"
                aria-label="Attach files"
                title="Attach files: choose, paste or drop them"
                disabled=move || self.about.is_over()
                on:click=choose
            >
                {draw_icon(Icon::Plus)}
            </button>
            <input
                type="file"
                id="attach-input"
                multiple=true
                hidden=true
                aria-label="Files to attach"
                node_ref=field
                on:change=chosen
            />
        }
    }
}

fn has_files(data: &DataTransfer) -> bool {
    data.types().iter().any(|kind| kind.as_string().as_deref() == Some("Files"))
}

/// Sizes are numbers without a fraction, which browsers keep as numbers with one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size in bytes")]
fn whole(size: f64) -> u64 {
    size as u64
}
