//! Takes a task up again after a restart.

use store::fold::TaskEvent;
use store::journal::StoreError;
use store::live::LiveItem;
use wire::{SessionId, TaskResponse};

use super::{Runner, job_tool_calls};
use crate::session::PastTurn;
use crate::task::TaskEnd;
use crate::task::plan::Effect;

impl Runner {
    /// Runs the task to its end, from where it was when the server stopped.
    pub(in crate::task) async fn run_again(&mut self) -> (TaskEnd, Vec<LiveItem<TaskResponse>>) {
        self.finish_answer().await;
        match self.missed_event().await {
            Ok(None) => {
                let pending = self.plan.pending();
                self.run(vec![pending]).await
            }
            Ok(Some(event)) => {
                // The one that was counted has begun; the next one counts by itself.
                self.is_turn_counted = false;
                match self.take(event) {
                    Ok(effects) => self.run(effects).await,
                    Err(end) => (end, std::mem::take(&mut self.unsaved)),
                }
            }
            Err(error) => {
                tracing::error!(task = %self.id, %error, "a task was not taken up");
                (TaskEnd::Suspended, Vec::new())
            }
        }
    }

    /// Does what follows from an answer that was stored just before the server stopped: it is not
    /// asked for any more, and the session that the plan has left is closed.
    async fn finish_answer(&mut self) {
        if self.plan.pending() != Effect::Ask {
            self.questions.withdraw(self.id);
        }
        if self.plan.session().is_none() {
            self.left = self.open;
            self.close_left().await;
        }
    }

    /// What became of the prompt that the plan waits for, if its agent has seen it.
    async fn missed_event(&mut self) -> Result<Option<TaskEvent>, StoreError> {
        let Effect::Send { session_id, .. } = self.plan.pending() else { return Ok(None) };
        let Some((_, settled)) = self.plan.session() else { return Ok(None) };
        match self.manager.past_turn(session_id, self.id, settled).await? {
            PastTurn::NotBegun => Ok(None),
            PastTurn::Ended(outcome) => Ok(self.take_outcome(outcome).ok()),
            PastTurn::CutOff(outcome) => {
                let model = self.model_of(session_id).await;
                let may_have_changed = self.manager.may_change(&model, &outcome.tools).await;
                self.note_usage(outcome.usage);
                let (policy, calls) = (self.on_interrupted, job_tool_calls(&outcome.tools));
                Ok(Some(TaskEvent::CutOff { policy, may_have_changed, calls }))
            }
        }
    }

    async fn model_of(&self, session_id: SessionId) -> String {
        let log = self.manager.load_log(session_id).await;
        let model = log.and_then(|log| log.fold(|fold| fold.model().to_owned()));
        model.unwrap_or_default()
    }
}
