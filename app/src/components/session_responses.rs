//! The conversation of a session: its blocks in order, with permission requests among them, and
//! whether more is to come. The bridge uses the same components for its projects.

use leptos::ev::MouseEvent;
use leptos::html::Div;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;
use web_sys::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlAnchorElement, HtmlElement};
use wire::LogLevel;

use super::log_line::LogLine;
use super::message_block::MessageBlock;
use super::permission_card::{Asked, PermissionCard, waiting_text};
use crate::html::{Html, each, html};
use crate::state::blocks::{Block, BlockKey, BlockKind};
use crate::state::feed::{BlockEntry, Feed};
use crate::state::spending::Spending;
use crate::state::transcript::Remark;

/// Within this distance, the view counts as being at the end.
const END_MARGIN_PX: i32 = 48;

/// The visible part of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ViewPort {
    top: i32,
    height: i32,
    content: i32,
    /// Whether the reader wants to see new content.
    follows_end: bool,
}

impl Default for ViewPort {
    fn default() -> Self {
        Self { top: 0, height: 0, content: 0, follows_end: true }
    }
}

impl ViewPort {
    /// Whether the reader still wants the end after the view has moved. Only a person scrolls up;
    /// but shrinking content also moves the view, and growing content leaves it behind.
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

/// What to draw, and where answers go.
#[derive(Clone, Copy)]
pub(crate) struct Said {
    pub(crate) blocks: RwSignal<Vec<BlockEntry>>,
    /// Incremented with every change.
    pub(crate) answers: RwSignal<u64>,
    /// Whether more is to come.
    pub(crate) works: Signal<bool>,
    /// Number of pending permission requests.
    pub(crate) waiting: RwSignal<usize>,
}

/// The blocks of a feed, and the usage of its session.
#[component]
pub(crate) fn SessionResponses(
    feed: Feed,
    /// The container's id, where the page promises one.
    #[prop(optional)]
    id: Option<&'static str>,
) -> Html {
    let said = Said {
        blocks: feed.blocks,
        answers: feed.answers,
        works: Signal::derive(move || feed.is_working()),
        waiting: feed.waiting,
    };
    html! {
        <Stream said=said label="Session" id=id>
            {move || feed.remark.get().map(remark_line)}
            {move || feed.spent.with(Spending::describe).map(usage_line)}
        </Stream>
    }
}

fn usage_line(text: String) -> Html {
    html! { <p class="session-usage">{text}</p> }
}

fn remark_line(remark: Remark) -> Html {
    let Remark { extension, level, message } = remark;
    html! { <LogLine extension=Some(extension) level=level message=message fleeting=true /> }
}

/// The blocks in order. Follows the end unless the reader has scrolled up; `children` come last.
#[component]
pub(crate) fn Stream(
    said: Said,
    /// Describes the content to assistive technology.
    label: &'static str,
    /// The id of the container.
    #[prop(optional_no_strip)]
    id: Option<&'static str>,
    children: Html,
) -> Html {
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
        said.answers.track();
        // The line "Awaits responses" changes the height.
        said.works.track();
        // Other effects draw the new content, perhaps after this one.
        request_animation_frame(move || {
            if view_port.try_get_value().is_some_and(|view_port| view_port.follows_end)
                && let Some(element) = container.try_get_untracked().flatten()
            {
                element.set_scroll_top(element.scroll_height());
                view_port.set_value(measure(&element));
            }
        });
    });
    // The content security policy refuses styles in the server's HTML, so this one is set here.
    Effect::new(move |_| {
        let display = if said.works.get() { "block" } else { "none" };
        if let Some(element) = awaiting.get() {
            let _ = HtmlElement::style(&element).set_property("display", display);
        }
    });

    html! {
        <div
            id=id
            class="session-response-container"
            node_ref=container
            tabindex="0"
            role="log"
            aria-label=label
            on:scroll=scrolled
            on:click=|event| {
                copy_code(&event);
                refuse_own_address(&event);
            }
        >
            {each(
                move || said.blocks.get(),
                |(key, _)| key.clone(),
                |(key, block)| draw(&key, block),
            )}
            <div class="session-response-awaiting" node_ref=awaiting>
                "Awaits responses ..."
            </div>
            <div role="status">
                {move || {
                    waiting_text(said.waiting.get())
                        .map(|text| {
                            html! {
                                <button
                                    type="button"
                                    class="waiting-hint"
                                    on:click=move |_| show_question(container)
                                >
                                    {text}
                                </button>
                            }
                        })
                }}
            </div>
            {children}
        </div>
    }
}

fn draw((_, kind, _): &BlockKey, block: ArcRwSignal<Block>) -> Html {
    match *kind {
        BlockKind::Question => draw_question(block),
        BlockKind::Log => {
            let Block { title, body, level, .. } = block.get_untracked();
            html! {
                <LogLine
                    extension=title
                    level=level.unwrap_or(LogLevel::Info)
                    message=body
                    fleeting=false
                />
            }
        }
        kind => html! { <MessageBlock kind=kind block=block /> },
    }
}

fn draw_question(block: ArcRwSignal<Block>) -> Html {
    let Some(question) = block.with_untracked(|block| block.question.clone()) else {
        return Html::fragment();
    };
    let outcome = Signal::derive(move || {
        block.with(|block| block.question.as_ref().and_then(|question| question.outcome))
    });
    let asked = Asked::in_session(question.id, question.request);
    html! { <PermissionCard asked=asked outcome=outcome /> }
}

/// Scrolls to the first pending permission request.
fn show_question(container: NodeRef<Div>) {
    let Some(container) = container.get_untracked() else { return };
    let wanted = ".permission-card.pending :is(textarea, button)";
    let field = container.query_selector(wanted).ok().flatten();
    if let Some(field) = field.and_then(|field| field.dyn_into::<HtmlElement>().ok()) {
        // The focused element is scrolled into view.
        let _ = field.focus();
    }
}

/// Handles copy buttons: they are part of rendered Markdown, which has no handlers of its own.
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

/// A model may write a link to this very server; following it would act on the reader's behalf.
fn refuse_own_address(event: &MouseEvent) {
    let link = event_target::<Element>(event).closest("a").ok().flatten();
    let Some(link) = link.and_then(|link| link.dyn_into::<HtmlAnchorElement>().ok()) else {
        return;
    };
    if window().location().host().is_ok_and(|own| own == link.host()) {
        event.prevent_default();
    }
}

/// Returns false where the browser denies pages the clipboard, as it does over plain HTTP from
/// another machine.
async fn write_clipboard(text: &str) -> bool {
    if !window().is_secure_context() {
        return false;
    }
    JsFuture::from(window().navigator().clipboard().write_text(text)).await.is_ok()
}

fn select(element: &Element) {
    if let Ok(Some(selection)) = window().get_selection() {
        // Fails harmlessly: the reader can select by hand.
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
