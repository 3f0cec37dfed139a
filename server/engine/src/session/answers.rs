//! Answers that come from the inbox.

use agents::permission::Answer;
use async_trait::async_trait;
use wire::{InboxChoice, InboxItem, SessionId};

use super::{SessionError, SessionManager};
use crate::inbox::{AnswerError, QuestionOwner, Reply, Settlement};

#[async_trait]
impl QuestionOwner for SessionManager {
    async fn take_answer(&self, item: &InboxItem, reply: Reply) -> Result<(), AnswerError> {
        let session = item.session_id.ok_or(AnswerError::NotPending)?;
        match reply.choice.as_permission() {
            Some(decision) => {
                let (text, by) = (reply.text.clone(), reply.by.clone());
                let answer = Answer { decision, text, by };
                self.answer_permission(session, item.id, &answer).await.map_err(refusal)?;
            }
            None => self.decide_on_budget(session, item, reply.clone()).await?,
        }
        match self.live().durable(session).await {
            Err(error) if !reply.choice.is_refusal() => Err(error.into()),
            _ => Ok(()),
        }
    }
}

impl SessionManager {
    /// Raises the budget of a session, or leaves it as it is.
    async fn decide_on_budget(
        &self,
        session: SessionId,
        item: &InboxItem,
        reply: Reply,
    ) -> Result<(), AnswerError> {
        let Reply { choice, text, by } = reply;
        let raised = match choice {
            InboxChoice::Raise => Some(self.find(session).await.map_err(refusal)?),
            _ => None,
        };
        let settlement = Settlement { decision: choice.into(), text, by: by.clone() };
        // Only the first answer finds it there.
        if !self.inbox().settle(item.id, settlement) {
            return Err(AnswerError::NotPending);
        }
        match raised {
            Some(session) => session.raise_budget(&by).await.map_err(refusal),
            None => Ok(()),
        }
    }
}

fn refusal(error: SessionError) -> AnswerError {
    match error {
        SessionError::SessionNotFound | SessionError::PermissionNotPending => {
            AnswerError::NotPending
        }
        other => AnswerError::Owner(other.name()),
    }
}
