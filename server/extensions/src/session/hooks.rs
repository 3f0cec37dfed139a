//! The hooks: extensions are called in the order of their names, and each sees the changes of those
//! before it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use agents::permission::Asker;
use agents::{Consent, ToolHooks};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::timeout;
use wire::{LogLevel, PermissionKind, PermissionRequest, ToolError, ToolResult};

use super::SessionExtensions;
use super::program::Program;
use crate::events::hook_input;
use crate::result;

/// How often a turn is repeated at most, whatever an extension asks for.
const MOST_RETRIES: u64 = 10;
/// How long the end of a session waits for its extensions.
const FAREWELL: Duration = Duration::from_secs(2);

/// How to handle an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorHandling {
    /// The default: the turn has failed.
    #[default]
    Abort,
    /// The turn is repeated.
    Retry,
    /// The error is ignored.
    Skip,
}

impl SessionExtensions {
    /// Passes a prompt through the extensions. Returns the text for the model, which may contain
    /// more than people see; `None` if it is unchanged.
    pub async fn submit(&self, prompt: &str) -> Option<String> {
        let mut changed = None;
        let mut context = self.take_context();
        for program in self.hooked() {
            let current = changed.as_deref().unwrap_or(prompt);
            let input = json!({ "prompt": current });
            let Some(output) = self.ask(&program, "userPromptSubmitted", input).await else {
                continue;
            };
            if let Some(modified) = output["modifiedPrompt"].as_str() {
                changed = Some(modified.to_owned());
            }
            context.extend(additional_context(&output));
        }
        if context.is_empty() {
            return changed;
        }
        context.insert(0, changed.unwrap_or_else(|| prompt.to_owned()));
        Some(context.join("\n\n"))
    }

    /// Asks the extensions how to handle a turn that failed for the `attempt`th time.
    pub async fn error_occurred(&self, error: &str, attempt: u64) -> ErrorHandling {
        let mut handling = ErrorHandling::default();
        for program in self.hooked() {
            let input =
                json!({ "error": error, "errorContext": "model_call", "recoverable": true });
            let Some(output) = self.ask(&program, "errorOccurred", input).await else { continue };
            if let Some(notification) = output["userNotification"].as_str() {
                self.log(&program, LogLevel::Warning, notification, false);
            }
            match output["errorHandling"].as_str() {
                Some("abort") => return ErrorHandling::Abort,
                Some("skip") => handling = ErrorHandling::Skip,
                Some("retry") => {
                    let most = output["retryCount"].as_u64().unwrap_or(1).min(MOST_RETRIES);
                    if attempt <= most {
                        handling = ErrorHandling::Retry;
                    }
                }
                _ => {}
            }
        }
        handling
    }

    pub(super) async fn session_start(&self, source: &str) {
        for program in self.hooked() {
            let input = json!({ "source": source });
            let output = self.ask(&program, "sessionStart", input).await;
            if let Some(context) = output.as_ref().and_then(additional_context) {
                self.add_context(context);
            }
        }
    }

    pub(super) async fn session_end(&self, reason: &str, error: Option<&str>) {
        let mut input = json!({ "reason": reason });
        if let Some(message) = self.final_message() {
            input["finalMessage"] = json!(message);
        }
        if let Some(error) = error {
            input["error"] = json!(error);
        }
        let ask_all = async {
            for program in self.hooked() {
                if let Some(output) = self.ask(&program, "sessionEnd", input.clone()).await {
                    let summary = output["sessionSummary"].as_str().unwrap_or_default();
                    let actions = &output["cleanupActions"];
                    let extension = &program.found.name;
                    tracing::info!(extension, summary, %actions, "the end of a session");
                }
            }
        };
        if timeout(FAREWELL, ask_all).await.is_err() {
            tracing::info!("extensions took too long at the end of a session");
        }
    }

    fn hooked(&self) -> Vec<Arc<Program>> {
        self.programs().into_iter().filter(|program| program.is_hooked()).collect()
    }

