//! Writes markup as text.

use super::value::Value;
use super::{Element, Html, Kind, Part};

/// Elements without an end.
const VOID: [&str; 7] = ["br", "col", "hr", "img", "input", "link", "meta"];

/// Ends what can change. Browsers keep a node for it.
const END: &str = "<!>";

impl Html {
    /// Adds the text to the page. `after_text` tells whether a text comes right before, and is
    /// told whether one is at the end.
    pub(super) fn write(self, page: &mut String, after_text: &mut bool) {
        match self.0 {
            Kind::Text(text) => {
                if *after_text {
                    page.push_str(END);
                }
                // An empty text would be no node.
                if text.is_empty() {
                    page.push(' ');
                } else {
                    escape(&text, page);
                }
                *after_text = true;
            }
            Kind::Element(element) => {
                element.write(page);
                *after_text = false;
            }
            Kind::Fragment(children) => {
                for child in children {
                    child.write(page, after_text);
                }
            }
            Kind::Live(mut draw) => {
                draw.draw().write(page, after_text);
                page.push_str(END);
                *after_text = false;
            }
            Kind::List(mut items) => {
                items.visit(&mut |_, draw| draw().write(page, after_text));
                page.push_str(END);
                *after_text = false;
            }
        }
    }
}

impl Element {
    fn write(self, page: &mut String) {
        let Self { tag, parts, children } = self;
        let (mut class, mut content) = (None::<String>, None);
        page.push('<');
        page.push_str(tag);
        for part in parts {
            match part {
                Part::Attribute("class", value) => add_class(&mut class, &value.now()),
                Part::Class(name, value) => {
                    add_class(&mut class, &value.now().map(|_| name.into()));
                }
                // A checked box is checked from the start; other properties wait for the browser.
                Part::Attribute(name, value) | Part::Property(name @ "checked", value) => {
                    if let Some(text) = value.now() {
                        write_attribute(name, &text, page);
                    }
                }
                Part::InnerHtml(value) => content = value.now(),
                Part::Property(..) | Part::Listener(..) | Part::Reference(_) => {}
            }
        }
        if let Some(class) = class {
            write_attribute("class", &class, page);
        }
        page.push('>');
        if VOID.contains(&tag) {
            return;
        }
        if let Some(content) = content {
            page.push_str(&content);
        }
        let mut after_text = false;
        for child in children {
            child.write(page, &mut after_text);
        }
        page.push_str("</");
        page.push_str(tag);
        page.push('>');
    }
}

impl Value {
    fn now(self) -> super::value::Text {
        match self {
            Self::Fixed(text) => text,
            Self::Live(mut value) => value.compute(),
        }
    }
}

fn add_class(class: &mut Option<String>, more: &super::value::Text) {
    if let Some(more) = more {
        let class = class.get_or_insert_default();
        if !class.is_empty() {
            class.push(' ');
        }
        class.push_str(more);
    }
}

fn write_attribute(name: &str, text: &str, page: &mut String) {
    page.push(' ');
    page.push_str(name);
    page.push_str("=\"");
    escape(text, page);
    page.push('"');
}

fn escape(text: &str, page: &mut String) {
    for character in text.chars() {
        match character {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            '"' => page.push_str("&quot;"),
            other => page.push(other),
        }
    }
}
