//! What `html!` makes of markup: a text with all that is known when it is compiled, and gaps.
//!
//! A call for each tag and attribute would be several times as long.

use std::marker::PhantomData;

use leptos::ev::EventDescriptor;
use leptos::html::ElementType;
use send_wrapper::SendWrapper;
use web_sys::wasm_bindgen::JsCast;

use super::value::{IntoValue, Value};
use super::{Element, Handler, Handling, Html, IntoHtml, Kind, Part};
use crate::reactive::prelude::*;

#[path = "../../markup/src/marks.rs"]
mod marks;

/// A template whose gaps are being filled, from the first to the last.
pub(crate) struct Template {
    /// What was not read yet.
    rest: &'static str,
    /// The elements that were begun, the innermost last.
    open: Vec<Element>,
    /// What is around all of them.
    roots: Vec<Html>,
}

impl Template {
    pub(crate) fn new(text: &'static str) -> Self {
        Self { rest: text, open: Vec::new(), roots: Vec::new() }
    }

    /// Fills a gap with content.
    pub(crate) fn child(&mut self, content: impl IntoHtml) {
        self.fill_child(content.into_html());
    }

    /// Fills a gap with a value. Without one, the attribute or the class is absent.
    pub(crate) fn value(&mut self, value: impl IntoValue) {
        self.fill_value(value.into_value());
    }

    /// Fills a gap with a listener. In the browser only.
    #[expect(clippy::needless_pass_by_value, reason = "events are names without content")]
    pub(crate) fn on<E: EventDescriptor>(
        &mut self,
        event: E,
        handler: impl FnMut(E::EventType) + 'static,
    ) where
        E::EventType: JsCast + 'static,
    {
        if cfg!(feature = "hydrate") {
            let handler: Handler = Box::new(Handling(handler, PhantomData));
            let part = Part::Listener(event.name(), SendWrapper::new(handler));
            self.fill_part(marks::LISTENER, Some(part));
        } else {
            self.fill_part(marks::LISTENER, None);
        }
    }

    /// Fills a gap with a reference, which gets the element. In the browser only.
    pub(crate) fn node_ref<E>(&mut self, reference: NodeRef<E>)
    where
        E: ElementType,
        E::Output: JsCast + 'static,
    {
        if cfg!(feature = "hydrate") {
            let part = Part::Reference(Box::new(move |element| reference.load(element)));
            self.fill_part(marks::REFERENCE, Some(part));
        } else {
            self.fill_part(marks::REFERENCE, None);
        }
    }

    /// The markup, once all gaps are filled.
    pub(crate) fn finish(mut self) -> Html {
        self.advance();
        let only = (self.roots.len() == 1).then(|| self.roots.pop()).flatten();
        only.unwrap_or_else(|| Html(Kind::Fragment(self.roots)))
    }

    fn fill_child(&mut self, content: Html) {
        let gap = self.advance();
        debug_assert_eq!(gap, Some((marks::CHILD, "")), "gaps are filled in their order");
        self.add(content);
    }

    fn fill_value(&mut self, value: Value) {
        let Some((mark, name)) = self.advance() else { return };
        self.add_part(match mark {
            marks::CLASS => Part::Class(name, value),
            marks::PROPERTY => Part::Property(name, value),
            marks::INNER_HTML => Part::InnerHtml(value),
            mark => {
                debug_assert_eq!(mark, marks::ATTRIBUTE, "gaps are filled in their order");
                Part::Attribute(name, value)
            }
        });
    }

    fn fill_part(&mut self, mark: char, part: Option<Part>) {
        let gap = self.advance();
        debug_assert_eq!(gap, Some((mark, "")), "gaps are filled in their order");
        if let Some(part) = part {
            self.add_part(part);
        }
    }

    /// Reads on, past the next gap: its mark, and the name that follows it.
    fn advance(&mut self) -> Option<(char, &'static str)> {
        let mut attribute = "";
        loop {
            let (mark, text) = self.read()?;
            match mark {
                marks::ELEMENT => {
                    self.open.push(Element { tag: text, parts: Vec::new(), children: Vec::new() });
                }
                marks::END => {
                    if let Some(element) = self.open.pop() {
                        self.add(Html(Kind::Element(Box::new(element))));
                    }
                }
                marks::TEXT => self.add(Html(Kind::Text(text.into()))),
                marks::KNOWN_ATTRIBUTE => attribute = text,
                marks::VALUE => {
                    self.add_part(Part::Attribute(attribute, Value::Fixed(Some(text.into()))));
                }
                _ => return Some((mark, text)),
            }
        }
    }

    /// The next mark, and the text up to the one after it.
    fn read(&mut self) -> Option<(char, &'static str)> {
        let mark = self.rest.chars().next()?;
        // Marks take a byte.
        let rest = self.rest.get(1..)?;
        let is_mark = |byte: &u8| char::from(*byte) < marks::LIMIT && *byte != b'\n';
        let end = rest.as_bytes().iter().position(is_mark).unwrap_or(rest.len());
        let (text, rest) = rest.split_at_checked(end)?;
        self.rest = rest;
        Some((mark, text))
    }

    fn add(&mut self, content: Html) {
        let place = self.open.last_mut().map_or(&mut self.roots, |element| &mut element.children);
        place.push(content);
    }

    fn add_part(&mut self, part: Part) {
        if let Some(element) = self.open.last_mut() {
            element.parts.push(part);
        }
    }
}
