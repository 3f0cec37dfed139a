//! All tasks of a server.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use agents::permission::{SessionPermissions, WorkOfJob};
use parking_lot::Mutex;
use platform::lifecycle::Lifecycle;
use platform::memory::shrink;
use store::fold::TaskNote;
use store::live::{LiveRegistry, LiveShared};
use tokio::sync::oneshot;
use wire::entry::{DRIVING, Entry, Model};
use wire::{FailureCause, JobId, SessionId, TaskId, TaskResponse, Usage};

use super::flow::{self, Mode, Plan};
use super::run::{EndOfTask, SessionPort, Sessions};
use super::{TaskEnd, TaskError};
use crate::inbox::Inbox;
use crate::running::{Ending, Handle, stop_all};
use crate::session::{SessionManager, StartOptions};

/// Starts, finds and stops tasks.
pub struct TaskManager {
    sessions: Arc<SessionManager>,
    lifecycle: Lifecycle,
    live: Arc<LiveRegistry<TaskId, TaskResponse>>,
    /// The runs whose logs are in memory, including ended ones.
    runs: Mutex<HashMap<TaskId, Run>>,
}

#[derive(Clone)]
struct Run {
    borrowing: bool,
    handle: Handle,
}

/// A task that opens its own sessions, as a job starts it.
#[derive(Clone, Debug)]
pub struct ManagedTask {
    /// The entry that defines the task.
    pub entry: Arc<Entry>,
    /// The task's name in the entry.
    pub name: String,
    /// Model to use instead of the task's own.
    pub model_override: Option<Model>,
    /// The folder that its agents work in; empty for the default one.
    pub working_directory: String,
    /// How permission requests of its agents' tools are answered.
    pub permissions: SessionPermissions,
    /// The work that it runs for, if it is part of a job.
    pub work: Option<WorkOfJob>,
    /// What the user typed.
    pub user_input: String,
}

/// Handle to a running task.
#[derive(Debug)]
pub struct RunningTask {
    /// Id of the run, to read its log.
    pub id: TaskId,
    outcome: oneshot::Receiver<TaskEnd>,
    handle: Handle,
    usage: Arc<Mutex<Usage>>,
}

impl RunningTask {
    /// Waits for the end. Cancel safe; the task continues if nobody waits.
    pub async fn outcome(&mut self) -> TaskEnd {
        (&mut self.outcome).await.unwrap_or(TaskEnd::Stopped)
    }

    /// What its turns have used so far.
    pub fn usage(&self) -> Usage {
        *self.usage.lock()
    }

    /// Asks it to stop. Closing its sessions may take a moment: wait for the outcome.
    pub fn begin_stop(&self) {
        self.handle.begin_stop();
    }
}

