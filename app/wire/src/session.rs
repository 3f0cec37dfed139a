//! What happens in a session, as its readers see it.

use serde::{Deserialize, Deserializer, Serialize};

use crate::bridge::{ProjectDraft, ProjectDraftTaken, ProjectMessage, ProjectMessageEnd};
use crate::json::FromJson;
use crate::tagged::{tagged, with_field};
use crate::{PendingPermission, PermissionId, PermissionOutcome, PromptQueue, Usage};

tagged! {
    /// One response of a session.
    ///
    /// Reasoning, messages and tool executions are *blocks*: each opens before its deltas and
    /// closes once, and the deltas of reasoning and messages, put together, are the
    /// `complete_content`.
    #[derive(Clone, Debug, PartialEq)]
    pub enum SessionResponse {
        /// The model begins to reason.
        #[serde(rename = "onStartReasoning")]
        StartReasoning {
            /// Id of the reasoning block, unique in its session.
            reasoning_id: String,
        },
        /// The model continues a piece of reasoning.
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
            /// The whole text of the block.
            complete_content: String,
        },
        /// The model begins to write.
        #[serde(rename = "onStartMessage")]
        StartMessage {
            /// Id of the message block, unique in its session.
            message_id: String,
        },
        /// The model continues a message.
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
            /// The whole text of the block.
            complete_content: String,
        },
        /// A tool begins to run.
        #[serde(rename = "onStartToolExecution")]
        StartToolExecution {
            /// Id of the tool call, unique in its session.
            tool_call_id: String,
            /// Id of the tool call that made this one; absent if the model did.
            #[serde(skip_serializing_if = "Option::is_none")]
            parent_tool_call_id: Option<String>,
            /// The tool's name, as the model called it.
            tool_name: String,
            /// Arguments as pretty-printed JSON, or empty.
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
        /// A tool call has ended.
        #[serde(rename = "onEndToolExecution")]
        EndToolExecution {
            /// Id of the tool call, unique in its session.
            tool_call_id: String,
            /// The tool's result, if it succeeded.
            #[serde(skip_serializing_if = "Option::is_none")]
            result: Option<ToolResult>,
            /// The tool's error, if it failed.
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
        /// The turn of a prompt is over.
        #[serde(rename = "onTurnEnd")]
        TurnEnd {
            /// Id of the last turn that the model took for the prompt; absent if it took none.
            #[serde(skip_serializing_if = "Option::is_none")]
            turn_id: Option<String>,
            /// How it ended.
            outcome: TurnEnding,
        },
        /// The session has finished with the prompt.
        #[serde(rename = "onIdle")]
        Idle,
        /// The task engine sent a prompt into this session, and its turn begins.
        #[serde(rename = "onGeneratedUserPrompt")]
        GeneratedUserPrompt {
            /// Text of the prompt.
            prompt: String,
        },
        /// A user sent a prompt, and its turn begins. Lets every other reader of the session
        /// (another tab, the same page after a reload) show what was asked.
        #[serde(rename = "onUserPrompt")]
        UserPrompt {
            /// Text of the prompt.
            prompt: String,
        },
        /// A prompt was queued behind another one, or such a queue has changed. Prompts are
        /// shortened: readers are told of all of them with each change.
        #[serde(rename = "onQueueChanged")]
        QueueChanged(PromptQueue),
        /// A tool asks before it acts, and waits for the answer.
        #[serde(rename = "onPermissionRequest")]
        PermissionRequest(PendingPermission),
        /// A question no longer waits.
        #[serde(rename = "onPermissionResolved")]
        PermissionResolved {
            /// Id of the question.
            request_id: PermissionId,
            /// How the question ended.
            decision: PermissionOutcome,
        },
        /// A request to the model has ended, with this usage.
        #[serde(rename = "onUsage", deserialize_with = "read_usage")]
        Usage {
            /// The provider's name of the model.
            model: String,
            /// Tokens and cost of the request, as far as the provider reports them.
            #[serde(flatten)]
            usage: Usage,
        },
        /// An extension logged a message.
        #[serde(rename = "onExtensionLog")]
        ExtensionLog {
            /// The extension's name.
            extension: String,
            /// Severity of the message.
            level: LogLevel,
            /// Text of the message.
            message: String,
            /// Whether the message is of interest only now, and not later.
            #[serde(default)]
            ephemeral: bool,
        },
        /// A message to the session's project was received, and waits for its turn. Only sessions
        /// of the bridge have this and the four that follow.
        #[serde(rename = "onProjectMessage")]
        ProjectMessage(ProjectMessage),
        /// The run of a message to the project has ended.
        #[serde(rename = "onProjectMessageEnd")]
        ProjectMessageEnd(ProjectMessageEnd),
        /// The project's history was cleared: only messages whose runs have not ended stay.
        #[serde(rename = "onProjectCleared")]
        ProjectCleared,
        /// A message to the project waits until a person sends it.
        #[serde(rename = "onProjectDraft")]
        ProjectDraft(ProjectDraft),
        /// A draft was sent or discarded.
        #[serde(rename = "onProjectDraftTaken")]
        ProjectDraftTaken(ProjectDraftTaken),
    }

    /// An exception inside the session. It may go on or end here.
    Error = "sessionError"
}

/// Does without `flatten`, which would copy the fields first, as a derived tag would.
fn read_usage<'de, D: Deserializer<'de>>(source: D) -> Result<(String, Usage), D::Error> {
    with_field("model", source)
}

/// How the turn of a prompt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub enum TurnEnding {
    /// The prompt was answered.
    Completed,
    /// The agent or its provider reported an error.
    Failed,
    /// Somebody aborted it, or stopped the session.
    Aborted,
    /// The server stopped.
    Interrupted,
}

/// Severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub enum LogLevel {
    /// Information only; nothing is wrong.
    Info,
    /// Something may be wrong.
    Warning,
    /// Something is wrong.
    Error,
}

/// Result of a tool that succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// Text that the model reads.
    pub content: String,
    /// Longer text that people read, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detailed_content: Option<String>,
}

/// Error of a tool that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct ToolError {
    /// Text that the model and people read.
    pub message: String,
    /// Machine-readable cause, such as `denied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl ToolError {
    /// The code of a call whose turn was aborted or interrupted before the tool had ended.
    pub const CUT_OFF: &str = "cut-off";

    /// The error of such a call, with what happened to its turn.
    pub fn cut_off(reason: &str) -> Self {
        Self { message: reason.to_owned(), code: Some(Self::CUT_OFF.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PermissionKind, PermissionRequest};

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
            (
                R::TurnEnd { turn_id: Some(text("1")), outcome: TurnEnding::Completed },
                r#"{"callback":"onTurnEnd","turnId":"1","outcome":"completed"}"#,
            ),
            (
                R::TurnEnd { turn_id: None, outcome: TurnEnding::Interrupted },
                r#"{"callback":"onTurnEnd","outcome":"interrupted"}"#,
            ),
            (R::Idle, r#"{"callback":"onIdle"}"#),
            (
                R::GeneratedUserPrompt { prompt: text("p") },
                r#"{"callback":"onGeneratedUserPrompt","prompt":"p"}"#,
            ),
            (R::UserPrompt { prompt: text("p") }, r#"{"callback":"onUserPrompt","prompt":"p"}"#),
            (
                R::QueueChanged(PromptQueue {
                    queue: vec![crate::WaitingPrompt { id: 2, prompt: text("p") }],
                }),
                r#"{"callback":"onQueueChanged","queue":[{"id":2,"prompt":"p"}]}"#,
            ),
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
