//! The body of a block that still receives text.
//!
//! Deltas are drawn once per frame, each by what is new, so that a long answer costs no more per word
//! than a short one. Expanded, it is rendered as it grows: what is finished once, and what still grows
//! as often as the server has rendered the last piece; until then its new words stand as plain text.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use web_sys::js_sys::Reflect;
use web_sys::wasm_bindgen::JsValue;
use web_sys::{Element, HtmlElement, Text};

use crate::api::markdown;
use crate::poll::sleep;
use crate::reactive::prelude::*;
use crate::state::live_markdown::LiveMarkdown;
use crate::state::live_markdown::marks::close_marks;

/// The shortest time between two renderings of a block.
const PAUSE: Duration = Duration::from_millis(50);
/// How long to wait after the server has rendered nothing.
const AGAIN: Duration = Duration::from_secs(2);
/// Within this distance, a reader counts as being at the end of a block.
const END_PX: i32 = 24;

/// Raw text that grows.
pub(super) struct RawBody {
    text: Text,
    length: usize,
}

impl RawBody {
    /// Begins at the end of an element, as a text of its own.
    pub(super) fn begin(parent: &Element) -> Self {
        let text = document().create_text_node("");
        // Cannot fail for a new node.
        let _ = parent.append_child(&text);
        Self { text, length: 0 }
    }

    /// Shows the whole text, of which the beginning may be shown already.
    pub(super) fn update(&mut self, whole: &str) {
        match whole.get(self.length..) {
            Some(new) => {
                let _ = self.text.append_data(new);
            }
            // Shorter than before: the block was restarted.
            None => self.text.set_data(whole),
        }
        self.length = whole.len();
    }
}

/// Keeps the end of a low block in view while its reader is there.
pub(super) fn keep_end(body: &HtmlElement, change: impl FnOnce()) {
    let is_at_end = body.scroll_height() - body.scroll_top() - body.client_height() <= END_PX;
    change();
    if is_at_end {
        body.set_scroll_top(body.scroll_height());
    }
}

/// Markdown that grows. Shared with the requests that render it.
#[derive(Clone)]
pub(super) struct RenderedBody(Rc<Inner>);

struct Inner {
    pieces: RefCell<Pieces>,
    is_busy: Cell<bool>,
    is_over: Cell<bool>,
}

struct Pieces {
    body: Element,
    split: LiveMarkdown,
    /// The finished blocks of the text.
    finished: Vec<Element>,
    /// How many of them are rendered, or about to be.
    rendered: usize,
    /// The block that grows: what is rendered of it, and what was added since.
    open: Element,
    rest: RawBody,
    /// Where it begins in the text.
    open_at: usize,
    /// How much of it is rendered.
    open_rendered: usize,
    /// How much of it was sent to be rendered last.
    open_asked: usize,
    /// The text as it was seen last.
    text: String,
}

impl RenderedBody {
    /// Begins in an empty element.
    pub(super) fn begin(body: &Element) -> Self {
        let open = piece(body);
        let rest = RawBody::begin(body);
        let pieces = Pieces {
            body: body.clone(),
            split: LiveMarkdown::default(),
            finished: Vec::new(),
            rendered: 0,
            open,
            rest,
            open_at: 0,
            open_rendered: 0,
            open_asked: 0,
            text: String::new(),
        };
        let pieces = RefCell::new(pieces);
        Self(Rc::new(Inner { pieces, is_busy: Cell::new(false), is_over: Cell::new(false) }))
    }

    /// Shows the whole text, of which the beginning may be shown already.
    pub(super) fn update(&self, whole: &str) {
        self.0.pieces.borrow_mut().update(whole);
        self.render();
    }

    /// Stops rendering: the element is used for something else.
    pub(super) fn end(&self) {
        self.0.is_over.set(true);
    }

