//! Reads JSON.
//!
//! `serde_json` reads every struct in two ways, as an object and as a list, and its parser is
//! compiled into each of them: that was a seventh of the download. Here the parser exists once, and
//! structs are objects.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

/// How deep lists and objects may be nested: more would exhaust the stack.
const MAX_DEPTH: u8 = 128;

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonError(String);

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for JsonError {}

impl de::Error for JsonError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Result<T> = std::result::Result<T, JsonError>;

/// Reads a value that is the whole text.
pub(crate) fn from_str<T: DeserializeOwned>(text: &str) -> Result<T> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = T::deserialize(&mut reader)?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.fail("nothing more")),
    }
}

/// A text and the place in it.
struct Reader<'de> {
    text: &'de str,
    at: usize,
    depth: u8,
}

impl<'de> Reader<'de> {
    #[cold]
    fn fail(&self, expected: &str) -> JsonError {
        JsonError(format!("expected {expected} at byte {}", self.at))
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

    fn expect(&mut self, byte: u8, name: &str) -> Result<()> {
        if self.take(byte) { Ok(()) } else { Err(self.fail(name)) }
    }

    /// Steps over a word such as `null`, if it is next.
    fn word(&mut self, word: &str) -> bool {
        self.peek();
        let is_next = self.text[self.at..].starts_with(word);
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    fn open(&mut self, byte: u8, name: &str) -> Result<()> {
        self.expect(byte, name)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(self.fail("less depth")) } else { Ok(()) }
    }

    /// Steps to the next part of a list or an object. False at its end.
    fn next_part(&mut self, close: u8, is_first: &mut bool) -> Result<bool> {
        if self.take(close) {
            self.depth -= 1;
            return Ok(false);
        }
        if !std::mem::take(is_first) {
            self.expect(b',', "a comma")?;
        }
        Ok(true)
    }

    fn string(&mut self) -> Result<Cow<'de, str>> {
        self.expect(b'"', "a string")?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Borrowed(&self.text[start..self.at - 1]));
                }
                Some(b'\\') => return self.escaped(start).map(Cow::Owned),
                Some(0..=31) | None => return Err(self.fail("the end of the string")),
                Some(_) => self.at += 1,
            }
        }
    }

    /// The rest of a string in which something is escaped.
    fn escaped(&mut self, start: usize) -> Result<String> {
        let mut text = self.text[start..self.at].to_owned();
        let bytes = self.text.as_bytes();
        loop {
            let from = self.at;
            while bytes.get(self.at).is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..=31)) {
                self.at += 1;
            }
            text.push_str(&self.text[from..self.at]);
            let escape = match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => bytes.get(self.at + 1),
                _ => return Err(self.fail("the end of the string")),
            };
            self.at += 2;
            text.push(match escape {
                Some(byte @ (b'"' | b'\\' | b'/')) => char::from(*byte),
                Some(b'b') => '\u{8}',
                Some(b'f') => '\u{c}',
                Some(b'n') => '\n',
                Some(b'r') => '\r',
                Some(b't') => '\t',
                Some(b'u') => self.unicode()?,
                _ => return Err(self.fail("an escape")),
            });
        }
    }

    /// A character that is written as one or two numbers. Half a pair is no character: it becomes
    /// the one that stands for what can't be shown.
    fn unicode(&mut self) -> Result<char> {
        let first = self.hex()?;
        let is_pair = (0xD800..0xDC00).contains(&first) && self.text[self.at..].starts_with("\\u");
        if is_pair {
            let before = self.at;
            self.at += 2;
            let second = self.hex()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        number.ok_or_else(|| self.fail("four digits"))
    }

    fn number(&mut self) -> Result<&'de str> {
        self.peek();
        let start = self.at;
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        while self.text.as_bytes().get(self.at).is_some_and(is_part) {
            self.at += 1;
        }
        if start == self.at { Err(self.fail("a number")) } else { Ok(&self.text[start..self.at]) }
    }

    /// Steps over a value, whatever it is.
    fn skip(&mut self) -> Result<()> {
        let mut is_first = true;
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => {
                self.open(b'{', "")?;
                while self.next_part(b'}', &mut is_first)? {
                    self.string()?;
                    self.expect(b':', "a colon")?;
                    self.skip()?;
                }
                Ok(())
            }
            Some(b'[') => {
                self.open(b'[', "")?;
                while self.next_part(b']', &mut is_first)? {
                    self.skip()?;
                }
                Ok(())
            }
            _ if self.word("null") || self.word("true") || self.word("false") => Ok(()),
            _ => self.number().map(drop),
        }
    }
}

