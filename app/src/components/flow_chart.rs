//! The flow chart of a job: its tasks, their statuses, and which one is selected.

mod zoom;

use leptos::ev::{KeyboardEvent, MouseEvent, PointerEvent, TouchEvent, WheelEvent};
use leptos::html::Div;
use web_sys::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};
use wire::chart::Chart;

use super::reveal::reveal;
use crate::flow_chart::draw::{class, draw};
use crate::flow_chart::focus;
use crate::flow_chart::layout::{Layout, Place, Point, lay_out};
use crate::flow_chart::look::{Look, mark, past_mark};
use crate::flow_chart::zoom::Pinch;
use crate::html::{Html, html};
use crate::reactive::prelude::*;
use zoom::{Zoom, ZoomButtons};

pub use crate::flow_chart::look::NodeStatus;

/// A mouse that moves less does not drag.
const CLICK_PX: i32 = 4;

/// Brings a work into view when it becomes the one that is followed, or the chart is shown.
fn keep_in_view(container: NodeRef<Div>, followed: Signal<Option<u32>>, is_shown: Signal<bool>) {
    Effect::new(move |_| {
        if let (true, Some(work), Some(container)) =
            (is_shown.get(), followed.get(), container.get())
        {
            // The chart may be about to be shown, and to get its size.
            request_animation_frame(move || {
                if let Some(node) = find_work(&container, work) {
                    reveal(&container, &node);
                }
            });
        }
    });
}

/// Begins to drag the chart with the mouse, or to pinch it with fingers.
fn grab(
    container: NodeRef<Div>,
    (drag, pinch, zoom): (StoredValue<Option<Drag>>, StoredValue<Pinch>, Zoom),
    event: &PointerEvent,
) {
    let at = (event.client_x(), event.client_y());
    if event.pointer_type() == "mouse" {
        let container = container.get_untracked().filter(|_| event.button() == 0);
        drag.set_value(container.map(|it| Drag::begin(&it, at)));
    } else {
        pinch.update_value(|pinch| pinch.press(event.pointer_id(), at, zoom.now()));
    }
}

/// Zooms with a key. Returns whether it is one of those.
fn press_zoom(zoom: Zoom, key: &str) -> bool {
    match key {
        "+" | "=" => zoom.step(true, None),
        "-" => zoom.step(false, None),
        "0" => zoom.fit(),
        _ => return false,
    }
    true
}

/// Zooms with Ctrl and the wheel.
fn turn_wheel(zoom: Zoom, event: &WheelEvent) {
    let down = event.delta_y();
    if !event.ctrl_key() {
        return;
    }
    event.prevent_default();
    // Sideways scrolling does not zoom.
    if down != 0.0 {
        zoom.step(down < 0.0, Some((event.client_x(), event.client_y())));
    }
}

/// `#chart-container` and the zoom buttons. The chart is drawn once, without any status; later
/// changes of a node are applied to that node only, in the browser.
#[component]
pub(crate) fn FlowChart(
    /// The chart to draw.
    chart: Chart,
    /// The status of a work's task; tracked.
    #[prop(into)]
    status: Callback<u32, Option<NodeStatus>>,
    /// How long it has been running; tracked.
    #[prop(optional, into)]
    elapsed: Option<Callback<u32, Option<String>>>,
    /// The selected work.
    #[prop(into)]
    selected: Signal<Option<u32>>,
    /// Called with the work of a node that is pressed.
    on_select: Callback<u32>,
    /// The work that is kept in view.
    #[prop(into)]
    followed: Signal<Option<u32>>,
    /// Called when the reader moves the chart.
    on_move: Callback<()>,
    /// Whether the chart can be seen.
    is_shown: Signal<bool>,
    /// Whether nodes can be selected.
    interactive: bool,
) -> Html {
    let layout = lay_out(&chart);
    let drawing = draw(&chart, &layout, interactive);
    let container = NodeRef::<Div>::new();
    let zoom = Zoom::new(container, (layout.width, layout.height));
    let tasks = StoredValue::new(task_places(&chart, &layout));
    zoom.open(layout.nodes.first().map_or(0, |first| first.x), is_shown);
    keep_in_view(container, followed, is_shown);
    for node in chart.nodes {
        let Some(id) = node.hint.work_id() else { continue };
        let look = move || Look {
            status: status.run(id),
            elapsed: elapsed.and_then(|elapsed| elapsed.run(id)),
            selected: selected.get() == Some(id),
        };
        follow_look(container, id, class(node.hint), node.label.unwrap_or_default(), look);
    }
    let pinch = StoredValue::new(Pinch::default());
    let drag = StoredValue::new(None::<Drag>);

    let toggle = move |id: u32| on_select.run(id);
    let click = move |event: MouseEvent| {
        // What ends a drag selects nothing.
        if drag.try_update_value(Option::take).flatten().is_some_and(|drag| drag.moves) {
            return;
        }
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
            ("ArrowUp" | "ArrowDown" | "PageUp" | "PageDown" | "Home" | "End", None) => {
                return on_move.run(());
            }
            (key, _) if press_zoom(zoom, key) => {}
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
        on_move.run(());
        turn_wheel(zoom, &event);
    };
    let touch = move |event: PointerEvent| grab(container, (drag, pinch, zoom), &event);
    let follow = move |event: PointerEvent| {
        let at = (event.client_x(), event.client_y());
        if event.pointer_type() != "mouse" {
            let change = pinch.try_update_value(|pinch| pinch.follow(event.pointer_id(), at));
            if let Some((percent, centre)) = change.flatten() {
                zoom.set(percent, Some(centre));
            }
        } else if event.buttons() & 1 != 0 {
            // Otherwise it left the chart without an event, and its button is up by now.
            let moved = drag.try_update_value(|drag| {
                drag.as_mut().is_some_and(|drag| drag.follow(container, at, event.pointer_id()))
            });
            if moved == Some(true) {
                on_move.run(());
            }
        }
    };
    let lift = move |event: PointerEvent| {
        pinch.update_value(|pinch| pinch.lift(event.pointer_id()));
    };
    // One finger scrolls; two must not, or the browser takes the gesture away from the chart.
    let keep_fingers = move |event: TouchEvent| {
        on_move.run(());
        if event.cancelable() && pinch.with_value(Pinch::is_active) {
            event.prevent_default();
        }
    };

    html! {
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
                inner_html=drawing
            ></div>
            <ZoomButtons zoom=zoom />
        </div>
    }
}

