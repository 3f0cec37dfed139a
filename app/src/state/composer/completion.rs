//! What is completed while a prompt is written: `/` at its start offers tasks and commands, `@`
//! after a space the files of the folder.
//!
//! Carets are counted as browsers count them, in UTF-16.

use std::ops::Range;

/// What is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// Tasks and commands.
    Commands,
    Files,
}

/// What is being completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) offered: Offered,
    /// What was typed behind the mark, up to the caret.
    pub(crate) query: String,
    /// The word with its mark, also behind the caret, in bytes of the text.
    range: Range<usize>,
}

/// What is completed at a caret.
pub(crate) fn token_at(text: &str, caret: u32) -> Option<Token> {
    let caret = byte_at(text, caret);
    let start = text[..caret]
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + text[at..].chars().next().map_or(0, char::len_utf8));
    let offered = match text.as_bytes().get(start)? {
        b'/' if start == 0 => Offered::Commands,
        b'@' => Offered::Files,
        _ => return None,
    };
    // The caret may stand before the mark.
    let query = text.get(start + 1..caret)?.to_owned();
    let end = text[caret..].find(char::is_whitespace).map_or(text.len(), |at| caret + at);
    Some(Token { offered, query, range: start..end })
}

/// The text with the word replaced by what was picked, and the caret behind it. The word stays open
/// behind a folder, whose files can be completed next.
pub(crate) fn complete(text: &str, token: &Token, picked: &str) -> (String, u32) {
    let mark = match token.offered {
        Offered::Commands => '/',
        Offered::Files => '@',
    };
    let rest = &text[token.range.end..];
    let is_folder = token.offered == Offered::Files && picked.ends_with('/');
    let space = if is_folder || rest.starts_with(char::is_whitespace) { "" } else { " " };
    let head = format!("{}{mark}{picked}{space}", &text[..token.range.start]);
    let skipped = u32::from(!is_folder && space.is_empty());
    let caret = head.encode_utf16().count();
    (head + rest, u32::try_from(caret).unwrap_or(u32::MAX).saturating_add(skipped))
}

/// Where a caret stands in the bytes of a text.
fn byte_at(text: &str, caret: u32) -> usize {
    let mut units = 0;
    for (at, character) in text.char_indices() {
        if units >= caret {
            return at;
        }
        units += if character.len_utf16() == 1 { 1 } else { 2 };
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The token at the `|` in a text.
    fn token(text: &str) -> (String, Option<Token>) {
        let (before, after) = text.split_once('|').expect("a caret");
        let caret = u32::try_from(before.encode_utf16().count()).expect("a short text");
        let text = format!("{before}{after}");
        let token = token_at(&text, caret);
        (text, token)
    }

    #[test]
    fn marks_open_completions_where_they_stand_by_themselves() {
        use Offered::{Commands, Files};
        for (text, found) in [
            ("/|", Some((Commands, ""))),
            ("/rev|", Some((Commands, "rev"))),
            ("/re|view", Some((Commands, "re"))),
            ("|/review", None),
            ("/review it|", None),
            (" /rev|", None),
            ("see /rev|", None),
            ("@|", Some((Files, ""))),
            ("see @src/m|", Some((Files, "src/m"))),
            ("see\n@m|", Some((Files, "m"))),
            ("😀 ä\u{3000}@ä|", Some((Files, "ä"))),
            ("me@m|", None),
            ("see |@m", None),
            ("plain|", None),
            ("|", None),
        ] {
            let (_, token) = token(text);
            let token = token.as_ref().map(|token| (token.offered, &*token.query));
            assert_eq!(token, found, "{text}");
        }
        assert_eq!(token_at("@a", 99).map(|token| token.query).as_deref(), Some("a"));
    }

    #[test]
    fn what_is_picked_replaces_the_word() {
        for (text, picked, completed) in [
            ("/re|", "review", "/review |"),
            ("/re|view", "retry", "/retry |"),
            ("😀 @m|", "src/main.rs", "😀 @src/main.rs |"),
            ("see @m| please", "a.rs", "see @a.rs |please"),
            ("@s|", "src/", "@src/|"),
            ("@s| and", "src/", "@src/| and"),
        ] {
            let (text, token) = token(text);
            let (text, caret) = complete(&text, &token.expect("a token"), picked);
            let mut shown = text.clone();
            shown.insert(byte_at(&text, caret), '|');
            assert_eq!(shown, completed);
        }
    }
}
