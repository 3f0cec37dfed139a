//! `searchFiles`: finds lines by a text or an expression.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use wire::{ToolError, ToolResult};

use crate::tool::{ToolCall, ToolHandler};

use super::list::remarks;
use super::pattern::Pattern;
use super::sandbox::Found;
use super::{
    MAX_ANSWER, Run, ToolFailure, answer, arguments, blocking, cut_at, failure, show_path,
};

/// How many lines are returned unless the call sets a number.
pub(super) const USUAL: usize = 50;
/// The most lines that are returned.
pub(super) const MOST: usize = 500;

const MAX_QUERY: usize = 1000;
/// In bytes. Larger files are seldom written by people.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// How many bytes of a line are searched.
const MAX_LINE: usize = 16 * 1024;
/// How many bytes of a line are shown.
const MAX_SHOWN: usize = 300;
/// Size limit of the compiled expression: matching takes time proportional to it.
const MAX_PROGRAM: usize = 256 * 1024;
const TIME_OUT: Duration = Duration::from_secs(20);

pub(super) struct SearchFiles(pub(super) Arc<Run>);

#[derive(Deserialize)]
struct Arguments {
    query: String,
    regex: Option<bool>,
    glob: Option<String>,
    max: Option<usize>,
}

#[async_trait]
impl ToolHandler for SearchFiles {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let Arguments { query, regex, glob, max } = arguments(call.arguments)?;
        let pattern = Pattern::parse(glob.as_deref())?;
        let regex = compile(&query, regex.unwrap_or_default())?;
        let max = max.unwrap_or(USUAL).clamp(1, MOST);
        let text = blocking(&self.0, move |run, cancel| {
            let mut search = Search {
                regex,
                max,
                cancel,
                until: Instant::now() + TIME_OUT,
                text: String::new(),
                count: 0,
                too_large: 0,
                end: None,
            };
            search.run(run, &pattern)
        });
        Ok(answer(text.await?))
    }
}

fn compile(query: &str, is_regex: bool) -> Result<Regex, ToolError> {
    let invalid = |why: String| failure("invalid_arguments", format!("invalid query: {why}"));
    if query.is_empty() {
        return Err(invalid("empty".to_owned()));
    }
    if query.len() > MAX_QUERY {
        return Err(invalid(format!("more than {MAX_QUERY} bytes")));
    }
    if !is_regex && query.contains('\n') {
        return Err(invalid("more than one line".to_owned()));
    }
    let pattern = if is_regex { Cow::Borrowed(query) } else { regex::escape(query).into() };
    RegexBuilder::new(&pattern)
        .size_limit(MAX_PROGRAM)
        .dfa_size_limit(4 * MAX_PROGRAM)
        .build()
        .map_err(|error| invalid(error.to_string()))
}

/// Why a search ended before all files were searched.
enum End {
    Full,
    TimedOut,
}

struct Search<'a> {
    regex: Regex,
    max: usize,
    cancel: &'a CancellationToken,
    until: Instant,
    text: String,
    count: usize,
    too_large: usize,
    end: Option<End>,
}

impl Search<'_> {
    fn run(&mut self, run: &Run, pattern: &Pattern) -> Result<String, ToolFailure> {
        let cancel = self.cancel;
        let visited = run.workspace.visit(cancel, &mut |found| {
            // A link's target is found under its own name.
            if found.is_link() || !pattern.matches(&found.path) {
                return ControlFlow::Continue(());
            }
            self.file(found)
        });
        let visited = visited.map_err(|fault| failure(fault.code(), fault.to_string()))?;
        let mut text = std::mem::take(&mut self.text);
        if self.count == 0 {
            text.push_str("[no matches]\n");
        }
        match self.end {
            Some(End::Full) => {
                text.push_str("[there are more: narrow the query or the glob, or raise max]\n");
            }
            Some(End::TimedOut) => {
                let seconds = TIME_OUT.as_secs();
                let _ = writeln!(text, "[not everything was searched within {seconds} s]");
            }
            None => {}
        }
        if self.too_large > 0 {
            let count = self.too_large;
            let _ = writeln!(text, "[left out, as they are larger than 4 MiB: {count}]");
        }
        text.push_str(&remarks(&visited));
        Ok(text)
    }

    /// Searches a file. One that is binary or cannot be read is skipped.
    fn file(&mut self, found: &Found<'_>) -> ControlFlow<()> {
        let Ok(mut file) = found.open() else { return ControlFlow::Continue(()) };
        if file.size > MAX_FILE {
            self.too_large += 1;
            return ControlFlow::Continue(());
        }
        let Ok(content) = file.read_whole(MAX_FILE) else { return ControlFlow::Continue(()) };
        if content.contains(&0) {
            return ControlFlow::Continue(());
        }
        let content = String::from_utf8_lossy(&content);
        for (index, line) in content.lines().enumerate() {
            if self.cancel.is_cancelled() {
                return ControlFlow::Break(());
            }
            if Instant::now() > self.until {
                self.end = Some(End::TimedOut);
                return ControlFlow::Break(());
            }
            let searched = &line[..line.floor_char_boundary(MAX_LINE)];
            let Some(matched) = self.regex.find(searched) else { continue };
            if self.count == self.max || self.text.len() > MAX_ANSWER {
                self.end = Some(End::Full);
                return ControlFlow::Break(());
            }
            self.count += 1;
            let number = index + 1;
            let line = shown(line, matched.start());
            let _ = writeln!(self.text, "{}:{number}: {line}", show_path(&found.path));
        }
        ControlFlow::Continue(())
    }
}

/// The part of a line around the match.
fn shown(line: &str, start: usize) -> String {
    if line.len() <= MAX_SHOWN {
        return line.to_owned();
    }
    let from = line.floor_char_boundary(start.saturating_sub(MAX_SHOWN / 3));
    let mut part = line[from..].to_owned();
    let cut = cut_at(&mut part, MAX_SHOWN);
    format!("{}{part}{}", if from > 0 { "…" } else { "" }, if cut { "…" } else { "" })
}
