//! `extensions_manage` and `extensions_reload`, with which a model writes its own extensions.

use std::path::Path;
use std::sync::{Arc, Weak};

use agents::guarded::Guarded;
use agents::permission::{ApproveAll, Asker};
use agents::tools::{
    CommandSettings, RootsLimit, Workspace, WorkspaceSettings, preview, show_path, workspace_tools,
};
use agents::{Tool, ToolCall, ToolHandler};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use wire::{
    ExtensionInfo, ExtensionSource, PermissionKind, PermissionRequest, ToolError, ToolResult,
};

use super::SessionExtensions;
use crate::discovery::{ENTRY, folder_of};

const SCAFFOLD: &str = include_str!("../node/scaffold.mjs");
const LONGEST_NAME: usize = 64;

/// The two tools, for a session in a trusted folder.
pub(super) fn tools(session: &Arc<SessionExtensions>) -> Vec<Tool> {
    let manage = Tool {
        name: "extensions_manage".to_owned(),
        description: "Manage the extensions of this session. `scaffold` makes a new one to be \
            edited, then call extensions_reload; `list` tells which there are and how they stand; \
            `inspect` tells more about one: why it failed, its tools and its log."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "operation": {
                    "type": "string", "enum": ["scaffold", "list", "inspect"],
                    "description": "What to do.",
                },
                "name": { "type": "string", "description": "Of the extension. Not for `list`." },
                "location": {
                    "type": "string", "enum": ["project", "user"],
                    "description": "Where a new one belongs, `project` if left out.",
                },
            },
            "required": ["operation"],
            "additionalProperties": false,
        }),
        handler: Arc::new(Manage(Arc::downgrade(session))),
    };
    let reload = Tool {
        name: "extensions_reload".to_owned(),
        description: "Stop all extensions of this session, look for them again and start them. \
            Their tools can be used at once."
            .to_owned(),
        parameters: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        handler: Arc::new(Reload(Arc::downgrade(session))),
    };
    vec![manage, reload]
}

struct Manage(Weak<SessionExtensions>);
struct Reload(Weak<SessionExtensions>);

#[derive(Deserialize)]
struct Arguments {
    operation: Operation,
    name: Option<String>,
    location: Option<ExtensionSource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Scaffold,
    List,
    Inspect,
}

#[async_trait]
impl ToolHandler for Manage {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let session = alive(&self.0)?;
        let arguments: Arguments = serde_json::from_value(call.arguments)
            .map_err(|error| failure("invalid_arguments", format!("invalid arguments: {error}")))?;
        match arguments.operation {
            Operation::List => Ok(answer(&list(&session).await)),
            Operation::Inspect => inspect(&session, &name(arguments.name)?).await,
            Operation::Scaffold => {
                let location = arguments.location.unwrap_or(ExtensionSource::Project);
                scaffold(&session, &call.asker, &name(arguments.name)?, location).await
            }
        }
    }
}

#[async_trait]
impl ToolHandler for Reload {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let session = alive(&self.0)?;
        ask(&session, &call.asker, reload_question(&session).await).await?;
        // Spawned: otherwise an aborted turn would leave some of them stopped.
        let work = Arc::clone(&session);
        let done = session.host().lifecycle.spawn(async move { work.reload().await }).await;
        done.map_err(|_| failure("internal", "the extensions could not be started"))?;
        Ok(answer(&list(&session).await))
    }
}

