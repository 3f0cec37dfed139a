//! The only way for foreign text into the HTML.

/// Appends text escaped for both element content and attribute values.
pub(crate) fn push_escaped(html: &mut String, text: &str) {
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        let entity = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\'' => "&#39;",
            _ => continue,
        };
        html.push_str(&text[written..at]);
        html.push_str(entity);
        written = at + 1;
    }
    html.push_str(&text[written..]);
}
