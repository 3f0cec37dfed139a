//! Permission requests of the CLI's own tools, in the portal's form.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agents::AllowedExtensions;
use agents::permission::{self, Owner, PermissionHandler};
use agents::tools::{cut_at, preview, show_path};
use async_trait::async_trait;
use github_copilot_sdk::handler::{PermissionHandler as SdkHandler, PermissionResult};
use github_copilot_sdk::types::{
    PermissionRequestData, PermissionRequestKind, RequestId, SessionId,
};
use serde_json::Value;
use wire::{PermissionKind, PermissionRequest};

use super::turn::Turns;

const LONGEST_TITLE: usize = 80;

/// Forwards the CLI's permission requests to the portal's handler.
pub(super) struct Asker {
    pub(super) handler: Arc<dyn PermissionHandler>,
    /// The session that the CLI's tools belong to.
    pub(super) owner: Option<Owner>,
    /// Whether extensions may run, decided before the session started.
    pub(super) extensions: AllowedExtensions,
    pub(super) working_directory: std::path::PathBuf,
    pub(super) turns: Arc<Turns>,
}

#[async_trait]
impl SdkHandler for Asker {
    async fn handle(
        &self,
        _session_id: SessionId,
        _request_id: RequestId,
        data: PermissionRequestData,
    ) -> PermissionResult {
        if is_about_extensions(&data) {
            return match self.extensions {
                AllowedExtensions::All => PermissionResult::approve_once(),
                AllowedExtensions::None => {
                    PermissionResult::reject("extensions are not trusted in this folder".to_owned())
                }
            };
        }
        let request = question(&data, &self.working_directory);
        // A request is withdrawn when its turn is aborted.
        let over = self.turns.over();
        let asker = permission::Asker {
            owner: self.owner,
            // The CLI names the kind of action, and not always the tool.
            tool: None,
            call_id: data.tool_call_id.as_deref().map(Into::into),
            is_approved: false,
        };
        match over.run_until_cancelled(self.handler.request(&asker, request)).await {
            Some(Ok(())) => PermissionResult::approve_once(),
            Some(Err(denied)) => PermissionResult::reject(denied.reason),
            None => PermissionResult::reject("the turn was aborted".to_owned()),
        }
    }
}

/// Whether it asks to start extensions at all, rather than about an action of one.
fn is_about_extensions(data: &PermissionRequestData) -> bool {
    let nested = data.extra.get("permissionRequest").unwrap_or(&data.extra);
    nested.get("kind").and_then(Value::as_str) == Some("extension-permission-access")
}

/// The CLI's request in a form for people.
fn question(data: &PermissionRequestData, folder: &Path) -> PermissionRequest {
    let nested = data.extra.get("permissionRequest").unwrap_or(&data.extra);
    let text = |field: &str| nested.get(field).and_then(Value::as_str).filter(|t| !t.is_empty());
    let known = |field: &str| text(field).map(preview);
    let plain = PermissionRequest {
        kind: PermissionKind::Other,
        title: String::new(),
        path: None,
        detail: None,
        diff: None,
        each_time: false,
    };
    let path = text("fileName").or_else(|| text("path")).map(|path| shown(path, folder));
    match data.kind {
        Some(PermissionRequestKind::Shell) => PermissionRequest {
            kind: PermissionKind::Command,
            title: format!("Run {}", title(text("fullCommandText").unwrap_or("a command"))),
            path: Some(".".to_owned()),
            detail: known("fullCommandText"),
            ..plain
        },
        Some(PermissionRequestKind::Write) => {
            let file = path.clone().unwrap_or_else(|| "a file".to_owned());
            let is_new = text("fileName").is_some_and(|file| !folder.join(file).exists());
            let (kind, verb) = if is_new {
                (PermissionKind::Create, "Create")
            } else {
                (PermissionKind::Write, "Change")
            };
            let detail = if is_new { known("newFileContents") } else { None };
            let diff = known("diff").filter(|_| detail.is_none());
            PermissionRequest { kind, title: format!("{verb} {file}"), path, detail, diff, ..plain }
        }
        Some(PermissionRequestKind::Read) => {
            let file = path.clone().unwrap_or_else(|| "a file".to_owned());
            let title = format!("Read {file}");
            PermissionRequest { kind: PermissionKind::Read, title, path, ..plain }
        }
        Some(PermissionRequestKind::Url) => PermissionRequest {
            kind: PermissionKind::Url,
            title: format!("Fetch {}", title(text("url").unwrap_or("an address"))),
            detail: known("url"),
            ..plain
        },
        Some(PermissionRequestKind::Mcp | PermissionRequestKind::CustomTool) => PermissionRequest {
            kind: PermissionKind::Tool,
            title: match (text("toolName").unwrap_or("a tool"), text("serverName")) {
                (tool, Some(server)) => format!("Use {} of {}", title(tool), title(server)),
                (tool, None) => format!("Use {}", title(tool)),
            },
            detail: nested.get("args").filter(|args| !args.is_null()).map(pretty),
            ..plain
        },
        _ => {
            let kind = text("kind").unwrap_or("do something that it does not name");
            PermissionRequest {
                title: format!("The Copilot CLI asks: {}", title(kind)),
                detail: Some(pretty(nested)),
                ..plain
            }
        }
    }
}

