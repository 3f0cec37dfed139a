//! Markdown that is still being written: which of its blocks will not change any more.
//!
//! Only the last block is parsed again as it grows. Borders stand where a new block certainly
//! begins; what may go on after a blank line (lists, indented code) stays in one piece. Nothing
//! is wrong if a border is missing, and once the text is complete it is rendered as a whole.

pub(crate) mod marks;

#[cfg(test)]
mod tests;

use std::ops::Range;

/// Where a growing text splits into blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveMarkdown {
    /// The ends of the finished blocks.
    borders: Vec<usize>,
    /// The beginning of the first line that was not complete yet.
    at: usize,
    /// The fence of the code block that is open.
    fence: Option<Fence>,
    /// Whether the last block may go on after a blank line.
    may_go_on: bool,
    /// Whether the last complete line was blank.
    after_blank: bool,
}

/// What opens a code block, and closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence {
    mark: u8,
    length: usize,
}

impl LiveMarkdown {
    /// Reads what was appended to the text since the last call. Returns how many blocks were finished
    /// before.
    pub(crate) fn advance(&mut self, text: &str) -> usize {
        let before = self.borders.len();
        while let Some(length) = text[self.at..].find('\n') {
            let end = self.at + length + 1;
            self.take_line(&text[self.at..end], end);
            self.at = end;
        }
        // One long line is a paragraph in most answers: do not wait for its end.
        let line = &text[self.at..];
        let begins = line.trim_start().chars().next();
        let may_be_part = |first: char| {
            self.may_go_on
                && (line.starts_with(' ') || first.is_ascii_digit() || "-*+".contains(first))
        };
        if self.after_blank && begins.is_some_and(|first| !may_be_part(first)) {
            self.end_block(self.at);
        }
        before
    }

    /// The finished blocks, as parts of the text.
    pub(crate) fn finished(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.borders.iter().copied());
        starts.zip(self.borders.iter().copied()).map(|(start, end)| start..end)
    }

    /// The block that still grows.
    pub(crate) fn open<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.borders.last().copied().unwrap_or_default()..).unwrap_or_default()
    }

    /// The language and the code of the block that still grows, if it is a code block.
    pub(crate) fn open_code<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        self.fence?;
        let (first, code) = self.open(text).split_once('\n')?;
        // Otherwise it is in a list.
        let fence = Fence::opened_by(first).filter(|_| !self.may_go_on)?;
        let info = first.trim_start()[fence.length..].trim();
        Some((info.split_whitespace().next().unwrap_or_default(), code))
    }

    fn take_line(&mut self, line: &str, end: usize) {
        let is_blank = line.trim().is_empty();
        if let Some(fence) = self.fence {
            if fence.is_closed_by(line) {
                self.fence = None;
                if !self.may_go_on {
                    self.end_block(end);
                }
            }
            return;
        }
        if is_blank {
            // Blank lines belong to what precedes them, so that every block begins with its text.
            self.after_blank = self.open_length() > 0 || self.after_blank;
            return;
        }
        let is_item = is_item(line);
        let indent = line.len() - line.trim_start().len();
        if self.after_blank && !(self.may_go_on && (is_item || indent >= 2)) {
            self.end_block(self.at);
        }
        self.after_blank = false;
        let opened = Fence::opened_by(line);
        if opened.is_some() && !self.may_go_on {
            self.end_block(self.at);
        }
        self.fence = opened;
        self.may_go_on |= is_item || (indent >= 4 && self.open_length() == 0);
    }

    /// How many bytes of complete lines the last block has.
    fn open_length(&self) -> usize {
        self.at - self.borders.last().copied().unwrap_or_default()
    }

    fn end_block(&mut self, end: usize) {
        if end > self.borders.last().copied().unwrap_or_default() {
            self.borders.push(end);
        }
        self.may_go_on = false;
        self.after_blank = false;
    }
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim();
        let mark = *line.as_bytes().first().filter(|mark| matches!(mark, b'`' | b'~'))?;
        let length = line.bytes().take_while(|byte| *byte == mark).count();
        // Three of them in a line with a fourth one later are code within the text.
        let is_inline = mark == b'`' && line[length..].contains('`');
        (length >= 3 && !is_inline).then_some(Self { mark, length })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.bytes().all(|byte| byte == self.mark)
    }
}

/// Whether an item of a list begins in a line.
fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let marks: &[char] = if digits > 0 { &['.', ')'] } else { &['-', '*', '+'] };
    let rest = line[digits..].strip_prefix(marks);
    rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
}
