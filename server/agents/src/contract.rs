//! The contract between the engine and whatever runs a model.
//!
//! A backend represents one provider and shares one client among all of its sessions. It turns
//! whatever its model does into [`AgentEvent`]s. The engine's sessions are the only callers and put
//! the events in order, so a backend need not be tidy.
//!
//! ```text
//!   session ──start_session──▶ AgentBackend (one per provider, shared client)
//!      │      resume_session        │
//!      │                            │
//!      ├──run_turn / stop────▶ AgentSession ──▶ model
//!      ◀──AgentEvents─────────────┘  └──────▶ ToolSet::call
//! ```

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use wire::{BudgetLimit, ExtensionSource, ExtensionState, ModelInfo, ToolError, ToolResult, Usage};

use crate::attachment::{Attachments, NoAttachments};
use crate::facts::Fact;
use crate::permission::{DenyAll, PermissionHandler};
use crate::tool::{ToolCall, ToolOutput, ToolSet};
use crate::tools::is_read_only;

/// A provider of models.
#[async_trait]
pub trait AgentBackend: Send + Sync + 'static {
    /// A short name, for lists and logs.
    fn provider(&self) -> &str;

    /// What its agents support beyond answering prompts.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Whether a tool changes nothing, whatever its arguments are. False for every tool of which that
    /// is not known.
    fn is_read_only(&self, tool: &str) -> bool {
        is_read_only(tool)
    }

    /// The models that sessions can be started with now.
    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError>;

    /// Starts a conversation. The first one also starts the shared client.
    ///
    /// Cancel safe: if dropped before it returns, nothing is left running.
    async fn start_session(
        &self,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError>;

    /// Continues a conversation that was stopped or interrupted: the model knows what was said in
    /// it, and ids of rounds, texts and calls do not repeat. Settings are not remembered; the
    /// caller passes them again.
    ///
    /// Cancel safe: if dropped before it returns, nothing is left running.
    async fn resume_session(
        &self,
        _past: PastConversation,
        _settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, ResumeError> {
        let reason = format!("conversations with {} can't be resumed", self.provider());
        Err(ResumeError::Refused(reason))
    }

    /// Closes the shared client. All sessions must have been stopped before.
    async fn close(&self);
}

/// One conversation. Calls of [`Self::run_turn`] never overlap.
#[async_trait]
pub trait AgentSession: Send + Sync + 'static {
    /// The handle by which the backend finds the conversation again. `None` if the facts suffice,
    /// or if the conversation cannot be resumed.
    fn handle(&self) -> Option<SessionHandle> {
        None
    }

    /// Sends a prompt and returns when the turn is over.
    ///
    /// Returns `Ok` soon after `abort` is cancelled; the caller closes the blocks that are still
    /// open. May be dropped at any point, which aborts the turn as well.
    async fn run_turn(&self, prompt: &str, abort: &CancellationToken) -> Result<(), AgentError>;

    /// Like [`Self::run_turn`], for a prompt with options, which most agents ignore.
    async fn run_turn_with(
        &self,
        prompt: &str,
        _options: &TurnOptions,
        abort: &CancellationToken,
    ) -> Result<TurnStop, AgentError> {
        self.run_turn(prompt, abort).await.map(|()| TurnStop::Answered)
    }

    /// Ends the conversation and frees its resources. Called only while no turn is running.
    async fn stop(&self);
}

/// How a prompt is to be handled. Agents of the bridge's projects follow it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnOptions {
    /// The model that answers, as clients name it; any if `None`.
    pub model: Option<String>,
    /// If the prompt is a goal to be pursued step by step: how many steps there may be.
    pub max_steps: Option<u32>,
}

/// Why a turn that did not fail is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnStop {
    /// The prompt was answered, or the turn was aborted.
    Answered,
    /// All steps were used, and the goal was not reached.
    OutOfSteps,
}

/// What the agents of a backend support beyond answering prompts. The engine decides by these
/// flags, never by a backend's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub struct Capabilities {
    /// They bring their own tools for working in a folder, so they are not given the portal's.
    pub own_tools: bool,
    /// Their conversations can be resumed.
    pub resume: bool,
    /// They find and run extensions themselves, and report them as [`AgentEvent::Extensions`]. For
    /// all other backends the portal hosts the extensions.
    pub extensions: bool,
    /// Their turns take prompts, by [`AgentSettings::steering`].
    pub steer: bool,
    /// Prompts may have images.
    pub images: bool,
    /// What they report as [`AgentEvent::Usage`], and so which budgets can be kept.
    pub reports: ReportedUsage,
}

