//! The fields of a tool's arguments, read from their JSON without a tree of it.
//!
//! A summary needs one or two of the outermost fields of a text that may be as long as a file, and
//! that may still be arriving: whatever is cut off ends where it is cut off. What is no JSON has no
//! fields.

/// A value; texts are as they stand in the JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A text without its quotes, still escaped.
    Text(&'a str),
    /// An array, from its bracket on.
    List(&'a str),
    /// An object, from its brace on.
    Object(&'a str),
    /// A number, a boolean or null.
    Other,
}

impl<'a> Value<'a> {
    /// The text, if it is one.
    pub(super) fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The outermost fields of an object, in order.
pub(super) fn fields(json: &str) -> impl Iterator<Item = (&str, Value<'_>)> {
    let mut rest = json.trim_start().strip_prefix('{').unwrap_or_default();
    std::iter::from_fn(move || {
        let (name, after) = split_text(skip(rest).strip_prefix('"')?);
        let (value, after) = split_value(skip(after).strip_prefix(':')?)?;
        rest = after;
        Some((name, value))
    })
}

/// The items of an array.
pub(super) fn items(json: &str) -> impl Iterator<Item = Value<'_>> {
    let mut rest = json.trim_start().strip_prefix('[').unwrap_or_default();
    std::iter::from_fn(move || {
        let (value, after) = split_value(skip(rest))?;
        rest = after;
        Some(value)
    })
}

/// A text without its escapes.
pub(super) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    // Half of a character that JSON spells with two escapes.
    let mut high = None;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        let mut characters = rest[at + 1..].chars();
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('b' | 'f') => {}
            Some('u') => {
                let digits = characters.as_str().get(..4);
                let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                characters = characters.as_str().get(4..).unwrap_or_default().chars();
                match (high.take(), unit) {
                    (_, Some(unit @ 0xD800..0xDC00)) => high = Some(unit - 0xD800),
                    (Some(high), Some(unit @ 0xDC00..0xE000)) => {
                        let code = 0x1_0000 + (high << 10) + (unit - 0xDC00);
                        plain.extend(char::from_u32(code));
                    }
                    (_, unit) => plain.extend(unit.and_then(char::from_u32)),
                }
            }
            other => plain.extend(other),
        }
        rest = characters.as_str();
    }
    plain.push_str(rest);
    plain
}

/// The next value, and what follows it; none at the end of what contains it.
fn split_value(json: &str) -> Option<(Value<'_>, &str)> {
    let json = json.trim_start();
    Some(match json.as_bytes().first()? {
        b'"' => {
            let (text, rest) = split_text(&json[1..]);
            (Value::Text(text), rest)
        }
        b'[' => {
            let (list, rest) = split_nested(json);
            (Value::List(list), rest)
        }
        b'{' => {
            let (object, rest) = split_nested(json);
            (Value::Object(object), rest)
        }
        b']' | b'}' => return None,
        _ => {
            let end = json.find([',', ']', '}']).unwrap_or(json.len());
            (Value::Other, &json[end..])
        }
    })
}

/// A text up to its closing quote, and what follows that.
fn split_text(json: &str) -> (&str, &str) {
    let mut is_escaped = false;
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return (&json[..at], &json[at + 1..]),
            _ => {}
        }
    }
    (json, "")
}

/// An array or object with everything in it, and what follows it.
fn split_nested(json: &str) -> (&str, &str) {
    let mut depth = 0_usize;
    let mut rest = json;
    while let Some(at) = rest.find(['"', '[', '{', ']', '}']) {
        let after = &rest[at + 1..];
        rest = after;
        match json.as_bytes()[json.len() - after.len() - 1] {
            b'"' => rest = split_text(after).1,
            b'[' | b'{' => depth += 1,
            _ => depth -= 1,
        }
        if depth == 0 {
            return json.split_at(json.len() - rest.len());
        }
    }
    (json, "")
}

fn skip(json: &str) -> &str {
    json.trim_start_matches(|c: char| c == ',' || c.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_fields_are_found_whatever_is_in_them() {
        use Value::{List, Object, Other, Text};
        let json = r#" {
            "a": "one", "b" : 12, "c": {"a": "no", "x": ["}", "\"]"]}, "d": [1, {"a": "]"}],
            "e": "q \" \\", "f": null, "g": true
        }"#;
        let found: Vec<_> = fields(json).collect();
        assert_eq!(
            found,
            [
                ("a", Text("one")),
                ("b", Other),
                ("c", Object(r#"{"a": "no", "x": ["}", "\"]"]}"#)),
                ("d", List(r#"[1, {"a": "]"}]"#)),
                ("e", Text(r#"q \" \\"#)),
                ("f", Other),
                ("g", Other),
            ]
        );
        assert_eq!(
            items(r#"["a", 1, {"b": 2}, [3]]"#).collect::<Vec<_>>(),
            [Text("a"), Other, Object(r#"{"b": 2}"#), List("[3]")]
        );
    }

    #[test]
    fn what_is_cut_off_ends_where_it_is_cut_off() {
        let json = r#"{"path": "src/ä.rs", "more": {"x": ["y", "z"]}, "last": "te\"xt"}"#;
        let whole = fields(json).count();
        for end in (0..json.len()).filter(|end| json.is_char_boundary(*end)) {
            let cut = &json[..end];
            assert!(fields(cut).count() <= whole, "{cut}");
            for (_, value) in fields(cut) {
                if let Value::Text(text) = value {
                    unescape(text);
                }
            }
        }
        assert_eq!(fields(r#"{"path": "src/m"#).next(), Some(("path", Value::Text("src/m"))));
        assert_eq!(items(r#"["a", "b"#).last(), Some(Value::Text("b")));
    }

    #[test]
    fn what_is_no_object_has_no_fields() {
        for text in ["", "  ", "plain", "[1]", "{", "{}", "{1}", "{\"a\"}", "}{"] {
            assert_eq!(fields(text).next(), None, "{text}");
        }
        assert_eq!(items("{}").next(), None);
    }

    #[test]
    fn escapes_become_what_they_stand_for() {
        for (text, plain) in [
            ("plain ä", "plain ä"),
            (r#"\"\\\/"#, "\"\\/"),
            (r"a\nb\tc\\n", "a\nb\tc\\n"),
            (r"\u00e4\u00E4", "ää"),
            (r"\ud83d\ude00!", "😀!"),
            // Halves, and escapes that are cut off.
            (r"a\ud83d", "a"),
            (r"a\ude00b", "ab"),
            (r"a\u12", "a"),
            (r"a\", "a"),
        ] {
            assert_eq!(unescape(text), plain, "{text}");
        }
    }
}
