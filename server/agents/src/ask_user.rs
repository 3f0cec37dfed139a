//! `ask_user`: lets a model ask the person it works for, who answers in the inbox.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use wire::{PermissionKind, PermissionRequest, ToolError, ToolResult};

use crate::permission::PermissionHandler;
use crate::tool::{Tool, ToolCall, ToolHandler};

/// Name of the tool.
pub const ASK_USER: &str = "ask_user";

const QUESTION: &str = "question";
/// A question with a longer line is shown in full below its beginning, in characters.
const LONGEST_TITLE: usize = 200;
/// Limit for a question, in bytes.
const MAX_QUESTION: usize = 16 * 1024;

/// The tool, whose questions are answered by `permissions`.
pub fn ask_user(permissions: Arc<dyn PermissionHandler>) -> Tool {
    Tool {
        name: ASK_USER.to_owned(),
        description: "Ask the user a question and wait for the answer, which is free text. Use it \
                      only if you cannot go on without a decision or a fact that only the user has."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { QUESTION: { "type": "string", "description": "the question" } },
            "required": [QUESTION],
            "additionalProperties": false,
        }),
        handler: Arc::new(AskUser { permissions }),
    }
}

struct AskUser {
    permissions: Arc<dyn PermissionHandler>,
}

#[async_trait]
impl ToolHandler for AskUser {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let failed = |message: &str, code: Option<&str>| ToolError {
            message: message.to_owned(),
            code: code.map(str::to_owned),
        };
        let question = call.arguments.get(QUESTION).and_then(|question| question.as_str());
        let question = question.map(str::trim).filter(|question| !question.is_empty());
        let question =
            question.ok_or_else(|| failed("missing string parameter: `question`", None))?;
        if question.len() > MAX_QUESTION {
            return Err(failed("the question is too long", None));
        }
        let answer = self.permissions.ask(&call.asker, request(question)).await;
        let content = answer.map_err(|denied| failed(&denied.reason, Some("denied")))?;
        Ok(ToolResult { content, detailed_content: None })
    }
}

/// The question as people see it.
fn request(question: &str) -> PermissionRequest {
    let line = question.lines().next().unwrap_or_default();
    let title = match line.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    };
    let detail = (title != question).then(|| question.to_owned());
    let kind = PermissionKind::Question;
    PermissionRequest { kind, title, path: None, detail, diff: None, each_time: true }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::permission::{Asker, Denied, DenyAll};

    /// Answers every question with itself.
    struct Echo;

    #[async_trait]
    impl PermissionHandler for Echo {
        async fn request(&self, _: &Asker, _: PermissionRequest) -> Result<(), Denied> {
            Ok(())
        }

        async fn ask(&self, _: &Asker, request: PermissionRequest) -> Result<String, Denied> {
            Ok(request.detail.unwrap_or(request.title))
        }
    }

    async fn call(
        permissions: impl PermissionHandler,
        arguments: Value,
    ) -> Result<String, ToolError> {
        let tool = ask_user(Arc::new(permissions));
        tool.handler.call(ToolCall::new(arguments)).await.map(|result| result.content)
    }

    #[tokio::test]
    async fn the_answer_is_the_result() {
        for question in ["Which one?", "Which one?\nA or B", &"long ".repeat(100)] {
            let answer = call(Echo, json!({ "question": question })).await;
            assert_eq!(answer.as_deref(), Ok(question.trim()));
        }
        let refused = call(DenyAll, json!({ "question": "a" })).await.expect_err("nobody");
        assert_eq!(refused.code.as_deref(), Some("denied"));
    }

    #[tokio::test]
    async fn a_call_without_a_question_is_an_error() {
        for arguments in [json!({}), json!({ "question": " " }), json!({ "question": 1 })] {
            let error = call(Echo, arguments).await.expect_err("no question");
            assert_eq!(error.message, "missing string parameter: `question`");
        }
        let long = json!({ "question": "x".repeat(MAX_QUESTION + 1) });
        assert_eq!(
            call(Echo, long).await.expect_err("too long").message,
            "the question is too long"
        );
    }

    #[test]
    fn people_see_the_first_line_and_below_it_what_was_cut() {
        let short = request("Which one?");
        assert_eq!((short.title.as_str(), short.detail), ("Which one?", None));
        let long = request("Which one?\nA or B");
        assert_eq!(long.title, "Which one?");
        assert_eq!(long.detail.as_deref(), Some("Which one?\nA or B"));
        let line = "ä".repeat(500);
        assert_eq!(request(&line).title.chars().count(), LONGEST_TITLE + 1);
    }
}
