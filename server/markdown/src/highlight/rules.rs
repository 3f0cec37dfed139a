//! The lexer's rules for a language.

use super::Kind;

/// A language, as far as highlighting is concerned.
pub(super) struct Rules {
    /// Prefixes of comments that end with the line.
    pub(super) line_comments: &'static [&'static str],
    /// Strings and delimited comments. The first match counts, so longer delimiters come before
    /// their own prefixes.
    pub(super) spans: &'static [Span],
    /// Words in one text, separated by blanks.
    pub(super) keywords: &'static str,
    /// Names of types that their spelling does not reveal, separated by blanks.
    pub(super) types: &'static str,
    /// Whether capitalised names are types.
    pub(super) capital_types: bool,
    /// Additional characters of words. A word never begins with `-`.
    pub(super) letters: &'static str,
    /// Characters that determine the kind of the word after them.
    pub(super) marks: &'static [(u8, Kind)],
    /// The character after a key, in languages whose keys are highlighted.
    pub(super) key_end: Option<u8>,
    /// What the other fields cannot express.
    pub(super) quirk: Quirk,
}

/// An empty set of rules, to be extended.
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

/// A peculiarity of a family of languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quirk {
    None,
    /// Raw strings, lifetimes and macros.
    Rust,
    /// Keywords are recognised in any case.
    AnyCase,
    /// Comments only after a blank, strings not after a letter: `a#b` and `don't` are words.
    Spaced,
}

/// A string or a comment.
pub(super) struct Span {
    pub(super) kind: Kind,
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// Whether a backslash escapes the next character.
    pub(super) escapes: bool,
    /// Whether it may span several lines.
    pub(super) multiline: bool,
    /// Whether it can be nested.
    pub(super) nests: bool,
}

/// A string that ends with the line at the latest.
pub(super) const fn text(quote: &'static str) -> Span {
    let kind = Kind::String;
    Span { kind, open: quote, close: quote, escapes: true, multiline: false, nests: false }
}

/// A string that may span several lines.
pub(super) const fn long_text(quote: &'static str) -> Span {
    Span { multiline: true, ..text(quote) }
}

/// A multi-line string without escapes.
pub(super) const fn raw_text(open: &'static str, close: &'static str) -> Span {
    let kind = Kind::String;
    Span { kind, open, close, escapes: false, multiline: true, nests: false }
}

/// A single-line string without escapes.
pub(super) const fn raw_line(quote: &'static str) -> Span {
    Span { escapes: false, ..text(quote) }
}

/// A comment with a closing delimiter.
pub(super) const fn comment(open: &'static str, close: &'static str) -> Span {
    Span { kind: Kind::Comment, ..raw_text(open, close) }
}

/// A delimited comment that can be nested.
pub(super) const fn nested_comment(open: &'static str, close: &'static str) -> Span {
    Span { nests: true, ..comment(open, close) }
}
