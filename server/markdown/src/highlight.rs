//! Syntax highlighting, as spans with classes: `hl-keyword`, `hl-string`, `hl-comment`,
//! `hl-number`, `hl-type`, `hl-function`, and for diffs `hl-added` and `hl-removed`.
//!
//! Not a parser: languages are described by a table of [`rules`], which [`lexer`] applies in one
//! pass. A wrong guess makes a colour wrong, never the text: the [`Painter`] writes all of the
//! code, in order, whatever ranges it is told to colour.

mod languages;
mod lexer;
mod line;
mod markup;
mod rules;
#[cfg(test)]
mod tests;

use wire::html::push_escaped;

use languages::Language;

/// Appends the code, highlighted if the language is known.
pub(super) fn push_highlighted(html: &mut String, language: &str, code: &str) {
    let mut painter = Painter { html, code, written: 0 };
    match languages::find(language) {
        Some(Language::Lexed(rules)) => lexer::paint(rules, &mut painter),
        Some(Language::Markup) => markup::paint(&mut painter),
        Some(Language::Difference) => line::paint(&mut painter),
        None => {}
    }
    painter.finish();
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Keyword,
    String,
    Comment,
    Number,
    Type,
    Function,
    Added,
    Removed,
}

impl Kind {
    fn class(self) -> &'static str {
        match self {
            Kind::Keyword => "hl-keyword",
            Kind::String => "hl-string",
            Kind::Comment => "hl-comment",
            Kind::Number => "hl-number",
            Kind::Type => "hl-type",
            Kind::Function => "hl-function",
            Kind::Added => "hl-added",
            Kind::Removed => "hl-removed",
        }
    }
}

/// Writes code from its beginning to its end.
struct Painter<'a> {
    html: &'a mut String,
    code: &'a str,
    written: usize,
}

impl Painter<'_> {
    /// Colours a range, which must not begin before the end of the previous one.
    fn paint(&mut self, kind: Kind, start: usize, end: usize) {
        push_escaped(self.html, &self.code[self.written..start]);
        self.html.push_str("<span class=\"");
        self.html.push_str(kind.class());
        self.html.push_str("\">");
        push_escaped(self.html, &self.code[start..end]);
        self.html.push_str("</span>");
        self.written = end;
    }

    fn finish(self) {
        push_escaped(self.html, &self.code[self.written..]);
    }
}
