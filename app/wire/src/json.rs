//! Reads the server's answers in the browser, which calls [`from_str`] or keeps a [`Document`], and
//! writes its requests by [`to_string`].
//!
//! The server reads with serde, whose code for each type is a parser of its own: in the browser that
//! was a tenth of the download. Here the text is parsed once, by code that knows no types, into a
//! list of the values that it has. A type then picks the values of its fields by their names.
//!
//! Nothing that is read can fail. What is not as expected is replaced by something of its type, and
//! the [`Document`] remembers the first such problem, which is returned in place of the whole. So the
//! code of a type is a list of calls without conditions, which `#[derive(FromJson)]` writes from the
//! attributes that serde has, too.

mod document;
mod impls;
#[cfg(test)]
mod tests;
mod text;
mod write;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

pub use document::Document;
use document::{Kind, Node};
pub use json_derive::{FromJson, ToJson};
pub use write::{ObjectWriter, ToJson, to_string};

/// What can be read from JSON. The derive macro has the same name.
pub trait FromJson {
    /// The value as this type. If it is something else, the answer is of no use, and the document
    /// has been [told](Value::fail).
    fn from_json(value: Value<'_>) -> Self;
}

/// Reads what is the whole text.
pub fn from_str<T: FromJson>(text: &str) -> Result<T, JsonError> {
    Document::parse(text)?.read()
}

/// Why a text could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    expected: &'static str,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Byte(usize),
    /// The name of a field that is missing.
    Field(&'static str),
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Byte(at) => write!(f, "expected {} at byte {at}", self.expected),
            Place::Field(name) => write!(f, "expected {} as `{name}`", self.expected),
        }
    }
}

impl std::error::Error for JsonError {}

/// A value of a [`Document`], or the absence of one where a field was looked for.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    document: &'a Document<'a>,
    index: usize,
}

impl<'a> Value<'a> {
    fn node(self) -> Node {
        self.document.node(self.index)
    }

    /// Notes that the value is not what was expected.
    #[cold]
    #[inline(never)]
    pub fn fail(self, expected: &'static str) {
        self.document.note_problem(self.node(), expected);
    }

    /// Whether it was looked for and not found.
    pub fn is_absent(self) -> bool {
        self.node().kind == Kind::Absent
    }

    /// Whether there is nothing to read: no value, or null.
    pub fn is_nothing(self) -> bool {
        matches!(self.node().kind, Kind::Absent | Kind::Null)
    }

    /// Whether it is a text, rather than something else or nothing.
    pub fn is_text(self) -> bool {
        matches!(self.node().kind, Kind::Text | Kind::EscapedText)
    }

    /// Expects an object, whatever its fields are.
    pub fn expect_object(self) {
        if self.node().kind != Kind::Object {
            self.fail("an object");
        }
    }

    /// The value of an object's field. A name that is given twice is a problem.
    #[inline(never)]
    #[must_use]
    pub fn get(self, name: &'static str) -> Self {
        self.expect_object();
        let mut found = None;
        let mut parts = self.parts(Kind::Object);
        while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
            if key.is(name) && found.replace(value).is_some() {
                value.fail("each field once");
            }
        }
        found.unwrap_or_else(|| self.document.miss(name))
    }

    /// Reads an object's field.
    #[inline(never)]
    pub fn field<T: FromJson>(self, name: &'static str) -> T {
        T::from_json(self.get(name))
    }

    /// Reads an object's field that may be absent.
    #[inline(never)]
    pub fn field_or_default<T: FromJson + Default>(self, name: &'static str) -> T {
        let value = self.get(name);
        if value.is_absent() { T::default() } else { T::from_json(value) }
    }

    /// Reads an object's field, for which there is another value if it is absent.
    pub fn field_or<T: FromJson>(self, name: &'static str, other: T) -> T {
        let value = self.get(name);
        if value.is_absent() { other } else { T::from_json(value) }
    }

    /// The names and values of an object's fields, in order; none of anything else.
    pub fn fields(self) -> impl Iterator<Item = (Cow<'a, str>, Self)> {
        let mut parts = self.parts(Kind::Object);
        std::iter::from_fn(move || Some((parts.next()?.text(), parts.next()?)))
    }

    /// The items of a list.
    pub fn items(self) -> impl Iterator<Item = Self> {
        if self.node().kind != Kind::List {
            self.fail("a list");
        }
        self.parts(Kind::List)
    }

    /// What is directly within the value if it is of that kind: items, or names and values in turn.
    fn parts(self, kind: Kind) -> Parts<'a> {
        let node = self.node();
        let end = if node.kind == kind { node.next } else { 0 };
        Parts { document: self.document, index: self.index + 1, end }
    }

    /// The text that it is.
    #[inline(never)]
    pub fn text(self) -> Cow<'a, str> {
        let node = self.node();
        let source = self.document.source(node);
        match node.kind {
            Kind::Text => Cow::Borrowed(text::without_quotes(source)),
            Kind::EscapedText => Cow::Owned(text::decode(text::without_quotes(source))),
            _ => {
                self.fail("a text");
                Cow::Borrowed("")
            }
        }
    }

    /// Whether it is this text.
    fn is(self, text: &str) -> bool {
        let node = self.node();
        match node.kind {
            Kind::Text => text::without_quotes(self.document.source(node)) == text,
            _ => self.text() == text,
        }
    }

    /// Which of these words it is.
    #[inline(never)]
    pub fn word(self, words: &[&str]) -> usize {
        let text = self.text();
        words.iter().position(|word| *word == text).unwrap_or_else(|| {
            self.fail("a known word");
            0
        })
    }

    /// Reads a text that stands for something else.
    pub fn parsed<T: FromStr>(self, expected: &'static str, other: T) -> T {
        self.text().parse().unwrap_or_else(|_| {
            self.fail(expected);
            other
        })
    }

    /// The number as it is written; empty if it is none.
    fn digits(self) -> &'a str {
        let node = self.node();
        if node.kind == Kind::Number { self.document.source(node) } else { "" }
    }
}

/// Values that stand side by side.
struct Parts<'a> {
    document: &'a Document<'a>,
    index: usize,
    end: usize,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        if self.index >= self.end {
            return None;
        }
        let value = Value { document: self.document, index: self.index };
        self.index = value.node().next;
        Some(value)
    }
}
