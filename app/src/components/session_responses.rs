//! The conversation of a session: its blocks in order, with permission requests among them, and
//! whether more is to come. The bridge uses the same components for its projects.

mod clicks;
mod rows;
mod turn_end;
mod view;

use leptos::html::Div;
use web_sys::HtmlElement;
use web_sys::wasm_bindgen::JsCast;
use wire::{LogLevel, SessionId};

use super::log_line::LogLine;
use super::message_block::near::Near;
use super::message_block::{Around, message_block};
use super::permission_card::{Asked, PermissionCard};
use crate::components::icon::draw_icon;
use crate::html::{Html, each, html};
use crate::icon::Icon;
use crate::reactive::prelude::*;
use crate::state::blocks::{Block, BlockKind};
use crate::state::feed::{BlockEntry, Feed};
use crate::state::grouping::Group;
use crate::state::question::hint;
use crate::state::spending::Spending;
use crate::state::transcript::Remark;
use clicks::refuse_own_address;
use rows::{Row, Rows};
use turn_end::turn_end;
use view::End;

pub(crate) use clicks::copy_code;

/// What to draw, and where answers go.
#[derive(Clone, Copy)]
pub(crate) struct Said {
    pub(crate) blocks: RwSignal<Vec<BlockEntry>>,
    /// The blocks that are drawn as one row.
    pub(crate) groups: RwSignal<Vec<Group>>,
    /// Whether more is to come.
    pub(crate) works: Signal<bool>,
    /// Number of pending permission requests.
    pub(crate) waiting: RwSignal<usize>,
    /// The folder that paths are shortened by.
    pub(crate) folder: Signal<String>,
    /// The session, if prompts can be sent to it from here.
    pub(crate) session: StoredValue<Option<SessionId>>,
    /// Incremented when the reader wants to see the end.
    pub(crate) to_end: RwSignal<u64>,
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
        groups: feed.groups,
        works: Signal::derive(move || feed.is_working()),
        waiting: feed.waiting,
        folder: feed.folder.into(),
        session: feed.session,
        to_end: feed.to_end,
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

/// The blocks in order. Follows the end until the reader looks back; `children` come last.
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
    let content = NodeRef::<Div>::new();
    let awaiting = NodeRef::<Div>::new();
    let near = Near::provide();
    let count = Signal::derive(move || said.blocks.with(Vec::len));
    let end = End::follow(container, content, near, said.to_end, count);
    let rows = Rows::new(said);
    let around = Around::new(said.folder, said.session);
    let is_asking = move || said.waiting.get() > 0;
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
            class:asking=is_asking
            node_ref=container
            tabindex="0"
            role="log"
            aria-live="off"
            aria-label=label
            on:scroll=move |_| end.moved()
            on:wheel=move |event| end.turned(event.delta_y())
            on:keydown=move |event| end.pressed(&event.key())
            on:click=|event| {
                copy_code(&event);
                refuse_own_address(&event);
            }
        >
            <div class="session-response-blocks" node_ref=content>
                {each(
                    move || rows.get(),
                    Row::key,
                    move |row| draw(row, rows, said, around),
                )}
                <div class="session-response-awaiting" node_ref=awaiting>
                    "Awaits responses ..."
                </div>
                <div role="status">
                    {move || {
                        hint_of(said)
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
            <div class="visually-hidden" role="status">
                {announcement(said.works)}
            </div>
            {move || draw_jump(end, said)}
        </div>
    }
}

/// What is said to those who listen, once per answer.
fn announcement(works: Signal<bool>) -> Html {
    let worked = StoredValue::new(false);
    let text = move || {
        let works = works.get();
        let has_ended = worked.get_value() && !works;
        worked.set_value(works);
        if has_ended { "Answer complete" } else { "" }
    };
    html! { {text} }
}

/// `.jump-latest`: leads back to the end, and says how much is new there.
fn draw_jump(end: End, said: Said) -> Option<Html> {
    let since = end.left_at.get()?;
    let new = said.blocks.with(Vec::len).saturating_sub(since);
    let new = (new > 0).then(|| format!(" · {new} new"));
    Some(html! {
        <button
            type="button"
            class="jump-latest"
            on:click=move |_| said.to_end.update(|wishes| *wishes += 1)
        >
            {draw_icon(Icon::ArrowDown)}
            "Latest"
            {new}
        </button>
    })
}

fn draw(row: Row, rows: Rows, said: Said, around: Around) -> Html {
    let ((source, kind, id), block) = match row {
        Row::Group(first) => return rows.draw_group(first),
        Row::Block(entry) => entry,
    };
    match kind {
        BlockKind::Question => draw_question(&block),
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
        BlockKind::End => turn_end(&(source, kind, id), &block, said),
        kind => {
            let (folded_away, unfold) = rows.folded_away(&(source, kind, id));
            message_block(kind, block, around, folded_away, unfold)
        }
    }
}

fn draw_question(block: &ArcRwSignal<Block>) -> Html {
    let Some(question) = block.with_untracked(|block| block.question.clone()) else {
        return Html::fragment();
    };
    let block = block.clone();
    let outcome = Signal::derive(move || {
        block.with(|block| block.question.as_ref().and_then(|question| question.outcome))
    });
    let asked = Asked::in_session(question.id, question.request);
    html! { <PermissionCard asked=asked outcome=outcome /> }
}

/// The text that leads to what waits for an answer.
fn hint_of(said: Said) -> Option<String> {
    let waiting = said.waiting.get();
    if waiting == 0 {
        return None;
    }
    said.blocks.with_untracked(|blocks| {
        let mut questions = blocks.iter().filter(|((_, kind, _), _)| *kind == BlockKind::Question);
        let open = |block: &ArcRwSignal<Block>| {
            block.with_untracked(|block| {
                block
                    .question
                    .as_ref()
                    .filter(|it| it.outcome.is_none())
                    .map(|it| it.request.clone())
            })
        };
        let first = questions.find_map(|(_, block)| open(block));
        hint(waiting, first.as_ref())
    })
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
