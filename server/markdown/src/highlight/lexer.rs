//! Tokenises code by the rules of its language, in one pass.
//!
//! Only ASCII is significant; other characters count as letters. So every range begins and ends at
//! a character boundary, although it works on bytes.

use super::rules::{Quirk, Rules, Span};
use super::{Kind, Painter};

pub(super) fn paint(rules: &Rules, painter: &mut Painter<'_>) {
    let lexer = Lexer { rules, code: painter.code, bytes: painter.code.as_bytes() };
    let mut at = 0;
    while at < lexer.bytes.len() {
        let (kind, end) = lexer.token(at);
        if let Some(kind) = kind {
            painter.paint(kind, at, end);
        }
        at = end;
    }
}

/// The kind of a token, and where it ends.
type Token = (Option<Kind>, usize);

struct Lexer<'a> {
    rules: &'a Rules,
    code: &'a str,
    bytes: &'a [u8],
}

impl Lexer<'_> {
    fn token(&self, at: usize) -> Token {
        let byte = self.bytes[at];
        if byte.is_ascii_whitespace() {
            (None, at + 1)
        } else if byte.is_ascii_digit() {
            (Some(Kind::Number), self.number_end(at))
        } else if self.starts_word(byte) {
            self.word(at)
        } else {
            self.comment(at)
                .or_else(|| self.span(at))
                .or_else(|| self.lifetime(at))
                .or_else(|| self.marked_word(at))
                .unwrap_or((None, at + 1))
        }
    }

    fn comment(&self, at: usize) -> Option<Token> {
        let rest = &self.bytes[at..];
        self.rules.line_comments.iter().find(|open| rest.starts_with(open.as_bytes()))?;
        let apart = at == 0 || self.bytes[at - 1].is_ascii_whitespace();
        (apart || self.rules.quirk != Quirk::Spaced)
            .then(|| (Some(Kind::Comment), self.line_end(at)))
    }

    fn span(&self, at: usize) -> Option<Token> {
        let rest = &self.bytes[at..];
        let span = self.rules.spans.iter().find(|span| rest.starts_with(span.open.as_bytes()))?;
        if self.rules.quirk == Quirk::Spaced && at > 0 && self.continues_word(self.bytes[at - 1]) {
            return None;
        }
        if self.rules.quirk == Quirk::Rust && span.open == "'" && !self.is_character(at) {
            return None;
        }
        let end = self.span_end(at + span.open.len(), span);
        let is_key = span.kind == Kind::String
            && self.rules.key_end == Some(b':')
            && self.bytes.get(self.skip_blanks(end)) == Some(&b':');
        Some((Some(if is_key { Kind::Type } else { span.kind }), end))
    }

    /// Where a string or comment opened before `at` ends: at the end of the code, if nothing closes
    /// it.
    fn span_end(&self, mut at: usize, span: &Span) -> usize {
        let (open, close) = (span.open.as_bytes(), span.close.as_bytes());
        let mut depth = 1_usize;
        while let Some(rest) = self.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with(close) {
                at += close.len();
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            } else if span.nests && rest.starts_with(open) {
                at += open.len();
                depth += 1;
            } else if span.escapes && rest[0] == b'\\' {
                at += 2;
            } else if !span.multiline && rest[0] == b'\n' {
                return at;
            } else {
                at += 1;
            }
        }
        self.bytes.len()
    }

    /// Whether the quote begins a character (`'a'`, `'\n'`) rather than a lifetime (`'a`).
    fn is_character(&self, quote: usize) -> bool {
        let mut characters = self.code[quote + 1..].chars();
        match characters.next() {
            Some('\\') => true,
            Some(_) => characters.next() == Some('\''),
            None => false,
        }
    }

    fn lifetime(&self, at: usize) -> Option<Token> {
        let is_lifetime = self.rules.quirk == Quirk::Rust && self.bytes[at] == b'\'';
        is_lifetime.then(|| (Some(Kind::Type), self.word_end(at + 1)))
    }

    /// A word whose first character determines its kind, such as `$HOME` or `#include`.
    fn marked_word(&self, at: usize) -> Option<Token> {
        let (_, kind) = self.rules.marks.iter().find(|(mark, _)| *mark == self.bytes[at])?;
        let end = self.word_end(at + 1);
        (end > at + 1).then_some((Some(*kind), end))
    }

    fn word(&self, at: usize) -> Token {
        let end = self.word_end(at);
        let word = &self.code[at..end];
        if self.rules.quirk == Quirk::Rust
            && let Some(end) = self.raw_string_end(word, end)
        {
            return (Some(Kind::String), end);
        }
        if self.is_key(end) {
            return (Some(Kind::Type), end);
        }
        if self.lists(self.rules.keywords, word) {
            return (Some(Kind::Keyword), end);
        }
        if self.lists(self.rules.types, word) || (self.rules.capital_types && is_capital(word)) {
            return (Some(Kind::Type), end);
        }
        match self.bytes.get(end) {
            Some(b'(') => (Some(Kind::Function), end),
            Some(b'!') if self.is_macro(end) => (Some(Kind::Function), end + 1),
            _ => (None, end),
        }
    }

    /// Whether the word before `end` is a key that a value is assigned to.
    fn is_key(&self, end: usize) -> bool {
        let Some(key_end) = self.rules.key_end else {
            return false;
        };
        let separator = self.skip_blanks(end);
        let spaced = || self.bytes.get(separator + 1).is_none_or(u8::is_ascii_whitespace);
        self.bytes.get(separator) == Some(&key_end) && (key_end != b':' || spaced())
    }

    fn is_macro(&self, mark: usize) -> bool {
        self.rules.quirk == Quirk::Rust
            && matches!(self.bytes.get(mark + 1), Some(b'(' | b'[' | b'{'))
    }

    /// Where a string such as `r#"…"#` ends, if the prefix begins one.
    fn raw_string_end(&self, prefix: &str, at: usize) -> Option<usize> {
        if !matches!(prefix, "r" | "br" | "cr") {
            return None;
        }
        let hashes = self.count_hashes(at);
        let mut at = at + hashes;
        if self.bytes.get(at) != Some(&b'"') {
            return None;
        }
        loop {
            let Some(length) = self.bytes[at + 1..].iter().position(|&byte| byte == b'"') else {
                return Some(self.bytes.len());
            };
            at += 1 + length;
            if self.count_hashes(at + 1) >= hashes {
                return Some(at + 1 + hashes);
            }
        }
    }

    fn count_hashes(&self, at: usize) -> usize {
        self.bytes[at..].iter().take_while(|&&byte| byte == b'#').count()
    }

    fn lists(&self, words: &str, word: &str) -> bool {
        let any_case = self.rules.quirk == Quirk::AnyCase;
        words
            .split_ascii_whitespace()
            .any(|other| other == word || (any_case && other.eq_ignore_ascii_case(word)))
    }

    fn number_end(&self, start: usize) -> usize {
        let mut at = start + 1;
        while let Some(byte) = self.bytes.get(at) {
            let after = self.bytes.get(at + 1);
            let belongs = match byte {
                b'.' => after.is_some_and(u8::is_ascii_digit),
                b'\'' => after.is_some_and(u8::is_ascii_hexdigit) && !self.is_quoted(at),
                b'+' | b'-' => self.is_exponent(start, at),
                b'%' => self.rules.key_end.is_some(),
                _ => byte.is_ascii_alphanumeric() || *byte == b'_',
            };
            if !belongs {
                break;
            }
            at += 1;
        }
        at
    }

    /// Whether the quote at `at` opens a string rather than separating the digits of a number.
    fn is_quoted(&self, at: usize) -> bool {
        self.bytes.get(at + 2) == Some(&b'\'') || self.rules.quirk == Quirk::Spaced
    }

    fn is_exponent(&self, start: usize, at: usize) -> bool {
        matches!(self.bytes[at - 1], b'e' | b'E')
            && self.bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
            && !matches!(self.bytes.get(start + 1), Some(b'x' | b'X'))
    }

    fn starts_word(&self, byte: u8) -> bool {
        byte != b'-' && self.continues_word(byte)
    }

    fn continues_word(&self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric()
            || byte == b'_'
            || !byte.is_ascii()
            || self.rules.letters.as_bytes().contains(&byte)
    }

    fn word_end(&self, at: usize) -> usize {
        let length = self.bytes[at..].iter().position(|&byte| !self.continues_word(byte));
        length.map_or(self.bytes.len(), |length| at + length)
    }

    fn line_end(&self, at: usize) -> usize {
        let length = self.bytes[at..].iter().position(|&byte| byte == b'\n');
        length.map_or(self.bytes.len(), |length| at + length)
    }

    fn skip_blanks(&self, at: usize) -> usize {
        let length = self.bytes[at..].iter().position(|byte| !matches!(byte, b' ' | b'\t'));
        length.map_or(self.bytes.len(), |length| at + length)
    }
}

/// `Name` and `T`, but not `CONSTANT`.
fn is_capital(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && (word.len() == 1 || word.contains(|c: char| c.is_ascii_lowercase()))
}
