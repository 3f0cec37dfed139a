//! HTML, XML and similar languages: tags, attributes and comments.

use super::{Kind, Painter};

pub(super) fn paint(painter: &mut Painter<'_>) {
    let code = painter.code;
    let mut at = 0;
    while let Some(found) = code[at..].find('<') {
        let start = at + found;
        let rest = &code[start..];
        at = if rest.starts_with("<!--") {
            let end = rest.find("-->").map_or(code.len(), |close| start + close + 3);
            painter.paint(Kind::Comment, start, end);
            end
        } else {
            match code.as_bytes().get(start + 1) {
                Some(b'/' | b'!' | b'?') => paint_tag(painter, start, start + 2),
                Some(byte) if byte.is_ascii_alphabetic() => paint_tag(painter, start, start + 1),
                _ => start + 1,
            }
        };
    }
}

/// Paints a tag including its brackets, and returns where it ends.
fn paint_tag(painter: &mut Painter<'_>, start: usize, name: usize) -> usize {
    let bytes = painter.code.as_bytes();
    let mut at = name_end(bytes, name);
    painter.paint(Kind::Keyword, start, at);
    while let Some(&byte) = bytes.get(at) {
        let begin = at;
        match byte {
            b'>' => {
                painter.paint(Kind::Keyword, at, at + 1);
                return at + 1;
            }
            // The tag was never closed: the next one begins here.
            b'<' => return at,
            b'"' | b'\'' => {
                let quote = bytes[at + 1..].iter().position(|&other| other == byte);
                at = quote.map_or(bytes.len(), |length| at + length + 2);
                painter.paint(Kind::String, begin, at);
            }
            _ if is_name(byte) => {
                at = name_end(bytes, at);
                painter.paint(Kind::Type, begin, at);
            }
            _ => at += 1,
        }
    }
    at
}

fn name_end(bytes: &[u8], from: usize) -> usize {
    bytes[from..]
        .iter()
        .position(|&byte| !is_name(byte))
        .map_or(bytes.len(), |length| from + length)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"-_:.@".contains(&byte)
}
