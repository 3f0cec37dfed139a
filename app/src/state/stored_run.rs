//! A run of a work as it is stored: an earlier iteration, or one that ended before the page came.

use wire::{SessionId, TaskId, TaskResponse};

use super::feed::Feed;
use super::job::Tab;
use crate::api::{self, ApiError};
use crate::reactive::prelude::*;

/// Source numbers in the driving tab: the task's decisions, then its sessions.
const DECISIONS: usize = 0;

/// How far it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Not yet.
    Pending,
    Done,
    /// Nothing is stored any more, or it can't be read.
    Failed(ApiError),
}

/// The tabs of a stored run.
#[derive(Clone, Copy)]
pub(crate) struct StoredRun {
    pub(crate) task: TaskId,
    driving: Feed,
    attempts: RwSignal<Vec<Feed>>,
    pub(crate) reading: RwSignal<Reading>,
}

impl StoredRun {
    /// Reads a run. In the browser only.
    pub(crate) fn read(task: TaskId) -> Self {
        let run = Self {
            task,
            driving: Feed::new(false),
            attempts: RwSignal::new(Vec::new()),
            reading: RwSignal::new(Reading::Pending),
        };
        let owner = Owner::current().unwrap_or_default();
        spawn_local(async move {
            let read = run.read_all(owner).await;
            // The page may have been left in the meantime.
            run.reading.try_set(read.err().map_or(Reading::Done, Reading::Failed));
        });
        run
    }

    /// The number of attempts; tracked.
    pub(crate) fn attempts(self) -> usize {
        self.attempts.with(Vec::len)
    }

    /// The content of a tab: the driving one first, then the attempts.
    pub(crate) fn tab(self, index: usize) -> Option<Feed> {
        match index.checked_sub(1) {
            None => Some(self.driving),
            Some(attempt) => self.attempts.with(|attempts| attempts.get(attempt).copied()),
        }
    }

    async fn read_all(self, owner: Owner) -> Result<(), ApiError> {
        let said = api::stored::task(self.task).await?;
        if self.attempts.is_disposed() {
            return Ok(());
        }
        let mut sessions = Vec::new();
        let mut drivers = DECISIONS;
        for timed in said {
            match timed.response {
                TaskResponse::TaskSessionStarted { session_id, is_driving } => {
                    if is_driving {
                        drivers += 1;
                        sessions.push((session_id, self.driving, drivers));
                    } else {
                        let tab = owner.with(|| Feed::new(false));
                        self.attempts.update(|attempts| attempts.push(tab));
                        sessions.push((session_id, tab, 0));
                    }
                }
                TaskResponse::TaskSessionStopped { .. }
                | TaskResponse::TaskSucceeded
                | TaskResponse::TaskFailed
                | TaskResponse::TaskVerdict(_) => {}
                _ => self.driving.take_task(DECISIONS, self.task, timed),
            }
        }
        for (id, tab, source) in sessions {
            self.read_session(id, tab, source).await?;
        }
        Ok(())
    }

    async fn read_session(self, id: SessionId, tab: Feed, source: usize) -> Result<(), ApiError> {
        let said = api::stored::session(id).await?;
        if !tab.blocks.is_disposed() {
            tab.take_session(source, said);
            tab.end_session(source);
        }
        Ok(())
    }
}
