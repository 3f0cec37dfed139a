//! Keeps the page above the keyboard on a touch screen, which most browsers put over it.

use send_wrapper::SendWrapper;
use web_sys::js_sys::Reflect;
use web_sys::wasm_bindgen::closure::Closure;
use web_sys::wasm_bindgen::{JsCast, JsValue};
use web_sys::{EventTarget, HtmlElement};

use crate::reactive::prelude::*;

/// The height that the style sheets give to the page; without it, that of the window.
const PROPERTY: &str = "--visible-height";

/// Less than this is no keyboard: bars of the browser come and go.
const LEAST_PX: f64 = 80.0;

/// Follows the part of the window that is visible, as long as the page is shown.
pub(super) fn follow_keyboard() {
    // Effects run in the browser only.
    Effect::new(|_| {
        let Some(viewport) = visual_viewport() else { return };
        let seen = viewport.clone();
        let look = Closure::<dyn Fn()>::new(move || adapt(&seen));
        let listener = look.as_ref().unchecked_ref();
        // Adding a listener cannot fail.
        let _ = viewport.add_event_listener_with_callback("resize", listener);
        adapt(&viewport);
        let kept = SendWrapper::new((viewport, look));
        on_cleanup(move || {
            let (viewport, look) = kept.take();
            let listener = look.as_ref().unchecked_ref();
            let _ = viewport.remove_event_listener_with_callback("resize", listener);
            set_height(None);
        });
    });
}

fn visual_viewport() -> Option<EventTarget> {
    Reflect::get(&window(), &JsValue::from_str("visualViewport")).ok()?.dyn_into().ok()
}

fn adapt(viewport: &EventTarget) {
    let number = |object: &JsValue, name: &str| {
        Reflect::get(object, &JsValue::from_str(name)).ok().and_then(|it| it.as_f64())
    };
    let whole = number(&window(), "innerHeight").unwrap_or_default();
    let visible = number(viewport, "height").unwrap_or(whole);
    let height = left_by_keyboard(whole, visible, number(viewport, "scale").unwrap_or(1.0));
    set_height(height);
    if height.is_some() {
        // The browser may have moved the page to show the box, which is in view now.
        window().scroll_to_with_x_and_y(0.0, 0.0);
    }
}

/// The height that a keyboard leaves. `None` if there is none: whoever enlarges the page sees less of
/// it, too.
#[expect(clippy::cast_possible_truncation, reason = "pixels of a window are few")]
fn left_by_keyboard(whole: f64, visible: f64, scale: f64) -> Option<i32> {
    let is_enlarged = (scale - 1.0).abs() > 0.05;
    (!is_enlarged && whole - visible > LEAST_PX).then_some(visible as i32)
}

fn set_height(height: Option<i32>) {
    let root = document().document_element().and_then(|root| root.dyn_into::<HtmlElement>().ok());
    let Some(root) = root else { return };
    let _ = match height {
        Some(height) => HtmlElement::style(&root).set_property(PROPERTY, &format!("{height}px")),
        None => HtmlElement::style(&root).remove_property(PROPERTY).map(|_| ()),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_keyboard_makes_the_page_lower() {
        for (whole, visible, scale, left) in [
            (844.0, 844.0, 1.0, None),
            (844.0, 790.0, 1.0, None),
            (844.0, 508.4, 1.0, Some(508)),
            (844.0, 422.0, 2.0, None),
            (844.0, 508.0, 1.01, Some(508)),
        ] {
            assert_eq!(left_by_keyboard(whole, visible, scale), left, "{visible} of {whole}");
        }
    }
}
