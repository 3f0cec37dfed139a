//! Renders the Markdown of the blocks near the view. All others stay plain text, which costs next to
//! nothing and is still found by the browser's search.
//!
//! ```text
//!  block ─ watch ─► observer ─ comes near ─► wanted ─ some at a time ─► api/markdown
//!    ▲                                                                      │
//!    └──────────────────── shown, a few milliseconds at a time ◄────────────┘
//! ```

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use send_wrapper::SendWrapper;
use web_sys::js_sys::{Array, Date, Map};
use web_sys::wasm_bindgen::closure::Closure;
use web_sys::wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry, IntersectionObserverInit};

use crate::api::{ApiError, markdown};
use crate::poll::sleep;
use crate::reactive::prelude::*;
use crate::state::height::characters_per_line;

/// How far out of view a block is rendered, in heights of the view.
const MARGIN: &str = "150% 0px";
/// The most texts of a request, and the size from which on no other is added.
const TEXTS: usize = 16;
const BYTES: usize = 128 * 1024;
/// How long blocks are shown without a break for what people do, in milliseconds.
const SLICE_MS: f64 = 8.0;
/// How long to wait after the server could not be reached.
const AGAIN: Duration = Duration::from_secs(2);
/// The average width of a character of the transcript, in pixels.
const CHARACTER_PX: u32 = 7;

/// The blocks of a transcript that wait to be rendered.
#[derive(Default)]
pub(crate) struct Near {
    observer: RefCell<Option<Observer>>,
    blocks: RefCell<HashMap<u32, Watched>>,
    /// The numbers of blocks near the view, the most urgent last.
    wanted: RefCell<Vec<u32>>,
    last: Cell<u32>,
    is_busy: Cell<bool>,
    characters: Cell<u32>,
}

struct Watched {
    element: Element,
    /// What to render; `None` if that is no longer wanted.
    text: Box<dyn Fn() -> Option<String>>,
    /// Takes the HTML, or null.
    show: Box<dyn Fn(JsValue)>,
}

struct Observer {
    inner: IntersectionObserver,
    /// The numbers of the observed elements.
    numbers: Map,
    _closure: Closure<dyn FnMut(Array)>,
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.inner.disconnect();
    }
}

/// What [`Near::provide`] puts into the context.
#[derive(Clone)]
struct Shared(Option<SendWrapper<Rc<Near>>>);

impl Near {
    /// Provides one for the blocks of the calling component. There is none on the server, which
    /// renders no transcripts.
    pub(crate) fn provide() -> Option<Rc<Self>> {
        let near = cfg!(feature = "hydrate").then(|| Rc::new(Self::default()));
        provide_context(Shared(near.clone().map(SendWrapper::new)));
        if let Some(near) = near.clone() {
            let near = SendWrapper::new(near);
            on_cleanup(move || {
                near.observer.replace(None);
                near.blocks.borrow_mut().clear();
            });
        }
        near
    }

    /// The one of the transcript around the calling component.
    pub(super) fn of_transcript() -> Option<Rc<Self>> {
        use_context::<Shared>()?.0.map(SendWrapper::take)
    }

    /// Begins to look which blocks come near the visible part of `container`.
    pub(crate) fn observe(self: &Rc<Self>, container: &Element) {
        self.measure(container);
        let options = IntersectionObserverInit::new();
        options.set_root(Some(container));
        options.set_root_margin(MARGIN);
        let near = Rc::downgrade(self);
        let closure = Closure::new(move |entries: Array| {
            if let Some(near) = near.upgrade() {
                near.take(&entries);
            }
        });
        let callback = closure.as_ref().unchecked_ref();
        // Fails only for a margin that can't be parsed.
        let Ok(inner) = IntersectionObserver::new_with_options(callback, &options) else { return };
        let observer = Observer { inner, numbers: Map::new(), _closure: closure };
        for (number, block) in &*self.blocks.borrow() {
            observer.add(&block.element, *number);
        }
        self.observer.replace(Some(observer));
    }

