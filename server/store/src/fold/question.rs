//! The fold of a question to a person.

use serde::{Deserialize, Serialize};
use wire::{EntityState, InboxAnswer, InboxDecision, InboxItem, InboxResponse, Usage};

use super::Fold;
use crate::journal::{Entity, Record};

/// The notes of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum QuestionNote {
    /// The text of the answer, or why it was refused. Comes with the fact that it was answered.
    Text {
        /// As the person wrote it.
        text: String,
    },
}

/// The fields of a question's record that are not columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionDetail {
    /// What was asked, without what can be long.
    pub item: InboxItem,
    /// The answer, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<InboxAnswer>,
    /// The text of the answer, or why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl QuestionDetail {
    /// Reads them; `None` if it is not the record of a question, or of another version.
    pub fn read(record: &Record) -> Option<Self> {
        serde_json::from_str(&record.detail).ok()
    }
}

/// The state of a question, from its facts and notes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuestionFold {
    item: Option<InboxItem>,
    asked_at: u64,
    answer: Option<(u64, InboxAnswer)>,
    text: Option<String>,
}

impl QuestionFold {
    /// What was asked.
    pub fn item(&self) -> Option<&InboxItem> {
        self.item.as_ref()
    }

    fn state(&self) -> EntityState {
        let Some((_, answer)) = &self.answer else { return EntityState::Waiting };
        match answer.decision {
            InboxDecision::Approve
            | InboxDecision::ApproveAlways
            | InboxDecision::Answer
            | InboxDecision::Raise
            | InboxDecision::Continue
            | InboxDecision::Redo
            | InboxDecision::Done => EntityState::Succeeded,
            InboxDecision::Deny
            | InboxDecision::Decline
            | InboxDecision::Leave
            | InboxDecision::Fail => EntityState::Failed,
            InboxDecision::TimedOut | InboxDecision::Withdrawn => EntityState::Canceled,
        }
    }

    fn parent(&self) -> Option<Entity> {
        let item = self.item.as_ref()?;
        let session = item.session_id.map(Entity::Session);
        session.or(item.task_id.map(Entity::Task)).or(item.job_id.map(Entity::Job))
    }
}

impl Fold<InboxResponse> for QuestionFold {
    type Note = QuestionNote;

    fn apply(&mut self, at: u64, fact: &InboxResponse) -> bool {
        match fact {
            InboxResponse::InboxAdded(item) => {
                self.asked_at = at;
                self.item = Some((**item).clone());
                // It is asked again: an answer that only this stream had did not count.
                self.answer = None;
                self.text = None;
            }
            InboxResponse::InboxResolved(answer) => self.answer = Some((at, answer.clone())),
        }
        true
    }

    fn note(&mut self, _: u64, note: &QuestionNote) {
        let QuestionNote::Text { text } = note;
        self.text = Some(text.clone());
    }

    fn record(&self) -> Record {
        let item = self.item.clone().map(|item| InboxItem { detail: None, diff: None, ..item });
        let title = item.as_ref().map(|item| item.title.clone()).unwrap_or_default();
        let folder = item.as_ref().map(|item| item.folder.clone()).unwrap_or_default();
        let answer = self.answer.as_ref().map(|(_, answer)| answer.clone());
        let detail = item.map(|item| QuestionDetail { item, answer, text: self.text.clone() });
        Record {
            parent: self.parent(),
            title,
            folder,
            model: None,
            state: self.state(),
            started_at: self.asked_at,
            ended_at: self.answer.as_ref().map(|(at, _)| *at),
            usage: Usage::default(),
            detail: serde_json::to_string(&detail).unwrap_or_default(),
        }
    }
}