impl TaskManager {
    /// Creates a manager without tasks.
    pub fn new(
        sessions: Arc<SessionManager>,
        live: Arc<LiveShared>,
        lifecycle: Lifecycle,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this: &Weak<Self>| {
            let owner = this.clone();
            let forget = move |ids: &[TaskId]| {
                if let Some(owner) = owner.upgrade() {
                    owner.forget(ids);
                }
            };
            Self {
                live: LiveRegistry::with_owner(live, &lifecycle, forget),
                runs: Mutex::default(),
                sessions,
                lifecycle,
            }
        })
    }

    /// Starts a task in a session that a user has opened, and that stays open. Its agent is resumed
    /// if it has none.
    pub async fn start_borrowing(
        &self,
        entry: Arc<Entry>,
        name: &str,
        session: SessionId,
        user_input: String,
    ) -> Result<TaskId, TaskError> {
        let borrowed = self.sessions.find(session).await.map_err(|_| TaskError::SessionNotFound)?;
        let task_model = borrowed.model();
        if !entry.tasks.contains_key(name) {
            return Err(TaskError::TaskNotFound);
        }
        let folder = borrowed.working_directory().to_string_lossy().into_owned();
        let start = Start {
            id: TaskId::generate(),
            entry,
            name: name.to_owned(),
            task_model,
            folder,
            job: None,
            user_input,
        };
        Ok(self.start(start, Sessions::Borrowed(borrowed)).id)
    }

    /// Starts a task that opens its own sessions.
    pub fn start_managed(&self, task: ManagedTask) -> Result<RunningTask, TaskError> {
        let ManagedTask { entry, name, model_override, permissions, work, .. } = task;
        let found = entry.tasks.get(&name).ok_or(TaskError::TaskNotFound)?;
        let task_model = entry.resolve_model(found, model_override.as_ref()).to_owned();
        let id = TaskId::generate();
        let start = Start {
            id,
            entry,
            name,
            task_model,
            folder: task.working_directory.clone(),
            job: work.map(|work| work.job),
            user_input: task.user_input,
        };
        let sessions = Sessions::Own {
            working_directory: task.working_directory,
            options: StartOptions { task: Some(id), work, ..StartOptions::new(permissions) },
            open: None,
        };
        Ok(self.start(start, sessions))
    }

    fn start(&self, start: Start, sessions: Sessions) -> RunningTask {
        let id = start.id;
        let log = self.live.open(id, &start.note());
        let (sender, outcome) = oneshot::channel();
        let run = Run {
            borrowing: matches!(sessions, Sessions::Borrowed(_)),
            handle: Handle::new(self.lifecycle.token()),
        };
        self.runs.lock().insert(id, run.clone());
        tracing::info!(task = %id, name = start.name, borrowing = run.borrowing, "task started");
        let end = run.handle.ending(EndOfTask {
            log: log.clone(),
            outcome: Some(sender),
            end: TaskEnd::Crashed(FailureCause::Internal),
        });
        let usage = Arc::<Mutex<Usage>>::default();
        let port = SessionPort {
            manager: self.sessions.clone(),
            sessions,
            log,
            stop: run.handle.stopping().clone(),
            usage: usage.clone(),
            last_message: None,
        };
        self.lifecycle.spawn(start.run(run.borrowing, end, port));
        RunningTask { id, outcome, handle: run.handle, usage }
    }

    /// Ends a task and waits until its sessions are closed. Does nothing to one that has ended.
    /// Cancel safe: the task ends even if nobody waits.
    pub async fn stop(&self, id: TaskId) -> Result<(), TaskError> {
        let run = self.runs.lock().get(&id).cloned().ok_or(TaskError::TaskNotFound)?;
        if run.borrowing {
            return Err(TaskError::TaskCannotClose);
        }
        run.handle.begin_stop();
        run.handle.ended().await;
        // It has ended even if that can't be stored.
        let _ = self.live.durable(id).await;
        Ok(())
    }

    /// Ends all tasks, including those in borrowed sessions.
    pub async fn stop_all(&self) {
        let handles = self.runs.lock().values().map(|run| run.handle.clone()).collect();
        stop_all(handles).await;
    }

    /// The logs of running tasks and of those that ended recently.
    pub fn live(&self) -> &LiveRegistry<TaskId, TaskResponse> {
        &self.live
    }

    /// What the sessions of tasks ask people, among others.
    pub fn inbox(&self) -> &Inbox {
        self.sessions.inbox()
    }

    fn forget(&self, ids: &[TaskId]) {
        let mut runs = self.runs.lock();
        for id in ids {
            runs.remove(id);
        }
        shrink(&mut runs);
    }
}

/// What a run needs to know before it begins.
struct Start {
    id: TaskId,
    entry: Arc<Entry>,
    name: String,
    task_model: String,
    folder: String,
    job: Option<JobId>,
    user_input: String,
}

impl Start {
    fn note(&self) -> TaskNote {
        TaskNote::Started {
            name: self.name.clone(),
            folder: self.folder.clone(),
            model: self.task_model.clone(),
            job: self.job,
        }
    }

    /// Runs the task. The port is the last parameter so that it is dropped before the end is
    /// reported.
    async fn run(self, borrowing: bool, mut end: Ending<EndOfTask>, mut port: SessionPort) {
        let task = &self.entry.tasks[&self.name];
        let plan = Plan {
            task,
            mode: if borrowing { Mode::Borrowing } else { Mode::managed(task) },
            task_model: &self.task_model,
            driving_model: &self.entry.models[DRIVING],
            driving_retries: &self.entry.driving_session_retries,
        };
        end.end = flow::run(plan, self.user_input, &mut port).await;
        tracing::info!(task = %self.id, end = end.end.name(), "task ended");
    }
}
