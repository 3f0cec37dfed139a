//! The flow chart of a job: its tasks, how far each of them is, and which one is looked at.

mod draw;
mod zoom;

use leptos::ev::{KeyboardEvent, MouseEvent, PointerEvent, TouchEvent, WheelEvent};
use leptos::html::Div;
use leptos::prelude::*;
use web_sys::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};
use wire::chart::Chart;

use crate::flow_chart::focus;
use crate::flow_chart::layout::{Layout, Place, lay_out};
use crate::flow_chart::zoom::Pinch;
use draw::{Asks, draw_link, draw_node};
use zoom::{Zoom, ZoomButtons};

pub use draw::NodeStatus;

/// `#chart-container` and the buttons that zoom. The chart itself is drawn once; what changes of a
/// node changes there only.
#[component]
pub fn FlowChart(
    /// What to draw.
    chart: Chart,
    /// How far the task of a work is; tracked.
    #[prop(into)]
    status: Callback<u32, Option<NodeStatus>>,
    /// For how long it has been running; tracked.
    #[prop(optional, into)]
    elapsed: Option<Callback<u32, Option<String>>>,
    /// The work that is looked at. Choosing a node again chooses none.
    selected: RwSignal<Option<u32>>,
    /// Whether nodes can be chosen.
    interactive: bool,
) -> impl IntoView {
    let layout = lay_out(&chart);
    let size = (layout.width, layout.height);
    let container = NodeRef::<Div>::new();
    let zoom = Zoom { percent: RwSignal::new(100), container };
    zoom.open(size, layout.nodes.first().map_or(0, |first| first.x));
    let tasks = StoredValue::new(task_places(&chart, &layout));

    let asks = Asks { status, elapsed, selected, interactive };
    let nodes = chart.nodes.into_iter().zip(layout.nodes);
    let nodes = nodes.map(|(node, place)| draw_node(node, place, asks)).collect_view();
    let links = layout.links.into_iter().map(draw_link).collect_view();
    let view_box = format!("0 0 {} {}", size.0, size.1);
    let pinch = StoredValue::new(Pinch::default());

    let toggle = move |id: u32| {
        selected.update(|selected| *selected = (*selected != Some(id)).then_some(id));
    };
    let click = move |event: MouseEvent| {
        if let Some(id) = work_at(&event_target::<Element>(&event)).filter(|_| interactive) {
            toggle(id);
        }
    };
    let press = move |event: KeyboardEvent| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() {
            return;
        }
        let id = work_at(&event_target::<Element>(&event)).filter(|_| interactive);
        match (event.key().as_str(), id) {
            ("Enter" | " ", Some(id)) => toggle(id),
            ("+" | "=", _) => zoom.step(true, None),
            ("-", _) => zoom.step(false, None),
            ("0", _) => zoom.fit(size),
            (key, Some(id)) => {
                let Some(next) = tasks.with_value(|tasks| neighbour(tasks, id, key)) else {
                    return;
                };
                focus_work(container, next);
            }
            _ => return,
        }
        event.prevent_default();
    };
    let wheel = move |event: WheelEvent| {
        if event.ctrl_key() {
            event.prevent_default();
            let at = Some((event.client_x(), event.client_y()));
            let down = event.delta_y();
            // Sideways it means nothing.
            if down != 0.0 {
                zoom.step(down < 0.0, at);
            }
        }
    };
    let touch = move |event: PointerEvent| {
        // A mouse can leave the chart without a word, and has one pointer only.
        if event.pointer_type() != "mouse" {
            let at = (event.client_x(), event.client_y());
            let percent = zoom.percent.get_untracked();
            pinch.update_value(|pinch| pinch.press(event.pointer_id(), at, percent));
        }
    };
    let follow = move |event: PointerEvent| {
        let at = (event.client_x(), event.client_y());
        let change = pinch.try_update_value(|pinch| pinch.follow(event.pointer_id(), at));
        if let Some((percent, centre)) = change.flatten() {
            zoom.set(percent, Some(centre));
        }
    };
    let lift = move |event: PointerEvent| {
        pinch.update_value(|pinch| pinch.lift(event.pointer_id()));
    };
    // One finger scrolls; two must not, or the browser takes them away from the chart.
    let keep_fingers = move |event: TouchEvent| {
        if event.cancelable() && pinch.with_value(Pinch::is_active) {
            event.prevent_default();
        }
    };
    let scaled = move |length: i32| move || length * zoom.percent.get() / 100;

    view! {
        <div class="flow-chart" class:interactive=interactive>
            <div
                id="chart-container"
                node_ref=container
                tabindex="0"
                role="region"
                aria-label="Flow chart"
                on:click=click
                on:keydown=press
                on:wheel=wheel
                on:pointerdown=touch
                on:pointermove=follow
                on:pointerup=lift
                on:pointercancel=lift
                on:touchmove=keep_fingers
            >
                <svg viewBox=view_box width=scaled(size.0) height=scaled(size.1)>
                    <g class="arrows">{links}</g>
                    {nodes}
                </svg>
            </div>
            <ZoomButtons zoom=zoom chart=size />
        </div>
    }
}

