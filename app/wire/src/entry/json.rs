//! The text of an entry as a tree which keeps what serde's own loses: the order of the fields,
//! and those that are given twice.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// How deep arrays and objects may be nested. Less than what `serde_json` allows, so that ours is
/// the limit that is met; low enough for everybody who walks through works by recursion.
pub(super) const MAX_DEPTH: usize = 100;

/// A value and where it stands: values are counted in the order in which they begin.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) ordinal: usize,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    Number(Number),
    String(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Unsigned(u64),
    Negative,
    Float(f64),
}

impl Node {
    /// Reads a text. The error is of the category `Data` only if it is nested too deeply.
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let next = Cell::new(0);
        let mut source = serde_json::Deserializer::from_str(text);
        let node = Seed { next: &next, depth: 0 }.deserialize(&mut source)?;
        source.end()?;
        Ok(node)
    }
}

impl Value {
    /// Name of the value's type, for messages about a wrong type.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

#[derive(Clone, Copy)]
struct Seed<'c> {
    next: &'c Cell<usize>,
    depth: usize,
}

impl Seed<'_> {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom("nested too deeply"));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Node, D::Error> {
        let ordinal = self.next.replace(self.next.get() + 1);
        let value = source.deserialize_any(self)?;
        Ok(Node { ordinal, value })
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(Number::Unsigned(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(u64::try_from(value).map_or(Number::Negative, Number::Unsigned)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(Number::Float(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let seed = self.deeper()?;
        let mut nodes = Vec::new();
        while let Some(node) = items.next_element_seed(seed)? {
            nodes.push(node);
        }
        Ok(Value::Array(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let seed = self.deeper()?;
        let mut nodes = Vec::new();
        while let Some(name) = fields.next_key()? {
            nodes.push((name, fields.next_value_seed(seed)?));
        }
        Ok(Value::Object(nodes))
    }
}
