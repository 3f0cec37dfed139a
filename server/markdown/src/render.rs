//! Writes the HTML for the parser's events.
//!
//! Everything written is either a literal in this file or went through [`push_escaped`]. There is
//! no recursion: closing tags wait in [`Renderer::open`].

use std::fmt::Write as _;
use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, LinkType, Tag};
use wire::html::push_escaped;

use super::address;
use super::highlight;

/// How many elements may be open; anything nested deeper is shown as it was written. Browsers
/// flatten content nested some hundreds deep, and do so slowly.
const MAX_DEPTH: usize = 64;

/// How many characters of a fence's language are shown.
const MAX_LABEL_CHARACTERS: usize = 32;

const LINK_END: &str = "</a>";

/// The HTML of parsed `text`; each event comes with its range in the text.
pub(super) fn render<'t>(
    text: &'t str,
    events: impl Iterator<Item = (Event<'t>, Range<usize>)>,
) -> String {
    let mut renderer = Renderer { text, ..Renderer::default() };
    renderer.html.reserve(text.len() + text.len() / 2);
    for (event, place) in events {
        renderer.write(event, place);
    }
    renderer.html
}

/// The HTML of a text that is not parsed.
pub(super) fn plain(text: &str) -> String {
    let mut html = String::from(r#"<p class="markdown-source">"#);
    push_escaped(&mut html, text);
    html.push_str("</p>\n");
    html
}

#[derive(Default)]
struct Renderer<'t> {
    text: &'t str,
    html: String,
    /// Closing tags of the open elements, the innermost last.
    open: Vec<&'static str>,
    mode: Mode,
    in_link: bool,
    in_table_head: bool,
    alignments: Vec<Alignment>,
    column: usize,
}

/// How the next event is treated.
#[derive(Default)]
enum Mode {
    #[default]
    Normal,
    /// Ignored: it is part of something already shown as it was written. Counts the end events to
    /// wait for.
    Skipped(usize),
    /// Collected as code, because only the whole can be highlighted.
    Code { language: String, code: String },
    /// Part of an image's description, of which only the text counts.
    Image { ends: usize, start: usize, address: Option<String>, close: &'static str },
}

impl<'t> Renderer<'t> {
    fn write(&mut self, event: Event<'t>, place: Range<usize>) {
        match &mut self.mode {
            Mode::Normal => self.write_normal(event, place),
            Mode::Skipped(ends) => {
                *ends = count_ends(*ends, &event);
                if *ends == 0 {
                    self.mode = Mode::Normal;
                }
            }
            Mode::Code { code, .. } => match event {
                Event::Text(text) => code.push_str(&text),
                Event::End(_) => self.end_code(),
                _ => {}
            },
            Mode::Image { ends, .. } => {
                *ends = count_ends(*ends, &event);
                let done = *ends == 0;
                match event {
                    Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => {
                        push_escaped(&mut self.html, &text);
                    }
                    Event::SoftBreak | Event::HardBreak => self.html.push(' '),
                    _ if done => self.end_image(),
                    _ => {}
                }
            }
        }
    }