    /// Calls one extension's hook; `None` if it returns nothing, or not in time.
    async fn ask(&self, program: &Program, hook: &str, input: Value) -> Option<Value> {
        let parts = self.parts();
        let session = parts.id.to_string();
        let input = hook_input(input, &session, &parts.folder.display().to_string());
        let params = json!({ "sessionId": session, "hookType": hook, "input": input });
        let time_out = self.host().settings.hook_time_out;
        let problem = match timeout(time_out, program.peer.request("hooks.invoke", params)).await {
            Ok(Ok(mut answer)) => {
                let output = answer["output"].take();
                match output["hookError"].as_str() {
                    Some(message) => message.to_owned(),
                    None => return output.is_object().then_some(output),
                }
            }
            Ok(Err(problem)) => problem,
            Err(_) => format!("it took over {} s", time_out.as_secs_f32()),
        };
        // An extension that has ended has already reported so.
        if program.is_running() {
            let message = format!("the hook {hook} was skipped: {problem}");
            self.log(program, LogLevel::Warning, &message, false);
        }
        None
    }
}

fn additional_context(output: &Value) -> Option<String> {
    let context = output["additionalContext"].as_str().filter(|text| !text.trim().is_empty());
    context.map(|text| result::cut(text.to_owned()))
}

/// Passes tool calls through the extensions of a session.
pub(super) struct Hooks {
    /// Weak, because the session owns the tools, and those own this.
    session: Weak<SessionExtensions>,
}

impl Hooks {
    pub(super) fn new(session: &Arc<SessionExtensions>) -> Self {
        Self { session: Arc::downgrade(session) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Decision {
    None,
    Allow,
    Ask,
}

#[async_trait]
impl ToolHooks for Hooks {
    async fn before(&self, asker: &Asker, arguments: Value) -> Result<Consent, ToolError> {
        let mut consent = Consent { arguments, is_approved: false, context: None };
        let Some(session) = self.session.upgrade() else { return Ok(consent) };
        let name = asker.tool.as_deref().unwrap_or_default();
        let mut decision = Decision::None;
        let mut contexts = Vec::new();
        for program in session.hooked() {
            let input = json!({ "toolName": name, "toolArgs": consent.arguments });
            let Some(mut output) = session.ask(&program, "preToolUse", input).await else {
                continue;
            };
            let reason = output["permissionDecisionReason"].as_str().map(str::to_owned);
            match output["permissionDecision"].as_str() {
                Some("deny") => {
                    let extension = &program.found.name;
                    let reason =
                        reason.unwrap_or_else(|| format!("refused by the extension {extension}"));
                    return Err(ToolError { message: reason, code: Some("denied".to_owned()) });
                }
                Some("ask") => decision = decision.max(Decision::Ask),
                Some("allow") => decision = decision.max(Decision::Allow),
                _ => {}
            }
            contexts.extend(additional_context(&output));
            if let Some(modified) = output.get_mut("modifiedArgs").filter(|args| !args.is_null()) {
                consent.arguments = modified.take();
            }
        }
        if decision == Decision::Ask {
            let request = PermissionRequest {
                kind: PermissionKind::Tool,
                title: format!("Use {name}"),
                path: None,
                detail: Some(result::cut(format!("{:#}", consent.arguments))),
                diff: None,
                each_time: false,
            };
            let answer = session.parts().permissions.request(asker, request).await;
            answer.map_err(|denied| ToolError {
                message: denied.reason,
                code: Some("denied".to_owned()),
            })?;
        }
        consent.is_approved = decision != Decision::None;
        consent.context = (!contexts.is_empty()).then(|| contexts.join("\n\n"));
        Ok(consent)
    }

    async fn after(
        &self,
        name: &str,
        consent: Consent,
        mut outcome: Result<ToolResult, ToolError>,
    ) -> Result<ToolResult, ToolError> {
        let mut contexts: Vec<String> = consent.context.into_iter().collect();
        if let Some(session) = self.session.upgrade() {
            for program in session.hooked() {
                let input = json!({
                    "toolName": name,
                    "toolArgs": consent.arguments,
                    "toolResult": result::write(&outcome),
                });
                let Some(output) = session.ask(&program, "postToolUse", input).await else {
                    continue;
                };
                contexts.extend(additional_context(&output));
                let modified = output.get("modifiedResult").filter(|result| !result.is_null());
                if let Some(modified) = modified {
                    outcome = result::read(modified);
                }
            }
        }
        if contexts.is_empty() {
            return outcome;
        }
        result::with_context(outcome, &contexts.join("\n\n"))
    }
}
