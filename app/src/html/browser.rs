//! Makes markup nodes of the document, and keeps them up to date.
//!
//! ```text
//!  Html ─ find ──► nodes that the server rendered ─┐
//!       ─ place ─► new nodes ──────────────────────┼─► Placed ─ patch with the next Html ─► Placed
//! ```
//!
//! A live piece is drawn anew when its signals change. The nodes that were there are adapted where
//! tags agree, so that focus, selection and scroll positions survive, and replaced elsewhere.

mod list;

use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::RenderEffect;
use web_sys::wasm_bindgen::closure::Closure;
use web_sys::wasm_bindgen::{JsCast, JsValue};
use web_sys::{Comment, Node, Text as TextNode};

use super::value::{Compute, Text, Value};
use super::{Draw, Element, Handler, Html, Kind, Part};
use crate::reactive::prelude::*;
use list::{List, find_list, place_list};

/// What markup became.
pub(crate) enum Placed {
    Text(TextNode, std::borrow::Cow<'static, str>),
    Element(Box<PlacedElement>),
    Fragment(Vec<Placed>),
    /// What is drawn now belongs to the effect; the comment ends it.
    Live(RenderEffect<Placed>, Comment),
    List(List),
}

pub(crate) struct PlacedElement {
    tag: &'static str,
    node: web_sys::Element,
    /// The attributes that may be absent when the element is adapted.
    attributes: Vec<&'static str>,
    listeners: Vec<Listener>,
    effects: Vec<RenderEffect<Text>>,
    children: Vec<Placed>,
    /// Others change its content: who holds a reference, or who wrote the HTML.
    is_shared: bool,
}

/// A listener whose handler can be replaced. Dropped, it no longer listens.
struct Listener {
    node: web_sys::Element,
    name: std::borrow::Cow<'static, str>,
    handler: Rc<RefCell<Option<Handler>>>,
    closure: Closure<dyn FnMut(web_sys::Event)>,
}

/// Where the search for rendered nodes is.
pub(super) struct Walk {
    pub(super) parent: Node,
    pub(super) next: Option<Node>,
    after_text: bool,
}

/// Hydrates all content of a node.
pub(super) fn hydrate(html: Html, parent: &Node) -> Placed {
    let walk = Walk { parent: parent.clone(), next: parent.first_child(), after_text: false };
    find(html, &Rc::new(RefCell::new(walk)))
}

/// Shared with the effects that draw within the walk.
pub(super) type SharedWalk = Rc<RefCell<Walk>>;

impl Walk {
    /// Steps over a node of the wanted kind. What the server rendered differently stays where it is
    /// and gets a new node before it.
    fn take<N: JsCast>(&mut self, is_wanted: impl Fn(&N) -> bool) -> Option<N> {
        let found = self.next.clone()?.dyn_into::<N>().ok().filter(is_wanted)?;
        self.next = self.next.as_ref().and_then(Node::next_sibling);
        Some(found)
    }

