//! Unified diffs: created for people to decide by, and applied as models write them.
//!
//! Models count badly, so a hunk's lines decide where it belongs; the line numbers in its header
//! are only a hint where to look first. A hunk that fits nowhere, or in several places of which
//! none is the one it names, is an error.

use std::time::Duration;

use similar::TextDiff;

/// Comparisons of lines before a diff is given up. Only a malicious one needs more.
const MAX_COMPARISONS: usize = 5_000_000;

/// Why a diff cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DiffError {
    #[error("no hunk in the diff: a hunk begins with `@@ -line,count +line,count @@`")]
    NoHunk,
    #[error("the diff is about more than one file: make one call for each")]
    MoreFiles,
    #[error("the diff makes or removes the file, it can only change it")]
    NotAChange,
    #[error("line {number} of the diff begins with neither a space, `-` nor `+`: `{line}`")]
    BadLine { number: usize, line: String },
    #[error("hunk {number} does not match the file, read it again: `{header}`")]
    NoMatch { number: usize, header: String },
    #[error("hunk {number} fits in several places, give more context: `{header}`")]
    Ambiguous { number: usize, header: String },
}

/// The unified diff from `old` to `new`.
pub(super) fn unified(path: &str, old: &str, new: &str) -> String {
    TextDiff::configure()
        // After this time the diff is larger than necessary, but still correct.
        .timeout(Duration::from_millis(500))
        .diff_lines(old, new)
        .unified_diff()
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string()
}

/// The text after applying the diff.
pub(super) fn apply(old: &str, diff: &str) -> Result<String, DiffError> {
    let hunks = parse(diff)?;
    let mut image = Image::new(old);
    for hunk in &hunks {
        image.apply(hunk)?;
    }
    Ok(image.finish())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Both,
    Old,
    New,
}

struct Line<'a> {
    side: Side,
    text: &'a str,
    /// Followed by `\ No newline at end of file`.
    unended: bool,
    /// Completely empty: the space of an empty context line is missing.
    bare: bool,
}

struct Hunk<'a> {
    number: usize,
    header: &'a str,
    /// Start and count of the old lines, if the header has them.
    old: Option<(usize, usize)>,
    lines: Vec<Line<'a>>,
}

impl<'a> Hunk<'a> {
    fn begin(number: usize, header: &'a str) -> Self {
        Self { number, header, old: old_range(header), lines: Vec::new() }
    }

    fn old_lines(&self) -> impl Iterator<Item = &'a str> {
        self.lines.iter().filter(|line| line.side != Side::New).map(|line| line.text)
    }

    /// Removes empty lines at the end that the header does not count: leftovers of the diff's
    /// author.
    fn trim(&mut self) {
        let Some((_, count)) = self.old else { return };
        while self.lines.last().is_some_and(|line| line.bare) && self.old_lines().count() > count {
            self.lines.pop();
        }
    }

    fn no_match(&self) -> DiffError {
        DiffError::NoMatch { number: self.number, header: self.header.to_owned() }
    }

    fn ambiguous(&self) -> DiffError {
        DiffError::Ambiguous { number: self.number, header: self.header.to_owned() }
    }
}

