//! The tools that a model may call, and the four that every session has.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::RwLock;
use serde_json::{Value, json};
use wire::entry::JOB_TOOLS;
use wire::{ToolError, ToolResult};

use crate::permission::{Asker, Owner};

/// A call of a tool.
#[derive(Clone, Debug, Default)]
pub struct ToolCall {
    /// An object that should fit the tool's schema. It comes from the model: check it.
    pub arguments: Value,
    /// Who asks if the tool needs permission. The set fills in its owner and the tool.
    pub asker: Asker,
    /// Where the tool reports output that it has before its end.
    pub output: ToolOutput,
}

impl ToolCall {
    /// A call that nobody follows.
    pub fn new(arguments: Value) -> Self {
        Self { arguments, ..Self::default() }
    }

    /// The same call, followed: its start was reported under this id, and its output goes there.
    #[must_use]
    pub fn followed(self, call_id: &str, output: ToolOutput) -> Self {
        let asker = Asker { call_id: Some(call_id.into()), ..self.asker };
        Self { asker, output, ..self }
    }
}

/// What a tool does.
#[async_trait]
pub trait ToolHandler: Send + Sync + 'static {
    /// Runs the tool. Dropped if the turn is aborted.
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError>;
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

/// Is consulted about every call of a tool: before it, and about what came of it.
#[async_trait]
pub trait ToolHooks: Send + Sync + 'static {
    /// May change the arguments, or refuse the call. `asker` names the tool.
    async fn before(&self, asker: &Asker, arguments: Value) -> Result<Consent, ToolError>;

    /// May change the outcome. `consent` is what was said before the call.
    async fn after(
        &self,
        name: &str,
        consent: Consent,
        outcome: Result<ToolResult, ToolError>,
    ) -> Result<ToolResult, ToolError>;
}

/// A call that may go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Consent {
    /// What the tool is called with.
    pub arguments: Value,
    /// Whether the tool need not ask for permission any more.
    pub is_approved: bool,
    /// What the model is to read besides the tool's result.
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
    /// The four tools that every session has.
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

    /// The same tools, whose questions are those of `owner`.
    #[must_use]
    pub fn owned_by(self, owner: Owner) -> Self {
        Self { owner: Some(owner), ..self }
    }

    /// The session that the tools belong to, if one does.
    pub fn owner(&self) -> Option<Owner> {
        self.owner
    }

    /// Adds a tool.
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

    /// Takes tools away. Calls that run go on.
    pub fn remove(&self, names: &[String]) {
        self.tools.write().retain(|tool| !names.contains(&tool.name));
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<Arc<Tool>> {
        self.tools.read().iter().find(|tool| tool.name == name).cloned()
    }

    /// All tools that there are now.
    pub fn iter(&self) -> impl Iterator<Item = Arc<Tool>> {
        self.tools.read().clone().into_iter()
    }

    /// Has every call from now on go through `hooks`, or through none.
    pub fn set_hooks(&self, hooks: Option<Arc<dyn ToolHooks>>) {
        *self.hooks.write() = hooks;
    }

    /// Calls a tool; one that does not exist fails as a tool does, for the model to read.
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
