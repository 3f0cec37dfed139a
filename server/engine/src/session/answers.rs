//! Answers that come from the inbox.

use agents::permission::Answer;
use async_trait::async_trait;
use wire::InboxItem;

use super::{SessionError, SessionManager};
use crate::inbox::{AnswerError, QuestionOwner, Reply};

#[async_trait]
impl QuestionOwner for SessionManager {
    async fn take_answer(&self, item: &InboxItem, reply: Reply) -> Result<(), AnswerError> {
        let session = item.session_id.ok_or(AnswerError::NotPending)?;
        let Some(decision) = reply.choice.as_permission() else {
            return Err(AnswerError::NotPending);
        };
        let answer = Answer { decision, text: reply.text, by: reply.by };
        self.answer_permission(session, item.id, &answer).await.map_err(|error| match error {
            SessionError::SessionNotFound | SessionError::PermissionNotPending => {
                AnswerError::NotPending
            }
            other => AnswerError::Owner(other.name()),
        })?;
        match self.live().durable(session).await {
            Err(error) if !reply.choice.is_refusal() => Err(error.into()),
            _ => Ok(()),
        }
    }
}
