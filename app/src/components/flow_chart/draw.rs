//! The nodes and arrows of a flow chart as SVG.

use leptos::either::{Either, EitherOf3};
use leptos::prelude::*;
use leptos::svg;
use wire::chart::{ChartNode, Hint};

use crate::flow_chart::layout::{Link, Place};
use crate::flow_chart::{path, text};

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStatus {
    /// It has begun.
    Running,
    /// It was done.
    Succeeded,
    /// It was not done.
    Failed,
}

impl NodeStatus {
    fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }

    /// A triangle, a tick or a cross around 0.
    fn mark(self) -> &'static str {
        match self {
            Self::Running => "M-4 -6L7 0L-4 6Z",
            Self::Succeeded => "M-6 1L-2 5L6 -5",
            Self::Failed => "M-5 -5L5 5M5 -5L-5 5",
        }
    }
}

/// What a node asks of the page, by work id.
#[derive(Clone, Copy)]
pub(super) struct Asks {
    pub(super) status: Callback<u32, Option<NodeStatus>>,
    pub(super) elapsed: Option<Callback<u32, Option<String>>>,
    pub(super) selected: RwSignal<Option<u32>>,
    pub(super) interactive: bool,
}

/// What stands in the tool tip and is read out.
fn describe(label: &str, status: Option<NodeStatus>) -> String {
    match status {
        Some(status) => format!("{label}: {}", status.name()),
        None => label.to_owned(),
    }
}

/// An arrow and its label.
pub(super) fn draw_link(link: Link) -> impl IntoView {
    let ((x, y), ends) = link.label_place();
    let label = link.label.map(|label| {
        view! { <text x=x y=y text-anchor=ends.then_some("end")>{label}</text> }
    });
    view! {
        <g class="arrow" class:loop-back=link.loop_back>
            <path class="line" d=path::line(&link.points) />
            <path class="tip" d=path::tip(&link.points) />
            {label}
        </g>
    }
}

/// A node; that of a task follows its status.
pub(super) fn draw_node(node: ChartNode, place: Place, asks: Asks) -> impl IntoView {
    match node.hint.work_id() {
        Some(id) => Either::Left(draw_task(id, node, place, asks)),
        None => Either::Right(view! {
            <g class=class(node.hint) transform=translate(place.x, place.y)>
                {draw_shape(node.hint, place)}
            </g>
        }),
    }
}

fn draw_task(id: u32, node: ChartNode, place: Place, asks: Asks) -> impl IntoView {
    let label = node.label.unwrap_or_default();
    let shown = text::shorten(&label);
    let status = Memo::new(move |_| asks.status.run(id));
    let is = move |wanted: NodeStatus| move || status.get() == Some(wanted);
    let description = Memo::new(move |_| describe(&label, status.get()));
    let elapsed = asks.elapsed.map(|elapsed| Memo::new(move |_| elapsed.run(id)));
    let selected = move || asks.selected.get() == Some(id);
    let interactive = asks.interactive;
    // Inside the left border; a hexagon is narrower there.
    let inset = if matches!(node.hint, Hint::CondNode(_)) { 21 } else { 16 };
    let (left, top) = (-place.width / 2, -place.height / 2);
    view! {
        <g
            class=class(node.hint)
            class:running=is(NodeStatus::Running)
            class:succeeded=is(NodeStatus::Succeeded)
            class:failed=is(NodeStatus::Failed)
            class:selected=selected
            class:timed=move || elapsed.is_some_and(|elapsed| elapsed.read().is_some())
            transform=translate(place.x, place.y)
            data-work-id=id
            tabindex=interactive.then_some("0")
            role=if interactive { "button" } else { "img" }
            aria-label=description
            aria-pressed=move || interactive.then(|| selected().to_string())
        >
            // The macro would take it for the title of an HTML document.
            {svg::title().child(description)}
            <rect
                class="ring"
                x=left - 6
                y=top - 6
                width=place.width + 12
                height=place.height + 12
                rx="12"
            />
            {draw_shape(node.hint, place)}
            <path
                class="mark"
                transform=translate(left + inset, 0)
                d=move || status.get().map(NodeStatus::mark)
            />
            <text class="label">{shown}</text>
            {elapsed.map(|elapsed| view! { <text class="elapsed">{elapsed}</text> })}
        </g>
    }
}

fn draw_shape(hint: Hint, place: Place) -> impl IntoView {
    let (right, bottom) = (place.width / 2, place.height / 2);
    let polygon = |points: String| EitherOf3::B(view! { <polygon class="shape" points=points /> });
    match hint {
        Hint::CondNode(_) => {
            let inner = right - 16;
            polygon(format!(
                "-{right},0 -{inner},-{bottom} {inner},-{bottom} {right},0 {inner},{bottom} -{inner},{bottom}"
            ))
        }
        Hint::CondEnd => polygon(format!("-{right},0 0,-{bottom} {right},0 0,{bottom}")),
        Hint::LoopEnd => EitherOf3::C(view! { <circle class="shape" r=right /> }),
        _ => EitherOf3::A(view! {
            <rect
                class="shape"
                x=-right
                y=-bottom
                width=place.width
                height=place.height
                rx=bottom.min(7)
            />
        }),
    }
}

fn translate(x: i32, y: i32) -> String {
    format!("translate({x} {y})")
}

fn class(hint: Hint) -> &'static str {
    match hint {
        Hint::TaskNode(_) => "node task",
        Hint::CondNode(_) | Hint::CondBegin | Hint::CondEnd => "node cond",
        Hint::ParBegin | Hint::ParEnd => "node par",
        Hint::LoopEnd => "node loop-end",
        Hint::AltEnd => "node alt-end",
    }
}
