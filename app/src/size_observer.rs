//! Tells when elements get another size.

use web_sys::wasm_bindgen::JsCast;
use web_sys::wasm_bindgen::closure::Closure;
use web_sys::{Element, ResizeObserver};

/// Observes elements until it is dropped.
pub(crate) struct SizeObserver {
    inner: ResizeObserver,
    _closure: Closure<dyn FnMut()>,
}

impl SizeObserver {
    /// Calls `changed` when these elements get another size, and once at first: after the layout and
    /// before it is drawn, so that nothing is seen to jump. `None` in browsers that can't observe.
    pub(crate) fn new(elements: &[&Element], changed: impl FnMut() + 'static) -> Option<Self> {
        let closure = Closure::<dyn FnMut()>::new(changed);
        let inner = ResizeObserver::new(closure.as_ref().unchecked_ref()).ok()?;
        for element in elements {
            inner.observe(element);
        }
        Some(Self { inner, _closure: closure })
    }
}

impl Drop for SizeObserver {
    fn drop(&mut self) {
        self.inner.disconnect();
    }
}
