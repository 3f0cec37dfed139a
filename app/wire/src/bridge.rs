//! The bridge: prompts and agent runs in workspace folders, for clients that speak plain HTTP and
//! server-sent events.
//!
//! A *session* is a workspace folder with its history. A *message* to it starts a *run*, which has
//! the message's id; all that the run does is told by [`Event`]s. The history has the message, and
//! the answer as one more message with the same id.

use std::fmt;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::permission::words;
use crate::{MessageId, PermissionId, PermissionKind, PermissionOutcome, UnknownWord};

words!(
    /// What becomes of a message.
    Mode {
        /// The model answers it.
        Prompt = "prompt",
        /// It is the goal of an agent that works in the folder.
        Agent = "agent",
    }
);

words!(
    /// Who wrote a message.
    Role {
        /// The person or program that sent the message.
        User = "user",
        /// The model, or the agent.
        Assistant = "assistant",
    }
);

words!(
    /// How a run ended.
    RunEnd {
        /// The model answered; the agent says that it is done.
        Done = "done",
        /// The agent was not done after as many steps as it had.
        MaxSteps = "maxSteps",
        /// Somebody cancelled it, or the server ended.
        Cancelled = "cancelled",
        /// It could not go on.
        Failed = "failed",
    }
);

/// One of the sessions that `GET /sessions` lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// Short, and the same for a folder at any time. The folder's absolute path is taken for it as
    /// well.
    pub id: String,
    /// The folder's name.
    pub name: String,
    /// Since when it is known, in ISO 8601.
    pub created: String,
    /// How many messages its history has.
    pub count: usize,
}

/// What `GET /sessions/{id}` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionHistory {
    /// Id of the project, made from its folder.
    pub id: String,
    /// The folder's name.
    pub name: String,
    /// The oldest first. Those of runs that still go on are at the end.
    pub messages: Vec<HistoryMessage>,
    /// The questions that wait for an answer.
    pub approvals: Vec<ApprovalRequest>,
    /// Everything up to this event is part of the answer: `GET /events?lastEventId=N` goes on from
    /// here without a gap.
    pub last_event_id: u64,
}

/// One message of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryMessage {
    /// The run that it belongs to: question and answer have the same.
    pub id: MessageId,
    /// Who wrote it.
    pub role: Role,
    /// What was written: all fragments of an answer so far.
    pub text: String,
    /// When, in ISO 8601.
    pub at: String,
    /// What the run is.
    pub mode: Mode,
    /// Who answers, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How the run ended, of an answer. None while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<RunEnd>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The body of `POST /message`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageRequest {
    /// The prompt, or the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Which session; the first one if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// A [`Mode`]; a prompt if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// How many steps an agent has; as set up if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Who answers; as set up if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The answer to `POST /message`, with status 202.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageAccepted {
    /// Always true: refusals have another status.
    pub accepted: bool,
    /// The run that was started, or waits for its turn.
    pub id: MessageId,
    /// The project.
    pub session_id: String,
}

/// The body of `POST /approval`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalAnswer {
    /// The question to answer.
    pub approval_id: String,
    /// Yes or no.
    pub approved: bool,
}

/// The body of `POST /cancel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    /// The run to cancel.
    pub id: String,
}

/// The body of `POST /clear`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClearRequest {
    /// The project.
    pub session_id: String,
}

/// `{"ok":true}`: the answer of `/approval`, `/cancel` and `/clear`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledged {
    /// Always true: refusals have another status.
    pub ok: bool,
}

impl Default for Acknowledged {
    fn default() -> Self {
        Self { ok: true }
    }
}

/// Something that `GET /events` tells. Its name and its data are separate lines there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// `inbound`: a message has come.
    Inbound(Inbound),
    /// `fragment`: a piece of the answer.
    Fragment(Fragment),
    /// `done`: a run has ended.
    Done(Done),
    /// `approvalRequest`: a run waits for an answer.
    ApprovalRequest(ApprovalRequest),
    /// `approvalDecision`: it waits no longer.
    ApprovalDecision(ApprovalDecision),
    /// `historyCleared`: a session has no messages any more.
    HistoryCleared(HistoryCleared),
    /// `missed`: events were lost to this client, which should ask for the history again.
    Missed(Missed),
}

/// A message has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inbound {
    /// The run that it starts.
    pub id: MessageId,
    /// What was written.
    pub text: String,
    /// How it came: `http`.
    pub source: String,
    /// The project.
    pub session_id: String,
    /// What becomes of it.
    pub mode: Mode,
    /// When, in ISO 8601.
    pub at: String,
}