fn old_range(header: &str) -> Option<(usize, usize)> {
    let range = header.strip_prefix("@@ -")?.split(' ').next()?;
    let (start, count) = range.split_once(',').unwrap_or((range, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

fn parse(diff: &str) -> Result<Vec<Hunk<'_>>, DiffError> {
    let lines: Vec<&str> = diff.lines().collect();
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    for (index, &line) in lines.iter().enumerate() {
        if line.starts_with("@@") {
            if let Some(hunk) = hunks.last_mut() {
                hunk.trim();
            }
            hunks.push(Hunk::begin(hunks.len() + 1, line));
            continue;
        }
        let Some(hunk) = hunks.last_mut() else {
            if matches!(line, "--- /dev/null" | "+++ /dev/null") {
                return Err(DiffError::NotAChange);
            }
            continue;
        };
        let next = |ahead: usize, prefix: &str| {
            lines.get(index + ahead).is_some_and(|line| line.starts_with(prefix))
        };
        let is_header = line.starts_with("--- ") && next(1, "+++ ") && next(2, "@@");
        if is_header || line.starts_with("diff --git ") {
            return Err(DiffError::MoreFiles);
        }
        let (side, text) = match line.as_bytes().first() {
            None => (Side::Both, line),
            Some(b' ') => (Side::Both, &line[1..]),
            Some(b'-') => (Side::Old, &line[1..]),
            Some(b'+') => (Side::New, &line[1..]),
            Some(b'\\') => {
                if let Some(last) = hunk.lines.last_mut() {
                    last.unended = true;
                }
                continue;
            }
            Some(_) => {
                let line = line.chars().take(80).collect();
                return Err(DiffError::BadLine { number: index + 1, line });
            }
        };
        hunk.lines.push(Line { side, text, unended: false, bare: line.is_empty() });
    }
    if let Some(hunk) = hunks.last_mut() {
        hunk.trim();
    }
    if hunks.is_empty() { Err(DiffError::NoHunk) } else { Ok(hunks) }
}

/// A text while hunks are applied to it, from its beginning to its end.
struct Image<'a> {
    old: Vec<&'a str>,
    /// Number of old lines already processed.
    done: usize,
    /// Offset of the previous hunks from the lines that they named.
    shift: isize,
    comparisons: usize,
    line_end: &'static str,
    new: String,
}

impl<'a> Image<'a> {
    fn new(old: &'a str) -> Self {
        let lines: Vec<&str> = old.split_inclusive('\n').collect();
        let is_windows = lines.first().is_some_and(|line| line.ends_with("\r\n"));
        let line_end = if is_windows { "\r\n" } else { "\n" };
        Self { old: lines, done: 0, shift: 0, comparisons: 0, line_end, new: String::new() }
    }

    fn apply(&mut self, hunk: &Hunk<'_>) -> Result<(), DiffError> {
        let position = self.place(hunk)?;
        self.keep(position);
        for line in &hunk.lines {
            match line.side {
                Side::Both => self.keep(self.done + 1),
                Side::Old => self.done += 1,
                Side::New => {
                    self.end_line();
                    self.new.push_str(line.text);
                    if !line.unended {
                        self.new.push_str(self.line_end);
                    }
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> String {
        self.keep(self.old.len());
        self.new
    }

    /// Copies old lines unchanged.
    fn keep(&mut self, until: usize) {
        for index in self.done..until {
            self.end_line();
            self.new.push_str(self.old[index]);
        }
        self.done = until;
    }

    /// Only the last line may lack a line end.
    fn end_line(&mut self) {
        if !self.new.is_empty() && !self.new.ends_with('\n') {
            self.new.push_str(self.line_end);
        }
    }

    /// Finds the old lines of a hunk.
    fn place(&mut self, hunk: &Hunk<'_>) -> Result<usize, DiffError> {
        let wanted: Vec<&str> = hunk.old_lines().collect();
        let expected = hunk.old.and_then(|(start, _)| {
            // Without old lines, the number names the line before the insertion.
            let index = if wanted.is_empty() { start } else { start.checked_sub(1)? };
            index.checked_add_signed(self.shift).filter(|index| *index >= self.done)
        });
        if wanted.is_empty() {
            return expected.filter(|at| *at <= self.old.len()).ok_or_else(|| hunk.no_match());
        }
        if let Some(expected) = expected
            && self.matches(&wanted, expected)
        {
            return Ok(expected);
        }
        let last = self.old.len().checked_sub(wanted.len()).ok_or_else(|| hunk.no_match())?;
        let mut found = None;
        for position in self.done..=last {
            if self.matches(&wanted, position) && found.replace(position).is_some() {
                return Err(hunk.ambiguous());
            }
            if self.comparisons > MAX_COMPARISONS {
                return Err(hunk.ambiguous());
            }
        }
        let position = found.ok_or_else(|| hunk.no_match())?;
        if let Some((start, _)) = hunk.old {
            let said = isize::try_from(start.saturating_sub(1)).unwrap_or(isize::MAX);
            self.shift = isize::try_from(position).unwrap_or(isize::MAX).saturating_sub(said);
        }
        Ok(position)
    }

    fn matches(&mut self, wanted: &[&str], position: usize) -> bool {
        let Some(old) =
            position.checked_add(wanted.len()).and_then(|end| self.old.get(position..end))
        else {
            return false;
        };
        let same = old.iter().zip(wanted).take_while(|(old, wanted)| content(old) == **wanted);
        let same = same.count();
        self.comparisons += same + 1;
        same == wanted.len()
    }
}

/// A line without its end.
fn content(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
mod tests;
