//! What opens from a button, and is closed by doing something else.

use leptos::ev;
use leptos::html::Div;
use web_sys::Node;
use web_sys::wasm_bindgen::JsCast;

use crate::reactive::prelude::*;

/// Closes what is open when something outside of `anchor` is pressed, or Escape, which then does
/// nothing else.
pub(super) fn close_with(is_open: RwSignal<bool>, anchor: NodeRef<Div>) {
    // Effects run in the browser only. What they add is removed before they run again.
    Effect::new(move |_| {
        if !is_open.get() {
            return;
        }
        let pressed = window_event_listener(ev::pointerdown, move |event| {
            let target = event.target().and_then(|target| target.dyn_into::<Node>().ok());
            let anchor = anchor.get_untracked();
            if !anchor.is_some_and(|anchor| anchor.contains(target.as_ref())) {
                is_open.set(false);
            }
        });
        let typed = window_event_listener(ev::keydown, move |event| {
            if event.key() == "Escape" && !event.default_prevented() {
                event.prevent_default();
                is_open.set(false);
            }
        });
        on_cleanup(move || {
            pressed.remove();
            typed.remove();
        });
    });
}

/// Whether something is open that Escape closes.
pub(super) fn is_any_open() -> bool {
    let open =
        "dialog[open], .sidebar.open, .menu.open, .session-tools.open, .composer-choices.open";
    document().query_selector(open).ok().flatten().is_some()
}
