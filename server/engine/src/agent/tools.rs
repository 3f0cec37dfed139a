//! The tools that a model may call, and the four that every session has.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use wire::entry::JOB_TOOLS;
use wire::{ToolError, ToolResult};

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// An object that should fit the tool's schema. It comes from the model: check it.
    pub arguments: Value,
}

/// What a tool does.
#[async_trait]
pub trait ToolHandler: Send + Sync + 'static {
    /// Runs the tool. Dropped if the turn is aborted.
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError>;

    /// Runs the tool and reports its output as it comes, if it has any before its end.
    async fn call_with_output(
        &self,
        call: ToolCall,
        _output: &ToolOutput,
    ) -> Result<ToolResult, ToolError> {
        self.call(call).await
    }
}

/// Where a running tool reports its output.
#[derive(Clone)]
pub struct ToolOutput(Arc<dyn Fn(&str) + Send + Sync>);

impl ToolOutput {
    /// Reports to a function, which must not block.
    pub fn new(report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Reports what is new.
    pub fn emit(&self, delta: &str) {
        (self.0)(delta);
    }
}

impl Default for ToolOutput {
    /// Reports to nobody.
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for ToolOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolOutput")
    }
}

/// A tool that a model may call.
#[derive(Clone)]
pub struct Tool {
    /// Unique in its set.
    pub name: String,
    /// For the model: what it does and when to use it.
    pub description: String,
    /// JSON schema of the arguments, an object.
    pub parameters: Value,
    /// What it does.
    pub handler: Arc<dyn ToolHandler>,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.name).finish()
    }
}

/// A second tool of the same name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is already a tool of that name: `{0}`")]
pub struct DuplicateTool(pub String);

/// The tools of a session, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct ToolSet {
    tools: Vec<Tool>,
}

impl ToolSet {
    /// The four tools that every session has.
    pub fn with_job_tools() -> Self {
        let purposes = [
            "Report a document that you have prepared. The first line of the argument is its path.",
            "Report that the condition holds. The argument is the reason.",
            "Report that the condition does not hold. The argument is the reason.",
            "Report that the task cannot be begun. The argument is the reason.",
        ];
        let tools = JOB_TOOLS.iter().zip(purposes);
        Self {
            tools: tools
                .map(|(name, purpose)| Tool {
                    name: (*name).to_owned(),
                    description: purpose.to_owned(),
                    parameters: json!({
                        "type": "object",
                        "properties": { ARGUMENT: { "type": "string" } },
                        "required": [ARGUMENT],
                        "additionalProperties": false,
                    }),
                    handler: Arc::new(EchoArgument),
                })
                .collect(),
        }
    }

    /// Adds a tool.
    pub fn add(&mut self, tool: Tool) -> Result<(), DuplicateTool> {
        if self.get(&tool.name).is_some() {
            return Err(DuplicateTool(tool.name));
        }
        self.tools.push(tool);
        Ok(())
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// All tools.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter()
    }

    /// Calls a tool; one that does not exist fails as a tool does, for the model to read.
    pub async fn call(&self, name: &str, call: ToolCall) -> Result<ToolResult, ToolError> {
        self.call_with_output(name, call, &ToolOutput::default()).await
    }

    /// The same, with the tool's output as it comes.
    pub async fn call_with_output(
        &self,
        name: &str,
        call: ToolCall,
        output: &ToolOutput,
    ) -> Result<ToolResult, ToolError> {
        match self.get(name) {
            Some(tool) => tool.handler.call_with_output(call, output).await,
            None => Err(ToolError {
                message: format!("unknown tool: `{name}`"),
                code: Some("unknown_tool".to_owned()),
            }),
        }
    }
}

const ARGUMENT: &str = "argument";

/// The job tools do nothing but be called: the task engine looks at who called them.
struct EchoArgument;

#[async_trait]
impl ToolHandler for EchoArgument {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        match call.arguments.get(ARGUMENT).and_then(Value::as_str) {
            Some(argument) => {
                Ok(ToolResult { content: argument.to_owned(), detailed_content: None })
            }
            None => Err(ToolError {
                message: format!("missing string parameter: `{ARGUMENT}`"),
                code: Some("invalid_arguments".to_owned()),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::entry::JOB_BOOLEAN_TRUE;

    use super::*;

    async fn call(name: &str, arguments: Value) -> Result<String, String> {
        let tools = ToolSet::with_job_tools();
        let outcome = tools.call(name, ToolCall { arguments }).await;
        outcome.map(|result| result.content).map_err(|error| error.message)
    }

    #[tokio::test]
    async fn the_job_tools_answer_with_their_argument() {
        for name in JOB_TOOLS {
            let answer = call(name, json!({ "argument": "because" })).await;
            assert_eq!(answer.as_deref(), Ok("because"));
        }
    }

    #[tokio::test]
    async fn bad_calls_fail_as_a_tool_does() {
        for (name, arguments, error) in [
            (JOB_BOOLEAN_TRUE, json!({}), "missing string parameter: `argument`"),
            (JOB_BOOLEAN_TRUE, json!({ "argument": 1 }), "missing string parameter: `argument`"),
            (JOB_BOOLEAN_TRUE, Value::Null, "missing string parameter: `argument`"),
            ("nothing", json!({}), "unknown tool: `nothing`"),
        ] {
            assert_eq!(call(name, arguments).await, Err(error.to_owned()));
        }
    }

    #[test]
    fn names_are_unique() {
        let mut tools = ToolSet::with_job_tools();
        let twice = tools.get(JOB_BOOLEAN_TRUE).expect("registered").clone();
        assert_eq!(tools.add(twice), Err(DuplicateTool(JOB_BOOLEAN_TRUE.to_owned())));
    }
}
