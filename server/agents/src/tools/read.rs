//! `readFiles`: returns the text of files, up to limits.

use std::fmt::Write;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use wire::{ToolError, ToolResult};

use crate::tool::{ToolCall, ToolHandler};

use super::sandbox::{ContentHash, SandboxError, text_of};
use super::{Run, ToolFailure, answer, arguments, blocking, failure, show_path};

/// Limit for one file, in bytes.
pub(super) const MAX_FILE: usize = 256 * 1024;
/// Limit for one call, in bytes.
pub(super) const MAX_ALL: usize = 512 * 1024;
/// Limit of files in one call.
pub(super) const MAX_FILES: usize = 100;

pub(super) struct ReadFiles(pub(super) Arc<Run>);

#[derive(Deserialize)]
struct Arguments {
    files: Vec<String>,
}

#[async_trait]
impl ToolHandler for ReadFiles {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let Arguments { files } = arguments(call.arguments)?;
        if files.is_empty() || files.len() > MAX_FILES {
            let message = format!("1 to {MAX_FILES} files can be read at once: {}", files.len());
            return Err(failure("invalid_arguments", message));
        }
        let text = blocking(&self.0, move |run, cancel| read_all(run, &files, cancel)).await?;
        Ok(answer(text))
    }
}

/// Reads what can be read; fails only if nothing can.
fn read_all(
    run: &Run,
    files: &[String],
    cancel: &CancellationToken,
) -> Result<String, ToolFailure> {
    let mut text = String::new();
    let mut left = MAX_ALL;
    let mut first_error: Option<SandboxError> = None;
    let mut failed = 0;
    for path in files {
        if cancel.is_cancelled() {
            break;
        }
        let shown = show_path(path);
        match read(run, path, left) {
            Ok(Content::Text { text: content, cut_of }) => {
                left -= content.len();
                let _ = write!(text, "=== {shown}\n{content}");
                if !content.ends_with('\n') {
                    text.push('\n');
                }
                if let Some(size) = cut_of {
                    let length = content.len();
                    let _ = writeln!(text, "[cut: {length} of {size} bytes]");
                }
            }
            Ok(Content::Binary { size }) => {
                let _ = writeln!(text, "=== {shown}\n[binary file, not read: {size} bytes]");
            }
            Err(error) => {
                let _ = writeln!(text, "=== {shown}\n[not read: {}]", error.fault);
                failed += 1;
                first_error.get_or_insert(error);
            }
        }
    }
    match first_error {
        Some(error) if files.len() == 1 => Err(error.into()),
        Some(error) if failed == files.len() => {
            Err(failure(error.fault.code(), format!("no file could be read:\n{text}")).into())
        }
        _ => Ok(text),
    }
}

enum Content {
    Text { text: String, cut_of: Option<u64> },
    Binary { size: u64 },
}

fn read(run: &Run, path: &str, left: usize) -> Result<Content, SandboxError> {
    let limit = MAX_FILE.min(left);
    let mut file = run.workspace.open_file(path)?;
    // One extra byte tells whether there is more.
    let read = file.read_head(limit as u64 + 1);
    let mut head = read.map_err(|fault| SandboxError { fault, path: path.to_owned() })?;
    let size = file.size.max(head.len() as u64);
    if head.len() <= limit {
        let hash = ContentHash::of(&head);
        return Ok(match text_of(head) {
            Some(text) => {
                run.remember(&file.real, hash);
                Content::Text { text, cut_of: None }
            }
            None => Content::Binary { size },
        });
    }
    // The limit may split a character.
    head.truncate(limit);
    if let Err(error) = std::str::from_utf8(&head)
        && error.error_len().is_none()
    {
        head.truncate(error.valid_up_to());
    }
    Ok(match text_of(head) {
        Some(text) => Content::Text { text, cut_of: Some(size) },
        None => Content::Binary { size },
    })
}
