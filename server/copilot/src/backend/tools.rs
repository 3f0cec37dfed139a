//! The portal's tools, as the CLI's agent calls them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agents::{AgentError, AgentEvent, AgentEvents, ToolCall, ToolOutput, ToolSet};
use async_trait::async_trait;
use github_copilot_sdk::tool::{ToolHandler, try_tool_parameters};
use github_copilot_sdk::types::{
    DeferMode, Tool as SdkTool, ToolInvocation, ToolResult as SdkResult, ToolResultExpanded,
};

use super::turn::Turns;

/// Registers all tools of a set with the CLI.
pub(super) fn register(
    tools: &Arc<ToolSet>,
    events: &AgentEvents,
    turns: &Arc<Turns>,
) -> Result<Vec<SdkTool>, AgentError> {
    let tool = |tool: &agents::Tool| {
        let parameters = try_tool_parameters(tool.parameters.clone()).map_err(|error| {
            AgentError::Unavailable(format!("not a schema: {error}: `{}`", tool.name))
        })?;
        let mut registered = SdkTool::default();
        registered.name.clone_from(&tool.name);
        registered.description.clone_from(&tool.description);
        registered.parameters = parameters;
        // They ask for permission themselves, and the model must not have to search for them.
        registered.skip_permission = true;
        registered.overrides_built_in_tool = true;
        registered.defer = Some(DeferMode::Never);
        Ok(registered.with_handler(Arc::new(Bridge {
            tools: tools.clone(),
            events: events.clone(),
            turns: turns.clone(),
        })))
    };
    tools.iter().map(|one| tool(&one)).collect()
}

struct Bridge {
    tools: Arc<ToolSet>,
    events: AgentEvents,
    turns: Arc<Turns>,
}

#[async_trait]
impl ToolHandler for Bridge {
    async fn call(
        &self,
        invocation: ToolInvocation,
    ) -> Result<SdkResult, github_copilot_sdk::Error> {
        let output = self.output(&invocation);
        let ToolInvocation { tool_name, tool_call_id, arguments, .. } = invocation;
        let over = self.turns.over();
        let call = ToolCall::new(arguments).followed(&tool_call_id, output);
        let outcome = over.run_until_cancelled(self.tools.call(&tool_name, call)).await;
        Ok(match outcome {
            Some(Ok(result)) => {
                let mut expanded = ToolResultExpanded::new(result.content, "success");
                expanded.session_log = result.detailed_content;
                SdkResult::Expanded(expanded)
            }
            Some(Err(error)) => failed(error.message),
            None => failed("aborted".to_owned()),
        })
    }
}

impl Bridge {
    /// Output may arrive before the CLI has reported the call, so the first output reports it.
    fn output(&self, invocation: &ToolInvocation) -> ToolOutput {
        let events = self.events.clone();
        let call_id = invocation.tool_call_id.clone();
        let name = invocation.tool_name.clone();
        let arguments = invocation.arguments.clone();
        let is_told = AtomicBool::new(false);
        ToolOutput::new(move |delta| {
            if !is_told.swap(true, Ordering::Relaxed) {
                events.emit(AgentEvent::ToolStart {
                    call_id: call_id.clone(),
                    parent_call_id: None,
                    name: name.clone(),
                    arguments: arguments.clone(),
                });
            }
            let (call_id, delta) = (call_id.clone(), delta.to_owned());
            events.emit(AgentEvent::ToolOutput { call_id, delta });
        })
    }
}

fn failed(message: String) -> SdkResult {
    let mut expanded = ToolResultExpanded::new(message.clone(), "failure");
    expanded.error = Some(message);
    SdkResult::Expanded(expanded)
}