/// What agents report of the usage of their models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportedUsage {
    /// Neither tokens nor cost.
    #[default]
    Nothing,
    /// How many tokens were read and written.
    Tokens,
    /// Tokens, and what they cost.
    TokensAndCost,
}

impl ReportedUsage {
    /// Whether a limit can be kept with what is reported.
    pub fn covers(self, limit: BudgetLimit) -> bool {
        match limit {
            BudgetLimit::Minutes | BudgetLimit::Turns => true,
            BudgetLimit::Tokens => self != Self::Nothing,
            BudgetLimit::Cost => self == Self::TokensAndCost,
        }
    }
}

/// The extensions that an agent with [`Capabilities::extensions`] may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllowedExtensions {
    /// The folder is not trusted, or the agent runs none.
    #[default]
    None,
    /// Every extension that the agent finds.
    All,
}

/// An extension that an agent runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentExtension {
    /// The name of its folder.
    pub name: String,
    /// Where the agent found it.
    pub source: ExtensionSource,
    /// Its state when the report was made.
    pub state: ExtensionState,
}

/// Prompts for a turn that is already running. An agent with [`Capabilities::steer`] takes them before
/// each further request to its model, and does not end a turn while there is one.
#[async_trait]
pub trait Steering: Send + Sync + 'static {
    /// Takes the next prompt for the running turn, if there is one. It is durable, and readers see it,
    /// when this returns.
    async fn next(&self) -> Option<String>;
}

/// Nobody steers.
struct Unsteered;

#[async_trait]
impl Steering for Unsteered {
    async fn next(&self) -> Option<String> {
        None
    }
}

/// What a conversation is started with.
#[derive(Clone)]
pub struct AgentSettings {
    /// The model's id, as listed by the backend.
    pub model: String,
    /// The folder in which the agent works. It must exist.
    pub working_directory: PathBuf,
    /// The tools that the model may call.
    pub tools: Arc<ToolSet>,
    /// Whether the model may also call the provider's own tools.
    pub own_tools: bool,
    /// Asked before one of the provider's own tools acts. Tools of the set ask on their own.
    pub permissions: Arc<dyn PermissionHandler>,
    /// Prompts for its running turns.
    pub steering: Arc<dyn Steering>,
    /// What its prompts refer to.
    pub attachments: Arc<dyn Attachments>,
    /// Which extensions the agent itself may run.
    pub extensions: AllowedExtensions,
    /// Receives everything that happens in the conversation.
    pub events: AgentEvents,
}

impl AgentSettings {
    /// Settings for a model without tools and without any permission.
    pub fn new(
        model: impl Into<String>,
        working_directory: impl Into<PathBuf>,
        events: AgentEvents,
    ) -> Self {
        Self {
            model: model.into(),
            working_directory: working_directory.into(),
            tools: Arc::default(),
            own_tools: false,
            permissions: Arc::new(DenyAll),
            steering: Arc::new(Unsteered),
            attachments: Arc::new(NoAttachments),
            extensions: AllowedExtensions::None,
            events,
        }
    }
}

impl fmt::Debug for AgentSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentSettings")
            .field("model", &self.model)
            .field("working_directory", &self.working_directory)
            .field("tools", &self.tools)
            .field("own_tools", &self.own_tools)
            .field("extensions", &self.extensions)
            .finish_non_exhaustive()
    }
}

/// A backend's own name for a conversation that it keeps. Opaque to everyone else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionHandle(String);

impl SessionHandle {
    /// Wraps a handle that the backend returned earlier.
    pub fn new(handle: impl Into<String>) -> Self {
        Self(handle.into())
    }

    /// The text to store.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A conversation to be resumed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastConversation {
    /// Its handle, if it had one.
    pub handle: Option<SessionHandle>,
    /// Everything that was said and done in it, in order.
    pub facts: Vec<Fact>,
}

/// Why a conversation was not resumed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// The backend can never continue it; its handle is of no further use.
    #[error("{0}")]
    Refused(String),
    /// The backend is unavailable at present. Trying again later may help.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

/// Why an agent did not do what it was asked to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// The provider cannot be used at present.
    #[error("{0}")]
    Unavailable(String),
    /// The turn failed; the conversation can go on.
    #[error("{0}")]
    Failed(String),
    /// The turn was ended at a limit of the portal. The provider is not to blame, and the
    /// conversation can go on.
    #[error("{0}")]
    LimitReached(String),
    /// The conversation has crashed and cannot go on.
    #[error("{0}")]
    Crashed(String),
}

