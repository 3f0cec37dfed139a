//! Results of tools in the form that extensions use: a text, or `{textResultForLlm, resultType}`.

use serde_json::{Value, json};
use wire::{ToolError, ToolResult};

/// Limit for what a model is given, in bytes.
const MAX_RESULT: usize = 64 * 1024;

/// Parses a result. Null is an empty success; any other value is passed to the model as JSON.
pub(super) fn read(result: &Value) -> Result<ToolResult, ToolError> {
    let (text, kind) = match result {
        Value::Null => (String::new(), "success"),
        Value::String(text) => (text.clone(), "success"),
        Value::Object(fields) if fields.get("textResultForLlm").is_some_and(Value::is_string) => {
            let field = |name| fields.get(name).and_then(Value::as_str);
            let text = field("textResultForLlm").unwrap_or_default();
            let kind = field("resultType").unwrap_or("success");
            let text = if kind != "success" && text.is_empty() {
                field("error").unwrap_or("the tool has failed")
            } else {
                text
            };
            (text.to_owned(), kind)
        }
        other => (other.to_string(), "success"),
    };
    let text = cut(text);
    match kind {
        "success" => Ok(ToolResult { content: text, detailed_content: None }),
        kind => Err(ToolError { message: text, code: Some(kind.to_owned()) }),
    }
}

/// Writes the outcome of a call in that form.
pub(super) fn write(outcome: &Result<ToolResult, ToolError>) -> Value {
    match outcome {
        Ok(result) => json!({
            "textResultForLlm": result.content,
            "resultType": "success",
            "sessionLog": result.detailed_content,
            "toolTelemetry": {},
        }),
        Err(error) => {
            let kind = error.code.as_deref().filter(|kind| matches!(*kind, "rejected" | "denied"));
            let kind = kind.unwrap_or("failure");
            json!({
                "textResultForLlm": error.message,
                "resultType": kind,
                "error": error.message,
                "toolTelemetry": {},
            })
        }
    }
}

/// Adds text that only the model reads.
pub(super) fn with_context(
    outcome: Result<ToolResult, ToolError>,
    context: &str,
) -> Result<ToolResult, ToolError> {
    match outcome {
        Ok(ToolResult { content, detailed_content }) => {
            let shown = detailed_content.unwrap_or_else(|| content.clone());
            let text = [content.as_str(), context].join("\n\n");
            let text = if content.is_empty() { context.to_owned() } else { text };
            Ok(ToolResult { content: text, detailed_content: Some(shown) })
        }
        Err(ToolError { message, code }) => {
            Err(ToolError { message: format!("{message}\n\n{context}"), code })
        }
    }
}

pub(super) fn cut(mut text: String) -> String {
    if text.len() > MAX_RESULT {
        text.truncate(text.floor_char_boundary(MAX_RESULT));
        text.push_str("\n[cut]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(text: &str) -> Result<ToolResult, ToolError> {
        outcome(text, None)
    }

    fn error(text: &str, code: &str) -> Result<ToolResult, ToolError> {
        outcome(text, Some(code))
    }

    fn outcome(text: &str, code: Option<&str>) -> Result<ToolResult, ToolError> {
        match code {
            None => Ok(ToolResult { content: text.to_owned(), detailed_content: None }),
            Some(code) => Err(ToolError { message: text.to_owned(), code: Some(code.to_owned()) }),
        }
    }

    #[test]
    fn every_form_of_result_is_read() {
        let object =
            |text: &str, kind: &str| json!({ "textResultForLlm": text, "resultType": kind });
        assert_eq!(read(&json!("a")), ok("a"));
        assert_eq!(read(&Value::Null), ok(""));
        assert_eq!(read(&object("a", "success")), ok("a"));
        assert_eq!(read(&json!({ "textResultForLlm": "a" })), ok("a"));
        assert_eq!(read(&json!({ "rows": 2 })), ok("{\"rows\":2}"));
        for kind in ["failure", "rejected", "denied"] {
            assert_eq!(read(&object("no", kind)), error("no", kind));
        }
        assert_eq!(read(&object("", "failure")), error("the tool has failed", "failure"));
        let long = read(&json!("x".repeat(2 * MAX_RESULT))).expect("a result").content;
        assert!(long.ends_with("[cut]") && long.len() < MAX_RESULT + 10);
    }

    #[test]
    fn what_is_written_can_be_read_again() {
        for outcome in [ok("a"), error("no", "failure"), error("no", "denied")] {
            assert_eq!(read(&write(&outcome)), outcome);
        }
    }

    #[test]
    fn context_is_for_the_model() {
        let Ok(result) = with_context(ok("a"), "b") else { panic!("a success") };
        assert_eq!((&*result.content, result.detailed_content.as_deref()), ("a\n\nb", Some("a")));
        assert_eq!(with_context(error("no", "failure"), "b"), error("no\n\nb", "failure"));
    }
}
