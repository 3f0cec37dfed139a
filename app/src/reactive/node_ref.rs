//! References to elements of the page.

use std::marker::PhantomData;

use leptos::html::ElementType;
use send_wrapper::SendWrapper;
use web_sys::Element;
use web_sys::wasm_bindgen::JsCast;

use super::{Readable, RwSignal, Writable};

/// An element of the page, once it is there. `E` is a type of [`leptos::html`].
pub(crate) struct NodeRef<E> {
    element: RwSignal<Option<SendWrapper<Element>>>,
    kind: PhantomData<fn() -> E>,
}

impl<E> Clone for NodeRef<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for NodeRef<E> {}

impl<E> NodeRef<E>
where
    E: ElementType,
    E::Output: JsCast,
{
    pub(crate) fn new() -> Self {
        Self { element: RwSignal::new(None), kind: PhantomData }
    }

    /// The element; followed.
    pub(crate) fn get(self) -> Option<E::Output> {
        cast(self.element.get())
    }

    /// The element.
    pub(crate) fn get_untracked(self) -> Option<E::Output> {
        cast(self.element.get_untracked())
    }

    /// The element; `None` also if the reference was disposed.
    pub(crate) fn try_get_untracked(self) -> Option<E::Output> {
        cast(self.element.try_get_untracked().flatten())
    }

    /// Follows it.
    pub(crate) fn track(self) {
        self.element.track();
    }

    /// The element is there.
    pub(crate) fn load(self, element: &Element) {
        self.element.set(Some(SendWrapper::new(element.clone())));
    }
}

fn cast<N: JsCast>(element: Option<SendWrapper<Element>>) -> Option<N> {
    element.map(|element| element.take().unchecked_into())
}
