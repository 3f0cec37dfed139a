//! What browser and server say to each other: ids, requests, answers.
//!
//! Owns the spelling of the JSON API, in types that the server's handlers, the engine and the
//! browser share. Pure: no I/O, no clock, and (without the feature `generate`) no randomness, so
//! that it compiles for the browser as it is.

#[cfg(test)]
mod alike;
mod alive;
mod attachment;
pub mod bridge;
mod budget;
pub mod chart;
mod decision;
pub mod entry;
mod extension;
mod history;
pub mod html;
mod id;
mod inbox;
mod job;
pub mod json;
mod live;
mod live_batch;
mod live_id;
mod model;
pub mod number;
mod permission;
mod reply;
pub mod server;
mod session;
mod session_list;
mod state;
mod tagged;
mod task;
mod usage;
mod verdict;

pub use alive::{Alive, AliveItem, AliveResponse, AliveState, SessionHead};
pub use attachment::{
    Attached, AttachmentKind, LARGEST_ATTACHMENT, PromptPart, Reference, attachment_name,
    attachment_reference, prompt_parts, prompt_references, without_links,
};
pub use budget::{Amount, Budget, BudgetLimit, NotAnAmount, Reached, SessionBudget, Spent};
pub use decision::{
    Criterion, Decision, FailedTurn, FailureCause, Recovery, SessionRole, Setback, Unmet, UsedUp,
    shorten,
};
pub use extension::{
    ExtensionInfo, ExtensionLine, ExtensionSource, ExtensionState, ExtensionTrust, Extensions,
};
pub use history::{Event, Events, History, HistoryItem};
pub use id::{
    AttachmentId, JobId, LiveToken, MessageId, ParseIdError, ParseTokenError, PermissionId,
    SessionId, TaskId,
};
pub use inbox::{
    AnsweredInbox, AnsweredItem, Inbox, InboxAnswer, InboxChoice, InboxDecision, InboxItem,
    InboxKind, InboxOption, InboxResponse,
};
pub use job::{
    JobFacts, JobInfo, JobList, JobResponse, JobStarted, JobStatus, JobStatusReply, JobTask, Jobs,
    RunningJobs, WorkStatus,
};
pub use live::{LiveEntity, LiveReply};
pub use live_batch::{LiveBatch, LiveItem, Timed};
pub use live_id::{LiveId, ParseLiveIdError};
pub use model::{ModelInfo, Models, ProviderProblem};
pub use permission::{
    AlwaysScope, PendingPermission, PermissionDecision, PermissionKind, PermissionMode,
    PermissionOutcome, PermissionRequest, UnknownWord,
};
pub use reply::{
    Closed, Done, ErrorName, ErrorReply, MESSAGE_HEADER, STORE_HEADER, SessionStarted, StopReply,
    TokenReply,
};
pub use session::{LogLevel, SessionResponse, ToolError, ToolResult, TurnEnding};
pub use session_list::{
    FallbackModels, Files, Folders, PromptQueue, SessionInfo, Sessions, WaitingPrompt,
};
pub use state::{EntityKind, EntityState, WorkState};
pub use task::{TaskInfo, TaskResponse, TaskStarted, Tasks};
pub use usage::Usage;
pub use verdict::{JobVerdicts, Judge, Met, Verdict, VerdictCriterion, WorkVerdict};
