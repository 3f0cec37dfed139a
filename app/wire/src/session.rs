//! What happens in a session, as its readers see it.

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{
    PendingPermission, PermissionId, PermissionKind, PermissionOutcome, PermissionRequest, Usage,
};

/// One response of a session.
///
/// Reasoning, messages and tool executions are *blocks*: each opens before its deltas and closes
/// once, and the deltas of reasoning and messages, put together, are the `complete_content`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "callback", rename_all_fields = "camelCase")]
pub enum SessionResponse {
    /// The model begins to reason.
    #[serde(rename = "onStartReasoning")]
    StartReasoning {
        /// Id of the reasoning block, unique in its session.
        reasoning_id: String,
    },
    /// More reasoning.
    #[serde(rename = "onReasoning")]
    Reasoning {
        /// Id of the reasoning block, unique in its session.
        reasoning_id: String,
        /// The new text.
        delta: String,
    },
    /// A piece of reasoning is complete.
    #[serde(rename = "onEndReasoning")]
    EndReasoning {
        /// Id of the reasoning block, unique in its session.
        reasoning_id: String,
        /// All of its text.
        complete_content: String,
    },
    /// The model begins to write.
    #[serde(rename = "onStartMessage")]
    StartMessage {
        /// Id of the message block, unique in its session.
        message_id: String,
    },
    /// More of a message.
    #[serde(rename = "onMessage")]
    Message {
        /// Id of the message block, unique in its session.
        message_id: String,
        /// The new text.
        delta: String,
    },
    /// A message is complete.
    #[serde(rename = "onEndMessage")]
    EndMessage {
        /// Id of the message block, unique in its session.
        message_id: String,
        /// All of its text.
        complete_content: String,
    },
    /// A tool begins to run.
    #[serde(rename = "onStartToolExecution")]
    StartToolExecution {
        /// Id of the tool call, unique in its session.
        tool_call_id: String,
        /// The call that made this one, if it was not the model itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
        /// The tool's name, as the model called it.
        tool_name: String,
        /// Pretty JSON, or empty.
        tool_arguments: String,
    },
    /// Output of a running tool.
    #[serde(rename = "onToolExecution")]
    ToolExecution {
        /// Id of the tool call, unique in its session.
        tool_call_id: String,
        /// The new text.
        delta: String,
    },
    /// A tool has run.
    #[serde(rename = "onEndToolExecution")]
    EndToolExecution {
        /// Id of the tool call, unique in its session.
        tool_call_id: String,
        /// What it answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<ToolResult>,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ToolError>,
    },
    /// The model begins a turn. One prompt can take several.
    #[serde(rename = "onAgentStart")]
    AgentStart {
        /// Id of the turn, unique in its session.
        turn_id: String,
    },
    /// The model has ended a turn.
    #[serde(rename = "onAgentEnd")]
    AgentEnd {
        /// Id of the turn, unique in its session.
        turn_id: String,
    },
    /// The prompt is dealt with.
    #[serde(rename = "onIdle")]
    Idle,
    /// The task engine sent a prompt into this session, and its turn begins.
    #[serde(rename = "onGeneratedUserPrompt")]
    GeneratedUserPrompt {
        /// What was sent.
        prompt: String,
    },
    /// A user sent a prompt, and its turn begins. Lets every other reader of the session (another
    /// tab, the same page after a reload) show what was asked.
    #[serde(rename = "onUserPrompt")]
    UserPrompt {
        /// What was sent.
        prompt: String,
    },
    /// A tool asks before it acts, and waits for the answer.
    #[serde(rename = "onPermissionRequest")]
    PermissionRequest(PendingPermission),
    /// A question no longer waits.
    #[serde(rename = "onPermissionResolved")]
    PermissionResolved {
        /// The question that was answered.
        request_id: PermissionId,
        /// How it ended.
        decision: PermissionOutcome,
    },
    /// What a request to the model took.
    #[serde(rename = "onUsage")]
    Usage {
        /// As the provider calls it.
        model: String,
        /// Tokens and cost of the request, as far as the provider reports them.
        #[serde(flatten)]
        usage: Usage,
    },
    /// What an extension has to say.
    #[serde(rename = "onExtensionLog")]
    ExtensionLog {
        /// The extension's name.
        extension: String,
        /// How serious it is.
        level: LogLevel,
        /// What it says.
        message: String,
        /// Of no interest later on.
        ephemeral: bool,
    },
    /// An exception inside the session. It may go on or end here.
    #[serde(untagged)]
    Error {
        /// What went wrong.
        #[serde(rename = "sessionError")]
        message: String,
    },
}

