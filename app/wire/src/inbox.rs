//! The inbox: everything that waits for a person, wherever it was asked.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::json::FromJson;
use crate::permission::{UnknownWord, words};
use crate::tagged::tagged;
use crate::{
    JobId, PermissionDecision, PermissionId, PermissionKind, PermissionRequest, SessionId, TaskId,
};

/// The answer of `inbox`: what waits now, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct Inbox {
    /// The open items.
    pub items: Vec<InboxItem>,
}

words!(
    /// Kind of an item in the inbox.
    InboxKind {
        /// A tool wants to act.
        Permission = "permission",
        /// What a person was asked before the server stopped; the turn that asked is over.
        Interrupted = "interrupted",
        /// A session has used up its budget.
        Budget = "budget",
        /// A merge needs a decision.
        Conflict = "conflict",
        /// An agent asks something that is answered with a text.
        Question = "question",
    }
);

words!(
    /// The answers that an item can offer.
    InboxChoice {
        /// Let the tool act this once.
        Approve = "approve",
        /// Let the tool act, and approve the like for the rest of the session.
        ApproveAlways = "approve-always",
        /// Do not let the tool act.
        Deny = "deny",
        /// Answer the agent's question; the text of the answer follows.
        Answer = "answer",
        /// Leave the agent's question without an answer.
        Decline = "decline",
        /// Raise the limit that was reached.
        Raise = "raise",
        /// Leave the limit as it is.
        Leave = "leave",
        /// Let the interrupted work go on where it was cut off.
        Continue = "continue",
        /// Send the prompt of the interrupted work again.
        Redo = "redo",
        /// Count the interrupted work as done.
        Done = "done",
        /// Count the interrupted work as failed.
        Fail = "fail",
    }
);

words!(
    /// How an item left the inbox: by one of its [choices](InboxChoice), or without an answer.
    InboxDecision {
        /// The tool was allowed to act once.
        Approve = "approve",
        /// The tool was allowed to act, and so is the like for the rest of the session.
        ApproveAlways = "approve-always",
        /// The tool was not allowed to act.
        Deny = "deny",
        /// The agent's question was answered.
        Answer = "answer",
        /// Somebody decided not to answer the agent's question.
        Decline = "decline",
        /// The limit was raised.
        Raise = "raise",
        /// The limit stays as it is.
        Leave = "leave",
        /// The interrupted work goes on where it was cut off.
        Continue = "continue",
        /// The prompt of the interrupted work is sent again.
        Redo = "redo",
        /// The interrupted work counts as done.
        Done = "done",
        /// The interrupted work counts as failed.
        Fail = "fail",
        /// Nobody answered in time.
        TimedOut = "timed-out",
        /// Nobody waits for the answer any more, for example because the turn was aborted.
        Withdrawn = "withdrawn",
    }
);

impl InboxDecision {
    /// Whether a person decided it.
    pub fn is_answered(self) -> bool {
        !matches!(self, Self::TimedOut | Self::Withdrawn)
    }
}

impl From<InboxChoice> for InboxDecision {
    fn from(choice: InboxChoice) -> Self {
        match choice {
            InboxChoice::Approve => Self::Approve,
            InboxChoice::ApproveAlways => Self::ApproveAlways,
            InboxChoice::Deny => Self::Deny,
            InboxChoice::Answer => Self::Answer,
            InboxChoice::Decline => Self::Decline,
            InboxChoice::Raise => Self::Raise,
            InboxChoice::Leave => Self::Leave,
            InboxChoice::Continue => Self::Continue,
            InboxChoice::Redo => Self::Redo,
            InboxChoice::Done => Self::Done,
            InboxChoice::Fail => Self::Fail,
        }
    }
}

