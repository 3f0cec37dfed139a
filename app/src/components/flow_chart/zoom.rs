//! How large a chart is in the page, and the buttons that change it.

use leptos::html::Div;
use leptos::prelude::*;
use web_sys::Element;

use crate::flow_chart::layout::Point;
use crate::flow_chart::zoom;

/// How large the chart is in its container.
#[derive(Clone, Copy)]
pub(super) struct Zoom {
    /// In percent.
    pub(super) percent: RwSignal<i32>,
    /// What scrolls, with the drawing in it.
    pub(super) container: NodeRef<Div>,
}

impl Zoom {
    /// Changes it, and keeps what is at `at` in the window, or else in the middle of the view.
    pub(super) fn set(self, percent: i32, at: Option<Point>) {
        let before = self.percent.get_untracked();
        let Some(container) = self.container.get_untracked() else { return };
        let Some(drawing) = container.first_element_child() else { return };
        if percent == before {
            return;
        }
        let (x, y) = at.unwrap_or_else(|| {
            let (x, y) = corner(&container);
            (x + container.client_width() / 2, y + container.client_height() / 2)
        });
        let (left, top) = corner(&drawing);
        let more_x = zoom::scroll(x - left, before, percent);
        let more_y = zoom::scroll(y - top, before, percent);
        let (from_x, from_y) = (container.scroll_left(), container.scroll_top());
        self.percent.set(percent);
        // There may be nothing to scroll to before the drawing has its new size.
        request_animation_frame(move || {
            container.set_scroll_left(from_x + more_x);
            container.set_scroll_top(from_y + more_y);
        });
    }

    /// A step larger or smaller.
    pub(super) fn step(self, larger: bool, at: Option<Point>) {
        self.set(zoom::step(self.percent.get_untracked(), larger), at);
    }

    /// Shows all of a chart of this size.
    pub(super) fn fit(self, chart: Point) {
        if let Some(container) = self.container.get_untracked() {
            self.set(zoom::fit(chart, view_size(&container)), None);
        }
    }

    /// Shows the beginning of a chart, and all of it if it stays readable.
    pub(super) fn open(self, chart: Point, first_x: i32) {
        Effect::new(move |_| {
            let Some(container) = self.container.get() else { return };
            let view = view_size(&container);
            if view.0 == 0 {
                return;
            }
            let percent = zoom::first(chart, view);
            self.percent.set(percent);
            request_animation_frame(move || {
                container.set_scroll_left(first_x * percent / 100 - view.0 / 2);
            });
        });
    }
}

/// The buttons that change it.
#[component]
pub(super) fn ZoomButtons(
    zoom: Zoom,
    /// The size of the chart.
    chart: Point,
) -> impl IntoView {
    view! {
        <div class="chart-zoom" role="group" aria-label="Zoom">
            <button type="button" aria-label="Zoom out" on:click=move |_| zoom.step(false, None)>
                "−"
            </button>
            <output>{move || zoom.percent.get()} "%"</output>
            <button type="button" aria-label="Zoom in" on:click=move |_| zoom.step(true, None)>
                "+"
            </button>
            <button type="button" aria-label="Fit to view" on:click=move |_| zoom.fit(chart)>
                "Fit"
            </button>
        </div>
    }
}

fn view_size(container: &Element) -> Point {
    (container.client_width(), container.client_height())
}

/// The upper left corner of an element in the window.
#[expect(clippy::cast_possible_truncation, reason = "pixels are small")]
fn corner(element: &Element) -> Point {
    let rectangle = element.get_bounding_client_rect();
    (rectangle.left() as i32, rectangle.top() as i32)
}
