//! Keeps the end of a conversation in view for as long as its reader wants to see it.

use std::rc::Rc;

use leptos::html::Div;
use send_wrapper::SendWrapper;
use web_sys::Element;
use web_sys::wasm_bindgen::JsCast;
use web_sys::wasm_bindgen::closure::Closure;

use crate::components::message_block::near::Near;
use crate::reactive::prelude::*;
use crate::size_observer::SizeObserver;
use crate::state::following::{Following, ViewPort};

/// The end of a conversation.
#[derive(Clone, Copy)]
pub(super) struct End {
    container: NodeRef<Div>,
    following: StoredValue<Following>,
    /// Number of blocks there were when the reader looked away from the end; `None` while following.
    pub(super) left_at: RwSignal<Option<usize>>,
    count: Signal<usize>,
}

impl End {
    /// Follows the end of `content`, which scrolls in `container`, and goes there whenever `to_end`
    /// changes.
    pub(super) fn follow(
        container: NodeRef<Div>,
        content: NodeRef<Div>,
        near: Option<Rc<Near>>,
        to_end: RwSignal<u64>,
        count: Signal<usize>,
    ) -> Self {
        let end = Self {
            container,
            following: StoredValue::new(Following::default()),
            left_at: RwSignal::new(None),
            count,
        };
        let near = near.map(SendWrapper::new);
        let observer = StoredValue::new(None::<SendWrapper<SizeObserver>>);
        Effect::new(move |_| {
            let (Some(container), Some(content)) = (container.get(), content.get()) else { return };
            let near = near.as_deref().cloned();
            if let Some(near) = &near {
                near.observe(&container);
            }
            let view = container.clone();
            let sizes = SizeObserver::new(&[&content, &container], move || {
                if let Some(near) = &near {
                    near.measure(&view);
                }
                end.keep();
            });
            observer.set_value(sizes.map(SendWrapper::new));
        });
        on_cleanup(move || observer.set_value(None));
        Effect::new(move |before: Option<u64>| {
            let wishes = to_end.get();
            if before.is_some_and(|before| before != wishes) {
                end.resume();
            }
            wishes
        });
        Effect::new(move |_| {
            let selection = SendWrapper::new(Selection::watch(end));
            on_cleanup(move || drop(selection));
        });
        end
    }

    /// The view has moved.
    pub(super) fn moved(self) {
        if let Some(element) = self.container.get_untracked() {
            self.change(|following| following.moved(measure(&element)));
        }
    }

    /// The wheel was turned: up if negative.
    pub(super) fn turned(self, distance: f64) {
        let can_move = self.container.get_untracked().is_some_and(|view| view.scroll_top() > 0);
        if distance < 0.0 && can_move {
            self.change(Following::stop);
        }
    }

    /// A key was pressed.
    pub(super) fn pressed(self, key: &str) {
        if matches!(key, "PageUp" | "Home" | "ArrowUp") {
            self.change(Following::stop);
        }
    }

    /// Somebody selects a text, and wants to keep it where it is.
    fn hold(self) {
        let is_following = self.following.try_get_value().is_some_and(Following::follows);
        if let Some(element) = self.container.try_get_untracked().filter(|_| is_following) {
            // When the content got shorter at the end, Chromium remembers where the view was before,
            // and goes back there as it grows again. A movement makes it forget that.
            let top = element.scroll_top();
            element.set_scroll_top(top - 1);
            element.set_scroll_top(top);
            self.change(Following::stop);
        }
    }

    fn resume(self) {
        self.change(Following::resume);
        self.keep();
    }

    /// Scrolls to the end, if the reader wants to see it.
    fn keep(self) {
        let Some(element) = self.container.try_get_untracked() else { return };
        if self.following.try_get_value().is_some_and(Following::follows) {
            element.set_scroll_top(element.scroll_height());
        }
        self.following.try_update_value(|following| following.resized(measure(&element)));
    }

    fn change(self, change: impl FnOnce(&mut Following)) {
        self.following.update_value(change);
        let follows = self.following.get_value().follows();
        if follows != self.left_at.with_untracked(Option::is_none) {
            self.left_at.set((!follows).then(|| self.count.get_untracked()));
        }
    }
}

fn measure(element: &Element) -> ViewPort {
    ViewPort {
        top: element.scroll_top(),
        height: element.client_height(),
        content: element.scroll_height(),
    }
}

/// Stops following while somebody selects a text: who does wants to keep it in view.
struct Selection(Closure<dyn FnMut()>);

/// The event of the document, which does not reach its window.
const SELECTION_CHANGE: &str = "selectionchange";

impl Selection {
    fn watch(end: End) -> Self {
        let closure = Closure::new(move || {
            let Ok(Some(selection)) = window().get_selection() else { return };
            if !selection.is_collapsed()
                && let Some(container) = end.container.try_get_untracked()
                && container.contains(selection.anchor_node().as_ref())
            {
                end.hold();
            }
        });
        let listener = closure.as_ref().unchecked_ref();
        // Cannot fail for a document.
        let _ = document().add_event_listener_with_callback(SELECTION_CHANGE, listener);
        Self(closure)
    }
}

impl Drop for Selection {
    fn drop(&mut self) {
        let listener = self.0.as_ref().unchecked_ref();
        let _ = document().remove_event_listener_with_callback(SELECTION_CHANGE, listener);
    }
}
