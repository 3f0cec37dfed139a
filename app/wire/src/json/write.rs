//! Writes the bodies of the browser's requests. `#[derive(ToJson)]` calls it for each field.

use std::num::{NonZeroU32, NonZeroU64};

/// What can be written as JSON. The derive macro has the same name.
pub trait ToJson {
    /// Appends the value to a text.
    fn to_json(&self, text: &mut String);
}

/// The value as JSON without spaces.
pub fn to_string(value: &dyn ToJson) -> String {
    let mut text = String::new();
    value.to_json(&mut text);
    text
}

/// An object of which some fields are written.
pub struct ObjectWriter<'a> {
    text: &'a mut String,
    is_empty: bool,
}

impl<'a> ObjectWriter<'a> {
    /// Begins an object.
    pub fn new(text: &'a mut String) -> Self {
        text.push('{');
        Self { text, is_empty: true }
    }

    /// Appends a field.
    #[inline(never)]
    pub fn field(&mut self, name: &'static str, value: &dyn ToJson) {
        if !std::mem::take(&mut self.is_empty) {
            self.text.push(',');
        }
        write_text(name, self.text);
        self.text.push(':');
        value.to_json(self.text);
    }

    /// Ends the object.
    pub fn end(self) {
        self.text.push('}');
    }
}

fn write_text(source: &str, text: &mut String) {
    text.push('"');
    for character in source.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\0'..' ' => {
                let code = u32::from(character);
                let digit = |digit| char::from_digit(digit, 16).unwrap_or('0');
                text.extend(['\\', 'u', '0', '0', digit(code / 16), digit(code % 16)]);
            }
            _ => text.push(character),
        }
    }
    text.push('"');
}

impl ToJson for String {
    fn to_json(&self, text: &mut String) {
        write_text(self, text);
    }
}

impl ToJson for bool {
    fn to_json(&self, text: &mut String) {
        text.push_str(if *self { "true" } else { "false" });
    }
}

/// Whole numbers, which look the same everywhere.
macro_rules! whole_numbers {
    ($($type:ty),*) => {$(
        impl ToJson for $type {
            fn to_json(&self, text: &mut String) {
                text.push_str(&self.to_string());
            }
        }
    )*};
}

whole_numbers!(u32, NonZeroU32, NonZeroU64);

impl<T: ToJson> ToJson for Option<T> {
    fn to_json(&self, text: &mut String) {
        match self {
            Some(value) => value.to_json(text),
            None => text.push_str("null"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bridge::{CancelRequest, ClearRequest, DiscardRequest, MessageRequest};
    use crate::{Amount, Budget};

    proptest! {
        #[test]
        fn texts_are_read_as_they_were(text: String) {
            let written = to_string(&text);
            prop_assert_eq!(serde_json::from_str::<String>(&written).ok(), Some(text));
        }
    }

    #[test]
    fn bodies_are_written_as_serde_writes_them() {
        let empty = MessageRequest::default();
        assert_eq!(to_string(&empty), "{}");
        let text = "a\"b\\c\n\r\t\u{1}\u{1f}\u{7f}é😀".to_owned();
        let full = MessageRequest {
            text: Some(text.clone()),
            session_id: Some(text.clone()),
            mode: Some(String::new()),
            max_steps: Some(3),
            model: Some("m".to_owned()),
            source: Some("s".to_owned()),
            reviewed: true,
            draft_id: Some("d".to_owned()),
        };
        assert_eq!(to_string(&full), serde_json::to_string(&full).expect("JSON"));
        let cancel = CancelRequest { id: text.clone() };
        assert_eq!(to_string(&cancel), serde_json::to_string(&cancel).expect("JSON"));
        let discard = DiscardRequest { id: text.clone() };
        assert_eq!(to_string(&discard), serde_json::to_string(&discard).expect("JSON"));
        let clear = ClearRequest { session_id: text };
        assert_eq!(to_string(&clear), serde_json::to_string(&clear).expect("JSON"));
        let limits = Budget {
            minutes: Amount::try_from(1.25).ok(),
            turns: NonZeroU32::new(7),
            tokens: NonZeroU64::new(9),
            cost: Amount::try_from(120.0).ok(),
        };
        for budget in [Budget::default(), limits] {
            assert_eq!(to_string(&budget), serde_json::to_string(&budget).expect("JSON"));
        }
    }
}