/// The kind of a streamed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextKind {
    /// The model's reasoning, which is not part of its answer.
    Reasoning,
    /// The model's answer to the prompt.
    Message,
}

/// Something that happened in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEvent {
    /// A model round begins: one request to the model. One prompt can take several.
    TurnStart {
        /// Identifies the round. Unique within the conversation.
        turn_id: String,
    },
    /// The model round is over.
    TurnEnd {
        /// The id from the round's start.
        turn_id: String,
    },
    /// A block of text begins. Backends may omit this and begin with a delta.
    TextStart {
        /// Whether the block is reasoning or a message.
        kind: TextKind,
        /// Unique among its kind within the conversation.
        id: String,
    },
    /// More text of a block.
    TextDelta {
        /// Whether the block is reasoning or a message.
        kind: TextKind,
        /// The id of the block, unique among its kind.
        id: String,
        /// The text to append.
        delta: String,
    },
    /// A block of text is complete.
    TextEnd {
        /// Whether the block is reasoning or a message.
        kind: TextKind,
        /// The id of the block, unique among its kind.
        id: String,
        /// The complete text, if the provider repeats it.
        content: Option<String>,
    },
    /// A tool begins to run.
    ToolStart {
        /// Unique within the conversation.
        call_id: String,
        /// The enclosing call, if another tool made this one and not the model itself.
        parent_call_id: Option<String>,
        /// The tool's name, as the model wrote it.
        name: String,
        /// The arguments of the call; null if there are none.
        arguments: Value,
    },
    /// A running tool has produced output.
    ToolOutput {
        /// The id from the call's start.
        call_id: String,
        /// The output to append.
        delta: String,
    },
    /// A tool call has ended.
    ToolEnd {
        /// The id from the call's start.
        call_id: String,
        /// The tool's result or error.
        outcome: Result<ToolResult, ToolError>,
    },
    /// What one request to the model cost.
    Usage {
        /// The model's name as the provider reports it.
        model: String,
        /// Tokens and cost, as far as the provider reports them.
        usage: Usage,
    },
    /// All extensions that the agent runs. Replaces the list reported before.
    Extensions(Vec<AgentExtension>),
    /// Something went wrong; the conversation goes on.
    Error {
        /// The error, with its causes.
        message: String,
    },
    /// The conversation has crashed, during a turn or between turns (for example because its
    /// process was killed).
    Crashed {
        /// Why it crashed, as text for people.
        message: String,
    },
}

impl AgentEvent {
    /// Changes the ids of rounds, texts and calls, for a conversation that is one of several.
    pub fn rename_ids(&mut self, mut rename: impl FnMut(&mut String)) {
        match self {
            Self::TurnStart { turn_id } | Self::TurnEnd { turn_id } => rename(turn_id),
            Self::TextStart { id, .. } | Self::TextDelta { id, .. } | Self::TextEnd { id, .. } => {
                rename(id);
            }
            Self::ToolStart { call_id, parent_call_id, .. } => {
                rename(call_id);
                parent_call_id.iter_mut().for_each(rename);
            }
            Self::ToolOutput { call_id, .. } | Self::ToolEnd { call_id, .. } => rename(call_id),
            Self::Usage { .. }
            | Self::Extensions(_)
            | Self::Error { .. }
            | Self::Crashed { .. } => {}
        }
    }
}

/// The sink for a backend's events. Clones report to the same conversation.
#[derive(Clone)]
pub struct AgentEvents(Arc<dyn Fn(AgentEvent) + Send + Sync>);

impl AgentEvents {
    /// Passes events to a function, which must not block.
    pub fn new(report: impl Fn(AgentEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Reports an event. Events of one conversation must not be reported concurrently.
    pub fn emit(&self, event: AgentEvent) {
        (self.0)(event);
    }

    /// A tool call whose start was already reported and whose output is reported here as well.
    pub fn follow_call(&self, call_id: &str, arguments: Value) -> ToolCall {
        let (events, id) = (self.clone(), call_id.to_owned());
        let output = ToolOutput::new(move |delta| {
            let (call_id, delta) = (id.clone(), delta.to_owned());
            events.emit(AgentEvent::ToolOutput { call_id, delta });
        });
        ToolCall::new(arguments).followed(call_id, output)
    }
}

impl fmt::Debug for AgentEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentEvents")
    }
}