    /// The comment that ends what can change.
    pub(super) fn take_end(&mut self) -> Comment {
        self.after_text = false;
        self.take(|_: &Comment| true).unwrap_or_else(|| {
            let end = create_end();
            insert(&end, &self.parent, self.next.as_ref());
            end
        })
    }
}

/// Finds the nodes of markup that the server rendered.
pub(super) fn find(html: Html, walk: &SharedWalk) -> Placed {
    match html.0 {
        Kind::Text(text) => {
            let mut walk = walk.borrow_mut();
            if walk.after_text {
                walk.take(|_: &Comment| true);
            }
            walk.after_text = true;
            let node = walk.take(|_: &TextNode| true).unwrap_or_else(|| {
                let node = document().create_text_node(&text);
                insert(&node, &walk.parent, walk.next.as_ref());
                node
            });
            Placed::Text(node, text)
        }
        Kind::Element(element) => {
            let mut walk = walk.borrow_mut();
            walk.after_text = false;
            let found = walk.take(|node: &web_sys::Element| node.local_name() == element.tag);
            let (parent, next) = (walk.parent.clone(), walk.next.clone());
            drop(walk);
            if let Some(node) = found {
                Placed::Element(Box::new(element.find(node)))
            } else {
                place(Html(Kind::Element(element)), &parent, next.as_ref())
            }
        }
        Kind::Fragment(children) => {
            Placed::Fragment(children.into_iter().map(|child| find(child, walk)).collect())
        }
        Kind::Live(draw) => {
            let end = Rc::new(RefCell::new(None));
            let walked = walk.clone();
            let effect = live(draw, end.clone(), None, move |html| find(html, &walked));
            let comment = walk.borrow_mut().take_end();
            end.replace(Some(comment.clone()));
            Placed::Live(effect, comment)
        }
        Kind::List(items) => Placed::List(find_list(items, walk)),
    }
}

/// Creates the nodes of markup.
pub(super) fn place(html: Html, parent: &Node, before: Option<&Node>) -> Placed {
    match html.0 {
        Kind::Text(text) => {
            let node = document().create_text_node(&text);
            insert(&node, parent, before);
            Placed::Text(node, text)
        }
        Kind::Element(element) => {
            let placed = element.create();
            insert(&placed.node, parent, before);
            Placed::Element(Box::new(placed))
        }
        Kind::Fragment(children) => Placed::Fragment(
            children.into_iter().map(|child| place(child, parent, before)).collect(),
        ),
        Kind::Live(draw) => {
            let comment = create_end();
            insert(&comment, parent, before);
            let (parent, before) = (parent.clone(), Node::from(comment.clone()));
            let end = Rc::new(RefCell::new(Some(comment.clone())));
            let effect = live(draw, end, None, move |html| place(html, &parent, Some(&before)));
            Placed::Live(effect, comment)
        }
        Kind::List(items) => Placed::List(place_list(items, parent, before)),
    }
}

/// Draws now, by `first` unless there is something to adapt, and again with every change.
fn live(
    mut draw: Box<dyn Draw>,
    end: Rc<RefCell<Option<Comment>>>,
    before: Option<Placed>,
    first: impl FnOnce(Html) -> Placed + 'static,
) -> RenderEffect<Placed> {
    let mut first: Option<Box<dyn FnOnce(Html) -> Placed>> = Some(Box::new(first));
    let redraw = move |placed: Option<Placed>| {
        let html = draw.draw();
        match (placed, first.take()) {
            (None, Some(first)) => first(html),
            (placed, _) => {
                let placed = placed.unwrap_or_else(|| Placed::Fragment(Vec::new()));
                let end = end.borrow().clone();
                match end.as_ref().and_then(|end| end.parent_node()) {
                    Some(parent) => patch(placed, html, &parent, end.as_ref().map(AsRef::as_ref)),
                    // It was removed, and the effect is about to be.
                    None => placed,
                }
            }
        }
    };
    RenderEffect::new_with_value(redraw, before)
}

/// Makes what is there look like the markup. `after` is the node behind it.
fn patch(placed: Placed, html: Html, parent: &Node, after: Option<&Node>) -> Placed {
    match (placed, html.0) {
        (Placed::Text(node, old), Kind::Text(text)) => {
            if old != text {
                node.set_data(&text);
            }
            Placed::Text(node, text)
        }
        (Placed::Element(old), Kind::Element(element)) if old.can_become(&element) => {
            Placed::Element(Box::new(old.patch(*element)))
        }
        (Placed::Fragment(old), Kind::Fragment(children)) => {
            Placed::Fragment(patch_all(old, children, parent, after))
        }
        (Placed::Live(effect, comment), Kind::Live(draw)) => {
            let before = effect.take_value();
            let end = Rc::new(RefCell::new(Some(comment.clone())));
            let (around, behind) = (parent.clone(), Node::from(comment.clone()));
            let first = move |html| place(html, &around, Some(&behind));
            Placed::Live(live(draw, end, before, first), comment)
        }
        (old, kind) => {
            let next = place(Html(kind), parent, old.first_node().as_ref().or(after));
            old.remove();
            next
        }
    }
}

fn patch_all(
    old: Vec<Placed>,
    children: Vec<Html>,
    parent: &Node,
    after: Option<&Node>,
) -> Vec<Placed> {
    let mut old = old.into_iter();
    let mut placed = Vec::with_capacity(children.len());
    for child in children {
        placed.push(match old.next() {
            Some(before) => {
                let behind = old.as_slice().iter().find_map(Placed::first_node);
                patch(before, child, parent, behind.as_ref().or(after))
            }
            None => place(child, parent, after),
        });
    }
    old.for_each(Placed::remove);
    placed
}

impl Placed {
    /// The first of its nodes.
    pub(super) fn first_node(&self) -> Option<Node> {
        match self {
            Self::Text(node, _) => Some(node.clone().into()),
            Self::Element(element) => Some(element.node.clone().into()),
            Self::Fragment(children) => children.iter().find_map(Self::first_node),
            Self::Live(effect, end) => {
                let first = effect.with_value_mut(|placed| placed.first_node()).flatten();
                first.or_else(|| Some(end.clone().into()))
            }
            Self::List(list) => list.first_node(),
        }
    }