impl InboxChoice {
    /// The decision that it is for a permission request or an agent's question; `None` if it is no
    /// answer to those.
    pub fn as_permission(self) -> Option<PermissionDecision> {
        match self {
            Self::Approve | Self::Answer => Some(PermissionDecision::Approve),
            Self::ApproveAlways => Some(PermissionDecision::ApproveAlways),
            Self::Deny | Self::Decline => Some(PermissionDecision::Deny),
            Self::Raise | Self::Leave | Self::Continue | Self::Redo | Self::Done | Self::Fail => {
                None
            }
        }
    }

    /// The choice that stands for a decision, given whether the item is an agent's question.
    pub fn of_permission(decision: PermissionDecision, is_question: bool) -> Self {
        match (decision, is_question) {
            (PermissionDecision::Deny, true) => Self::Decline,
            (PermissionDecision::Deny, false) => Self::Deny,
            (_, true) => Self::Answer,
            (PermissionDecision::Approve, false) => Self::Approve,
            (PermissionDecision::ApproveAlways, false) => Self::ApproveAlways,
        }
    }

    /// Whether it takes something away, or leaves it as it is: such an answer counts whether or not
    /// it can be stored.
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::Deny | Self::Decline | Self::Leave | Self::Fail)
    }
}

/// One of the answers that an item offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct InboxOption {
    /// The word that the answer begins with.
    pub id: InboxChoice,
    /// Text of the button.
    pub label: String,
}

impl InboxOption {
    /// The answers to a tool that wants to act, or to an agent's question.
    pub fn of_request(request: &PermissionRequest) -> Vec<Self> {
        let option = |id, label: &str| Self { id, label: label.to_owned() };
        if request.kind == PermissionKind::Question {
            return vec![
                option(InboxChoice::Answer, "Answer"),
                option(InboxChoice::Decline, "Decline"),
            ];
        }
        let mut options = vec![option(InboxChoice::Approve, "Approve once")];
        if let Some(scope) = request.always_scope() {
            options.push(option(InboxChoice::ApproveAlways, &format!("Always: {scope}")));
        }
        options.push(option(InboxChoice::Deny, "Deny"));
        options
    }
}

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct InboxItem {
    /// Id by which an answer refers to the item. It stays the same after a restart.
    pub id: PermissionId,
    /// Kind of the item.
    pub kind: InboxKind,
    /// Summary for people, in one line, or the agent's question.
    pub title: String,
    /// The command line, the text of the new file, or other details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The file, or the folder in which a command runs; relative to `folder`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The change as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The possible answers.
    pub options: Vec<InboxOption>,
    /// When it was asked; ISO 8601, UTC.
    pub asked_at: String,
    /// When it counts as refused, unless it is answered before; ISO 8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The session that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The task that opened the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The job that the task belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
    /// Number of the task's work within the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_id: Option<u32>,
    /// Folder in which the agent works.
    pub folder: String,
}

impl InboxItem {
    /// Whether it asks how an interrupted work goes on, rather than for a permission.
    pub fn is_about_work(&self) -> bool {
        self.offers(InboxChoice::Continue)
    }

    /// Whether it offers this answer.
    pub fn offers(&self, choice: InboxChoice) -> bool {
        self.options.iter().any(|option| option.id == choice)
    }
}

/// An item that has left the inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct InboxAnswer {
    /// Id of the item.
    pub id: PermissionId,
    /// How it ended.
    pub decision: InboxDecision,
    /// Who answered: the name of a key, `local` if there are no keys, or `portal` if nobody did.
    pub by: String,
}

/// The answer of `inbox/answered`: what was asked before, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct AnsweredInbox {
    /// The items of this page.
    pub items: Vec<AnsweredItem>,
    /// Value of `before=` for the next page, if there may be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// An item that has left the inbox, with who decided it and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredItem {
    /// Id of the item.
    pub id: PermissionId,
    /// Kind of the item when it was asked.
    pub kind: InboxKind,
    /// Summary for people, in one line, or the agent's question.
    pub title: String,
    /// The file, or the folder in which a command ran; relative to `folder`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// When it was asked; ISO 8601, UTC.
    pub asked_at: String,
    /// When it was decided; ISO 8601, UTC.
    pub answered_at: String,
    /// How it ended.
    pub decision: InboxDecision,
    /// Who decided, as in [`InboxAnswer::by`].
    pub by: String,
    /// The text of the answer, or why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The session that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The job that the session worked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
    /// Folder in which the agent worked.
    pub folder: String,
}

