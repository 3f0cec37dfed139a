//! Takes tasks up again that were running when the server stopped.

use store::fold::{Stored, TaskEvent, TaskHistory, load};
use store::journal::{Entity, OpenEntities, StoreError};
use wire::{EntityKind, TaskId, TaskResponse};

use super::{Begin, ManagedTask, Past, RunningTask, Start, TaskManager};
use crate::recovery::opened_last;
use crate::task::TaskError;
use crate::task::plan::Plan;
use crate::task::run::Sessions;

impl TaskManager {
    /// Takes up the tasks in borrowed sessions that were running when the server stopped. Those of
    /// jobs are taken up by their jobs.
    pub async fn take_up_borrowing(&self) -> Result<(), StoreError> {
        let mut open = OpenEntities::new(&**self.live.shared().journal(), EntityKind::Task);
        while let Some(page) = open.next().await? {
            for (entity, record) in page {
                if let (Entity::Task(id), None) = (entity, record.parent) {
                    self.take_up_one(id).await?;
                }
            }
        }
        Ok(())
    }

    async fn take_up_one(&self, id: TaskId) -> Result<(), StoreError> {
        let Some(history) = self.history(id).await? else { return Ok(()) };
        let Some(origin) = history.origin.clone() else { return Ok(()) };
        let start = Start {
            id,
            entry: origin.entry.into(),
            name: history.fold.name().to_owned(),
            task_model: history.fold.model().to_owned(),
            folder: history.fold.folder().to_owned(),
            borrowed: Some(origin.session),
            work: None,
            user_input: origin.input,
            budget: history.fold.budget(),
            job_meter: None,
            on_interrupted: self.on_interrupted,
            on_recovery: None,
        };
        if let Err(error) = self.go_on(start, Sessions::BorrowedBefore, history).await {
            tracing::error!(task = %id, %error, "a task was not taken up");
        }
        Ok(())
    }

    /// Takes up a task that opens its own sessions and was running when the server stopped. If it
    /// had just ended, the outcome is there at once.
    pub(crate) async fn take_up_managed(
        &self,
        id: TaskId,
        task: ManagedTask,
    ) -> Result<RunningTask, TaskError> {
        let history = self.history(id).await.ok().flatten().ok_or(TaskError::TaskNotFound)?;
        let (mut start, sessions) = self.managed(id, task)?;
        start.budget = history.fold.budget();
        self.go_on(start, sessions, history).await
    }

    async fn history(&self, id: TaskId) -> Result<Option<TaskHistory>, StoreError> {
        let journal = &**self.live.shared().journal();
        let stored = load::<TaskResponse, TaskHistory>(journal, id.into()).await?;
        Ok(stored.map(|Stored { fold, .. }| fold))
    }

    async fn go_on(
        &self,
        start: Start,
        sessions: Sessions,
        history: TaskHistory,
    ) -> Result<RunningTask, TaskError> {
        let TaskHistory { fold, events, .. } = history;
        let definition = start.definition().ok_or(TaskError::TaskNotFound)?;
        let turns = events.iter().filter(|event| is_turn(event)).count();
        let past = Past {
            spent: fold.spent(),
            usage: fold.usage(),
            open: opened_last(&events),
            is_turn_counted: usize::try_from(fold.spent().turns).is_ok_and(|spent| spent > turns),
        };
        let plan = Plan::replay(definition, start.user_input.clone(), events).map_err(|error| {
            tracing::error!(task = %start.id, %error, "a task can't be rebuilt");
            TaskError::TaskNotFound
        })?;
        if fold.is_ended() {
            // Only its job does not know yet.
            let (usage, attempts) = (fold.usage(), fold.attempts());
            return Ok(RunningTask::of_ended(start.id, plan.end(), usage, attempts));
        }
        let log = self.live.load(start.id).await.ok_or(TaskError::TaskNotFound)?;
        tracing::info!(task = %start.id, name = start.name, "task taken up");
        Ok(self.run(start, sessions, log, plan, past, Begin::Again))
    }
}

/// Whether a turn was over with this event.
fn is_turn(event: &TaskEvent) -> bool {
    matches!(
        event,
        TaskEvent::Answered { .. } | TaskEvent::Unanswered { .. } | TaskEvent::CutOff { .. }
    )
}