/// The resolved path of a file, relative to the folder if it is below it: that is what people
/// decide about.
fn shown(path: &str, folder: &Path) -> String {
    let path = resolve(&folder.join(path));
    let folder = resolve(folder);
    let below = path.strip_prefix(&folder).ok().filter(|rest| rest.components().count() > 0);
    show_path(&below.unwrap_or(&path).to_string_lossy())
}

/// The path with links resolved, as far as it exists.
fn resolve(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            // Joining with an empty path would append a separator.
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

/// The first line, truncated.
fn title(text: &str) -> String {
    let mut first = text.lines().next().unwrap_or_default().to_owned();
    if cut_at(&mut first, LONGEST_TITLE) || first.len() < text.len() {
        first.push('…');
    }
    show_path(&first)
}

fn pretty(value: &Value) -> String {
    preview(&serde_json::to_string_pretty(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(kind: &str, request: Value, folder: &Path) -> PermissionRequest {
        let mut request = request;
        request["kind"] = json!(kind);
        let data = json!({ "kind": kind, "requestId": "1", "permissionRequest": request });
        question(&serde_json::from_value(data).expect("a request"), folder)
    }

    #[test]
    fn every_kind_of_question_is_told_in_one_line_with_what_is_decided_about() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let folder = folder.path();
        std::fs::write(folder.join("old"), "").expect("a file");
        let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
        for (kind, request, expected) in [
            (
                "shell",
                json!({ "fullCommandText": "make\nmake test" }),
                json!({ "kind": "command", "title": "Run make…", "path": ".", "detail": "make\nmake test" }),
            ),
            (
                "write",
                json!({ "fileName": file("a/new"), "diff": "+x", "newFileContents": "x" }),
                json!({ "kind": "create", "title": "Create a/new", "path": "a/new", "detail": "x" }),
            ),
            (
                "write",
                json!({ "fileName": file("old"), "diff": "+x", "newFileContents": "x" }),
                json!({ "kind": "write", "title": "Change old", "path": "old", "diff": "+x" }),
            ),
            (
                "read",
                json!({ "path": "/etc/passwd" }),
                json!({ "kind": "read", "title": "Read /etc/passwd", "path": "/etc/passwd" }),
            ),
            (
                "url",
                json!({ "url": "http://x/" }),
                json!({ "kind": "url", "title": "Fetch http://x/", "detail": "http://x/" }),
            ),
            (
                "mcp",
                json!({ "serverName": "s", "toolName": "t", "args": { "a": 1 } }),
                json!({ "kind": "tool", "title": "Use t of s", "detail": "{\n  \"a\": 1\n}" }),
            ),
            (
                "custom-tool",
                json!({ "toolName": "t" }),
                json!({ "kind": "tool", "title": "Use t" }),
            ),
        ] {
            let question = ask(kind, request, folder);
            assert_eq!(serde_json::to_value(question).expect("json"), expected, "{kind}");
        }
        let unknown = ask("telepathy", json!({ "to": "you" }), folder);
        assert_eq!(unknown.kind, PermissionKind::Other);
        assert_eq!(unknown.title, "The Copilot CLI asks: telepathy");
        assert!(unknown.detail.is_some_and(|detail| detail.contains("\"to\": \"you\"")));
    }
}