/// A response with every field that any of them has. Reading a tagged enum directly would first
/// copy each response into a generic tree, and bring the code for that into the browser.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyResponse {
    callback: Option<String>,
    session_error: Option<String>,
    reasoning_id: Option<String>,
    message_id: Option<String>,
    tool_call_id: Option<String>,
    parent_tool_call_id: Option<String>,
    tool_name: Option<String>,
    tool_arguments: Option<String>,
    turn_id: Option<String>,
    delta: Option<String>,
    complete_content: Option<String>,
    prompt: Option<String>,
    result: Option<ToolResult>,
    error: Option<ToolError>,
    request_id: Option<PermissionId>,
    kind: Option<PermissionKind>,
    title: Option<String>,
    path: Option<String>,
    detail: Option<String>,
    diff: Option<String>,
    #[serde(default)]
    each_time: bool,
    decision: Option<PermissionOutcome>,
    model: Option<String>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
    cost: Option<f64>,
    extension: Option<String>,
    level: Option<LogLevel>,
    message: Option<String>,
    ephemeral: Option<bool>,
}

impl TryFrom<AnyResponse> for SessionResponse {
    /// What is missing or unknown.
    type Error = &'static str;

    fn try_from(any: AnyResponse) -> Result<Self, &'static str> {
        let reasoning_id = any.reasoning_id.ok_or("reasoningId");
        let message_id = any.message_id.ok_or("messageId");
        let tool_call_id = any.tool_call_id.ok_or("toolCallId");
        let turn_id = any.turn_id.ok_or("turnId");
        let delta = any.delta.ok_or("delta");
        let complete_content = any.complete_content.ok_or("completeContent");
        let prompt = any.prompt.ok_or("prompt");
        let Some(callback) = any.callback else {
            return Ok(Self::Error { message: any.session_error.ok_or("callback")? });
        };
        Ok(match callback.as_str() {
            "onStartReasoning" => Self::StartReasoning { reasoning_id: reasoning_id? },
            "onReasoning" => Self::Reasoning { reasoning_id: reasoning_id?, delta: delta? },
            "onEndReasoning" => Self::EndReasoning {
                reasoning_id: reasoning_id?,
                complete_content: complete_content?,
            },
            "onStartMessage" => Self::StartMessage { message_id: message_id? },
            "onMessage" => Self::Message { message_id: message_id?, delta: delta? },
            "onEndMessage" => {
                Self::EndMessage { message_id: message_id?, complete_content: complete_content? }
            }
            "onStartToolExecution" => Self::StartToolExecution {
                tool_call_id: tool_call_id?,
                parent_tool_call_id: any.parent_tool_call_id,
                tool_name: any.tool_name.ok_or("toolName")?,
                tool_arguments: any.tool_arguments.ok_or("toolArguments")?,
            },
            "onToolExecution" => Self::ToolExecution { tool_call_id: tool_call_id?, delta: delta? },
            "onEndToolExecution" => Self::EndToolExecution {
                tool_call_id: tool_call_id?,
                result: any.result,
                error: any.error,
            },
            "onAgentStart" => Self::AgentStart { turn_id: turn_id? },
            "onAgentEnd" => Self::AgentEnd { turn_id: turn_id? },
            "onIdle" => Self::Idle,
            "onGeneratedUserPrompt" => Self::GeneratedUserPrompt { prompt: prompt? },
            "onUserPrompt" => Self::UserPrompt { prompt: prompt? },
            "onPermissionRequest" => Self::PermissionRequest(PendingPermission {
                id: any.request_id.ok_or("requestId")?,
                request: PermissionRequest {
                    kind: any.kind.ok_or("kind")?,
                    title: any.title.ok_or("title")?,
                    path: any.path,
                    detail: any.detail,
                    diff: any.diff,
                    each_time: any.each_time,
                },
            }),
            "onPermissionResolved" => Self::PermissionResolved {
                request_id: any.request_id.ok_or("requestId")?,
                decision: any.decision.ok_or("decision")?,
            },
            "onUsage" => Self::Usage {
                model: any.model.ok_or("model")?,
                usage: Usage {
                    input_tokens: any.input_tokens.ok_or("inputTokens")?,
                    output_tokens: any.output_tokens.ok_or("outputTokens")?,
                    cached_tokens: any.cached_tokens.unwrap_or_default(),
                    reasoning_tokens: any.reasoning_tokens.unwrap_or_default(),
                    cost: any.cost,
                },
            },
            "onExtensionLog" => Self::ExtensionLog {
                extension: any.extension.ok_or("extension")?,
                level: any.level.ok_or("level")?,
                message: any.message.ok_or("message")?,
                ephemeral: any.ephemeral.unwrap_or_default(),
            },
            _ => return Err("a known callback"),
        })
    }
}

