//! `listFiles`: lists files by a glob or a word.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use wire::{ToolError, ToolResult};

use crate::tool::{ToolCall, ToolHandler};

use super::pattern::Pattern;
use super::sandbox::Visited;
use super::{MAX_ANSWER, Run, ToolFailure, answer, arguments, blocking, failure, show_path};

/// How many files are listed unless the call sets a number.
pub(super) const USUAL: usize = 50;
/// The most files that are listed.
pub(super) const MOST: usize = 500;

pub(super) struct ListFiles(pub(super) Arc<Run>);

#[derive(Deserialize)]
struct Arguments {
    glob: Option<String>,
    max: Option<usize>,
}

#[async_trait]
impl ToolHandler for ListFiles {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let Arguments { glob, max } = arguments(call.arguments)?;
        let pattern = Pattern::parse(glob.as_deref())?;
        let max = max.unwrap_or(USUAL).clamp(1, MOST);
        let text = blocking(&self.0, move |run, cancel| list(run, &pattern, max, cancel)).await?;
        Ok(answer(text))
    }
}

fn list(
    run: &Run,
    pattern: &Pattern,
    max: usize,
    cancel: &CancellationToken,
) -> Result<String, ToolFailure> {
    let mut text = String::new();
    let mut count = 0;
    let mut more = false;
    let visited = run.workspace.visit(cancel, &mut |found| {
        if !pattern.matches(&found.path) {
            return ControlFlow::Continue(());
        }
        if count == max || text.len() > MAX_ANSWER {
            more = true;
            return ControlFlow::Break(());
        }
        count += 1;
        text.push_str(&show_path(&found.path));
        text.push('\n');
        ControlFlow::Continue(())
    });
    let visited = visited.map_err(|fault| failure(fault.code(), fault.to_string()))?;
    if count == 0 {
        text.push_str("[no files]\n");
    }
    if more {
        text.push_str("[there are more: narrow the glob or raise max]\n");
    }
    text.push_str(&remarks(&visited));
    Ok(text)
}

/// Remarks for the model about files that were not listed.
pub(super) fn remarks(visited: &Visited) -> String {
    let mut text = String::new();
    if visited.unnamed > 0 {
        let count = visited.unnamed;
        let _ = writeln!(text, "[left out, as their names are not UTF-8: {count}]");
    }
    if visited.incomplete {
        text.push_str("[not all folders were looked at: there are too many files]\n");
    }
    text
}
