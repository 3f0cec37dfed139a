//! All tasks of a server.

mod recovery;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use agents::permission::{SessionPermissions, WorkOfJob};
use parking_lot::Mutex;
use platform::lifecycle::Lifecycle;
use platform::memory::shrink;
use store::fold::{TaskFold, TaskNote, TaskOrigin};
use store::live::{LiveLog, LiveRegistry, LiveShared};
use tokio::sync::oneshot;
use wire::entry::{DRIVING, Entry, Model, OnInterrupted, Task};
use wire::{Budget, FailureCause, SessionId, Spent, TaskId, TaskResponse, Usage};

use super::plan::{Definition, Effect, Mode, Plan};
use super::question::{About, Questions};
use super::run::{EndOfTask, OnRecovery, Runner, Sessions};
use super::{TaskEnd, TaskError};
use crate::budget::{BudgetNotSupported, Meter, check_support};
use crate::inbox::{Inbox, QuestionOwner};
use crate::running::{Ending, Handle, stop_all, suspend_all};
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
    questions: Arc<Questions>,
    /// The runs whose logs are in memory, including ended ones.
    runs: Mutex<HashMap<TaskId, Run>>,
}

#[derive(Clone)]
struct Run {
    borrowing: bool,
    handle: Handle,
}

/// A task that opens its own sessions, as a job starts it.
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
    /// What happens to it if the server stops while it is running.
    pub on_interrupted: OnInterrupted,
    /// Is told how it goes on after that.
    pub(crate) on_recovery: Option<OnRecovery>,
}

/// Handle to a running task.
pub struct RunningTask {
    /// Id of the run, to read its log.
    pub id: TaskId,
    outcome: oneshot::Receiver<TaskEnd>,
    handle: Handle,
    usage: Arc<Mutex<Usage>>,
    attempts: Attempts,
}

/// Where the number of attempts is known.
enum Attempts {
    /// To the fold of its log.
    Log(Arc<LiveLog<TaskResponse>>),
    Ended(u32),
}

impl RunningTask {
    /// A task of which nothing runs any more.
    fn of_ended(id: TaskId, end: TaskEnd, usage: Usage, attempts: u32) -> Self {
        let (sender, outcome) = oneshot::channel();
        // The receiver is right here.
        let _ = sender.send(end);
        let handle = Handle::of_ended();
        let (usage, attempts) = (Arc::new(Mutex::new(usage)), Attempts::Ended(attempts));
        Self { id, outcome, handle, usage, attempts }
    }

    /// Waits for the end. Cancel safe; the task continues if nobody waits.
    pub async fn outcome(&mut self) -> TaskEnd {
        (&mut self.outcome).await.unwrap_or(TaskEnd::Stopped)
    }

    /// Waits until nothing of it runs any more. Cancel safe.
    pub(crate) async fn ended(&self) {
        self.handle.ended().await;
    }

    /// What its turns have used so far.
    pub fn usage(&self) -> Usage {
        *self.usage.lock()
    }

    /// In how many sessions its prompt was tried so far, as far as that is known.
    pub(crate) fn attempts(&self) -> Option<u32> {
        match &self.attempts {
            Attempts::Log(log) => log.fold(TaskFold::attempts),
            Attempts::Ended(attempts) => Some(*attempts),
        }
    }

    /// Asks it to stop. Closing its sessions may take a moment: wait for the outcome.
    pub fn begin_stop(&self) {
        self.handle.begin_stop();
    }

