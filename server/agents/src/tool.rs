//! The tools that a model may call, and the four that every session has.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::RwLock;
use serde_json::{Value, json};
use wire::entry::JOB_TOOLS;
use wire::{ToolError, ToolResult};

use crate::permission::{Asker, Owner};

/// A call of a tool, with everything the tool needs for it.
#[derive(Clone, Debug, Default)]
pub struct ToolCall {
    /// An object that should fit the tool's schema. It comes from the model, so handlers check it.
    pub arguments: Value,
    /// On whose behalf the tool asks for permission. [`ToolSet::call`] fills in the owner and the
    /// tool.
    pub asker: Asker,
    /// Receives output while the tool still runs.
    pub output: ToolOutput,
}

impl ToolCall {
    /// A call whose output is discarded.
    pub fn new(arguments: Value) -> Self {
        Self { arguments, ..Self::default() }
    }

    /// The same call with its output reported: its start was reported under this id.
    #[must_use]
    pub fn followed(self, call_id: &str, output: ToolOutput) -> Self {
        let asker = Asker { call_id: Some(call_id.into()), ..self.asker };
        Self { asker, output, ..self }
    }
}

/// The implementation of a tool.
#[async_trait]
pub trait ToolHandler: Send + Sync + 'static {
    /// Runs the tool. Dropped if the turn is aborted.
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError>;
}

/// Receives the output of a running tool.
#[derive(Clone)]
pub struct ToolOutput(Arc<dyn Fn(&str) + Send + Sync>);

impl ToolOutput {
    /// Passes output to a function, which must not block.
    pub fn new(report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Reports output that follows what was reported before.
    pub fn emit(&self, delta: &str) {
        (self.0)(delta);
    }
}

impl Default for ToolOutput {
    /// Discards everything that is reported.
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
    /// Tells the model what the tool does and when to use it.
    pub description: String,
    /// JSON schema of the arguments, which are an object.
    pub parameters: Value,
    /// What runs when the tool is called.
    pub handler: Arc<dyn ToolHandler>,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.name).finish()
    }
}

/// Another tool already has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is already a tool of that name: `{0}`")]
pub struct DuplicateTool(pub String);

/// Hooks that run before and after every tool call.
#[async_trait]
pub trait ToolHooks: Send + Sync + 'static {
    /// May change the arguments or refuse the call. `asker` names the tool.
    async fn before(&self, asker: &Asker, arguments: Value) -> Result<Consent, ToolError>;

    /// May change the outcome. `consent` is what [`before`](Self::before) returned.
    async fn after(
        &self,
        name: &str,
        consent: Consent,
        outcome: Result<ToolResult, ToolError>,
    ) -> Result<ToolResult, ToolError>;
}

/// The consent of the hooks to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Consent {
    /// The arguments for the tool.
    pub arguments: Value,
    /// Whether the tool need not ask for permission.
    pub is_approved: bool,
    /// Text that the model reads in addition to the tool's result.
    pub context: Option<String>,
}

/// The tools of a session, in the order in which they were added. They may change while it runs.
#[derive(Default)]
pub struct ToolSet {
    tools: RwLock<Vec<Arc<Tool>>>,
    hooks: RwLock<Option<Arc<dyn ToolHooks>>>,
    owner: Option<Owner>,
}

impl ToolSet {
    /// A set of the four tools that every session has.
    pub fn with_job_tools() -> Self {
        let purposes = [
            "Report a document that you have prepared. The first line of the argument is its path.",
            "Report that the condition holds. The argument is the reason.",
            "Report that the condition does not hold. The argument is the reason.",
            "Report that the task cannot be begun. The argument is the reason.",
        ];
        let tools = JOB_TOOLS.iter().zip(purposes).map(|(name, purpose)| {
            Arc::new(Tool {
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
        });
        Self { tools: RwLock::new(tools.collect()), ..Self::default() }
    }

    /// The same tools, which ask for permission on behalf of `owner`.
    #[must_use]
    pub fn owned_by(self, owner: Owner) -> Self {
        Self { owner: Some(owner), ..self }
    }

    /// The session that the tools belong to, if any.
    pub fn owner(&self) -> Option<Owner> {
        self.owner
    }

    /// Adds a tool. Fails if its name is taken.
    pub fn add(&self, tool: Tool) -> Result<(), DuplicateTool> {
        self.add_all(vec![tool])
    }

    /// Adds all of these tools, or none if one of their names is taken.
    pub fn add_all(&self, new: Vec<Tool>) -> Result<(), DuplicateTool> {
        let mut tools = self.tools.write();
        let known = tools.len();
        for tool in new {
            if tools.iter().any(|other| other.name == tool.name) {
                tools.truncate(known);
                return Err(DuplicateTool(tool.name));
            }
            tools.push(Arc::new(tool));
        }
        Ok(())
    }

    /// Removes tools. Running calls continue.
    pub fn remove(&self, names: &[String]) {
        self.tools.write().retain(|tool| !names.contains(&tool.name));
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<Arc<Tool>> {
        self.tools.read().iter().find(|tool| tool.name == name).cloned()
    }

    /// A snapshot of all tools.
    pub fn iter(&self) -> impl Iterator<Item = Arc<Tool>> {
        self.tools.read().clone().into_iter()
    }

    /// Routes every later call through `hooks`, or through none.
    pub fn set_hooks(&self, hooks: Option<Arc<dyn ToolHooks>>) {
        *self.hooks.write() = hooks;
    }

    /// Calls a tool. An unknown name is a tool error, which the model reads.
    pub async fn call(&self, name: &str, mut call: ToolCall) -> Result<ToolResult, ToolError> {
        call.asker.owner = self.owner;
        call.asker.tool = Some(name.into());
        let hooks = self.hooks.read().clone();
        let Some(hooks) = hooks else {
            return self.carry_out(name, call).await;
        };
        let consent = hooks.before(&call.asker, call.arguments).await?;
        call.arguments = consent.arguments.clone();
        call.asker.is_approved = consent.is_approved;
        let outcome = self.carry_out(name, call).await;
        hooks.after(name, consent, outcome).await
    }

    async fn carry_out(&self, name: &str, call: ToolCall) -> Result<ToolResult, ToolError> {
        match self.get(name) {
            Some(tool) => tool.handler.call(call).await,
            None => Err(ToolError {
                message: format!("unknown tool: `{name}`"),
                code: Some("unknown_tool".to_owned()),
            }),
        }
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

const ARGUMENT: &str = "argument";

/// The job tools do nothing: the task engine only looks at which of them were called.
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
        let outcome = tools.call(name, ToolCall::new(arguments)).await;
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
        let tools = ToolSet::with_job_tools();
        let twice = Tool::clone(&tools.get(JOB_BOOLEAN_TRUE).expect("registered"));
        let error = Err(DuplicateTool(JOB_BOOLEAN_TRUE.to_owned()));
        assert_eq!(tools.add(twice.clone()), error);
        let new = Tool { name: "new".to_owned(), ..twice.clone() };
        assert_eq!(tools.add_all(vec![new.clone(), twice]), error);
        assert!(tools.get("new").is_none(), "all or none");
        tools.add(new).expect("a new name");
        tools.remove(&["new".to_owned()]);
        assert_eq!(tools.iter().count(), 4);
    }
}
