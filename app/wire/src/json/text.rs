//! Texts as they stand in JSON: the parser measures their escapes, and [`super::Value`] decodes them.

/// What is between the quotes.
pub(super) fn without_quotes(source: &str) -> &str {
    source.get(1..source.len().saturating_sub(1)).unwrap_or_default()
}

/// The length of the escape that a text begins with; `None` if there is no such.
pub(super) fn escape_length(text: &[u8]) -> Option<usize> {
    match text.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => text.get(2..6)?.iter().all(u8::is_ascii_hexdigit).then_some(6),
        _ => None,
    }
}

/// The text that is written so, with escapes that the parser has seen.
pub(super) fn decode(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let mut length = 2;
        text.push(match rest.as_bytes().get(at + 1) {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let (character, is_pair) = unicode(&rest[at..]);
                length = if is_pair { 12 } else { 6 };
                character
            }
            Some(byte) => char::from(*byte),
            None => char::REPLACEMENT_CHARACTER,
        });
        rest = rest.get(at + length..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// A character that is written as one or two numbers, and whether they are two. Half a pair is no
/// character: it becomes the one that stands for what can't be shown.
fn unicode(escapes: &str) -> (char, bool) {
    let first = unit(escapes);
    let second = escapes.get(6..).map_or(0, unit);
    if (0xD800..0xDC00).contains(&first) && (0xDC00..0xE000).contains(&second) {
        let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), true);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), false)
}

/// The number of the escape that a text begins with; 0 if it begins with something else.
fn unit(text: &str) -> u32 {
    let digits = text.strip_prefix("\\u").and_then(|digits| digits.get(..4));
    digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0)
}
