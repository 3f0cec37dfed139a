//! Markup as values of one type.
//!
//! ```text
//!  html! { … } ─► Html ─┬─ server ──► the text of the page
//!                       └─ browser ─► Placed: nodes, listeners, effects
//!                                       ▲ created, or found in the page that the server rendered
//! ```
//!
//! Signals, effects and components are those of Leptos. Its views are not used: each has a type of
//! its own, and the code that draws it exists once per type, which was half of the download. An
//! [`Html`] is plain data, drawn by one function.
//!
//! Both sides visit the same values in the same order. What changes is followed by a comment, so
//! that the browser finds its end; two texts in a row are kept apart by one.

#[cfg(feature = "hydrate")]
mod browser;
mod leptos_view;
#[cfg(feature = "ssr")]
mod server;
mod template;
mod value;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;

use send_wrapper::SendWrapper;
use web_sys::wasm_bindgen::JsCast;

pub(crate) use markup::html;
pub(crate) use template::Template;
use value::Value;

use crate::reactive::prelude::*;

/// A piece of a page.
pub(crate) struct Html(Kind);

enum Kind {
    Text(Cow<'static, str>),
    Element(Box<Element>),
    /// Several in a row; none draws nothing.
    Fragment(Vec<Html>),
    /// Drawn again whenever a signal changes that it reads.
    Live(Box<dyn Draw>),
    /// One piece per item of a list that changes.
    List(Box<dyn Items + Send>),
}

/// An element, with everything that was said of it in the order in which it was said.
struct Element {
    tag: &'static str,
    parts: Vec<Part>,
    children: Vec<Html>,
}

/// What makes an element more than its tag.
enum Part {
    Attribute(&'static str, Value),
    /// A class that is there if there is a value.
    Class(&'static str, Value),
    Property(&'static str, Value),
    InnerHtml(Value),
    #[cfg_attr(not(feature = "hydrate"), expect(dead_code, reason = "only browsers have events"))]
    Listener(Cow<'static, str>, SendWrapper<Handler>),
    /// Called with the element once it exists.
    #[cfg_attr(not(feature = "hydrate"), expect(dead_code, reason = "only browsers have nodes"))]
    Reference(Box<dyn FnOnce(&web_sys::Element) + Send>),
}

type Handler = Box<dyn Handle>;

/// What draws a piece. This and the other traits with one method have smaller tables than those of
/// closures, and there are very many.
trait Draw: Send {
    fn draw(&mut self) -> Html;
}

struct Drawing<F>(F);

impl<F: FnMut() -> T + Send, T: IntoHtml> Draw for Drawing<F> {
    fn draw(&mut self) -> Html {
        (self.0)().into_html()
    }
}

/// What is done about an event.
#[cfg_attr(not(feature = "hydrate"), expect(dead_code, reason = "only browsers have events"))]
trait Handle {
    fn handle(&mut self, event: web_sys::Event);
}

/// Handles events of one type.
struct Handling<E, F>(F, PhantomData<fn(E)>);

impl<E: JsCast, F: FnMut(E)> Handle for Handling<E, F> {
    fn handle(&mut self, event: web_sys::Event) {
        (self.0)(event.unchecked_into());
    }
}

/// The items of a list: each is visited with its key and what draws it. Those that are drawn
/// already are visited only.
trait Items {
    fn visit(&mut self, visit: &mut dyn FnMut(u64, &mut dyn FnMut() -> Html));
}

impl Html {
    /// Nothing.
    pub(crate) fn fragment() -> Self {
        Self(Kind::Fragment(Vec::new()))
    }

    /// Listens to an event that Leptos has no name for. In the browser only.
    pub(crate) fn on(
        mut self,
        event: &'static str,
        handler: impl FnMut(web_sys::Event) + 'static,
    ) -> Self {
        if cfg!(feature = "hydrate")
            && let Kind::Element(element) = &mut self.0
        {
            let handler: Handler = Box::new(Handling(handler, PhantomData));
            element.parts.push(Part::Listener(event.into(), SendWrapper::new(handler)));
        }
        self
    }
}

/// One piece per item. A piece is drawn once, when its key appears; it goes with its key.
pub(crate) fn each<T, K: Hash, H: IntoHtml>(
    items: impl FnMut() -> Vec<T> + Send + 'static,
    key: impl Fn(&T) -> K + Send + 'static,
    draw: impl FnMut(T) -> H + Send + 'static,
) -> Html {
    Html(Kind::List(Box::new(Each { items, key, draw })))
}

struct Each<I, K, D> {
    items: I,
    key: K,
    draw: D,
}

impl<T, K: Hash, H: IntoHtml, I, F, D> Items for Each<I, F, D>
where
    I: FnMut() -> Vec<T>,
    F: Fn(&T) -> K,
    D: FnMut(T) -> H,
{
    fn visit(&mut self, visit: &mut dyn FnMut(u64, &mut dyn FnMut() -> Html)) {
        for item in (self.items)() {
            let mut hasher = DefaultHasher::new();
            (self.key)(&item).hash(&mut hasher);
            let mut item = Some(item);
            visit(hasher.finish(), &mut || {
                item.take().map_or_else(Html::fragment, |item| (self.draw)(item).into_html())
            });
        }
    }
}

/// What can be content.
pub(crate) trait IntoHtml {
    fn into_html(self) -> Html;
}

impl IntoHtml for Html {
    fn into_html(self) -> Html {
        self
    }
}

impl IntoHtml for () {
    fn into_html(self) -> Html {
        Html::fragment()
    }
}

impl IntoHtml for &'static str {
    fn into_html(self) -> Html {
        Html(Kind::Text(self.into()))
    }
}

impl IntoHtml for String {
    fn into_html(self) -> Html {
        Html(Kind::Text(self.into()))
    }
}

/// Whole numbers.
macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl IntoHtml for $number {
            fn into_html(self) -> Html {
                self.to_string().into_html()
            }
        }
    )*};
}

numbers!(i32, u32, usize);

impl IntoHtml for Cow<'static, str> {
    fn into_html(self) -> Html {
        Html(Kind::Text(self))
    }
}

impl<T: IntoHtml> IntoHtml for Option<T> {
    fn into_html(self) -> Html {
        self.map_or_else(Html::fragment, T::into_html)
    }
}

impl<T: IntoHtml> IntoHtml for Vec<T> {
    fn into_html(self) -> Html {
        self.into_iter().collect()
    }
}

impl<T: IntoHtml, const N: usize> IntoHtml for [T; N] {
    fn into_html(self) -> Html {
        self.into_iter().collect()
    }
}

impl<T: IntoHtml> FromIterator<T> for Html {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(Kind::Fragment(items.into_iter().map(T::into_html).collect()))
    }
}

impl<F, T> IntoHtml for F
where
    F: FnMut() -> T + Send + 'static,
    T: IntoHtml,
{
    fn into_html(self) -> Html {
        Html(Kind::Live(Box::new(Drawing(self))))
    }
}

/// Signals are drawn as closures that read them.
macro_rules! signals {
    ($($signal:ident),*) => {$(
        impl<T: IntoHtml + Clone + Send + Sync + 'static> IntoHtml for $signal<T> {
            fn into_html(self) -> Html {
                (move || self.get()).into_html()
            }
        }
    )*};
}

signals!(Memo, RwSignal, Signal);
