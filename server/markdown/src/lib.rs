//! A model's Markdown as HTML that is safe to put into a page.
//!
//! Nothing is sanitised afterwards: the text is parsed, and `render` writes HTML of its own in
//! which every text and every attribute is escaped. Tags in the text are displayed, never
//! interpreted. Pages get the result by `api/markdown` and put it into an element of class `markdown`;
//! they also handle clicks on `.copy-button`.

mod address;
mod highlight;
mod render;
#[cfg(test)]
mod tests;

use pulldown_cmark::{Event, Options, Parser, Tag};

/// Longer texts, in bytes, stay plain. No answer meant for reading is that long, and its HTML would
/// keep a page from responding.
const MAX_BYTES: usize = 512 * 1024;

/// A text with a line that opens more quotes and lists than this stays plain: the parser goes
/// through all open ones at every following line.
const MAX_MARKERS: usize = 100;

const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// Whether the text has markup that Markdown would render differently. Plain prose has none, even
/// in several paragraphs.
pub fn looks_like_markdown(text: &str) -> bool {
    if !is_parsable(text) {
        return false;
    }
    let mut numbered_items = 0;
    Parser::new_ext(text, OPTIONS).any(|event| match event {
        Event::Start(Tag::CodeBlock(kind)) => kind.is_fenced(),
        // Only the parser takes "1984. What a year!" for a list.
        Event::Start(Tag::List(Some(first))) => first <= 1,
        Event::Start(Tag::Item) => {
            numbered_items += 1;
            numbered_items > 1
        }
        Event::Start(Tag::Paragraph | Tag::HtmlBlock) => false,
        Event::Start(_) | Event::Code(_) | Event::Rule => true,
        _ => false,
    })
}

/// The text as HTML, for the inner HTML of an element of class `markdown`.
pub fn to_html(text: &str) -> String {
    if !is_parsable(text) {
        return render::plain(text);
    }
    render::render(text, Parser::new_ext(text, OPTIONS).into_offset_iter())
}

/// Whether the parser will process the text quickly enough.
fn is_parsable(text: &str) -> bool {
    text.len() <= MAX_BYTES && text.lines().all(|line| count_markers(line) <= MAX_MARKERS)
}

/// How many quotes and lists a line may open.
fn count_markers(line: &str) -> usize {
    let bytes = line.as_bytes();
    let mut markers = 0;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'>' => markers += 1,
            b'-' | b'*' | b'+' | b'.' | b')' => {
                let ends = bytes.get(at + 1).is_none_or(|next| matches!(next, b' ' | b'\t' | b'>'));
                markers += usize::from(ends);
            }
            b' ' | b'\t' | b'0'..=b'9' => {}
            _ => break,
        }
    }
    markers
}
