//! What is wrong with an entry, and where.

use std::fmt;

/// Maximal number of problems in the list, which people have to read.
pub(super) const MAX_PROBLEMS: usize = 1000;

/// Why a text is not an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problems {
    /// The text is not JSON.
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1; 0 if the line before is at fault.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// It is JSON, but no entry. Displays as one line for each problem.
    Invalid {
        /// What is wrong, in the order of the text.
        problems: Vec<Problem>,
        /// Whether there are more problems than these.
        more: bool,
    },
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, as a JavaScript expression from `entry` on.
    pub path: String,
    /// What is wrong, as a sentence.
    pub reason: String,
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::NotJson { line, column, reason } => {
                write!(formatter, "not JSON, line {line}, column {column}: {reason}")
            }
            Self::Invalid { problems, more } => {
                for (index, problem) in problems.iter().enumerate() {
                    let line_feed = if index == 0 { "" } else { "\n" };
                    write!(formatter, "{line_feed}{problem}")?;
                }
                if *more {
                    let count = problems.len();
                    write!(formatter, "\nentry: There are more problems than these {count}.")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.reason)
    }
}

/// A place in an entry. Made on the way down, written only if there is something to report.
#[derive(Clone, Copy, Debug)]
pub(super) enum Path<'p> {
    Entry,
    /// A field that the format knows, or should.
    Field(&'p Path<'p>, &'p str),
    /// A name that the entry's author chose.
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
    /// A variable that is used there.
    Variable(&'p Path<'p>, &'p str),
}

impl Path<'_> {
    pub(super) fn field<'a>(&'a self, name: &'a str) -> Path<'a> {
        Path::Field(self, name)
    }

    pub(super) fn key<'a>(&'a self, name: &'a str) -> Path<'a> {
        Path::Key(self, name)
    }

    pub(super) fn index(&self, index: usize) -> Path<'_> {
        Path::Index(self, index)
    }

    pub(super) fn variable<'a>(&'a self, name: &'a str) -> Path<'a> {
        Path::Variable(self, name)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Entry => formatter.write_str("entry"),
            Self::Field(parent, name) if is_identifier(name) => {
                write!(formatter, "{parent}.{name}")
            }
            Self::Field(parent, name) | Self::Key(parent, name) => {
                write!(formatter, "{parent}[{}]", Quoted(name))
            }
            Self::Index(parent, index) => write!(formatter, "{parent}[{index}]"),
            Self::Variable(parent, name) => write!(formatter, "{parent}/${name}"),
        }
    }
}

fn is_identifier(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$');
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// A text of the entry's author, written as JSON so that it stays on one line.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let text = serde_json::to_string(self.0).map_err(|_| fmt::Error)?;
        formatter.write_str(&text)
    }
}

/// Takes problems in any order, keeps the first ones of the text.
#[derive(Debug, Default)]
pub(super) struct Collector {
    found: Vec<(usize, Problem)>,
    /// Ordinal from which on problems are dropped.
    full_from: Option<usize>,
    more: bool,
}

impl Collector {
    /// Whether a problem of the value with that ordinal would be kept.
    pub(super) fn has_room(&self, ordinal: usize) -> bool {
        self.full_from.is_none_or(|full_from| ordinal < full_from)
    }

    /// Adds a problem of the value with that ordinal.
    pub(super) fn report(&mut self, ordinal: usize, path: &Path, reason: impl fmt::Display) {
        if !self.has_room(ordinal) {
            self.more = true;
            return;
        }
        let problem = Problem { path: path.to_string(), reason: reason.to_string() };
        self.found.push((ordinal, problem));
        // Not each time, as sorting has its price.
        if self.found.len() >= 2 * MAX_PROBLEMS {
            self.trim();
        }
    }

    /// The problems in the order of the text; `None` if there are none.
    pub(super) fn finish(mut self) -> Option<Problems> {
        self.trim();
        let problems: Vec<_> = self.found.into_iter().map(|(_, problem)| problem).collect();
        (!problems.is_empty()).then_some(Problems::Invalid { problems, more: self.more })
    }

    fn trim(&mut self) {
        // Stable: what was found about one value stays in the order of the report.
        self.found.sort_by_key(|(ordinal, _)| *ordinal);
        if self.found.len() > MAX_PROBLEMS {
            self.more = true;
            self.found.truncate(MAX_PROBLEMS);
            self.full_from = self.found.last().map(|(ordinal, _)| *ordinal);
        }
    }
}
