//! The zoom of a chart, and the buttons that change it.

use leptos::html::Div;
use web_sys::Element;

use crate::flow_chart::layout::Point;
use crate::flow_chart::zoom;
use crate::html::{Html, html};
use crate::reactive::prelude::*;

/// The zoom of a chart in its container.
#[derive(Clone, Copy)]
pub(super) struct Zoom {
    /// 100 is the chart's own size.
    percent: RwSignal<i32>,
    /// The scrolling element that contains the drawing.
    container: NodeRef<Div>,
    /// The chart's own size, in pixels.
    size: Point,
}

impl Zoom {
    /// A chart at 100 %.
    pub(super) fn new(container: NodeRef<Div>, size: Point) -> Self {
        Self { percent: RwSignal::new(100), container, size }
    }

    /// The current zoom in percent.
    pub(super) fn now(self) -> i32 {
        self.percent.get_untracked()
    }

    /// Changes the zoom, and keeps the point `at` of the window in place, or else the centre of the
    /// view.
    pub(super) fn set(self, percent: i32, at: Option<Point>) {
        let before = self.now();
        let Some(container) = self.container.get_untracked() else { return };
        let Some(drawing) = container.first_element_child() else { return };
        if percent == before {
            return;
        }
        let (x, y) = at.unwrap_or_else(|| {
            let (x, y) = corner(&container);
            let (width, height) = view_size(&container);
            (x + width / 2, y + height / 2)
        });
        let (left, top) = corner(&drawing);
        self.percent.set(percent);
        // Applied at once: the next finger may move before the page is redrawn.
        for (name, length) in [("width", self.size.0), ("height", self.size.1)] {
            // Setting an attribute with a valid name cannot fail.
            let _ = drawing.set_attribute(name, &(length * percent / 100).to_string());
        }
        let (new_left, new_top) = corner(&drawing);
        let more_x = new_left - left + zoom::scroll(x - left, before, percent);
        let more_y = new_top - top + zoom::scroll(y - top, before, percent);
        container.set_scroll_left(container.scroll_left() + more_x);
        container.set_scroll_top(container.scroll_top() + more_y);
    }

    /// Zooms in or out by one step.
    pub(super) fn step(self, larger: bool, at: Option<Point>) {
        self.set(zoom::step(self.now(), larger), at);
    }

    /// Shows all of the chart.
    pub(super) fn fit(self) {
        if let Some(container) = self.container.get_untracked() {
            self.set(zoom::fit(self.size, view_size(&container)), None);
        }
    }

    /// Shows the beginning of the chart, at `first_x`, as soon as the chart is shown.
    pub(super) fn open(self, first_x: i32, is_shown: Signal<bool>) {
        Effect::new(move |was_open: Option<bool>| {
            let is_open = was_open.unwrap_or_default();
            let Some(container) = self.container.get().filter(|_| is_shown.get()) else {
                return is_open;
            };
            let view = view_size(&container);
            if is_open || view.0 == 0 {
                return is_open;
            }
            let percent = zoom::first(self.size.0, view.0);
            self.set(percent, None);
            container.set_scroll_left(first_x * percent / 100 - view.0 / 2);
            container.set_scroll_top(0);
            true
        });
    }
}

/// The buttons that change the zoom.
#[component]
pub(super) fn ZoomButtons(zoom: Zoom) -> Html {
    html! {
        <div class="chart-zoom" role="group" aria-label="Zoom">
            <button type="button" aria-label="Zoom out" title="Zoom out" on:click=move |_| zoom.step(false, None)>
                "−"
            </button>
            <output>{move || zoom.percent.get()} "%"</output>
            <button type="button" aria-label="Zoom in" title="Zoom in" on:click=move |_| zoom.step(true, None)>
                "+"
            </button>
            <button
                type="button"
                aria-label="Fit to view"
                title="Fit to view"
                on:click=move |_| zoom.fit()
            >
                "Fit"
            </button>
        </div>
    }
}

fn view_size(container: &Element) -> Point {
    (container.client_width(), container.client_height())
}

/// The top left corner of an element in the window.
#[expect(clippy::cast_possible_truncation, reason = "pixels are small")]
fn corner(element: &Element) -> Point {
    let rectangle = element.get_bounding_client_rect();
    (rectangle.left() as i32, rectangle.top() as i32)
}
