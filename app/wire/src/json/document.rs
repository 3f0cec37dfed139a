//! The parser: finds the values of a text. [`super::Value`] is how they are read.

use std::cell::Cell;

use super::{FromJson, JsonError, Place, Value, text};

/// How deep lists and objects may be nested: more would exhaust the stack.
const MAX_DEPTH: u8 = 128;

/// A text of JSON, and where its values are.
pub struct Document<'a> {
    text: &'a str,
    /// Every value before those within it. A field is two values: its name and what it has. The
    /// first node of all stands for what is absent.
    nodes: Vec<Node>,
    problem: Cell<Option<JsonError>>,
    /// The field that was last looked for in vain.
    missed: Cell<&'static str>,
}

/// What a value is, and where.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) kind: Kind,
    start: usize,
    end: usize,
    /// The number of the node that follows it and all that is within it.
    pub(super) next: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Absent,
    Null,
    False,
    True,
    Number,
    Text,
    /// A text in which something is escaped.
    EscapedText,
    List,
    Object,
}

const ABSENT: Node = Node { kind: Kind::Absent, start: 0, end: 0, next: 0 };

impl<'a> Document<'a> {
    /// Finds the values of a text that is a single one.
    #[inline(never)]
    pub fn parse(text: &'a str) -> Result<Self, JsonError> {
        let mut parser = Parser { text, at: 0, depth: 0, nodes: vec![ABSENT] };
        parser.value()?;
        if parser.peek().is_some() {
            return Err(parser.problem("nothing more"));
        }
        let nodes = parser.nodes;
        Ok(Self { text, nodes, problem: Cell::new(None), missed: Cell::new("") })
    }

    /// Reads the whole.
    pub fn read<T: FromJson>(&self) -> Result<T, JsonError> {
        self.problem.set(None);
        let value = T::from_json(Value { document: self, index: 1 });
        self.problem.get().map_or(Ok(value), Err)
    }

    pub(super) fn node(&self, index: usize) -> Node {
        self.nodes.get(index).copied().unwrap_or(ABSENT)
    }

    pub(super) fn source(&self, node: Node) -> &'a str {
        self.text.get(node.start..node.end).unwrap_or_default()
    }

    /// The absence of a field.
    pub(super) fn miss(&self, name: &'static str) -> Value<'_> {
        self.missed.set(name);
        Value { document: self, index: 0 }
    }

    pub(super) fn note_problem(&self, node: Node, expected: &'static str) {
        let is_absent = node.kind == Kind::Absent;
        let place =
            if is_absent { Place::Field(self.missed.get()) } else { Place::Byte(node.start) };
        let problem = self.problem.get().unwrap_or(JsonError { expected, place });
        self.problem.set(Some(problem));
    }
}

/// A text and the place in it.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u8,
    nodes: Vec<Node>,
}

impl Parser<'_> {
    #[cold]
    fn problem(&self, expected: &'static str) -> JsonError {
        JsonError { expected, place: Place::Byte(self.at) }
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Steps over a byte, if it is the next one.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8, name: &'static str) -> Result<(), JsonError> {
        if self.take(byte) { Ok(()) } else { Err(self.problem(name)) }
    }

    fn value(&mut self) -> Result<(), JsonError> {
        let first = self.peek();
        let (index, start) = (self.nodes.len(), self.at);
        self.nodes.push(ABSENT);
        let kind = match first {
            Some(b'"') => self.string()?,
            Some(b'{') => {
                self.parts(b'}', true)?;
                Kind::Object
            }
            Some(b'[') => {
                self.parts(b']', false)?;
                Kind::List
            }
            _ => self.plain()?,
        };
        self.nodes[index] = Node { kind, start, end: self.at, next: self.nodes.len() };
        Ok(())
    }

    /// Steps over a list or an object, whose first bracket is next.
    fn parts(&mut self, close: u8, has_names: bool) -> Result<(), JsonError> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.problem("less depth"));
        }
        let mut is_first = true;
        while !self.take(close) {
            if !std::mem::take(&mut is_first) {
                self.expect(b',', "a comma")?;
            }
            if has_names {
                if self.peek() != Some(b'"') {
                    return Err(self.problem("a name"));
                }
                self.value()?;
                self.expect(b':', "a colon")?;
            }
            self.value()?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Steps over a string, whose first quote is next.
    fn string(&mut self) -> Result<Kind, JsonError> {
        self.at += 1;
        let mut kind = Kind::Text;
        loop {
            match self.text.as_bytes().get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(kind);
                }
                Some(b'\\') => {
                    kind = Kind::EscapedText;
                    let length = text::escape_length(&self.text.as_bytes()[self.at..]);
                    self.at += length.ok_or_else(|| self.problem("an escape"))?;
                }
                Some(0..=31) | None => return Err(self.problem("the end of the text")),
                Some(_) => self.at += 1,
            }
        }
    }

    /// Steps over a word or a number.
    fn plain(&mut self) -> Result<Kind, JsonError> {
        let start = self.at;
        let is_part =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        while self.text.as_bytes().get(self.at).is_some_and(is_part) {
            self.at += 1;
        }
        match &self.text.as_bytes()[start..self.at] {
            b"null" => Ok(Kind::Null),
            b"true" => Ok(Kind::True),
            b"false" => Ok(Kind::False),
            [b'-' | b'0'..=b'9', ..] => Ok(Kind::Number),
            _ => {
                self.at = start;
                Err(self.problem("a value"))
            }
        }
    }
}