impl<'de> Deserialize<'de> for SessionResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let any = AnyResponse::deserialize(deserializer)?;
        any.try_into().map_err(|missing| {
            de::Error::custom(format_args!("a session response lacks {missing}"))
        })
    }
}

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LogLevel {
    /// Good to know.
    Info,
    /// Something may be wrong.
    Warning,
    /// Something is wrong.
    Error,
}

/// What a tool answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// For the model.
    pub content: String,
    /// More, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detailed_content: Option<String>,
}

/// Why a tool failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolError {
    /// For the model and people.
    pub message: String,
    /// Machine-readable cause, such as `denied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        text.to_owned()
    }

    fn assert_spelling(table: &[(SessionResponse, &str)]) {
        for (response, json) in table {
            assert_eq!(serde_json::to_string(response).expect("json"), *json);
            let back: SessionResponse = serde_json::from_str(json).expect(json);
            assert_eq!(back, *response);
        }
    }

    #[test]
    fn responses_are_spelt_as_the_api_says() {
        use SessionResponse as R;
        let table = [
            (
                R::StartReasoning { reasoning_id: text("r") },
                r#"{"callback":"onStartReasoning","reasoningId":"r"}"#,
            ),
            (
                R::Reasoning { reasoning_id: text("r"), delta: text("d") },
                r#"{"callback":"onReasoning","reasoningId":"r","delta":"d"}"#,
            ),
            (
                R::EndReasoning { reasoning_id: text("r"), complete_content: text("c") },
                r#"{"callback":"onEndReasoning","reasoningId":"r","completeContent":"c"}"#,
            ),
            (
                R::StartMessage { message_id: text("m") },
                r#"{"callback":"onStartMessage","messageId":"m"}"#,
            ),
            (
                R::Message { message_id: text("m"), delta: text("a\"b\n") },
                r#"{"callback":"onMessage","messageId":"m","delta":"a\"b\n"}"#,
            ),
            (
                R::EndMessage { message_id: text("m"), complete_content: text("c") },
                r#"{"callback":"onEndMessage","messageId":"m","completeContent":"c"}"#,
            ),
            (
                R::StartToolExecution {
                    tool_call_id: text("t"),
                    parent_tool_call_id: None,
                    tool_name: text("n"),
                    tool_arguments: String::new(),
                },
                r#"{"callback":"onStartToolExecution","toolCallId":"t","toolName":"n","toolArguments":""}"#,
            ),
            (
                R::StartToolExecution {
                    tool_call_id: text("t"),
                    parent_tool_call_id: Some(text("p")),
                    tool_name: text("n"),
                    tool_arguments: text("{}"),
                },
                r#"{"callback":"onStartToolExecution","toolCallId":"t","parentToolCallId":"p","toolName":"n","toolArguments":"{}"}"#,
            ),
            (
                R::ToolExecution { tool_call_id: text("t"), delta: text("d") },
                r#"{"callback":"onToolExecution","toolCallId":"t","delta":"d"}"#,
            ),
            (
                R::EndToolExecution {
                    tool_call_id: text("t"),
                    result: Some(ToolResult { content: text("c"), detailed_content: None }),
                    error: None,
                },
                r#"{"callback":"onEndToolExecution","toolCallId":"t","result":{"content":"c"}}"#,
            ),
            (
                R::EndToolExecution {
                    tool_call_id: text("t"),
                    result: Some(ToolResult {
                        content: text("c"),
                        detailed_content: Some(text("d")),
                    }),
                    error: None,
                },
                r#"{"callback":"onEndToolExecution","toolCallId":"t","result":{"content":"c","detailedContent":"d"}}"#,
            ),
            (
                R::EndToolExecution {
                    tool_call_id: text("t"),
                    result: None,
                    error: Some(ToolError { message: text("m"), code: Some(text("c")) }),
                },
                r#"{"callback":"onEndToolExecution","toolCallId":"t","error":{"message":"m","code":"c"}}"#,
            ),
            (R::AgentStart { turn_id: text("1") }, r#"{"callback":"onAgentStart","turnId":"1"}"#),
            (R::AgentEnd { turn_id: text("1") }, r#"{"callback":"onAgentEnd","turnId":"1"}"#),
            (R::Idle, r#"{"callback":"onIdle"}"#),
            (
                R::GeneratedUserPrompt { prompt: text("p") },
                r#"{"callback":"onGeneratedUserPrompt","prompt":"p"}"#,
            ),
            (R::UserPrompt { prompt: text("p") }, r#"{"callback":"onUserPrompt","prompt":"p"}"#),
            (R::Error { message: text("e") }, r#"{"sessionError":"e"}"#),
        ];
        assert_spelling(&table);
    }

    #[test]
    fn questions_usage_and_logs_are_spelt_as_the_api_says() {
        use SessionResponse as R;
        let question = "permission-00000000-0000-4000-8000-000000000001";
        let question: PermissionId = question.parse().expect("an id");
        assert_spelling(&[
            (
                R::PermissionRequest(PendingPermission {
                    id: question,
                    request: PermissionRequest {
                        kind: PermissionKind::Write,
                        title: text("Change a"),
                        path: Some(text("a")),
                        detail: None,
                        diff: Some(text("+b")),
                        each_time: false,
                    },
                }),
                r#"{"callback":"onPermissionRequest","requestId":"permission-00000000-0000-4000-8000-000000000001","kind":"write","title":"Change a","path":"a","diff":"+b"}"#,
            ),
            (
                R::PermissionResolved {
                    request_id: question,
                    decision: PermissionOutcome::ApprovedAlways,
                },
                r#"{"callback":"onPermissionResolved","requestId":"permission-00000000-0000-4000-8000-000000000001","decision":"approve-always"}"#,
            ),
            (
                R::Usage {
                    model: text("m"),
                    usage: Usage { input_tokens: 2, output_tokens: 1, ..Usage::default() },
                },
                r#"{"callback":"onUsage","model":"m","inputTokens":2,"outputTokens":1}"#,
            ),
            (
                R::ExtensionLog {
                    extension: text("x"),
                    level: LogLevel::Warning,
                    message: text("m"),
                    ephemeral: true,
                },
                r#"{"callback":"onExtensionLog","extension":"x","level":"warning","message":"m","ephemeral":true}"#,
            ),
        ]);
    }

    #[test]
    fn anything_else_is_refused() {
        for json in ["{}", "[]", r#"{"callback":"onUnheardOf"}"#, r#"{"callback":"onMessage"}"#] {
            assert!(serde_json::from_str::<SessionResponse>(json).is_err(), "{json}");
        }
    }
}