/// The work whose node was hit.
fn work_at(element: &Element) -> Option<u32> {
    let node = element.closest("[data-work-id]").ok().flatten()?;
    node.get_attribute("data-work-id")?.parse().ok()
}

fn focus_work(container: NodeRef<Div>, id: u32) {
    let selector = format!("[data-work-id=\"{id}\"]");
    let container = container.get_untracked();
    let node = container.and_then(|it| it.query_selector(&selector).ok().flatten());
    if let Some(node) = node {
        // Not an HTML element, but it takes the focus in the same way.
        let _ = node.unchecked_into::<HtmlElement>().focus();
    }
}

/// Where the nodes of tasks lie, by work id.
fn task_places(chart: &Chart, layout: &Layout) -> Vec<(u32, Place)> {
    let nodes = chart.nodes.iter().zip(&layout.nodes);
    nodes.filter_map(|(node, &place)| Some((node.hint.work_id()?, place))).collect()
}

fn neighbour(tasks: &[(u32, Place)], id: u32, key: &str) -> Option<u32> {
    let &(_, from) = tasks.iter().find(|(other, _)| *other == id)?;
    focus::neighbour(from, key, tasks.iter().copied())
}

#[cfg(test)]
mod tests {
    use wire::entry::{Job, Work};

    use super::*;

    fn task(name: &str, work_id_in_job: u32) -> Work {
        Work::Ref { task_id: name.to_owned(), work_id_in_job, model_override: None }
    }

    /// The first task has succeeded, the second runs and is selected.
    fn html(interactive: bool) -> String {
        let body = Work::Par { works: vec![task("<one>", 1), task("two", 2)] };
        let work = Work::Alt {
            condition: Box::new(task("if", 0)),
            true_work: Some(Box::new(body)),
            false_work: None,
        };
        let chart = Chart::of(&Job { require_user_input: false, work });
        let status = |id| match id {
            0 => Some(NodeStatus::Succeeded),
            1 => Some(NodeStatus::Running),
            _ => None,
        };
        Owner::new().with(|| {
            let selected = RwSignal::new(Some(1));
            view! {
                <FlowChart
                    chart=chart
                    status=Callback::new(status)
                    elapsed=Callback::new(|id| (id == 1).then(|| "0:07".to_owned()))
                    selected=selected
                    interactive=interactive
                />
            }
            .to_html()
        })
    }

    #[test]
    fn every_node_is_drawn_with_its_status() {
        let html = html(true);
        assert_eq!(html.matches("class=\"node ").count(), 6, "{html}");
        assert_eq!(html.matches("role=\"button\"").count(), 3, "{html}");
        for part in [
            "aria-label=\"if: succeeded\"",
            "aria-label=\"two\"",
            "<title>&lt;one&gt;: running",
            "data-work-id=\"2\"",
            "aria-pressed=\"true\"",
            ">0:07",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let selected = html.split("<g ").find(|g| g.contains("data-work-id=\"1\""));
        let selected = selected.expect("the selected node");
        assert!(selected.contains("selected") && selected.contains("running"), "{selected}");
        assert!(!html.contains("style="), "the policy refuses styles");
    }

    #[test]
    fn a_preview_has_nothing_to_press() {
        let html = html(false);
        assert!(!html.contains("role=\"button\"") && !html.contains("aria-pressed"), "{html}");
        assert_eq!(html.matches("<g ").count(), html.matches("</g>").count());
    }
}
