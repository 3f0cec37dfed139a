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
use wire::entry::{DRIVING, Entry, Model, OnInterrupted, Task};
use wire::{Budget, FailureCause, JobId, SessionId, Spent, TaskId, TaskResponse, Usage};

use super::flow::{self, Mode, Plan};
use super::run::{EndOfTask, SessionPort, Sessions};
use super::{TaskEnd, TaskError};
use crate::budget::{BudgetNotSupported, Meter, check_support};
use crate::inbox::Inbox;
use crate::running::{Ending, Handle, stop_all};
use crate::session::{SessionManager, StartOptions};

/// Defaults of tasks.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskSettings {
    /// How much a task may use whose definition does not say so.
    pub budget: Budget,
    /// What happens to tasks that were running when the server stopped, unless their job says so.
    pub on_interrupted: OnInterrupted,
}

/// Starts, finds and stops tasks.
pub struct TaskManager {
    sessions: Arc<SessionManager>,
    lifecycle: Lifecycle,
    live: Arc<LiveRegistry<TaskId, TaskResponse>>,
    /// How much a task may use whose definition does not say so.
    budget: Mutex<Budget>,
    on_interrupted: OnInterrupted,
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
    /// The meter of the job that it is part of: what is left of the job's budget is the task's.
    pub(crate) job_meter: Option<Arc<Meter>>,
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
        settings: TaskSettings,
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
                budget: Mutex::new(settings.budget),
                on_interrupted: settings.on_interrupted,
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
        let task = entry.tasks.get(name).ok_or(TaskError::TaskNotFound)?;
        let budget = self.budget_of(task);
        borrowed.check_budget(&budget)?;
        if borrowed.budget_reached().is_some() {
            return Err(TaskError::BudgetExceeded);
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
            budget,
            job_meter: None,
        };
        Ok(self.start(start, Sessions::Borrowed(borrowed)).id)
    }

    /// Starts a task that opens its own sessions.
    pub fn start_managed(&self, task: ManagedTask) -> Result<RunningTask, TaskError> {
        let ManagedTask { entry, name, model_override, permissions, work, .. } = task;
        let found = entry.tasks.get(&name).ok_or(TaskError::TaskNotFound)?;
        let task_model = entry.resolve_model(found, model_override.as_ref()).to_owned();
        let budget = self.budget_of(found);
        let id = TaskId::generate();
        let start = Start {
            id,
            entry,
            name,
            task_model,
            folder: task.working_directory.clone(),
            job: work.map(|work| work.job),
            user_input: task.user_input,
            budget,
            job_meter: task.job_meter,
        };
        let sessions = Sessions::Own {
            working_directory: task.working_directory,
            options: StartOptions { task: Some(id), work, ..StartOptions::new(permissions) },
            open: None,
        };
        Ok(self.start(start, sessions))
    }

    fn start(&self, mut start: Start, sessions: Sessions) -> RunningTask {
        let id = start.id;
        let log = self.live.open(id, &start.note());
        let ledger = log.clone();
        let meter = Meter::new(start.budget, Spent::default())
            .within(start.job_meter.take())
            .noted_in(move |spent| ledger.note(&TaskNote::Spent(spent)));
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
            meter: Arc::new(meter),
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

    /// What happens to works that were running when the server stopped, unless their job says so.
    pub fn on_interrupted(&self) -> OnInterrupted {
        self.on_interrupted
    }

    /// How much a task may use: the limits of its definition, else those of the settings.
    fn budget_of(&self, task: &Task) -> Budget {
        task.budget.unwrap_or_default().or(*self.budget.lock())
    }

    /// Lowers the budget of tasks that name none. Those that run keep theirs.
    pub fn narrow(&self, budget: Budget) {
        let mut own = self.budget.lock();
        *own = own.narrowed_by(budget);
    }

    /// Checks that the models of a task report what its budget limits, and also what its job's does.
    pub(crate) async fn check_budget(
        &self,
        entry: &Entry,
        task: &Task,
        model_override: Option<&Model>,
        of_job: &Budget,
    ) -> Result<(), BudgetNotSupported> {
        // By limit it only counts whether there is one.
        let budget = self.budget_of(task).or(*of_job);
        let catalog = self.sessions.catalog();
        let task_model = entry.resolve_model(task, model_override);
        check_support(catalog, task_model, &budget).await?;
        if Mode::managed(task) == Mode::SeveralModels {
            let retries = entry.driving_session_retries.iter();
            let fallbacks = retries.filter(|model| model.retries > 0).map(|model| &model.model_id);
            for model in std::iter::once(&entry.models[DRIVING]).chain(fallbacks) {
                check_support(catalog, model, &budget).await?;
            }
        }
        Ok(())
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
    budget: Budget,
    job_meter: Option<Arc<Meter>>,
}

impl Start {
    fn note(&self) -> TaskNote {
        TaskNote::Started {
            name: self.name.clone(),
            folder: self.folder.clone(),
            model: self.task_model.clone(),
            job: self.job,
            budget: self.budget,
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
        let _running = port.meter.run();
        end.end = flow::run(plan, self.user_input, &mut port).await;
        tracing::info!(task = %self.id, end = end.end.name(), "task ended");
    }
}