    /// Lets it stop with the server, to go on after a restart.
    pub(crate) fn suspend(&self) {
        self.handle.suspend();
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
        let questions = Questions::new(sessions.inbox().clone());
        let owner: Arc<dyn QuestionOwner> = questions.clone();
        sessions.inbox().set_owner_of_tasks(Arc::downgrade(&owner));
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
                questions,
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
            borrowed: Some(session),
            work: None,
            user_input,
            budget,
            job_meter: None,
            on_interrupted: self.on_interrupted,
            on_recovery: None,
        };
        let log = self.live.open(start.id, &start.note());
        Ok(self.start(start, Sessions::Borrowed(borrowed), log)?.id)
    }

    /// Starts a task that opens its own sessions. Its id is announced before anything happens.
    pub fn start_managed(
        &self,
        task: ManagedTask,
        announce: impl FnOnce(TaskId),
    ) -> Result<RunningTask, TaskError> {
        let id = TaskId::generate();
        let (start, sessions) = self.managed(id, task)?;
        let log = self.live.open(id, &start.note());
        announce(id);
        self.start(start, sessions, log)
    }

    /// What is needed to run a task that opens its own sessions.
    fn managed(&self, id: TaskId, task: ManagedTask) -> Result<(Start, Sessions), TaskError> {
        let ManagedTask { entry, name, model_override, permissions, work, .. } = task;
        let found = entry.tasks.get(&name).ok_or(TaskError::TaskNotFound)?;
        let task_model = entry.resolve_model(found, model_override.as_ref()).to_owned();
        let budget = self.budget_of(found);
        let start = Start {
            id,
            entry,
            name,
            task_model,
            folder: task.working_directory.clone(),
            borrowed: None,
            work,
            user_input: task.user_input,
            budget,
            job_meter: task.job_meter,
            on_interrupted: task.on_interrupted,
            on_recovery: task.on_recovery,
        };
        let sessions = Sessions::Own {
            working_directory: task.working_directory,
            options: StartOptions { task: Some(id), work, ..StartOptions::new(permissions) },
        };
        Ok((start, sessions))
    }

    fn start(
        &self,
        start: Start,
        sessions: Sessions,
        log: Arc<LiveLog<TaskResponse>>,
    ) -> Result<RunningTask, TaskError> {
        let definition = start.definition().ok_or(TaskError::TaskNotFound)?;
        let (plan, effects) = Plan::new(definition, start.user_input.clone());
        tracing::info!(task = %start.id, name = start.name, "task started");
        Ok(self.run(start, sessions, log, plan, Past::default(), Begin::With(effects)))
    }

    /// Runs a task from where its plan is.
    fn run(
        &self,
        mut start: Start,
        sessions: Sessions,
        log: Arc<LiveLog<TaskResponse>>,
        plan: Plan,
        past: Past,
        begin: Begin,
    ) -> RunningTask {
        let id = start.id;
        let ledger = log.clone();
        let meter = Meter::new(start.budget, past.spent)
            .within(start.job_meter.take())
            .noted_in(move |spent| ledger.note(&TaskNote::Spent(spent)));
        let (sender, outcome) = oneshot::channel();
        let handle = Handle::new(self.lifecycle.token());
        let run = Run { borrowing: start.borrowed.is_some(), handle: handle.clone() };
        self.runs.lock().insert(id, run);
        let end = handle.ending(EndOfTask {
            log: log.clone(),
            outcome: Some(sender),
            end: TaskEnd::Crashed(FailureCause::Internal),
            unsaved: Vec::new(),
        });
        let usage = Arc::new(Mutex::new(past.usage));
        let attempts = Attempts::Log(log.clone());
        let runner = Runner {
            id,
            plan,
            manager: self.sessions.clone(),
            sessions,
            open: past.open,
            log,
            handle: handle.clone(),
            is_lasting: self.live.shared().journal().is_lasting(),
            on_interrupted: start.on_interrupted,
            meter: Arc::new(meter),
            usage: usage.clone(),
            questions: self.questions.clone(),
            about: About { name: start.name, folder: start.folder, work: start.work },
            answers: Vec::new(),
            answered: None,
            left: None,
            is_turn_counted: past.is_turn_counted,
            on_recovery: start.on_recovery,
            unsaved: Vec::new(),
        };
        self.lifecycle.spawn(run_to_the_end(end, runner, begin));
        RunningTask { id, outcome, handle, usage, attempts }
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

    /// Ends all tasks, including those in borrowed sessions. If the store outlives the process, they
    /// are only suspended: they go on after a restart.
    pub async fn stop_all(&self) {
        let handles = self.runs.lock().values().map(|run| run.handle.clone()).collect();
        if self.live.shared().journal().is_lasting() {
            suspend_all(handles).await;
        } else {
            stop_all(handles).await;
        }
    }

    /// The logs of running tasks and of those that ended recently.
    pub fn live(&self) -> &LiveRegistry<TaskId, TaskResponse> {
        &self.live
    }

    /// What the sessions of tasks ask people, among others.
    pub fn inbox(&self) -> &Inbox {
        self.sessions.inbox()
    }

    /// The sessions that tasks use, and all others.
    pub(crate) fn sessions(&self) -> &SessionManager {
        &self.sessions
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
    /// The user's session that does everything.
    borrowed: Option<SessionId>,
    work: Option<WorkOfJob>,
    user_input: String,
    budget: Budget,
    job_meter: Option<Arc<Meter>>,
    on_interrupted: OnInterrupted,
    on_recovery: Option<OnRecovery>,
}

/// What a run had used before the server was started again.
#[derive(Clone, Copy, Default)]
struct Past {
    spent: Spent,
    usage: Usage,
    /// The session of its own that was opened last.
    open: Option<SessionId>,
    /// Whether the turn that was to begin is counted already.
    is_turn_counted: bool,
}

/// How a run begins.
enum Begin {
    /// With the first effects of its plan.
    With(Vec<Effect>),
    /// Where it was when the server stopped.
    Again,
}

impl Start {
    fn note(&self) -> TaskNote {
        let origin = self.borrowed.and_then(|session| {
            let entry = self.entry.of_task(&self.name)?;
            Some(Box::new(TaskOrigin { entry, session, input: self.user_input.clone() }))
        });
        TaskNote::Started {
            name: self.name.clone(),
            folder: self.folder.clone(),
            model: self.task_model.clone(),
            job: self.work.map(|work| work.job),
            budget: self.budget,
            origin,
        }
    }

    fn definition(&self) -> Option<Definition> {
        Definition::new(&self.entry, &self.name, &self.task_model, self.borrowed)
    }
}

/// Runs a task. The runner is a parameter after the end, so that it is dropped before that is
/// reported.
async fn run_to_the_end(mut end: Ending<EndOfTask>, mut runner: Runner, begin: Begin) {
    let _running = runner.meter.run();
    let (how, unsaved) = match begin {
        Begin::With(effects) => runner.run(effects).await,
        Begin::Again => runner.run_again().await,
    };
    tracing::info!(task = %runner.id, end = how.name(), "task ended");
    end.end = how;
    end.unsaved = unsaved;
}
