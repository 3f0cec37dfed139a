//! Closes what a cut-off text leaves open, so that half a bold word is bold and not two asterisks.

/// The marks to append to the block that still grows.
pub(crate) fn close_marks(block: &str) -> String {
    // Marks do not reach beyond a paragraph.
    let paragraph = block.rsplit("\n\n").next().unwrap_or_default();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = paragraph;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        let is_code = open.last().is_some_and(|mark| mark.starts_with('`'));
        if first == '\\' && !is_code {
            length += rest[1..].chars().next().map_or(0, char::len_utf8);
        } else if matches!(first, '`' | '*' | '~') {
            length = rest.bytes().take_while(|byte| char::from(*byte) == first).count();
            let mark = &rest[..length];
            let after = rest[length..].chars().next();
            if open.last() == Some(&mark) && (is_code || !before.is_whitespace()) {
                open.pop();
            } else if !is_code && opens(mark, after) {
                open.push(mark);
            }
        }
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    open.into_iter().rev().collect()
}

/// Whether a mark opens something, rather than standing for itself. One with nothing behind it yet
/// would become something else if it were closed.
fn opens(mark: &str, after: Option<char>) -> bool {
    let is_followed = after.is_some_and(|after| !after.is_whitespace());
    match mark.as_bytes()[0] {
        b'`' => after.is_some() && mark.len() < 3,
        b'~' => is_followed && mark.len() == 2,
        _ => is_followed && mark.len() < 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_closed_in_reverse_order() {
        for (block, marks) in [
            ("plain", ""),
            ("a **bold", "**"),
            ("a **bold** word", ""),
            ("a *thin **and bold", "***"),
            ("a `code", "`"),
            ("a ``co`de", "``"),
            ("`**` and", ""),
            ("`a ** b", "`"),
            ("~~gone", "~~"),
            ("***both", "***"),
            (r"an \*asterisk", ""),
            // Items of lists, products, and marks that are not complete.
            ("* item", ""),
            ("2 * 3", ""),
            ("a **", ""),
            ("a `", ""),
            ("~ 5", ""),
            ("an **old\n\nnew", ""),
            ("ä **ö", "**"),
            ("", ""),
        ] {
            assert_eq!(close_marks(block), marks, "{block}");
        }
    }
}
