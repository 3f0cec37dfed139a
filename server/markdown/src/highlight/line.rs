//! Diffs, where the first characters of a line decide.

use super::{Kind, Painter};

const HEADERS: [&str; 5] = ["diff ", "index ", "--- ", "+++ ", "\\ "];

pub(super) fn paint(painter: &mut Painter<'_>) {
    let mut start = 0;
    for line in painter.code.split_inclusive('\n') {
        let end = start + line.trim_end_matches(['\r', '\n']).len();
        if let Some(kind) = kind_of(line) {
            painter.paint(kind, start, end);
        }
        start += line.len();
    }
}

fn kind_of(line: &str) -> Option<Kind> {
    if HEADERS.iter().any(|header| line.starts_with(header)) {
        return Some(Kind::Comment);
    }
    match line.as_bytes().first()? {
        b'+' | b'>' => Some(Kind::Added),
        b'-' | b'<' => Some(Kind::Removed),
        b'@' => Some(Kind::Keyword),
        _ => None,
    }
}
