//! What the lexer has to know about a language.

use super::Kind;

/// A language, as far as colours go.
pub(super) struct Rules {
    /// What begins a comment that ends with its line.
    pub(super) line_comments: &'static [&'static str],
    /// Strings and comments with an end of their own. The first that fits is taken, so longer
    /// ones stand before their beginnings.
    pub(super) spans: &'static [Span],
    /// Words, parted by blanks.
    pub(super) keywords: &'static str,
    /// Names of types that can't be told by their spelling, parted by blanks.
    pub(super) types: &'static str,
    /// Whether `Name` is a type.
    pub(super) capital_types: bool,
    /// Characters that are letters besides the usual ones. A word never begins with `-`.
    pub(super) letters: &'static str,
    /// Characters that make the word after them something of their own.
    pub(super) marks: &'static [(u8, Kind)],
    /// What follows the name of a value, where names are worth a colour.
    pub(super) key_end: Option<u8>,
    /// What no other field can say.
    pub(super) quirk: Quirk,
}

/// A language without anything, to be added to.
pub(super) const BARE: Rules = Rules {
    line_comments: &[],
    spans: &[],
    keywords: "",
    types: "",
    capital_types: false,
    letters: "",
    marks: &[],
    key_end: None,
    quirk: Quirk::None,
};

/// What sets a family of languages apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quirk {
    /// Nothing.
    None,
    /// Raw strings, lifetimes and macros.
    Rust,
    /// Keywords in any case.
    AnyCase,
    /// Comments only after a blank, strings not after a letter: `a#b` and `don't` are words.
    Spaced,
}

/// A string or a comment.
pub(super) struct Span {
    pub(super) kind: Kind,
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// Whether a backslash takes the meaning off the next character.
    pub(super) escapes: bool,
    /// Whether it goes on in the next line.
    pub(super) multiline: bool,
    /// Whether it can stand within itself.
    pub(super) nests: bool,
}

/// A string that ends with its line at the latest.
pub(super) const fn text(quote: &'static str) -> Span {
    let kind = Kind::String;
    Span { kind, open: quote, close: quote, escapes: true, multiline: false, nests: false }
}

/// A string over several lines.
pub(super) const fn long_text(quote: &'static str) -> Span {
    Span { multiline: true, ..text(quote) }
}

/// A string over several lines in which a backslash is a backslash.
pub(super) const fn raw_text(open: &'static str, close: &'static str) -> Span {
    let kind = Kind::String;
    Span { kind, open, close, escapes: false, multiline: true, nests: false }
}

/// A string of one line in which a backslash is a backslash.
pub(super) const fn raw_line(quote: &'static str) -> Span {
    Span { escapes: false, ..text(quote) }
}

/// A comment with an end of its own.
pub(super) const fn comment(open: &'static str, close: &'static str) -> Span {
    Span { kind: Kind::Comment, ..raw_text(open, close) }
}

/// A comment that can hold others.
pub(super) const fn nested_comment(open: &'static str, close: &'static str) -> Span {
    Span { nests: true, ..comment(open, close) }
}