/// Reads a number of each of these types.
macro_rules! numbers {
    ($($method:ident $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            let number = self.number()?.parse();
            visitor.$visit(number.map_err(|_| self.fail("another number"))?)
        }
    )*};
}

/// What is read like something else.
macro_rules! alike {
    ($($method:ident => $other:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.$other(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = JsonError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek() {
            Some(b'"') => self.deserialize_str(visitor),
            Some(b'{') => self.deserialize_map(visitor),
            Some(b'[') => self.deserialize_seq(visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'n') => self.deserialize_unit(visitor),
            _ => {
                let number = self.number()?;
                if let Ok(number) = number.parse::<u64>() {
                    visitor.visit_u64(number)
                } else if let Ok(number) = number.parse::<i64>() {
                    visitor.visit_i64(number)
                } else {
                    visitor.visit_f64(number.parse().map_err(|_| self.fail("a number"))?)
                }
            }
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.word("true") {
            visitor.visit_bool(true)
        } else if self.word("false") {
            visitor.visit_bool(false)
        } else {
            Err(self.fail("true or false"))
        }
    }

    numbers! {
        deserialize_u32 visit_u32;
        deserialize_u64 visit_u64;
        deserialize_i32 visit_i32;
        deserialize_i64 visit_i64;
        deserialize_f64 visit_f64;
    }

    alike! {
        deserialize_u8 => deserialize_u32;
        deserialize_u16 => deserialize_u32;
        deserialize_i8 => deserialize_i32;
        deserialize_i16 => deserialize_i32;
        deserialize_f32 => deserialize_f64;
        deserialize_char => deserialize_str;
        deserialize_string => deserialize_str;
        deserialize_bytes => deserialize_any;
        deserialize_byte_buf => deserialize_any;
        deserialize_identifier => deserialize_str;
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.word("null") { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.word("null") { visitor.visit_unit() } else { Err(self.fail("null")) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.open(b'[', "a list")?;
        let mut parts = Parts { reader: self, is_first: true, is_done: false, close: b']' };
        let value = visitor.visit_seq(&mut parts)?;
        parts.end()?;
        Ok(value)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.open(b'{', "an object")?;
        let mut parts = Parts { reader: self, is_first: true, is_done: false, close: b'}' };
        let value = visitor.visit_map(&mut parts)?;
        parts.end()?;
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        if self.peek() == Some(b'"') {
            return visitor.visit_enum(Variant { reader: self, has_value: false });
        }
        self.open(b'{', "a variant")?;
        let value = visitor.visit_enum(Variant { reader: &mut *self, has_value: true })?;
        self.depth -= 1;
        self.expect(b'}', "the end of the variant")?;
        Ok(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.skip()?;
        visitor.visit_unit()
    }
}

/// The parts of a list or an object.
struct Parts<'a, 'de> {
    reader: &'a mut Reader<'de>,
    is_first: bool,
    is_done: bool,
    close: u8,
}

impl Parts<'_, '_> {
    fn step(&mut self) -> Result<bool> {
        self.is_done = self.is_done || !self.reader.next_part(self.close, &mut self.is_first)?;
        Ok(!self.is_done)
    }

    /// Nothing may be left: who wants less than there is has misunderstood it.
    fn end(mut self) -> Result<()> {
        if self.step()? { Err(self.reader.fail("the end")) } else { Ok(()) }
    }
}

impl<'de> SeqAccess<'de> for &mut Parts<'_, 'de> {
    type Error = JsonError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.step()? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }
}

impl<'de> MapAccess<'de> for &mut Parts<'_, 'de> {
    type Error = JsonError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if self.step()? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        self.reader.expect(b':', "a colon")?;
        seed.deserialize(&mut *self.reader)
    }
}

/// A variant: its name alone, or as the only key of an object.
struct Variant<'a, 'de> {
    reader: &'a mut Reader<'de>,
    has_value: bool,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = JsonError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        let name = seed.deserialize(&mut *self.reader)?;
        if self.has_value {
            self.reader.expect(b':', "a colon")?;
        }
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = JsonError;

    fn unit_variant(self) -> Result<()> {
        if self.has_value { self.reader.skip() } else { Ok(()) }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        seed.deserialize(self.reader)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value> {
        self.reader.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.reader.deserialize_map(visitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::Value;
    use wire::{Inbox, LiveBatch, Models};

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..8)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read(value in any_json(), is_pretty: bool) {
            let write = if is_pretty { serde_json::to_string_pretty } else { serde_json::to_string };
            let text = write(&value).expect("JSON");
            prop_assert_eq!(from_str::<Value>(&text), Ok(value));
            // Skipped in the same way.
            from_str::<de::IgnoredAny>(&text).expect("JSON");
        }

        #[test]
        fn no_text_is_too_odd(text in "[\\[\\]{}\",:\\\\u0-9a-f .eE+-]{0,40}") {
            let read = from_str::<Value>(&text);
            if let Ok(expected) = serde_json::from_str::<Value>(&text) {
                prop_assert_eq!(read, Ok(expected));
            }
        }
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Kind {
        Unit,
        Struct { number: u32 },
        Newtype(String),
    }

    #[test]
    fn variants_and_options_are_read() {
        for (text, kind) in [
            (r#""unit""#, Kind::Unit),
            (r#"{"struct":{"number":7,"more":[{}]}}"#, Kind::Struct { number: 7 }),
            (r#" { "newtype" : "a\u00e9\n" } "#, Kind::Newtype("aé\n".to_owned())),
        ] {
            assert_eq!(from_str::<Kind>(text), Ok(kind), "{text}");
        }
        assert_eq!(from_str::<Vec<Option<u32>>>("[1,null]"), Ok(vec![Some(1), None]));
        assert_eq!(from_str::<(u32, String)>(r#"[1,"a"]"#), Ok((1, "a".to_owned())));
    }

    #[test]
    fn pairs_of_surrogates_are_one_character_and_halves_none() {
        for (text, read) in [
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\ud83dx""#, "\u{fffd}x"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
        ] {
            assert_eq!(from_str::<String>(text).as_deref(), Ok(read), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_place() {
        for (text, problem) in [
            ("", "expected a number at byte 0"),
            ("[1,2", "expected a comma at byte 4"),
            ("[1 2]", "expected a comma at byte 3"),
            ("[1] 2", "expected nothing more at byte 4"),
            (r#"{"a" 1}"#, "expected a colon at byte 5"),
            (r#""a"#, "expected the end of the string at byte 2"),
            (r#""\x""#, "expected an escape at byte 3"),
        ] {
            let error = from_str::<Value>(text).expect_err(text);
            assert_eq!(error.to_string(), problem, "{text}");
        }
        assert!(from_str::<Value>(&"[".repeat(1000)).is_err());
        assert!(from_str::<Models>("[]").is_err(), "structs are objects");
        assert!(from_str::<(u32,)>("[1,2]").is_err(), "nothing is left over");
    }

    #[test]
    fn answers_of_the_server_are_read() {
        let id = "session-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";
        let batch = format!(
            r#"{{"live":[{{"id":"{id}","responses":[{{"callback":"onIdle"}},
                {{"callback":"onMessage","messageId":"m","delta":"a\"b"}}],"at":[1,2],"position":"7"}},
                {{"id":"inbox","error":"InboxNotFound"}}]}}"#
        );
        let expected = serde_json::from_str::<LiveBatch>(&batch);
        assert_eq!(from_str::<LiveBatch>(&batch).ok(), expected.ok());
        assert_eq!(from_str::<Inbox>(r#"{"items":[]}"#), Ok(Inbox::default()));
    }
}
