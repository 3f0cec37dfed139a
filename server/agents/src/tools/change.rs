//! `createFile`, `editFile` and `applyDiff`.
//!
//! Each checks the file, asks for permission, and then checks again: the answer may take minutes.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use wire::{PermissionKind, PermissionRequest, ToolError, ToolResult};

use super::sandbox::TextFile;
use super::{
    ContentHash, MAX_CHANGE, Run, answer, arguments, blocking, cut_at, diff, failure, show_path,
};
use crate::names::visible;
use crate::permission::Asker;
use crate::tool::{ToolCall, ToolHandler};

/// Size limit of a preview, in bytes. A cut is marked in the text.
const MAX_PREVIEW: usize = 256 * 1024;

pub(super) struct CreateFile(pub(super) Arc<Run>);
pub(super) struct EditFile(pub(super) Arc<Run>);
pub(super) struct ApplyDiff(pub(super) Arc<Run>);

#[derive(Deserialize)]
struct WholeFile {
    path: String,
    content: String,
}

#[derive(Deserialize)]
struct Patch {
    path: String,
    diff: String,
}

#[async_trait]
impl ToolHandler for CreateFile {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let WholeFile { path, content } = arguments(call.arguments)?;
        check_size(&content)?;
        let given = path.clone();
        let real = blocking(&self.0, move |run, _| Ok(run.workspace.check_new(&given)?)).await?;
        let shown = shown(&real);
        let request = PermissionRequest {
            kind: PermissionKind::Create,
            title: format!("Create {shown}"),
            path: Some(shown.clone()),
            detail: Some(preview(&content)),
            diff: None,
            each_time: false,
        };
        self.0.ask(&call.asker, request).await?;
        let size = content.len();
        blocking(&self.0, move |run, cancel| {
            if cancel.is_cancelled() {
                return Err(dropped().into());
            }
            run.workspace.create(&path, &real, content.as_bytes())?;
            run.remember(&real, ContentHash::of(content.as_bytes()));
            Ok(())
        })
        .await?;
        Ok(answer(format!("created {shown}: {size} bytes")))
    }
}

#[async_trait]
impl ToolHandler for EditFile {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let WholeFile { path, content } = arguments(call.arguments)?;
        check_size(&content)?;
        change(&self.0, &call.asker, path, move |run, file| match run.remembered(&file.real) {
            Some(hash) if hash == file.hash => Ok(content),
            Some(_) => {
                let message = "the file changed since it was read, read it again";
                Err(failure("changed", format!("{message}: `{}`", shown(&file.real))))
            }
            None => {
                let message = "read the whole file before it is edited";
                Err(failure("not_read", format!("{message}: `{}`", shown(&file.real))))
            }
        })
        .await
    }
}

#[async_trait]
impl ToolHandler for ApplyDiff {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let Patch { path, diff: patch } = arguments(call.arguments)?;
        check_size(&patch)?;
        change(&self.0, &call.asker, path, move |_, file| {
            let text = diff::apply(&file.text, &patch)
                .map_err(|error| failure("does_not_apply", error.to_string()))?;
            check_size(&text)?;
            Ok(text)
        })
        .await
    }
}

/// A file that is about to be changed.
struct Change {
    file: TextFile,
    text: String,
    diff: String,
}

/// Replaces a file's content by what `prepare` makes of it.
async fn change(
    run: &Arc<Run>,
    asker: &Asker,
    path: String,
    prepare: impl FnOnce(&Run, &TextFile) -> Result<String, ToolError> + Send + 'static,
) -> Result<ToolResult, ToolError> {
    let given = path.clone();
    let Change { file, text, diff } = blocking(run, move |run, _| {
        let file = run.workspace.read_text(&given, MAX_CHANGE)?;
        let text = prepare(run, &file)?;
        let diff = diff::unified(&shown(&file.real), &file.text, &text);
        Ok(Change { file, text, diff })
    })
    .await?;
    let shown = shown(&file.real);
    if text == file.text {
        return Ok(answer(format!("{shown} already has this content, nothing was changed")));
    }
    let request = PermissionRequest {
        kind: PermissionKind::Write,
        title: format!("Change {shown}"),
        path: Some(shown.clone()),
        detail: None,
        diff: Some(preview(&diff)),
        each_time: false,
    };
    run.ask(asker, request).await?;
    blocking(run, move |run, cancel| {
        if cancel.is_cancelled() {
            return Err(dropped().into());
        }
        run.workspace.replace(&path, &file.real, file.hash, text.as_bytes())?;
        // If the model knew the old text, it knows the new one.
        if run.remembered(&file.real) == Some(file.hash) {
            run.remember(&file.real, ContentHash::of(text.as_bytes()));
        }
        Ok(())
    })
    .await?;
    let (added, removed) = count(&diff);
    let summary = format!("changed {shown}: {added} lines added, {removed} removed");
    Ok(ToolResult { content: summary, detailed_content: Some(preview(&diff)) })
}

fn check_size(text: &str) -> Result<(), ToolError> {
    if text.len() as u64 <= MAX_CHANGE {
        return Ok(());
    }
    let size = text.len();
    Err(failure("too_large", format!("more than {MAX_CHANGE} bytes: {size}")))
}

/// The resolved path, because that is what people decide about.
fn shown(real: &Path) -> String {
    show_path(&real.to_string_lossy())
}

/// A text for people who decide by it: bounded, with deceptive characters escaped.
pub fn preview(text: &str) -> String {
    let mut preview = visible(text);
    let size = preview.len();
    if cut_at(&mut preview, MAX_PREVIEW) {
        let _ = writeln!(preview, "\n[cut: {MAX_PREVIEW} of {size} bytes]");
    }
    preview
}

fn count(diff: &str) -> (usize, usize) {
    let body = diff.lines().skip_while(|line| !line.starts_with("@@"));
    body.fold((0, 0), |(added, removed), line| match line.as_bytes().first() {
        Some(b'+') => (added + 1, removed),
        Some(b'-') => (added, removed + 1),
        _ => (added, removed),
    })
}

/// Never read: the call was dropped.
fn dropped() -> ToolError {
    failure("cancelled", "cancelled")
}
