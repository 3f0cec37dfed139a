//! The bridge: prompts and agent runs in workspace folders, for clients that speak plain HTTP and
//! server-sent events.
//!
//! A *project* is a workspace folder with its history; in paths and fields it is called `session`. A
//! *message* to it starts a *run*, which has the message's id; [`Event`]s report everything that the
//! run does. The history has the message, and the answer as one more message with the same id.
//! A [`Draft`] is a message that waits until a person sends it.

mod draft;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::json::{self, FromJson, ToJson};
use crate::permission::words;
use crate::{MessageId, PermissionId, PermissionKind, PermissionOutcome, UnknownWord};

pub use draft::{DRAFT_MODE, DiscardRequest, Draft, DraftTaken, ProjectDraft, ProjectDraftTaken};

words!(
    /// How a message is handled.
    Mode {
        /// The model answers it.
        Prompt = "prompt",
        /// It is the goal of an agent that works in the folder.
        Agent = "agent",
    }
);

words!(
    /// Author of a message.
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
        /// The agent used all of its steps and was not done.
        MaxSteps = "maxSteps",
        /// Somebody cancelled it, or the server ended.
        Cancelled = "cancelled",
        /// An error ended the run.
        Failed = "failed",
    }
);

/// One of the projects that `GET /sessions` lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// Short id, always the same for a folder. The folder's absolute path is accepted in its place.
    pub id: String,
    /// The folder's name.
    pub name: String,
    /// When the portal first knew it, in ISO 8601.
    pub created: String,
    /// How many messages its history has.
    pub count: usize,
}

/// What `GET /sessions/{id}` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
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
    /// Messages that wait until a person sends them, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drafts: Vec<Draft>,
    /// Everything up to this event is part of the answer: `GET /events?lastEventId=ID` goes on from
    /// here without a gap.
    pub last_event_id: String,
}

/// One message of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct HistoryMessage {
    /// The run that it belongs to: question and answer have the same.
    pub id: MessageId,
    /// Author of the message.
    pub role: Role,
    /// The whole text; for an answer, all fragments so far.
    pub text: String,
    /// Time of the message, in ISO 8601.
    pub at: String,
    /// Whether the run is a prompt or an agent.
    pub mode: Mode,
    /// Id of the model that answers, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How the run ended; only for answers, and absent while the run continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<RunEnd>,
    /// Why the run failed, or that it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The questions that were asked in the course of this answer, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<AskedApproval>,
}

/// A question of a run, and where in its answer it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct AskedApproval {
    /// The question as it was asked.
    pub request: ApprovalRequest,
    /// How much of the answer's text came before, in bytes.
    pub offset: usize,
    /// How the question ended; absent while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<PermissionOutcome>,
}

/// The body of `POST /message`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct MessageRequest {
    /// The prompt, or the goal of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Id of the project; the first one if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// A [`Mode`] or [`DRAFT_MODE`]; `prompt` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Number of steps an agent may take; from the settings if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Id of the model that answers; from the settings if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Who sends it, for people who read a draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether a person sends it: then it is sent even if the settings make drafts of messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reviewed: bool,
    /// The draft that it was made of, which is taken with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft_id: Option<String>,
}

/// A message as the session of its project keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct ProjectMessage {
    /// Id of the message, and of the run that answers it.
    pub id: MessageId,
    /// The prompt, or the goal of an agent.
    pub text: String,
    /// How the message is handled.
    pub mode: Mode,
    /// Number of steps an agent may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Id of the model that answers; any if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// How the run of a message ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct ProjectMessageEnd {
    /// Id of the message.
    pub id: MessageId,
    /// How the run ended.
    pub reason: RunEnd,
    /// Why the run failed, or that it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The answer to `POST /message`, with status 202.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct MessageAccepted {
    /// Always true: refusals have another status.
    pub accepted: bool,
    /// The run that was started, or waits for its turn.
    pub id: MessageId,
    /// Id of the project.
    pub session_id: String,
}

/// The body of `POST /approval`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalAnswer {
    /// The question to answer.
    pub approval_id: String,
    /// Whether the tool may act.
    pub approved: bool,
    /// Whether the same is approved without asking until the history is cleared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
}

/// The body of `POST /cancel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToJson)]
pub struct CancelRequest {
    /// The run to cancel.
    pub id: String,
}

/// The body of `POST /clear`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToJson)]
#[serde(rename_all = "camelCase")]
pub struct ClearRequest {
    /// Id of the project.
    pub session_id: String,
}

/// `{"ok":true}`: the answer of `/approval`, `/cancel` and `/clear`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
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
    /// `approvalDecision`: a run no longer waits for an answer.
    ApprovalDecision(ApprovalDecision),
    /// `historyCleared`: the history of a project was cleared.
    HistoryCleared(HistoryCleared),
    /// `draft`: a message waits until a person sends it.
    Draft(Draft),
    /// `draftTaken`: a draft was sent or discarded.
    DraftTaken(DraftTaken),
    /// `missed`: events were lost to this client, which should ask for the history again.
    Missed(Missed),
}