    fn write_normal(&mut self, event: Event<'t>, place: Range<usize>) {
        match event {
            Event::Start(tag) if self.open.len() >= MAX_DEPTH && nests(&tag) => {
                let source = self.text.get(place).unwrap_or_default();
                if matches!(tag, Tag::BlockQuote(_) | Tag::List(_)) {
                    self.html.push_str(&plain(source));
                } else {
                    push_escaped(&mut self.html, source);
                }
                self.mode = Mode::Skipped(1);
            }
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.end(),
            Event::Code(text) => {
                self.html.push_str("<code>");
                push_escaped(&mut self.html, &text);
                self.html.push_str("</code>");
            }
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>\n"),
            Event::Rule => self.html.push_str("<hr>\n"),
            Event::TaskListMarker(done) => self.html.push_str(if done {
                r#"<input type="checkbox" class="task-marker" aria-label="Done" disabled checked> "#
            } else {
                r#"<input type="checkbox" class="task-marker" aria-label="Open" disabled> "#
            }),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::FootnoteReference(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => push_escaped(&mut self.html, &text),
        }
    }

    fn start(&mut self, tag: Tag<'t>) {
        match tag {
            Tag::Paragraph => self.element("<p>", "</p>\n"),
            Tag::HtmlBlock => self.element(r#"<p class="markdown-source">"#, "</p>\n"),
            Tag::Heading { level, .. } => self.start_heading(level),
            Tag::BlockQuote(_) => self.element("<blockquote>\n", "</blockquote>\n"),
            Tag::List(None) => self.element("<ul>\n", "</ul>\n"),
            Tag::List(Some(1)) => self.element("<ol>\n", "</ol>\n"),
            Tag::List(Some(first)) => {
                let _ = writeln!(self.html, r#"<ol start="{first}">"#);
                self.open.push("</ol>\n");
            }
            Tag::Item => self.element("<li>", "</li>\n"),
            Tag::Emphasis => self.element("<em>", "</em>"),
            Tag::Strong => self.element("<strong>", "</strong>"),
            Tag::Strikethrough => self.element("<del>", "</del>"),
            Tag::CodeBlock(kind) => {
                self.mode = Mode::Code { language: language_of(&kind), code: String::new() };
            }
            Tag::Link { link_type, dest_url, title, .. } => {
                let destination = match link_type {
                    LinkType::Email => format!("mailto:{dest_url}"),
                    _ => dest_url.into_string(),
                };
                let close = self.start_link(address::allowed(&destination), &title);
                self.open.push(close);
            }
            Tag::Image { dest_url, title, .. } => {
                let address = address::allowed(&dest_url);
                let close = self.start_link(address, &title);
                self.mode = Mode::Image {
                    ends: 1,
                    start: self.html.len(),
                    address: address.map(str::to_owned),
                    close,
                };
            }
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.element("<div class=\"table-scroll\"><table>\n", "</tbody>\n</table></div>\n");
            }
            Tag::TableHead => {
                self.column = 0;
                self.in_table_head = true;
                self.element("<thead>\n<tr>", "</tr>\n</thead>\n<tbody>\n");
            }
            Tag::TableRow => {
                self.column = 0;
                self.in_table_head = false;
                self.element("<tr>", "</tr>\n");
            }
            Tag::TableCell => self.start_cell(),
            // None of these is enabled; their text is shown all the same.
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => self.open.push(""),
        }
    }

    fn element(&mut self, start: &'static str, end: &'static str) {
        self.html.push_str(start);
        self.open.push(end);
    }

    fn end(&mut self) {
        let close = self.open.pop().unwrap_or_default();
        if close == LINK_END {
            self.in_link = false;
        }
        self.html.push_str(close);
    }

    /// The page has its own headings, so these start at the third level. The class keeps the
    /// original level.
    fn start_heading(&mut self, level: HeadingLevel) {
        let (start, end) = match level {
            HeadingLevel::H1 => (r#"<h3 class="heading-1">"#, "</h3>\n"),
            HeadingLevel::H2 => (r#"<h4 class="heading-2">"#, "</h4>\n"),
            HeadingLevel::H3 => (r#"<h5 class="heading-3">"#, "</h5>\n"),
            HeadingLevel::H4 => (r#"<h6 class="heading-4">"#, "</h6>\n"),
            HeadingLevel::H5 => (r#"<h6 class="heading-5">"#, "</h6>\n"),
            HeadingLevel::H6 => (r#"<h6 class="heading-6">"#, "</h6>\n"),
        };
        self.element(start, end);
    }

    /// Opens a link if it is allowed, and returns its closing tag. Links do not nest.
    fn start_link(&mut self, address: Option<&str>, title: &str) -> &'static str {
        let Some(address) = address.filter(|_| !self.in_link) else {
            return "";
        };
        self.in_link = true;
        self.html.push_str("<a href=\"");
        push_escaped(&mut self.html, address);
        if !title.is_empty() {
            self.html.push_str("\" title=\"");
            push_escaped(&mut self.html, title);
        }
        self.html.push_str("\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">");
        LINK_END
    }

    /// An image without a description is labelled with its URL, if that is allowed.
    fn end_image(&mut self) {
        let Mode::Image { start, address, close, .. } = std::mem::take(&mut self.mode) else {
            return;
        };
        if self.html.len() == start {
            push_escaped(&mut self.html, address.as_deref().unwrap_or("image"));
        }
        if close == LINK_END {
            self.in_link = false;
        }
        self.html.push_str(close);
    }

    fn end_code(&mut self) {
        let Mode::Code { language, code } = std::mem::take(&mut self.mode) else {
            return;
        };
        self.html.push_str(
            "<div class=\"code-block\"><div class=\"code-block-head\">\
             <span class=\"code-block-language\">",
        );
        push_escaped(&mut self.html, &language);
        self.html.push_str(
            "</span><button type=\"button\" class=\"copy-button\">Copy</button></div><pre><code>",
        );
        highlight::push_highlighted(&mut self.html, &language, &code);
        self.html.push_str("</code></pre></div>\n");
    }

    /// The content security policy forbids inline styles, hence the classes.
    fn start_cell(&mut self) {
        let (name, close) =
            if self.in_table_head { ("<th scope=\"col\"", "</th>") } else { ("<td", "</td>") };
        self.html.push_str(name);
        self.html.push_str(match self.alignments.get(self.column) {
            Some(Alignment::Left) => " class=\"align-left\">",
            Some(Alignment::Center) => " class=\"align-center\">",
            Some(Alignment::Right) => " class=\"align-right\">",
            Some(Alignment::None) | None => ">",
        });
        self.open.push(close);
        self.column += 1;
    }
}

/// Everything that can be nested, directly or indirectly.
fn nests(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::BlockQuote(_) | Tag::List(_) | Tag::Emphasis | Tag::Strong | Tag::Strikethrough
    )
}

fn count_ends(ends: usize, event: &Event<'_>) -> usize {
    match event {
        Event::Start(_) => ends + 1,
        Event::End(_) => ends.saturating_sub(1),
        _ => ends,
    }
}

/// The first word after the fence: ```` ```rust,ignore ```` is Rust.
fn language_of(kind: &CodeBlockKind<'_>) -> String {
    let CodeBlockKind::Fenced(info) = kind else {
        return String::new();
    };
    let word = info.split(|c: char| c.is_whitespace() || c == ',').find(|word| !word.is_empty());
    word.unwrap_or_default().chars().take(MAX_LABEL_CHARACTERS).collect()
}
