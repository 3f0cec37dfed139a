//! The bar between two parts: dragged by mouse, finger or pen, or moved with the arrow keys.
//!
//! It sizes the part after it. The initial size comes from the style sheet; only a move sets a
//! style, and only in the browser, because the content security policy refuses `style="…"` in the
//! server's HTML.

use leptos::ev::{KeyboardEvent, PointerEvent};
use leptos::html::Div;
use send_wrapper::SendWrapper;
use web_sys::{Element, HtmlElement};

use crate::html::{Html, html};
use crate::reactive::prelude::*;
use crate::size_observer::SizeObserver;

/// Minimum size of either part.
const MINIMUM_PX: f64 = 160.0;
/// How far an arrow key moves the bar, without and with Shift.
const STEP_PX: f64 = 16.0;
const LARGE_STEP_PX: f64 = 80.0;

/// The direction in which the bar moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// Left and right, between two columns.
    Horizontal,
    /// Up and down, between two rows.
    Vertical,
}

impl Axis {
    fn pointer(self, event: &PointerEvent) -> f64 {
        match self {
            Self::Horizontal => f64::from(event.client_x()),
            Self::Vertical => f64::from(event.client_y()),
        }
    }

    fn extent(self, element: &Element) -> f64 {
        let rectangle = element.get_bounding_client_rect();
        match self {
            Self::Horizontal => rectangle.width(),
            Self::Vertical => rectangle.height(),
        }
    }

    /// The separator is vertical where the parts are side by side.
    fn aria_orientation(self) -> &'static str {
        match self {
            Self::Horizontal => "vertical",
            Self::Vertical => "horizontal",
        }
    }
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Move {
    /// Grow the part after the bar by so many pixels; negative shrinks it.
    By(f64),
    /// The smallest allowed size.
    Smallest,
    /// The largest allowed size.
    Largest,
}

fn key_move(axis: Axis, key: &str, large: bool) -> Option<Move> {
    let step = if large { LARGE_STEP_PX } else { STEP_PX };
    match (axis, key) {
        // The part after the bar grows when the bar moves towards the one before it.
        (Axis::Horizontal, "ArrowLeft") | (Axis::Vertical, "ArrowUp") => Some(Move::By(step)),
        (Axis::Horizontal, "ArrowRight") | (Axis::Vertical, "ArrowDown") => Some(Move::By(-step)),
        (_, "Home") => Some(Move::Largest),
        (_, "End") => Some(Move::Smallest),
        _ => None,
    }
}

/// The allowed size closest to `wanted`: both parts keep their minimum, the first one takes
/// precedence.
fn clamp_size(wanted: f64, container: f64) -> f64 {
    wanted.min(container - MINIMUM_PX).max(MINIMUM_PX)
}

#[expect(clippy::cast_possible_truncation, reason = "pixels and percentages are small")]
fn to_whole(number: f64) -> i32 {
    number.round() as i32
}

/// `#resize-bar`; sizes `target`, which must be its next sibling.
#[component]
pub(crate) fn ResizeBar(
    axis: Axis,
    target: NodeRef<Div>,
    /// What the bar changes, for assistive technology.
    label: &'static str,
) -> Html {
    // Where a drag began: the pointer's position and the part's size.
    let drag = RwSignal::new(None::<(f64, f64)>);
    // Percentage of the whole, for assistive technology. 50 until it can be measured.
    let share = RwSignal::new(50);
    let measure = move |size: f64, whole: f64| {
        let now = to_whole(100.0 * size / whole.max(1.0)).clamp(0, 100);
        if share.get_untracked() != now {
            share.set(now);
        }
    };

    let resize = move |wanted: f64| {
        let Some(part) = target.get_untracked() else { return };
        let Some(container) = part.parent_element() else { return };
        let whole = axis.extent(&container);
        let size = clamp_size(wanted, whole);
        // Formatting a float takes 16 kB of code, and nobody needs half a pixel.
        let pixels = to_whole(size);
        let _ = HtmlElement::style(&part).set_property("flex-basis", &format!("{pixels}px"));
        measure(size, whole);
    };
    let size_now = move || target.get_untracked().map(|part| axis.extent(&part));
    let observer = StoredValue::new(None::<SendWrapper<SizeObserver>>);
    Effect::new(move |_| {
        let Some(part) = target.get() else { return };
        let Some(container) = part.parent_element() else { return };
        let whole = container.clone();
        let sizes = SizeObserver::new(&[&container, &part.clone()], move || {
            measure(axis.extent(&part), axis.extent(&whole));
        });
        observer.set_value(sizes.map(SendWrapper::new));
    });
    on_cleanup(move || observer.set_value(None));

    let start = move |event: PointerEvent| {
        if event.button() != 0 {
            return;
        }
        event.prevent_default();
        let bar = event_target::<HtmlElement>(&event);
        // Without capture a fast pointer leaves the bar behind. Fails if the pointer is gone, which
        // is fine.
        let _ = bar.set_pointer_capture(event.pointer_id());
        let _ = bar.focus();
        drag.set(size_now().map(|size| (axis.pointer(&event), size)));
    };
    let follow = move |event: PointerEvent| {
        if let Some((from, size)) = drag.get_untracked() {
            resize(size + from - axis.pointer(&event));
        }
    };
    let end = move |_: PointerEvent| drag.set(None);
    let press = move |event: KeyboardEvent| {
        let Some(step) = key_move(axis, &event.key(), event.shift_key()) else { return };
        event.prevent_default();
        match step {
            Move::By(pixels) => resize(size_now().unwrap_or_default() + pixels),
            Move::Smallest => resize(0.0),
            Move::Largest => resize(f64::MAX),
        }
    };

    html! {
        <div
            id="resize-bar"
            class="resize-bar"
            class:dragging=move || drag.get().is_some()
            role="separator"
            tabindex="0"
            aria-label=label
            aria-orientation=axis.aria_orientation()
            aria-valuemin="0"
            aria-valuemax="100"
            aria-valuenow=move || share.get().to_string()
            on:pointerdown=start
            on:pointermove=follow
            on:pointerup=end
            on:pointercancel=end
            on:keydown=press
        ></div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parts_keep_their_minimum() {
        for (wanted, container, size) in [
            (400.0, 1000.0, 400.0),
            (0.0, 1000.0, MINIMUM_PX),
            (f64::MAX, 1000.0, 1000.0 - MINIMUM_PX),
            (400.0, 100.0, MINIMUM_PX),
        ] {
            assert!((clamp_size(wanted, container) - size).abs() < 0.01, "{wanted} in {container}");
        }
    }

    #[test]
    fn arrow_keys_move_the_bar_the_way_they_point() {
        assert_eq!(key_move(Axis::Horizontal, "ArrowLeft", false), Some(Move::By(STEP_PX)));
        assert_eq!(key_move(Axis::Horizontal, "ArrowRight", true), Some(Move::By(-LARGE_STEP_PX)));
        assert_eq!(key_move(Axis::Vertical, "ArrowUp", false), Some(Move::By(STEP_PX)));
        assert_eq!(key_move(Axis::Vertical, "ArrowLeft", false), None);
        assert_eq!(key_move(Axis::Horizontal, "End", false), Some(Move::Smallest));
        assert_eq!(key_move(Axis::Horizontal, "Enter", false), None);
    }
}