async fn list(session: &Arc<SessionExtensions>) -> String {
    let extensions = session.list().await.extensions;
    if extensions.is_empty() {
        return "There are no extensions.".to_owned();
    }
    let lines = extensions.iter().map(|info| {
        let mut line = format!("{} ({}): {}", info.name, info.source, info.state);
        if let Some(reason) = &info.reason {
            line = format!("{line}: {reason}");
        }
        if !info.tools.is_empty() {
            line = format!("{line}; tools: {}", info.tools.join(", "));
        }
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

async fn inspect(session: &Arc<SessionExtensions>, name: &str) -> Result<ToolResult, ToolError> {
    let extensions = session.list().await.extensions;
    let found: Vec<&ExtensionInfo> = extensions.iter().filter(|info| info.name == name).collect();
    if found.is_empty() {
        return Err(failure("not_found", format!("there is no such extension: `{name}`")));
    }
    let text = serde_json::to_string_pretty(&found);
    text.map(|text| answer(&text)).map_err(|error| failure("internal", error.to_string()))
}

async fn scaffold(
    session: &Arc<SessionExtensions>,
    asker: &Asker,
    name: &str,
    location: ExtensionSource,
) -> Result<ToolResult, ToolError> {
    let user_folder = session.host().settings.user_folder.clone();
    let folder = folder_of(location, session.root(), user_folder.as_deref())
        .ok_or_else(|| failure("not_found", "there is no folder for extensions of the user"))?;
    let root = match location {
        ExtensionSource::Project => session.root().to_owned(),
        ExtensionSource::User => folder.clone(),
    };
    let path = folder.join(name).join(ENTRY);
    let relative = path.strip_prefix(&root).unwrap_or(&path).to_owned();
    // Names of tools have no dots.
    let content = SCAFFOLD.replace("NAME", &name.replace('.', "_"));
    let request = PermissionRequest {
        kind: PermissionKind::Command,
        title: format!("Make the extension {name}"),
        path: Some(show_path(&path.to_string_lossy())),
        detail: Some(preview(&content)),
        diff: None,
        // It will be executed later.
        each_time: true,
    };
    ask(session, asker, request).await?;
    let guarded = session.parts().guarded.clone();
    let create = create_file(root, location == ExtensionSource::User, guarded).await?;
    let arguments = json!({ "path": text_of(&relative)?, "content": content });
    create.handler.call(ToolCall::new(arguments)).await?;
    let after = "Edit it. Somebody has to allow it before extensions_reload starts it.";
    Ok(answer(&format!("Made {}. {after}", path.display())))
}

/// The permission request for a reload, which lists what is about to be started.
async fn reload_question(session: &Arc<SessionExtensions>) -> PermissionRequest {
    let judged = session.judged().await;
    let lines = judged.iter().map(|(found, problem)| {
        let path = show_path(&found.path.to_string_lossy());
        match problem {
            None => path,
            Some(problem) => format!("{path} (not started: {problem})"),
        }
    });
    PermissionRequest {
        kind: PermissionKind::Command,
        title: "Reload the extensions".to_owned(),
        path: Some(show_path(&session.root().to_string_lossy())),
        detail: Some(preview(&lines.collect::<Vec<_>>().join("\n"))),
        diff: None,
        each_time: false,
    }
}

async fn ask(
    session: &SessionExtensions,
    asker: &Asker,
    request: PermissionRequest,
) -> Result<(), ToolError> {
    let answer = session.parts().permissions.request(asker, request).await;
    answer.map_err(|denied| failure("denied", denied.reason))
}

/// Uses the portal's own tool for new files, which stays in the folder. Permission was already
/// given.
async fn create_file(
    root: std::path::PathBuf,
    may_be_missing: bool,
    guarded: Guarded,
) -> Result<Tool, ToolError> {
    let opening = tokio::task::spawn_blocking(move || {
        if may_be_missing {
            std::fs::create_dir_all(&root).map_err(|error| error.to_string())?;
        }
        let opened =
            Workspace::open(&root, &RootsLimit::default()).map_err(|error| error.to_string())?;
        Ok::<_, String>(opened.guarded(&guarded))
    });
    let opened = opening.await.map_err(|error| failure("internal", error.to_string()))?;
    let workspace = opened.map_err(|problem| failure("io", problem))?;
    let commands = CommandSettings::default();
    let permissions = Arc::new(ApproveAll);
    let tools = workspace_tools(WorkspaceSettings { workspace, permissions, commands });
    let create = tools.into_iter().find(|tool| tool.name == "createFile");
    create.ok_or_else(|| failure("internal", "files can't be made"))
}

fn text_of(path: &Path) -> Result<&str, ToolError> {
    path.to_str().ok_or_else(|| failure("io", "the name of the folder is not text"))
}

/// Checks that a name is a plain folder name.
fn name(name: Option<String>) -> Result<String, ToolError> {
    let name = name.unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= LONGEST_NAME
        && name.chars().all(plain)
    {
        return Ok(name);
    }
    let message = format!(
        "a name of an extension has 1 to {LONGEST_NAME} letters, digits, `-`, `_` and `.`, and \
         begins with a letter or digit"
    );
    Err(failure("invalid_arguments", message))
}

fn alive(session: &Weak<SessionExtensions>) -> Result<Arc<SessionExtensions>, ToolError> {
    session.upgrade().ok_or_else(|| failure("ended", "the session has ended"))
}

fn answer(text: &str) -> ToolResult {
    ToolResult { content: text.to_owned(), detailed_content: None }
}

fn failure(code: &str, message: impl Into<String>) -> ToolError {
    ToolError { message: message.into(), code: Some(code.to_owned()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_lead_nowhere_else() {
        let check = |name: &str| super::name(Some(name.to_owned())).is_ok();
        for name in ["a", "my-extension", "v1.2_x"] {
            assert!(check(name), "{name}");
        }
        let long = "x".repeat(65);
        for name in ["", ".", "..", "../a", "a/b", "a\\b", ".git", "-a", "a b", "ä", &*long] {
            assert!(!check(name), "{name}");
        }
        assert!(super::name(None).is_err());
    }
}