    /// Calls a function with each of its nodes.
    pub(super) fn each_node(&self, visit: &mut dyn FnMut(&Node)) {
        match self {
            Self::Text(node, _) => visit(node),
            Self::Element(element) => visit(&element.node),
            Self::Fragment(children) => children.iter().for_each(|child| child.each_node(visit)),
            Self::Live(effect, end) => {
                effect.with_value_mut(|placed| placed.each_node(visit));
                visit(end);
            }
            Self::List(list) => list.each_node(visit),
        }
    }

    /// Takes its nodes out of the document.
    pub(super) fn remove(self) {
        self.each_node(&mut |node| {
            if let Some(parent) = node.parent_node() {
                // It is a child of its parent.
                let _ = parent.remove_child(node);
            }
        });
    }
}

impl Element {
    fn is_shared(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::InnerHtml(_) | Part::Reference(_)))
    }

    fn create(self) -> PlacedElement {
        let is_drawing = matches!(
            self.tag,
            "svg" | "g" | "path" | "rect" | "circle" | "line" | "polygon" | "polyline" | "use"
        );
        let namespace =
            if is_drawing { "http://www.w3.org/2000/svg" } else { "http://www.w3.org/1999/xhtml" };
        let node =
            document().create_element_ns(Some(namespace), self.tag).expect("tags are valid names");
        self.attach(node, false, |children, node| {
            children.into_iter().map(|child| place(child, node, None)).collect()
        })
    }

    fn find(self, node: web_sys::Element) -> PlacedElement {
        self.attach(node, true, |children, node| {
            let walk = Walk { parent: node.clone(), next: node.first_child(), after_text: false };
            let walk = Rc::new(RefCell::new(walk));
            children.into_iter().map(|child| find(child, &walk)).collect()
        })
    }

    /// Adds the parts and children to the node. The properties come last: the value of a selection
    /// needs its options.
    fn attach(
        self,
        node: web_sys::Element,
        is_rendered: bool,
        children: impl FnOnce(Vec<Html>, &Node) -> Vec<Placed>,
    ) -> PlacedElement {
        let mut placed = PlacedElement {
            tag: self.tag,
            node,
            attributes: Vec::new(),
            listeners: Vec::new(),
            effects: Vec::new(),
            children: Vec::new(),
            is_shared: self.is_shared(),
        };
        let (properties, parts): (Vec<_>, Vec<_>) =
            self.parts.into_iter().partition(|part| matches!(part, Part::Property(..)));
        for part in parts {
            placed.add(part, is_rendered);
        }
        placed.children = children(self.children, &placed.node);
        for part in properties {
            placed.add(part, false);
        }
        placed
    }
}

impl PlacedElement {
    /// Whether it can be made look like the markup, instead of being replaced.
    fn can_become(&self, element: &Element) -> bool {
        self.tag == element.tag && !self.is_shared && !element.is_shared()
    }

    /// Adds a part; what the server rendered already is not set again.
    fn add(&mut self, part: Part, is_rendered: bool) {
        let is_property = matches!(part, Part::Property(..));
        let (set, name, value): (Setter, _, _) = match part {
            Part::Attribute(name, value) => {
                self.attributes.push(name);
                (set_attribute, name, value)
            }
            Part::Class(name, value) => (set_class, name, value),
            Part::Property(name, value) => (set_property, name, value),
            Part::InnerHtml(value) => (set_inner_html, "", value),
            Part::Listener(name, handler) => {
                self.listeners.push(Listener::add(&self.node, name, handler.take()));
                return;
            }
            Part::Reference(reference) => return reference(&self.node),
        };
        match value {
            Value::Fixed(_) if is_rendered => {}
            Value::Fixed(text) => set(&self.node, name, text.as_deref()),
            Value::Live(value) => {
                let node = self.node.clone();
                self.effects.push(keep(node, set, name, value, is_property, is_rendered));
            }
        }
    }