    /// Has the server render what is new, unless it is at it.
    fn render(&self) {
        let inner = self.0.clone();
        if inner.is_busy.get() || inner.is_over.get() {
            return;
        }
        let Some(wanted) = inner.pieces.borrow_mut().wanted() else { return };
        inner.is_busy.set(true);
        let this = self.clone();
        spawn_local(async move {
            let html = markdown::render(&wanted.texts).await;
            let pause = if html.is_ok() { PAUSE } else { AGAIN };
            if !inner.is_over.get() {
                let pieces = &mut *inner.pieces.borrow_mut();
                if let Ok(html) = html {
                    pieces.show(&wanted, html);
                } else {
                    // The text stands there as it is, and is sent again.
                    (pieces.rendered, pieces.open_asked) = (wanted.first, 0);
                }
            }
            sleep(pause).await;
            inner.is_busy.set(false);
            this.render();
        });
    }
}

/// What was sent to be rendered.
struct Wanted {
    /// The first of the finished blocks in it; all up to the last follow, and what grows comes last.
    first: usize,
    texts: Vec<String>,
    open_at: usize,
    open_length: usize,
}

impl Pieces {
    fn update(&mut self, whole: &str) {
        if whole.len() < self.text.len() {
            self.restart();
        }
        self.text.push_str(&whole[self.text.len()..]);
        self.split.advance(&self.text);
        for range in self.split.finished().skip(self.finished.len()) {
            // It was the block that grew, or a part of it.
            let piece = piece(&self.body);
            piece.set_text_content(Some(&self.text[range]));
            // Cannot fail: both are children of the body.
            let _ = self.body.insert_before(&piece, Some(&self.open));
            self.finished.push(piece);
        }
        let open = self.split.open(&self.text);
        let open_at = self.text.len() - open.len();
        if open_at != self.open_at {
            self.open_at = open_at;
            (self.open_rendered, self.open_asked) = (0, 0);
            self.open.set_text_content(None);
            self.rest.update("");
        }
        self.rest.update(&open[self.open_rendered..]);
    }

    fn restart(&mut self) {
        for piece in self.finished.drain(..) {
            piece.remove();
        }
        self.split = LiveMarkdown::default();
        self.text.clear();
        self.rendered = 0;
        // Nothing begins there.
        self.open_at = usize::MAX;
    }

    /// What is not rendered yet; `None` if everything is. Code is highlighted once it is complete.
    fn wanted(&mut self) -> Option<Wanted> {
        let first = self.rendered;
        let ranges = self.split.finished().skip(first);
        let mut texts: Vec<_> = ranges.map(|range| self.text[range].to_owned()).collect();
        let open = self.split.open(&self.text);
        let is_code = self.split.open_code(&self.text).is_some();
        let open_length = if is_code { 0 } else { open.len() };
        if open_length > self.open_asked {
            texts.push(format!("{open}{}", close_marks(open)));
        } else if texts.is_empty() {
            return None;
        }
        self.rendered = self.finished.len();
        self.open_asked = open_length;
        Some(Wanted { first, texts, open_at: self.open_at, open_length })
    }

    fn show(&mut self, wanted: &Wanted, html: Vec<JsValue>) {
        let mut html = html.into_iter();
        let finished = wanted.texts.len() - usize::from(wanted.open_length > 0);
        for (piece, html) in
            self.finished.iter().skip(wanted.first).zip(html.by_ref().take(finished))
        {
            set_html(piece, &html);
        }
        // Meanwhile it may be finished, and is rendered as such.
        let Some(html) = html.next().filter(|html| !html.is_null()) else { return };
        if wanted.open_at == self.open_at {
            set_html(&self.open, &html);
            self.open_rendered = wanted.open_length;
            let open = self.split.open(&self.text);
            self.rest.update("");
            self.rest.update(open.get(wanted.open_length..).unwrap_or_default());
        }
    }
}

/// A part of the rendered text, at first as it is.
fn piece(body: &Element) -> Element {
    let piece = document().create_element("div").expect("div is a valid name");
    piece.set_class_name("raw");
    // Cannot fail for a new node.
    let _ = body.append_child(&piece);
    piece
}

/// Puts HTML of the server into an element. Null leaves the text that is there.
pub(super) fn set_html(element: &Element, html: &JsValue) {
    if !html.is_null() {
        element.set_class_name("");
        // Cannot fail for an element. As a value of JavaScript, it is not copied.
        let _ = Reflect::set(element, &"innerHTML".into(), html);
    }
}