tagged! {
    /// One response of the inbox.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum InboxResponse {
        /// Something waits for a person.
        InboxAdded(Box<InboxItem>),
        /// Something no longer waits.
        InboxResolved(InboxAnswer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "permission-00000000-0000-4000-8000-000000000001";
    const SESSION: &str = "session-00000000-0000-4000-8000-000000000002";

    fn request(kind: PermissionKind) -> PermissionRequest {
        PermissionRequest {
            kind,
            title: "t".to_owned(),
            path: Some("src/a".to_owned()),
            detail: None,
            diff: None,
            each_time: false,
        }
    }

    #[test]
    fn responses_are_spelt_as_the_api_says() {
        let item = InboxItem {
            id: ID.parse().expect("an id"),
            kind: InboxKind::Permission,
            title: "Create a".to_owned(),
            detail: None,
            path: Some("src/a".to_owned()),
            diff: None,
            options: InboxOption::of_request(&request(PermissionKind::Create)),
            asked_at: "2026-01-02T03:04:05Z".to_owned(),
            expires_at: None,
            session_id: SESSION.parse().ok(),
            task_id: None,
            job_id: None,
            work_id: Some(3),
            folder: "/src".to_owned(),
        };
        let answer =
            InboxAnswer { id: item.id, decision: InboxDecision::TimedOut, by: "portal".to_owned() };
        for (response, json) in [
            (
                InboxResponse::InboxAdded(Box::new(item)),
                format!(
                    concat!(
                        r#"{{"callback":"inboxAdded","id":"{}","kind":"permission","title":"Create a","#,
                        r#""path":"src/a","options":[{{"id":"approve","label":"Approve once"}},"#,
                        r#"{{"id":"approve-always","label":"Always: new files in src/"}},"#,
                        r#"{{"id":"deny","label":"Deny"}}],"askedAt":"2026-01-02T03:04:05Z","#,
                        r#""sessionId":"{}","workId":3,"folder":"/src"}}"#
                    ),
                    ID, SESSION
                ),
            ),
            (
                InboxResponse::InboxResolved(answer),
                format!(
                    r#"{{"callback":"inboxResolved","id":"{ID}","decision":"timed-out","by":"portal"}}"#
                ),
            ),
        ] {
            assert_eq!(serde_json::to_string(&response).expect("json"), json);
            let back: InboxResponse = serde_json::from_str(&json).expect(&json);
            assert_eq!(back, response);
        }
        assert!(serde_json::from_str::<InboxResponse>("{}").is_err());
    }

    #[test]
    fn options_fit_what_is_asked() {
        let ids = |request: &PermissionRequest| {
            let options = InboxOption::of_request(request);
            options.iter().map(|option| option.id.as_str()).collect::<Vec<_>>()
        };
        let each_time = PermissionRequest { each_time: true, ..request(PermissionKind::Write) };
        assert_eq!(ids(&each_time), ["approve", "deny"]);
        assert_eq!(ids(&request(PermissionKind::Question)), ["answer", "decline"]);
    }

    #[test]
    fn a_decision_is_the_choice_that_was_taken() {
        for choice in InboxChoice::ALL {
            let decision = InboxDecision::from(*choice);
            assert_eq!(decision.as_str(), choice.as_str());
            assert!(decision.is_answered());
            if let Some(permission) = choice.as_permission() {
                let is_question = [InboxChoice::Answer, InboxChoice::Decline].contains(choice);
                assert_eq!(InboxChoice::of_permission(permission, is_question), *choice);
            }
        }
        assert!(!InboxDecision::TimedOut.is_answered());
    }
}