/// A piece of an answer. The pieces of a run make up its text, which is Markdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fragment {
    /// The run, named by the message that started it.
    pub id: MessageId,
    /// What is new.
    pub fragment: String,
    /// Id of the model that answers.
    pub model: String,
    /// The project.
    pub session_id: String,
}

/// A run has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    /// The run, named by the message that started it.
    pub id: MessageId,
    /// Who answered, if it came to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The project.
    pub session_id: String,
    /// How the run ended.
    pub reason: RunEnd,
    /// What went wrong: it failed, or was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A run waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// What an answer names.
    pub approval_id: PermissionId,
    /// The run, named by the message that started it.
    pub id: MessageId,
    /// The project.
    pub session_id: String,
    /// Who wants to do it.
    pub model: String,
    /// The tool: `createFile`, `editFile`, `applyDiff` or `runCommand`.
    pub action: String,
    /// What the tool wants to do.
    pub kind: PermissionKind,
    /// The same in a few words.
    pub title: String,
    /// The file, or the folder in which the command runs; relative to the session's folder.
    pub path: String,
    /// The change as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The text of the new file, or the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_preview: Option<String>,
}

/// A run waits no longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalDecision {
    /// The question that was decided.
    pub approval_id: PermissionId,
    /// Yes or no.
    pub approved: bool,
    /// How that came: nobody answering in time is a no, too.
    pub outcome: PermissionOutcome,
    /// The run, named by the message that started it.
    pub id: MessageId,
    /// The project.
    pub session_id: String,
}

/// A session has no messages any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryCleared {
    /// The project.
    pub session_id: String,
    /// When, in ISO 8601.
    pub at: String,
}

/// A client was away for longer, or was slower, than events are kept. It goes on with the oldest
/// that there is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Missed {
    /// The oldest event that there is, or the next one to come.
    pub oldest: u64,
}

impl Event {
    /// The names of all events, as an `EventSource` needs them to listen.
    pub const NAMES: [&str; 7] = [
        "inbound",
        "fragment",
        "done",
        "approvalRequest",
        "approvalDecision",
        "historyCleared",
        "missed",
    ];

    /// What stands in the line `event:`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Inbound(_) => "inbound",
            Self::Fragment(_) => "fragment",
            Self::Done(_) => "done",
            Self::ApprovalRequest(_) => "approvalRequest",
            Self::ApprovalDecision(_) => "approvalDecision",
            Self::HistoryCleared(_) => "historyCleared",
            Self::Missed(_) => "missed",
        }
    }

    /// What stands in the line `data:`, JSON without line breaks.
    pub fn data(&self) -> String {
        fn json(data: &impl Serialize) -> String {
            serde_json::to_string(data).expect("plain structs serialise")
        }
        match self {
            Self::Inbound(data) => json(data),
            Self::Fragment(data) => json(data),
            Self::Done(data) => json(data),
            Self::ApprovalRequest(data) => json(data),
            Self::ApprovalDecision(data) => json(data),
            Self::HistoryCleared(data) => json(data),
            Self::Missed(data) => json(data),
        }
    }

    /// The event with a name and data, if there is one.
    pub fn read(name: &str, data: &str) -> Option<Self> {
        fn json<T: DeserializeOwned>(data: &str) -> Option<T> {
            serde_json::from_str(data).ok()
        }
        match name {
            "inbound" => json(data).map(Self::Inbound),
            "fragment" => json(data).map(Self::Fragment),
            "done" => json(data).map(Self::Done),
            "approvalRequest" => json(data).map(Self::ApprovalRequest),
            "approvalDecision" => json(data).map(Self::ApprovalDecision),
            "historyCleared" => json(data).map(Self::HistoryCleared),
            "missed" => json(data).map(Self::Missed),
            _ => None,
        }
    }

    /// Where it happened; an event without a session concerns all.
    pub fn session_id(&self) -> Option<&str> {
        match self {
            Self::Inbound(data) => Some(&data.session_id),
            Self::Fragment(data) => Some(&data.session_id),
            Self::Done(data) => Some(&data.session_id),
            Self::ApprovalRequest(data) => Some(&data.session_id),
            Self::ApprovalDecision(data) => Some(&data.session_id),
            Self::HistoryCleared(data) => Some(&data.session_id),
            Self::Missed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