    /// Takes the width of the transcript, which heights are estimated with.
    pub(crate) fn measure(&self, container: &Element) {
        let width = u32::try_from(container.client_width()).unwrap_or_default();
        // The column is not wider, however wide the window is.
        self.characters.set(characters_per_line(width.min(760), CHARACTER_PX));
    }

    /// How many characters a line of the transcript has room for.
    pub(super) fn characters(&self) -> u32 {
        self.characters.get()
    }

    /// Has a block rendered once it is near the view. Returns the number by which it is forgotten.
    pub(super) fn watch(
        &self,
        element: &Element,
        text: impl Fn() -> Option<String> + 'static,
        show: impl Fn(JsValue) + 'static,
    ) -> u32 {
        let number = self.last.get() + 1;
        self.last.set(number);
        if let Some(observer) = &*self.observer.borrow() {
            observer.add(element, number);
        }
        let (element, text, show) = (element.clone(), Box::new(text), Box::new(show));
        self.blocks.borrow_mut().insert(number, Watched { element, text, show });
        number
    }

    /// Forgets a block.
    pub(super) fn forget(&self, number: u32) {
        if let Some(block) = self.blocks.borrow_mut().remove(&number)
            && let Some(observer) = &*self.observer.borrow()
        {
            observer.remove(&block.element);
        }
    }

    /// What has come near the view. The observer tells them in their order, and readers begin at the
    /// end, so the last ones are rendered first.
    fn take(self: &Rc<Self>, entries: &Array) {
        for entry in entries.iter() {
            let entry: IntersectionObserverEntry = entry.unchecked_into();
            if entry.is_intersecting()
                && let Some(observer) = &*self.observer.borrow()
                && let Some(number) = observer.number(&entry.target())
            {
                observer.remove(&entry.target());
                self.wanted.borrow_mut().push(number);
            }
        }
        if !self.is_busy.get() && !self.wanted.borrow().is_empty() {
            self.is_busy.set(true);
            spawn_local(self.clone().render());
        }
    }

    /// Renders what is wanted, until nothing is.
    async fn render(self: Rc<Self>) {
        loop {
            let (numbers, texts) = self.next();
            if numbers.is_empty() {
                break;
            }
            match markdown::render(&texts).await {
                Ok(html) => self.show(numbers, html).await,
                Err(ApiError::Unreachable) => {
                    self.wanted.borrow_mut().extend(numbers.into_iter().rev());
                    sleep(AGAIN).await;
                }
                // They stay as they are.
                Err(_) => {}
            }
        }
        self.is_busy.set(false);
    }

    /// What to render next.
    fn next(&self) -> (Vec<u32>, Vec<String>) {
        let (mut numbers, mut texts, mut bytes) = (Vec::new(), Vec::new(), 0);
        while numbers.len() < TEXTS && bytes < BYTES {
            let Some(number) = self.wanted.borrow_mut().pop() else { break };
            if let Some(text) = self.blocks.borrow().get(&number).and_then(|block| (block.text)()) {
                bytes += text.len();
                numbers.push(number);
                texts.push(text);
            }
        }
        (numbers, texts)
    }

    async fn show(&self, numbers: Vec<u32>, html: Vec<JsValue>) {
        let mut begun = Date::now();
        for (number, html) in numbers.into_iter().zip(html) {
            if Date::now() - begun > SLICE_MS {
                sleep(Duration::ZERO).await;
                begun = Date::now();
            }
            let block = self.blocks.borrow_mut().remove(&number);
            if let Some(block) = block {
                (block.show)(html);
            }
        }
    }
}

impl Observer {
    fn add(&self, element: &Element, number: u32) {
        self.numbers.set(element, &number.into());
        self.inner.observe(element);
    }

    fn remove(&self, element: &Element) {
        self.inner.unobserve(element);
        self.numbers.delete(element);
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a u32")]
    fn number(&self, element: &Element) -> Option<u32> {
        self.numbers.get(element).as_f64().map(|number| number as u32)
    }
}
