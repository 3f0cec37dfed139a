//! What a session says: its blocks, one below the other, and whether more is to come.

use leptos::ev::MouseEvent;
use leptos::html::Div;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;
use web_sys::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlAnchorElement, HtmlElement};

use super::message_block::MessageBlock;
use crate::erase::Erase;
use crate::state::feed::Feed;

/// So close to the end counts as at the end.
const END_MARGIN_PX: i32 = 48;

/// What part of the content the reader sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ViewPort {
    top: i32,
    height: i32,
    content: i32,
    /// The reader wants to see what is new.
    follows_end: bool,
}

impl Default for ViewPort {
    fn default() -> Self {
        Self { top: 0, height: 0, content: 0, follows_end: true }
    }
}

impl ViewPort {
    /// Whether the reader still wants the end after the view has moved. Only a person moves it up;
    /// but content that shrinks moves it, too, and content that grows leaves it behind.
    fn moved_to(self, now: Self) -> Self {
        let is_at_end = now.content - now.top - now.height <= END_MARGIN_PX;
        let was_moved_up = now.top < self.top && now.content >= self.content;
        let follows_end = is_at_end || (self.follows_end && !was_moved_up);
        Self { follows_end, ..now }
    }
}

fn measure(element: &HtmlElement) -> ViewPort {
    ViewPort {
        top: element.scroll_top(),
        height: element.client_height(),
        content: element.scroll_height(),
        follows_end: true,
    }
}

/// The blocks of a feed. Follows the end unless the reader has scrolled up.
#[component]
pub(crate) fn SessionResponses(feed: Feed) -> impl IntoView {
    let container = NodeRef::<Div>::new();
    let awaiting = NodeRef::<Div>::new();
    let view_port = StoredValue::new(ViewPort::default());
    let scrolled = move |_| {
        if let Some(element) = container.get_untracked() {
            let now = measure(&element);
            view_port.update_value(|before| *before = before.moved_to(now));
        }
    };
    Effect::new(move |_| {
        feed.answers.track();
        // Whether "Awaits responses" is there changes the height.
        feed.is_working();
        // What is new is drawn by other effects, perhaps after this one.
        request_animation_frame(move || {
            if view_port.try_get_value().is_some_and(|view_port| view_port.follows_end)
                && let Some(element) = container.try_get_untracked().flatten()
            {
                element.set_scroll_top(element.scroll_height());
                view_port.set_value(measure(&element));
            }
        });
    });
    // The policy refuses styles in the server's HTML, so this one is set here.
    Effect::new(move |_| {
        let display = if feed.is_working() { "block" } else { "none" };
        if let Some(element) = awaiting.get() {
            let _ = HtmlElement::style(&element).set_property("display", display);
        }
    });

    view! {
        <div
            class="session-response-container"
            node_ref=container
            tabindex="0"
            role="log"
            aria-label="Session"
            on:scroll=scrolled
            on:click=|event| {
                copy_code(&event);
                refuse_own_address(&event);
            }
        >
            <For
                each=move || feed.blocks.get()
                key=|(key, _)| key.clone()
                children=|((_, kind, _), block)| {
                    view! { <MessageBlock kind=kind block=block /> }.erase()
                }
            />
            <div class="session-response-awaiting" node_ref=awaiting>
                "Awaits responses ..."
            </div>
        </div>
    }
}

/// The copy buttons are part of rendered Markdown, which has no handlers of its own.
fn copy_code(event: &MouseEvent) {
    let button = event_target::<Element>(event);
    if !button.class_list().contains("copy-button") {
        return;
    }
    let code = button.closest(".code-block").ok().flatten();
    let Some(code) = code.and_then(|block| block.query_selector("code").ok().flatten()) else {
        return;
    };
    let text = code.text_content().unwrap_or_default();
    spawn_local(async move {
        button.set_text_content(Some(if write_clipboard(&text).await {
            "Copied"
        } else {
            select(&code);
            "Press Ctrl+C"
        }));
        set_timeout(
            move || button.set_text_content(Some("Copy")),
            std::time::Duration::from_secs(2),
        );
    });
}

/// A model may write a link to this very server; following it would act in the reader's name.
fn refuse_own_address(event: &MouseEvent) {
    let link = event_target::<Element>(event).closest("a").ok().flatten();
    let Some(link) = link.and_then(|link| link.dyn_into::<HtmlAnchorElement>().ok()) else {
        return;
    };
    if window().location().host().is_ok_and(|own| own == link.host()) {
        event.prevent_default();
    }
}

/// False where the browser keeps the clipboard from pages, as it does over plain HTTP from
/// another machine.
async fn write_clipboard(text: &str) -> bool {
    if !window().is_secure_context() {
        return false;
    }
    JsFuture::from(window().navigator().clipboard().write_text(text)).await.is_ok()
}

fn select(element: &Element) {
    if let Ok(Some(selection)) = window().get_selection() {
        // Then the reader selects by hand.
        let _ = selection.select_all_children(element);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(top: i32, content: i32) -> ViewPort {
        ViewPort { top, height: 500, content, follows_end: true }
    }

    #[test]
    fn the_end_is_followed_until_the_reader_scrolls_up() {
        let end = at(1500, 2000);
        assert!(end.moved_to(at(1500, 3000)).follows_end, "grown since");
        assert!(end.moved_to(at(1300, 1800)).follows_end, "shrunk");
        assert!(end.moved_to(at(1480, 2000)).follows_end, "nearly at the end");
        let up = end.moved_to(at(1000, 2000));
        assert!(!up.follows_end, "moved up");
        assert!(!up.moved_to(at(1200, 2400)).follows_end, "moved down, but not to the end");
        assert!(up.moved_to(at(1900, 2400)).follows_end, "back at the end");
    }
}