/// A message has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct Inbound {
    /// The run that it starts.
    pub id: MessageId,
    /// Text of the message.
    pub text: String,
    /// How it came: `http`.
    pub source: String,
    /// Id of the project.
    pub session_id: String,
    /// How the message is handled.
    pub mode: Mode,
    /// Time of the message, in ISO 8601.
    pub at: String,
}

/// A piece of an answer. The pieces of a run make up its text, which is Markdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct Fragment {
    /// The run, named by the message that started it.
    pub id: MessageId,
    /// The new text.
    pub fragment: String,
    /// Id of the model that answers.
    pub model: String,
    /// Id of the project.
    pub session_id: String,
}

/// A run has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    /// The run, named by the message that started it.
    pub id: MessageId,
    /// Id of the model that answered, if the run got that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Id of the project.
    pub session_id: String,
    /// How the run ended.
    pub reason: RunEnd,
    /// Why the run failed, or that it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A run waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// Id by which an answer refers to the question.
    pub approval_id: PermissionId,
    /// The run, named by the message that started it.
    pub id: MessageId,
    /// Id of the project.
    pub session_id: String,
    /// Id of the model whose tool asks.
    pub model: String,
    /// The tool: `createFile`, `editFile`, `applyDiff` or `runCommand`.
    pub action: String,
    /// What the tool wants to do.
    pub kind: PermissionKind,
    /// Summary for people, in one line.
    pub title: String,
    /// The file, or the folder in which the command runs; relative to the project's folder.
    pub path: String,
    /// The change as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The text of the new file, or the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_preview: Option<String>,
    /// Whether it is asked about each time, so that it can't be approved for good.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each_time: bool,
}

/// A run no longer waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalDecision {
    /// The question that was decided.
    pub approval_id: PermissionId,
    /// Whether the tool may act.
    pub approved: bool,
    /// How the question ended. If nobody answers in time, the tool may not act.
    pub outcome: PermissionOutcome,
    /// The run, named by the message that started it.
    pub id: MessageId,
    /// Id of the project.
    pub session_id: String,
}

/// The history of a project was cleared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct HistoryCleared {
    /// Id of the project.
    pub session_id: String,
    /// When it was cleared, in ISO 8601.
    pub at: String,
}

/// A client was away for longer, or was slower, than events are kept. It goes on with the oldest
/// that there is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct Missed {
    /// Id of the place before the oldest event that there is.
    pub oldest: String,
}

impl Event {
    /// The names of all events, as an `EventSource` needs them to listen.
    pub const NAMES: [&str; 9] = [
        "inbound",
        "fragment",
        "done",
        "approvalRequest",
        "approvalDecision",
        "historyCleared",
        "draft",
        "draftTaken",
        "missed",
    ];

    /// The event's name, for the line `event:`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Inbound(_) => "inbound",
            Self::Fragment(_) => "fragment",
            Self::Done(_) => "done",
            Self::ApprovalRequest(_) => "approvalRequest",
            Self::ApprovalDecision(_) => "approvalDecision",
            Self::HistoryCleared(_) => "historyCleared",
            Self::Draft(_) => "draft",
            Self::DraftTaken(_) => "draftTaken",
            Self::Missed(_) => "missed",
        }
    }

    /// The event's data for the line `data:`, as JSON without line breaks.
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
            Self::Draft(data) => json(data),
            Self::DraftTaken(data) => json(data),
            Self::Missed(data) => json(data),
        }
    }

    /// Reads an event from its name and data. `None` if the name is unknown or the data does not
    /// fit.
    pub fn read(name: &str, data: &str) -> Option<Self> {
        fn json<T: FromJson>(data: &str) -> Option<T> {
            json::from_str(data).ok()
        }
        match name {
            "inbound" => json(data).map(Self::Inbound),
            "fragment" => json(data).map(Self::Fragment),
            "done" => json(data).map(Self::Done),
            "approvalRequest" => json(data).map(Self::ApprovalRequest),
            "approvalDecision" => json(data).map(Self::ApprovalDecision),
            "historyCleared" => json(data).map(Self::HistoryCleared),
            "draft" => json(data).map(Self::Draft),
            "draftTaken" => json(data).map(Self::DraftTaken),
            "missed" => json(data).map(Self::Missed),
            _ => None,
        }
    }

    /// Id of the project that the event belongs to; `None` if it concerns all.
    pub fn session_id(&self) -> Option<&str> {
        match self {
            Self::Inbound(data) => Some(&data.session_id),
            Self::Fragment(data) => Some(&data.session_id),
            Self::Done(data) => Some(&data.session_id),
            Self::ApprovalRequest(data) => Some(&data.session_id),
            Self::ApprovalDecision(data) => Some(&data.session_id),
            Self::HistoryCleared(data) => Some(&data.session_id),
            Self::Draft(data) => Some(&data.session_id),
            Self::DraftTaken(data) => Some(&data.session_id),
            Self::Missed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