    /// Makes the element look like another one with the same tag.
    fn patch(self, element: Element) -> Self {
        let Self { tag, node, attributes, listeners, effects, children, is_shared: _ } = self;
        // They would set what they were told before.
        drop(effects);
        let mut placed = Self {
            tag,
            node,
            attributes: Vec::new(),
            listeners: Vec::new(),
            effects: Vec::new(),
            children: Vec::new(),
            is_shared: false,
        };
        let mut listeners = listeners.into_iter();
        let (properties, parts): (Vec<_>, Vec<_>) =
            element.parts.into_iter().partition(|part| matches!(part, Part::Property(..)));
        for part in parts {
            match part {
                Part::Listener(name, handler) => match listeners.next() {
                    Some(listener) if listener.name == name => {
                        listener.handler.replace(Some(handler.take()));
                        placed.listeners.push(listener);
                    }
                    other => {
                        drop(other);
                        placed.listeners.push(Listener::add(&placed.node, name, handler.take()));
                    }
                },
                part => placed.add(part, false),
            }
        }
        drop(listeners);
        for name in attributes {
            if !placed.attributes.contains(&name) {
                set_attribute(&placed.node, name, None);
            }
        }
        placed.children = patch_all(children, element.children, &placed.node, None);
        for part in properties {
            placed.add(part, false);
        }
        placed
    }
}

impl Listener {
    fn add(
        node: &web_sys::Element,
        name: std::borrow::Cow<'static, str>,
        handler: Handler,
    ) -> Self {
        let handler = Rc::new(RefCell::new(Some(handler)));
        let slot = handler.clone();
        let closure = Closure::new(move |event: web_sys::Event| {
            // Taken out while it runs: it may cause the same event again.
            let Some(mut handler) = slot.take() else { return };
            handler.handle(event);
            slot.borrow_mut().get_or_insert(handler);
        });
        // Fails for no valid name.
        let _ = node.add_event_listener_with_callback(&name, closure.as_ref().unchecked_ref());
        Self { node: node.clone(), name, handler, closure }
    }
}

// Some events reach elements that are gone by then, such as that a view was scrolled.
impl Drop for Listener {
    fn drop(&mut self) {
        let callback = self.closure.as_ref().unchecked_ref();
        // Fails for no valid name.
        let _ = self.node.remove_event_listener_with_callback(&self.name, callback);
    }
}

/// Sets something of an element.
type Setter = fn(&web_sys::Element, &'static str, Option<&str>);

/// Sets a value now, unless the server has, and with every change.
fn keep(
    node: web_sys::Element,
    set: Setter,
    name: &'static str,
    mut value: Box<dyn Compute>,
    is_property: bool,
    mut is_rendered: bool,
) -> RenderEffect<Text> {
    RenderEffect::new(move |before: Option<Text>| {
        let text = value.compute();
        // A property may have been changed by its user since it was set.
        let is_new = is_property || before.as_ref() != Some(&text);
        if !std::mem::take(&mut is_rendered) && is_new {
            set(&node, name, text.as_deref());
        }
        text
    })
}

fn set_attribute(node: &web_sys::Element, name: &'static str, text: Option<&str>) {
    // Attributes have valid names.
    let _ = match text {
        Some(text) => node.set_attribute(name, text),
        None => node.remove_attribute(name),
    };
}

fn set_class(node: &web_sys::Element, name: &'static str, text: Option<&str>) {
    // Classes are words.
    let _ = node.class_list().toggle_with_force(name, text.is_some());
}

fn set_property(node: &web_sys::Element, name: &'static str, text: Option<&str>) {
    let value = match text {
        _ if matches!(name, "checked" | "indeterminate") => JsValue::from_bool(text.is_some()),
        Some(text) => JsValue::from_str(text),
        None => JsValue::from_str(""),
    };
    let name = JsValue::from_str(name);
    // Setting the same value again would move the cursor.
    if web_sys::js_sys::Reflect::get(node, &name).ok().as_ref() != Some(&value) {
        let _ = web_sys::js_sys::Reflect::set(node, &name, &value);
    }
}

fn set_inner_html(node: &web_sys::Element, _name: &'static str, text: Option<&str>) {
    node.set_inner_html(text.unwrap_or_default());
}

pub(super) fn create_end() -> Comment {
    document().create_comment("")
}

pub(super) fn insert(node: &Node, parent: &Node, before: Option<&Node>) {
    // Fails only if `before` has left the parent; the next drawing puts that right.
    let _ = parent.insert_before(node, before);
}
