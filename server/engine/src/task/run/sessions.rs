//! The session that a prompt goes to, and the person who is asked.

use std::sync::Arc;

use store::fold::{NoAnswer, TaskEvent};
use wire::SessionId;

use super::{Runner, Sessions, Suspended};
use crate::session::{Session, SessionError};

impl Runner {
    /// The session that prompts go to. Its agent is resumed if it has none, as after a restart.
    pub(super) async fn find(&mut self, session_id: SessionId) -> Result<Arc<Session>, NoAnswer> {
        let crashed = |error: SessionError| NoAnswer::Crashed { error: error.to_string() };
        match &self.sessions {
            Sessions::Borrowed(session) => Ok(session.clone()),
            Sessions::BorrowedBefore => {
                let session = self.manager.find(session_id).await.map_err(crashed)?;
                self.sessions = Sessions::Borrowed(session.clone());
                Ok(session)
            }
            Sessions::Own { options, .. } => {
                let found = self.manager.find_for_task(session_id, options.clone()).await;
                found.map_err(crashed)
            }
        }
    }

    /// Resumes the agent of a session whose turn was cut off, and waits until what that turn had
    /// asked is answered.
    pub(super) async fn resume(&mut self, session_id: SessionId) -> Result<TaskEvent, Suspended> {
        self.save();
        let stopping = self.handle.stopping().clone();
        let resuming = async {
            let Ok(session) = self.find(session_id).await else { return (false, Vec::new()) };
            if !session.is_resumed() {
                // The agent that asked is gone.
                session.withdraw_interrupted();
                return (false, Vec::new());
            }
            (true, session.interrupted_answered().await)
        };
        match stopping.run_until_cancelled(resuming).await {
            Some((is_resumed, answers)) => {
                self.answers = answers;
                Ok(TaskEvent::Resumed { is_resumed })
            }
            None => self.stopped(),
        }
    }

    /// Asks a person how the interrupted work goes on.
    pub(super) async fn ask(&mut self) -> Result<TaskEvent, Suspended> {
        self.save();
        if let Some((session_id, _)) = self.plan.session() {
            // Nobody resumes that turn before the answer, and the answer says how.
            self.manager.withdraw_dormant(session_id).await;
        }
        let mut question = self.questions.ask(self.id, &self.about);
        let stopping = self.handle.stopping();
        let Some(answered) = stopping.run_until_cancelled(question.answer()).await else {
            let stopped = self.stopped();
            if stopped.is_ok() {
                question.withdraw();
            }
            return stopped;
        };
        let choice = answered.choice();
        self.answered = Some(answered);
        Ok(TaskEvent::Answer { choice })
    }
}
