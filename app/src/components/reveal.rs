//! Scrolls to what a reader follows.

use web_sys::Element;

/// So many pixels from its border, an element still counts as out of view.
const MARGIN_PX: f64 = 24.0;

/// Brings an element to the middle of what scrolls, unless it is in view already.
#[expect(clippy::cast_possible_truncation, reason = "pixels are small")]
pub(crate) fn reveal(container: &Element, element: &Element) {
    let (view, place) = (container.get_bounding_client_rect(), element.get_bounding_client_rect());
    if view.height() == 0.0 {
        return;
    }
    if place.top() < view.top() + MARGIN_PX || place.bottom() > view.bottom() - MARGIN_PX {
        let middle = (place.top() + place.bottom() - view.top() - view.bottom()) / 2.0;
        container.set_scroll_top(container.scroll_top() + middle as i32);
    }
    if place.left() < view.left() + MARGIN_PX || place.right() > view.right() - MARGIN_PX {
        let middle = (place.left() + place.right() - view.left() - view.right()) / 2.0;
        container.set_scroll_left(container.scroll_left() + middle as i32);
    }
}
