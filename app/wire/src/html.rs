//! Foreign text in HTML. Nothing else puts text into markup that is written by hand: that of
//! Markdown on the server, and that of charts in the browser.

/// Appends text escaped for both element content and attribute values.
pub fn push_escaped(html: &mut String, text: &str) {
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
