//! A tool that an extension has registered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agents::permission::{Asker, PermissionHandler};
use agents::{Tool, ToolCall, ToolHandler};
use async_trait::async_trait;
use serde_json::{Value, json};
use wire::{PermissionKind, PermissionRequest, ToolError, ToolResult};

use super::peer::Peer;
use super::{result, schema};

/// Limit of tools of one extension.
const MOST: usize = 128;
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 8 * 1024;
const LARGEST_SCHEMA: usize = 64 * 1024;

/// A tool as the extension declares it.
#[derive(Debug)]
pub(super) struct Declaration {
    pub(super) name: String,
    description: String,
    parameters: Value,
    skip_permission: bool,
}

impl Declaration {
    /// Parses all tools of an extension; the error says what is wrong with one of them.
    pub(super) fn read_all(tools: &Value) -> Result<Vec<Self>, String> {
        let tools = match tools {
            Value::Null => &[],
            Value::Array(tools) => &**tools,
            _ => return Err("its tools are not a list".to_owned()),
        };
        if tools.len() > MOST {
            return Err(format!("it has {} tools, {MOST} are accepted", tools.len()));
        }
        tools.iter().map(Self::read).collect()
    }

    fn read(tool: &Value) -> Result<Self, String> {
        let name = tool["name"].as_str().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
            let name: String = name.chars().take(LONGEST_NAME).collect();
            return Err(format!(
                "the name of a tool has 1 to {LONGEST_NAME} letters, digits, `_` and `-`: `{name}`"
            ));
        }
        let description = tool["description"].as_str().unwrap_or_default();
        if description.len() > LONGEST_DESCRIPTION {
            return Err(format!("the description of a tool is too long: `{name}`"));
        }
        let parameters = match &tool["parameters"] {
            Value::Null => json!({ "type": "object", "properties": {} }),
            parameters @ Value::Object(_) => parameters.clone(),
            _ => return Err(format!("the parameters of a tool are not a schema: `{name}`")),
        };
        if parameters.to_string().len() > LARGEST_SCHEMA {
            return Err(format!("the schema of a tool is too large: `{name}`"));
        }
        Ok(Self {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters,
            skip_permission: tool["skipPermission"] == Value::Bool(true),
        })
    }

    /// The tool as part of a session's set.
    pub(super) fn into_tool(
        self,
        extension: &str,
        session: &str,
        peer: Arc<Peer>,
        permissions: Arc<dyn PermissionHandler>,
    ) -> Tool {
        Tool {
            name: self.name.clone(),
            description: self.description,
            parameters: self.parameters.clone(),
            handler: Arc::new(ExtensionTool {
                name: self.name,
                parameters: self.parameters,
                skip_permission: self.skip_permission,
                extension: extension.to_owned(),
                session: session.to_owned(),
                peer,
                permissions,
                calls: AtomicU64::new(0),
            }),
        }
    }
}

struct ExtensionTool {
    name: String,
    parameters: Value,
    skip_permission: bool,
    extension: String,
    session: String,
    peer: Arc<Peer>,
    permissions: Arc<dyn PermissionHandler>,
    calls: AtomicU64,
}

impl ExtensionTool {
    async fn ask(&self, asker: &Asker, arguments: &Value) -> Result<(), ToolError> {
        if self.skip_permission {
            return Ok(());
        }
        let request = PermissionRequest {
            kind: PermissionKind::Tool,
            title: format!("Use {} of the extension {}", self.name, self.extension),
            path: None,
            detail: Some(result::cut(format!("{arguments:#}"))),
            diff: None,
            each_time: false,
        };
        let answer = self.permissions.request(asker, request).await;
        answer.map_err(|denied| failure("denied", denied.reason))
    }
}

#[async_trait]
impl ToolHandler for ExtensionTool {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let arguments = match call.arguments {
            Value::Null => json!({}),
            arguments => arguments,
        };
        schema::check(&self.parameters, &arguments).map_err(|problem| {
            failure("invalid_arguments", format!("invalid arguments: {problem}"))
        })?;
        self.ask(&call.asker, &arguments).await?;
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let request_id = format!("{}-{number}", self.name);
        let call_id = call.asker.call_id.as_deref().unwrap_or(&request_id);
        let waiting = self.peer.expect_call(&request_id);
        let waiting = waiting.map_err(|problem| failure("failure", problem))?;
        let event = |name: &str, data: Value| {
            let event = json!({
                "id": format!("{name}-{request_id}"),
                "timestamp": super::iso_8601(),
                "parentId": null,
                "ephemeral": true,
                "type": name,
                "data": data,
            });
            self.peer
                .notify("session.event", &json!({ "sessionId": self.session, "event": event }));
        };
        event(
            "external_tool.requested",
            json!({
                "requestId": request_id,
                "sessionId": self.session,
                "toolCallId": call_id,
                "toolName": self.name,
                "arguments": arguments,
            }),
        );
        // Sent whenever this future ends before the handler does: it aborts the handler.
        let _told = Told {
            peer: &self.peer,
            request_id: &request_id,
            tell: &|| event("external_tool.completed", json!({ "requestId": request_id })),
        };
        match waiting.await {
            Ok(Ok(result)) => result::read(&result),
            Ok(Err(message)) => Err(failure("failure", result::cut(message))),
            Err(_) => Err(failure("failure", "the extension ended before its tool did")),
        }
    }
}

struct Told<'a> {
    peer: &'a Peer,
    request_id: &'a str,
    tell: &'a (dyn Fn() + Send + Sync),
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if self.peer.forget_call(self.request_id) {
            (self.tell)();
        }
    }
}

fn failure(code: &str, message: impl Into<String>) -> ToolError {
    ToolError { message: message.into(), code: Some(code.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_checked() {
        let read = |tool: Value| Declaration::read_all(&json!([tool])).map(|tools| tools.len());
        assert_eq!(read(json!({ "name": "a_b-1", "description": "d" })), Ok(1));
        assert_eq!(Declaration::read_all(&Value::Null).map(|tools| tools.len()), Ok(0));
        for (tool, word) in [
            (json!({}), "the name"),
            (json!({ "name": "a b" }), "`a b`"),
            (json!({ "name": "a", "parameters": [] }), "not a schema"),
            (json!({ "name": "a", "description": "x".repeat(10_000) }), "too long"),
        ] {
            let problem = read(tool).expect_err("must be refused");
            assert!(problem.contains(word), "{problem}");
        }
        let many = Value::Array(vec![json!({ "name": "a" }); MOST + 1]);
        assert!(Declaration::read_all(&many).is_err());
    }
}
