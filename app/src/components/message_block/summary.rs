//! `.message-block-summary`: what a block did in one line, and how long it took.

use crate::components::icon::draw_icon;
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::reactive::prelude::*;
use crate::state::blocks::{Block, BlockKind};
use crate::state::duration::took;
use crate::state::tool_summary::{Outcome, ToolIcon, ToolSummary};

/// The line. Of tools always, of other blocks where there is something to say.
pub(super) fn draw_summary(
    kind: BlockKind,
    cell: StoredValue<ArcRwSignal<Block>>,
    folder: Signal<String>,
) -> Html {
    match kind {
        BlockKind::Tool => {
            let read =
                move |block: &Block| (block.tool_summary(&folder.get()), took(block.millis()));
            let summary = Memo::new(move |_| cell.with_value(|block| block.with(read)));
            html! { {move || draw_tool(summary.get())} }
        }
        BlockKind::Reasoning => {
            let read = |block: &Block| block.completed.then(|| took(block.millis()));
            let thought = Memo::new(move |_| cell.with_value(|block| block.with(read)));
            html! { {move || thought.get().map(draw_thought)} }
        }
        _ => {
            let failed =
                Memo::new(move |_| cell.with_value(|b| b.with(|block| block.trouble.is_some())));
            html! {
                {move || {
                    failed.get().then(|| html! { <span class="message-block-summary">"failed"</span> })
                }}
            }
        }
    }
}

fn draw_tool((summary, time): (ToolSummary, Option<String>)) -> Html {
    let lines = [("added", "+", summary.added), ("removed", "−", summary.removed)];
    let lines = lines.into_iter().filter_map(|(class, sign, count)| {
        let count = count.filter(|count| *count > 0)?;
        Some(html! { <span class=class>{format!("{sign}{count}")}</span> })
    });
    let lines = lines.collect::<Html>();
    let outcome = summary.outcome.map(|outcome| {
        let text = match outcome {
            Outcome::Exit(code) => format!("→ exit {code}, {}", outcome.word()),
            _ => outcome.word().to_owned(),
        };
        html! { <span class="outcome">{text}</span> }
    });
    // The object may be cut off where there is little room.
    let whole = summary.text();
    let object = Some(summary.object).filter(|object| !object.is_empty());
    html! {
        <span class="message-block-summary" title=whole>
            {draw_icon(icon_of(summary.icon))}
            <b>{summary.verb}</b>
            {object.map(|object| html! { <code>{object}</code> })}
            {lines}
            {outcome}
        </span>
        {time.map(draw_time)}
    }
}

fn draw_thought(time: Option<String>) -> Html {
    let text = time.map_or_else(|| "briefly".to_owned(), |time| format!("for {time}"));
    html! {
        <span class="message-block-summary">
            {draw_icon(Icon::Bot)}
            <b>"Thought"</b>
            <span class="summary-detail">{text}</span>
        </span>
    }
}

/// How long something took, at the end of its row.
pub(crate) fn draw_time(time: String) -> Html {
    html! { <span class="message-block-time">{time}</span> }
}

fn icon_of(icon: ToolIcon) -> Icon {
    match icon {
        ToolIcon::Read => Icon::File,
        ToolIcon::Search => Icon::Search,
        ToolIcon::Edit => Icon::Pencil,
        ToolIcon::Run => Icon::Terminal,
        ToolIcon::Web => Icon::Globe,
        ToolIcon::Ask => Icon::Question,
        ToolIcon::Agent => Icon::Bot,
        ToolIcon::Other => Icon::Wrench,
    }
}
