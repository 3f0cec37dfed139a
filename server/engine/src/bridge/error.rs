//! Why a request was refused.

use std::time::Duration;

use store::journal::StoreError;

use super::settings::{MAX_TEXT, MOST_STEPS};
use crate::budget::BudgetNotSupported;
use crate::session::{SessionError, StartError};

/// Why the bridge refused a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BridgeError {
    /// The message is missing, blank, or only the agent prefix.
    #[error("a message needs a `text` that is not empty")]
    TextMissing,
    /// The message is longer than the bridge accepts.
    #[error("a message has at most {MAX_TEXT} bytes")]
    TextTooLong,
    /// No project has that id or path.
    #[error("unknown session: `{0}`")]
    SessionNotFound(String),
    /// The mode is neither `prompt` nor `agent` nor `draft`.
    #[error("unknown mode, use `prompt`, `agent` or `draft`: `{0}`")]
    UnknownMode(String),
    /// The settings don't allow agents.
    #[error("the agent is switched off in the settings")]
    AgentDisabled,
    /// The number of steps is zero or too large.
    #[error("`maxSteps` is at least 1 and at most {MOST_STEPS}: {0}")]
    StepsOutOfRange(u32),
    /// No provider offers this model at the moment.
    #[error("unknown model: `{0}`")]
    ModelIdNotFound(String),
    /// The rate limit of the settings is exceeded.
    #[error("too many messages, try again in {} s", retry_after.as_secs())]
    TooManyMessages {
        /// When the next message will be accepted.
        retry_after: Duration,
    },
    /// The limit of runs in the project is reached.
    #[error("too many runs of this session are waiting")]
    TooManyRuns,
    /// The limit of clients that read events is reached.
    #[error("too many clients read events")]
    TooManyClients,
    /// The run never existed, or has ended.
    #[error("no such run: `{0}`")]
    RunNotFound(String),
    /// The request never existed, or has been answered.
    #[error("not waiting for a decision: `{0}`")]
    ApprovalNotFound(String),
    /// The draft never existed, or was sent or discarded.
    #[error("not waiting to be sent: `{0}`")]
    DraftNotFound(String),
    /// The limit of drafts in the project is reached.
    #[error("too many drafts of this session are waiting")]
    TooManyDrafts,
    /// The session that answers could not be started; holds the reason.
    #[error("the session can't be started: {0}")]
    NotStarted(String),
    /// The request can't be kept, so it was not carried out.
    #[error("{0}")]
    Store(String),
    /// The budget of the project's session is used up.
    #[error("{}", SessionError::BudgetExceeded)]
    BudgetExceeded,
    /// The budget of the project's session can't be kept with the model of the message.
    #[error(transparent)]
    BudgetNotSupported(#[from] BudgetNotSupported),
    /// The server is shutting down.
    #[error("the server is stopping")]
    Stopping,
}

impl From<StoreError> for BridgeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.to_string())
    }
}

impl From<SessionError> for BridgeError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::StoreUnavailable => Self::Store(error.to_string()),
            SessionError::TooManyQueries => Self::TooManyRuns,
            SessionError::BudgetExceeded => Self::BudgetExceeded,
            _ => Self::NotStarted(error.to_string()),
        }
    }
}

impl From<StartError> for BridgeError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Store(error) => error.into(),
            error => Self::NotStarted(error.to_string()),
        }
    }
}