/// A mouse that drags the chart.
struct Drag {
    /// Where it began, and how far the chart was scrolled then.
    from: Point,
    scroll: Point,
    /// Whether it has moved further than a click does.
    moves: bool,
}

impl Drag {
    fn begin(container: &Element, from: Point) -> Self {
        Self { from, scroll: (container.scroll_left(), container.scroll_top()), moves: false }
    }

    /// Moves the chart along. Returns whether it has moved.
    fn follow(&mut self, container: NodeRef<Div>, at: Point, pointer: i32) -> bool {
        let Some(container) = container.get_untracked() else { return false };
        let (dx, dy) = (at.0 - self.from.0, at.1 - self.from.1);
        if !self.moves && dx.abs().max(dy.abs()) >= CLICK_PX {
            self.moves = true;
            // Without it the drag ends at the border of the chart.
            let _ = container.set_pointer_capture(pointer);
        }
        if self.moves {
            container.set_scroll_left(self.scroll.0 - dx);
            container.set_scroll_top(self.scroll.1 - dy);
        }
        self.moves
    }
}

/// Keeps the node of a work in sync with `look`.
fn follow_look(
    container: NodeRef<Div>,
    id: u32,
    kind: &'static str,
    label: String,
    look: impl Fn() -> Look + 'static,
) {
    Effect::new(move |before: Option<Look>| {
        let before = before.unwrap_or_default();
        let Some(container) = container.get() else { return before };
        let now = look();
        if now != before
            && let Some(node) = find_work(&container, id)
        {
            show_look(&node, kind, &label, &now);
        }
        now
    });
}

fn show_look(node: &Element, kind: &str, label: &str, look: &Look) {
    let part = |selector: &str| node.query_selector(selector).ok().flatten();
    // Setting an attribute with a valid name cannot fail.
    let _ = node.set_attribute("class", &look.class(kind));
    let description = look.description(label);
    let _ = node.set_attribute("aria-label", &description);
    if node.has_attribute("aria-pressed") {
        let pressed = if look.selected { "true" } else { "false" };
        let _ = node.set_attribute("aria-pressed", pressed);
    }
    if let Some(shape) = part(".shape") {
        show_selection(&shape, look.selected);
    }
    if let Some(title) = part("title") {
        title.set_text_content(Some(&description));
    }
    if let Some(path) = part(".mark") {
        let state = look.status.as_ref().map(|status| status.state);
        let _ = path.set_attribute("d", state.map_or("", mark));
    }
    if let Some(path) = part(".past-mark") {
        let shape = look.status.as_ref().and_then(|status| status.past).map_or("", past_mark);
        let _ = path.set_attribute("d", shape);
    }
    if let Some(elapsed) = part(".elapsed") {
        elapsed.set_text_content(look.caption().as_deref());
    }
}

/// Scripts read the selection from the style of the shape. It is set here because the content
/// security policy refuses styles in the server's HTML.
fn show_selection(shape: &Element, selected: bool) {
    if selected {
        // An SVG element, but it has a `style` like an HTML element.
        let style = HtmlElement::style(shape.unchecked_ref());
        let _ = style.set_property("stroke-width", "5px");
    } else {
        let _ = shape.remove_attribute("style");
    }
}

/// The work whose node contains the element.
fn work_at(element: &Element) -> Option<u32> {
    let node = element.closest("[data-work-id]").ok().flatten()?;
    node.get_attribute("data-work-id")?.parse().ok()
}

/// The node of a work.
fn find_work(container: &Element, id: u32) -> Option<Element> {
    container.query_selector(&format!("[data-work-id=\"{id}\"]")).ok().flatten()
}

fn focus_work(container: NodeRef<Div>, id: u32) {
    let container = container.get_untracked();
    if let Some(node) = container.and_then(|container| find_work(&container, id)) {
        // An SVG element, but it takes the focus like an HTML element.
        let _ = node.unchecked_into::<HtmlElement>().focus();
    }
}

/// The positions of the task nodes, by work id.
fn task_places(chart: &Chart, layout: &Layout) -> Vec<(u32, Place)> {
    let nodes = chart.nodes.iter().zip(&layout.nodes);
    nodes.filter_map(|(node, &place)| Some((node.hint.work_id()?, place))).collect()
}

fn neighbour(tasks: &[(u32, Place)], id: u32, key: &str) -> Option<u32> {
    let &(_, from) = tasks.iter().find(|(other, _)| *other == id)?;
    focus::neighbour(from, key, tasks.iter().copied())
}
