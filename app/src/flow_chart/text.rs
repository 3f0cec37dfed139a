//! The width of a label, without asking a browser.
//!
//! Labels use a monospaced font, so counting columns is enough.

/// No common monospaced font is wider than 0.61 of its size, which is 13 px.
const COLUMN_PX: i32 = 8;
/// Longer labels are truncated.
const MAX_COLUMNS: i32 = 30;

fn columns(character: char) -> i32 {
    // Scripts with wide characters, and emoji, come after this.
    if character < '\u{2e80}' { 1 } else { 2 }
}

/// The width of a truncated label, in pixels.
pub(crate) fn width(label: &str) -> i32 {
    label.chars().map(columns).sum::<i32>() * COLUMN_PX
}

/// The label as drawn: truncated if it is too long.
pub(crate) fn shorten(label: &str) -> String {
    let mut used = 0;
    let mut cut = 0;
    for (place, character) in label.char_indices() {
        used += columns(character);
        if used > MAX_COLUMNS {
            let kept = label.get(..cut).unwrap_or_default();
            return format!("{}…", kept.trim_end());
        }
        // One column is left for the ellipsis.
        if used < MAX_COLUMNS {
            cut = place + character.len_utf8();
        }
    }
    label.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_labels_are_shortened() {
        let full = "a".repeat(30);
        let longer = format!("{full}b");
        let cut = format!("{}…", "a".repeat(29));
        let wide = "語".repeat(20);
        for (label, drawn) in [
            ("", ""),
            ("scrum-problem-task (driving)", "scrum-problem-task (driving)"),
            (full.as_str(), full.as_str()),
            (longer.as_str(), cut.as_str()),
            ("a-task-with-a-name-of-29-chars (gpt)", "a-task-with-a-name-of-29-char…"),
            ("a-task-with-name-of-28-chars (gpt)", "a-task-with-name-of-28-chars…"),
            (wide.as_str(), "語語語語語語語語語語語語語語…"),
        ] {
            assert_eq!(shorten(label), drawn, "{label}");
            assert!(width(drawn) <= MAX_COLUMNS * COLUMN_PX, "{label}");
        }
    }
}
