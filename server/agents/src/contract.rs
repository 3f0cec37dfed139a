//! The contract between the engine and whatever runs a model.
//!
//! A backend stands for one provider and shares one client among all of its sessions. It turns
//! whatever its model does into [`AgentEvent`]s; the engine's sessions are the only callers, and put
//! them in order, so a backend need not be tidy.
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
use wire::{ExtensionSource, ExtensionState, ModelInfo, ToolError, ToolResult, Usage};

use crate::facts::Fact;
use crate::permission::{DenyAll, PermissionHandler};
use crate::tool::{ToolCall, ToolOutput, ToolSet};

/// A provider of models.
#[async_trait]
pub trait AgentBackend: Send + Sync + 'static {
    /// A short name, for lists and logs.
    fn provider(&self) -> &str;

    /// What its agents can do beyond answering prompts.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// The models that sessions can be started with now.
    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError>;

    /// Starts a conversation, and the shared client with it if it is the first one.
    ///
    /// Cancel safe: dropped before it returns, nothing is left running.
    async fn start_session(
        &self,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError>;

    /// Continues a conversation that was stopped or cut off: the model knows what was said in it,
    /// and ids of turns, texts and calls do not repeat. Settings are not remembered, but given anew.
    ///
    /// Cancel safe: dropped before it returns, nothing is left running.
    async fn resume_session(
        &self,
        _past: PastConversation,
        _settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, ResumeError> {
        let reason = format!("conversations with {} can't be resumed", self.provider());
        Err(ResumeError::Refused(reason))
    }

    /// Closes the shared client. All sessions have been stopped before.
    async fn close(&self);
}

/// One conversation. Calls of [`Self::run_turn`] never overlap.
#[async_trait]
pub trait AgentSession: Send + Sync + 'static {
    /// By what the backend finds the conversation again. `None` if its facts are enough, or if it
    /// can't be resumed.
    fn handle(&self) -> Option<SessionHandle> {
        None
    }

    /// Sends a prompt and returns when it is dealt with.
    ///
    /// Returns soon after `abort` is cancelled, with `Ok`; blocks that are open then are closed by
    /// the caller. May be dropped at any point, which aborts the turn as well.
    async fn run_turn(&self, prompt: &str, abort: &CancellationToken) -> Result<(), AgentError>;

    /// Ends the conversation and frees what it holds. No turn is running.
    async fn stop(&self);
}

/// What the agents of a backend can do beyond answering prompts. The engine decides by this, never
/// by a backend's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// They bring tools for working on a folder, so they are not given the portal's.
    pub own_tools: bool,
    /// Their conversations can be resumed.
    pub resume: bool,
    /// They find and run extensions themselves, and report them by [`AgentEvent::Extensions`].
    /// For all others the portal is the host.
    pub extensions: bool,
}

/// The extensions that an agent with [`Capabilities::extensions`] may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllowedExtensions {
    /// The folder is not trusted, or the agent runs none.
    #[default]
    None,
    /// All that the agent finds.
    All,
}

/// An extension that an agent runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentExtension {
    /// The name of its folder.
    pub name: String,
    /// Where the agent found it.
    pub source: ExtensionSource,
    /// Its state at the time of the report.
    pub state: ExtensionState,
}

/// What a conversation is started with.
#[derive(Clone)]
pub struct AgentSettings {
    /// The model's id, as listed by the backend.
    pub model: String,
    /// Where the agent works: an existing folder.
    pub working_directory: PathBuf,
    /// What the model may call.
    pub tools: Arc<ToolSet>,
    /// Whether the provider's own tools may be called, too.
    pub own_tools: bool,
    /// Who is asked before one of the provider's own tools acts. Tools of the set ask by
    /// themselves.
    pub permissions: Arc<dyn PermissionHandler>,
    /// Which extensions the agent may run itself.
    pub extensions: AllowedExtensions,
    /// Where everything that happens goes.
    pub events: AgentEvents,
}

impl AgentSettings {
    /// A model that only talks: it has no tools and may do nothing.
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

/// A backend's own name for a conversation that it keeps. Means nothing to anybody else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionHandle(String);

impl SessionHandle {
    /// The handle that a backend gave, from wherever it was kept.
    pub fn new(handle: impl Into<String>) -> Self {
        Self(handle.into())
    }

    /// The text to keep.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A conversation that is to be continued.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastConversation {
    /// Its handle, if it had one.
    pub handle: Option<SessionHandle>,
    /// Everything that was said in it, in order.
    pub facts: Vec<Fact>,
}

/// Why a conversation was not resumed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// The backend can't continue it, now or later. Its handle is of no use any more.
    #[error("{0}")]
    Refused(String),
    /// The backend can't be used at present. Trying again later may help.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

/// Why an agent did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// The provider cannot be used at present.
    #[error("{0}")]
    Unavailable(String),
    /// The turn failed; the conversation can go on.
    #[error("{0}")]
    Failed(String),
    /// The conversation is dead.
    #[error("{0}")]
    Crashed(String),
}

/// Reasoning and messages are both streamed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextKind {
    /// What the model thinks.
    Reasoning,
    /// What the model says.
    Message,
}

/// Something that happened in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEvent {
    /// The model begins a turn. One prompt can take several.
    TurnStart {
        /// Unique within the conversation.
        turn_id: String,
    },
    /// The model has ended a turn.
    TurnEnd {
        /// As it began.
        turn_id: String,
    },
    /// A block of text begins. May be left out.
    TextStart {
        /// What kind of text.
        kind: TextKind,
        /// Unique among its kind within the conversation.
        id: String,
    },
    /// More text.
    TextDelta {
        /// What kind of text.
        kind: TextKind,
        /// Id of the block, as it began.
        id: String,
        /// What is new.
        delta: String,
    },
    /// A block of text is complete.
    TextEnd {
        /// What kind of text.
        kind: TextKind,
        /// Id of the block, as it began.
        id: String,
        /// The whole text, if the provider repeats it.
        content: Option<String>,
    },
    /// A tool begins to run.
    ToolStart {
        /// Unique within the conversation.
        call_id: String,
        /// The call that made this one, if it was not the model itself.
        parent_call_id: Option<String>,
        /// The tool's name.
        name: String,
        /// What it was called with, or null.
        arguments: Value,
    },
    /// Output of a running tool.
    ToolOutput {
        /// Id of the call, as it began.
        call_id: String,
        /// What is new.
        delta: String,
    },
    /// A tool has run.
    ToolEnd {
        /// Id of the call, as it began.
        call_id: String,
        /// What came of it.
        outcome: Result<ToolResult, ToolError>,
    },
    /// What a request to the model took.
    Usage {
        /// As the provider calls it.
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
    /// The conversation has died, in a turn or between turns (its process was killed, say).
    Crashed {
        /// Reason of the crash.
        message: String,
    },
}

/// Where a backend reports what happens. Clones report to the same conversation.
#[derive(Clone)]
pub struct AgentEvents(Arc<dyn Fn(AgentEvent) + Send + Sync>);

impl AgentEvents {
    /// Reports to a function, which must not block.
    pub fn new(report: impl Fn(AgentEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Reports an event. Events of one conversation must be reported one after the other.
    pub fn emit(&self, event: AgentEvent) {
        (self.0)(event);
    }

    /// A call whose start was reported, with its output going here, too.
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
