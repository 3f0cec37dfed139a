//! What happens in a session, in the form for extensions: `session.on(…)`, `session.getEvents()`.

use std::collections::{HashMap, VecDeque};

use serde_json::{Value, json};
use wire::SessionResponse;

use super::{iso_8601, milliseconds};

/// How many events a session keeps for extensions that join later.
const REMEMBERED: usize = 1_000;

/// Converts responses to events, and keeps them.
#[derive(Default)]
pub(super) struct Events {
    count: u64,
    last: Option<String>,
    remembered: VecDeque<Value>,
    /// Names of the running tools, by call id.
    tools: HashMap<String, String>,
    /// The model's last message.
    pub(super) final_message: Option<String>,
}

impl Events {
    /// Converts a response to an event; `None` if extensions do not get it.
    pub(super) fn of(&mut self, response: &SessionResponse) -> Option<Value> {
        let (name, data) = self.describe(response)?;
        Some(self.make(name, &data))
    }

    /// Creates an event. It is kept unless it is ephemeral.
    pub(super) fn make(&mut self, name: &str, data: &Value) -> Value {
        self.count += 1;
        let id = format!("event-{}", self.count);
        let is_ephemeral = name == "session.idle" || name.starts_with("external_tool.");
        let event = json!({
            "id": id,
            "timestamp": iso_8601(),
            "parentId": self.last,
            "ephemeral": is_ephemeral,
            "type": name,
            "data": data,
        });
        if !is_ephemeral {
            self.last = Some(id);
            self.remembered.push_back(event.clone());
            if self.remembered.len() > REMEMBERED {
                self.remembered.pop_front();
            }
        }
        event
    }

    /// All kept events, oldest first.
    pub(super) fn all(&self) -> Vec<Value> {
        self.remembered.iter().cloned().collect()
    }

    fn describe(&mut self, response: &SessionResponse) -> Option<(&'static str, Value)> {
        use SessionResponse as R;
        Some(match response {
            R::UserPrompt { prompt } => {
                ("user.message", json!({ "content": prompt, "attachments": [], "source": "user" }))
            }
            R::GeneratedUserPrompt { prompt } => (
                "user.message",
                json!({ "content": prompt, "attachments": [], "source": "system" }),
            ),
            R::AgentStart { turn_id } => ("assistant.turn_start", json!({ "turnId": turn_id })),
            R::AgentEnd { turn_id } => ("assistant.turn_end", json!({ "turnId": turn_id })),
            R::EndReasoning { reasoning_id, complete_content } => (
                "assistant.reasoning",
                json!({ "reasoningId": reasoning_id, "content": complete_content }),
            ),
            R::EndMessage { message_id, complete_content } => {
                self.final_message = Some(complete_content.clone());
                let data = json!({ "messageId": message_id, "content": complete_content, "toolRequests": [] });
                ("assistant.message", data)
            }
            R::StartToolExecution { tool_call_id, tool_name, tool_arguments, .. } => {
                self.tools.insert(tool_call_id.clone(), tool_name.clone());
                let arguments: Value = serde_json::from_str(tool_arguments).unwrap_or_default();
                let data = json!({ "toolCallId": tool_call_id, "toolName": tool_name, "arguments": arguments });
                ("tool.execution_start", data)
            }
            R::EndToolExecution { tool_call_id, result, error } => {
                let mut data = json!({
                    "toolCallId": tool_call_id,
                    "toolName": self.tools.remove(tool_call_id),
                    "success": error.is_none(),
                });
                if let Some(result) = result {
                    data["result"] = json!(result);
                }
                if let Some(error) = error {
                    data["error"] = json!(error);
                }
                ("tool.execution_complete", data)
            }
            R::PermissionRequest(question) => {
                let request = &question.request;
                let mut data = json!({ "kind": request.kind, "title": request.title });
                for (name, value) in [("path", &request.path), ("detail", &request.detail)] {
                    if let Some(value) = value {
                        data[name] = json!(value);
                    }
                }
                // People decide: an extension that approves everything must not answer for them.
                let data = json!({ "requestId": question.id, "permissionRequest": data, "resolvedByHook": true });
                ("permission.requested", data)
            }
            R::PermissionResolved { request_id, decision } => {
                let kind = if decision.is_approved() { "approved" } else { "denied" };
                let data = json!({ "requestId": request_id, "result": { "kind": kind } });
                ("permission.completed", data)
            }
            R::Idle => {
                ("session.idle", json!({ "backgroundTasks": { "agents": [], "shells": [] } }))
            }
            R::Error { message } => (
                "session.error",
                json!({ "errorType": "query", "message": message, "stack": null }),
            ),
            _ => return None,
        })
    }
}

/// Adds the fields that every hook gets.
pub(super) fn hook_input(mut input: Value, session: &str, folder: &str) -> Value {
    input["sessionId"] = json!(session);
    input["timestamp"] = json!(milliseconds());
    input["cwd"] = json!(folder);
    input
}

#[cfg(test)]
mod tests {
    use wire::{ToolError, ToolResult};

    use super::*;

    #[test]
    fn a_tools_end_names_the_tool() {
        let mut events = Events::default();
        let start = SessionResponse::StartToolExecution {
            tool_call_id: "c".to_owned(),
            parent_tool_call_id: None,
            tool_name: "t".to_owned(),
            tool_arguments: "{\"a\":1}".to_owned(),
        };
        let event = events.of(&start).expect("an event");
        assert_eq!(event["type"], "tool.execution_start");
        assert_eq!(event["data"]["arguments"], json!({ "a": 1 }));
        let end = |result, error| SessionResponse::EndToolExecution {
            tool_call_id: "c".to_owned(),
            result,
            error,
        };
        let result = ToolResult { content: "r".to_owned(), detailed_content: None };
        let event = events.of(&end(Some(result), None)).expect("an event");
        assert_eq!(event["parentId"], "event-1");
        let data = json!({ "toolCallId": "c", "toolName": "t", "success": true, "result": { "content": "r" } });
        assert_eq!(event["data"], data);
        let error = ToolError { message: "m".to_owned(), code: None };
        let event = events.of(&end(None, Some(error))).expect("an event");
        assert_eq!(event["data"]["success"], false);
        assert_eq!(event["data"]["error"], json!({ "message": "m" }));
    }

    #[test]
    fn only_so_many_events_are_remembered() {
        let mut events = Events::default();
        for _ in 0..REMEMBERED + 5 {
            events.of(&SessionResponse::Error { message: "e".to_owned() }).expect("an event");
        }
        events.of(&SessionResponse::Idle).expect("an event");
        assert_eq!(events.all().len(), REMEMBERED);
        assert_eq!(events.all()[0]["id"], "event-6");
        let delta = SessionResponse::Message { message_id: "m".to_owned(), delta: "d".to_owned() };
        assert_eq!(events.of(&delta), None);
    }
}
