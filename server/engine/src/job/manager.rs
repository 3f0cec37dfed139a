//! All jobs of a server.

mod recovery;
mod retry;

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU16;
use std::sync::{Arc, Weak};
use std::time::Duration;

use agents::permission::{DefaultMode, ModeLimit, SessionPermissions};
use parking_lot::Mutex;
use platform::lifecycle::Lifecycle;
use platform::memory::shrink;
use store::fold::{JobFold, JobNote, refold};
use store::live::{LiveLog, LiveRegistry, LiveShared};
use tokio::time::Instant;
use wire::entry::{Entry, Job};
use wire::{
    Budget, JobId, JobInfo, JobResponse, JobStatusReply, JobVerdicts, PermissionMode, RunningJobs,
    Spent,
};

use super::JobError;
use super::places::Places;
use super::record::{Record, Report};
use super::run::{EndOfJob, JobRun, Past};
use super::status::{Waiting, status_reply};
use super::verdicts;
use crate::budget::{BudgetNotSupported, Meter};
use crate::running::{Handle, stop_all, suspend_all};
use crate::session::check_folder;
use crate::task::TaskManager;

/// Defaults and limits of jobs.
#[derive(Clone, Debug)]
pub struct JobSettings {
    /// How many tasks may run at a time, over all jobs.
    pub max_tasks: NonZeroU16,
    /// How many tasks of one job may run at a time.
    pub max_tasks_per_job: NonZeroU16,
    /// How permission requests of a job's tools are answered, unless its definition has a mode.
    pub permissions: PermissionMode,
    /// How much a run of a job may use whose definition does not say so.
    pub budget: Budget,
    /// How many jobs may run at a time.
    pub max_jobs: usize,
    /// How long a job is listed after its end.
    pub keep_finished: Duration,
    /// How many ended jobs are listed. The oldest are dropped first.
    pub max_finished: usize,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self {
            max_tasks: const { NonZeroU16::new(32).expect("not zero") },
            max_tasks_per_job: const { NonZeroU16::new(8).expect("not zero") },
            permissions: PermissionMode::ApproveAll,
            budget: Budget::default(),
            max_jobs: 500,
            keep_finished: Duration::from_hours(1),
            max_finished: 1_000,
        }
    }
}

/// Starts, finds and stops jobs.
pub struct JobManager {
    tasks: Arc<TaskManager>,
    places: Places,
    settings: JobSettings,
    /// Permission mode of jobs whose definition has none.
    default_mode: DefaultMode,
    /// Budget of jobs whose definition has none.
    budget: Mutex<Budget>,
    lifecycle: Lifecycle,
    live: Arc<LiveRegistry<JobId, JobResponse>>,
    jobs: Mutex<Jobs>,
    /// Held while a job that has ended gets a note that another one retries it.
    linking: tokio::sync::Mutex<()>,
}

/// The listed jobs, whose logs may already be gone.
#[derive(Default)]
struct Jobs {
    records: HashMap<JobId, Listed>,
    /// Those that have ended, with the time of their end, oldest first.
    finished: VecDeque<(Instant, JobId)>,
    started: u64,
}

struct Listed {
    /// Number of the job in order of start.
    number: u64,
    record: Arc<Record>,
}

/// What a run is launched with.
struct Launch {
    entry: Arc<Entry>,
    name: String,
    folder: String,
    input: String,
    /// How permission requests of its tools are answered.
    mode: PermissionMode,
    budget: Budget,
    /// What it has used of that before.
    spent: Spent,
    past: Past,
}

impl Launch {
    /// The note of a new run.
    fn note(&self) -> JobNote {
        JobNote::Started {
            name: self.name.clone(),
            folder: self.folder.clone(),
            input: self.input.clone(),
            work: None,
            entry: self.entry.of_job(&self.name).map(Box::new),
            permissions: Some(self.mode),
            budget: self.budget,
        }
    }
}

impl JobManager {
    /// Creates a manager without jobs.
    pub fn new(
        tasks: Arc<TaskManager>,
        settings: JobSettings,
        live: Arc<LiveShared>,
        lifecycle: Lifecycle,
    ) -> Arc<Self> {
        Arc::new(Self {
            tasks,
            places: Places::new(settings.max_tasks, settings.max_tasks_per_job),
            default_mode: DefaultMode::new(settings.permissions, ModeLimit::default()),
            budget: Mutex::new(settings.budget),
            settings,
            live: LiveRegistry::new(live, &lifecycle),
            jobs: Mutex::default(),
            linking: tokio::sync::Mutex::default(),
            lifecycle,
        })
    }

    /// Starts a job of an entry, to work in a folder.
    ///
    /// Cancel safe, but dropping it may leave a job whose id nobody knows.
    pub async fn start(
        self: &Arc<Self>,
        entry: Arc<Entry>,
        job_name: &str,
        working_directory: &str,
        user_input: String,
    ) -> Result<JobId, JobError> {
        self.live.check_store()?;
        let job = entry.jobs.get(job_name).ok_or(JobError::JobNotFound)?;
        let working_directory = working_directory.trim();
        // Unlike a session, a job has no default folder.
        check_folder(working_directory).await?;
        if job.require_user_input && user_input.trim().is_empty() {
            return Err(JobError::UserInputRequired);
        }
        let budget = self.budget_of(job);
        self.check_budgets(&entry, job, &budget).await?;
        let launch = Launch {
            name: job_name.to_owned(),
            folder: working_directory.to_owned(),
            input: user_input,
            mode: job.permissions.unwrap_or_else(|| self.default_mode.get()),
            budget,
            spent: Spent::default(),
            past: Past::default(),
            entry,
        };
        let (id, handle) = self.begin(launch, None)?;
        self.acknowledge(id, &handle).await?;
        Ok(id)
    }

    /// Begins a new run, and returns its id and handle. `retries` is the note of what it retries, if
    /// anything. It has no await, so that a cancelled call begins a run completely or not at all.
    fn begin(
        self: &Arc<Self>,
        launch: Launch,
        retries: Option<JobNote>,
    ) -> Result<(JobId, Handle), JobError> {
        let id = JobId::generate();
        let log = self.live.prepare(id);
        let (name, note) = (launch.name.clone(), launch.note());
        let begin = |log: &Arc<LiveLog<JobResponse>>| {
            // Known before it is in any list, or a reader could load it a second time.
            self.live.add(id, log.clone());
            match retries {
                // Nothing is stored before the log begins, and then both notes at once: with the
                // first one alone, it would be a run that does everything again.
                Some(retries) => {
                    log.note(&note);
                    log.begin(&retries);
                }
                None => log.begin(&note),
            }
        };
        let handle = self.launch(id, log, launch, begin)?;
        tracing::info!(job = %id, name, "job started");
        Ok((id, handle))
    }

    /// Waits until the start of a run is durable. If that fails, the run is stopped, since its id is
    /// never returned.
    async fn acknowledge(&self, id: JobId, handle: &Handle) -> Result<(), JobError> {
        self.live.durable(id).await.inspect_err(|_| handle.begin_stop())?;
        Ok(())
    }

    /// Runs a job. Once it has a place in the list, and before anything else happens, its log begins.
    fn launch(
        self: &Arc<Self>,
        id: JobId,
        log: Arc<LiveLog<JobResponse>>,
        launch: Launch,
        begin: impl FnOnce(&Arc<LiveLog<JobResponse>>),
    ) -> Result<Handle, JobError> {
        let Launch { entry, name, folder, input, mode, budget, spent, past } = launch;
        let job = entry.jobs.get(&name).ok_or(JobError::JobNotFound)?;
        let handle = Handle::new(self.lifecycle.token());
        let ledger = log.clone();
        let meter =
            Meter::new(budget, spent).noted_in(move |spent| ledger.note(&JobNote::Spent(spent)));
        let meter = Arc::new(meter);
        let record = Arc::new(Record::new(id, log.clone(), meter.clone(), handle.clone()));
        self.jobs.lock().add(record.clone(), &self.settings)?;
        begin(&log);
        let report = Report { record, log };
        let manager = Arc::downgrade(self);
        let end = handle.ending(EndOfJob::new(report, move || finish(&manager, id)));
        let run = JobRun {
            permissions: SessionPermissions {
                mode,
                approve_files: job.approve_files.clone(),
                limit: match job.permissions {
                    Some(_) => ModeLimit::default(),
                    None => self.default_mode.limit(),
                },
            },
            on_interrupted: job.on_interrupted.unwrap_or_else(|| self.tasks.on_interrupted()),
            name,
            working_directory: folder,
            user_input: input,
            meter,
            past,
            tasks: self.tasks.clone(),
            places: self.places.clone(),
            is_lasting: self.live.shared().journal().is_lasting(),
            lifecycle: self.lifecycle.clone(),
            entry,
        };
        self.lifecycle.spawn(run.run(end));
        Ok(handle)
    }

    /// How much a run of a job may use: the limits of its definition, else those of the settings.
    fn budget_of(&self, job: &Job) -> Budget {
        job.budget.unwrap_or_default().or(*self.budget.lock())
    }

    /// Checks that the models of all its tasks report what the budgets limit.
    async fn check_budgets(
        &self,
        entry: &Entry,
        job: &Job,
        budget: &Budget,
    ) -> Result<(), BudgetNotSupported> {
        for work in job.work.task_refs() {
            let Some(task) = entry.tasks.get(work.task_id) else { continue };
            self.tasks.check_budget(entry, task, work.model_override, budget).await?;
        }
        Ok(())
    }

    /// Restricts the default permission mode, for running jobs as well, and the budget of new ones.
    pub fn narrow(&self, permissions: PermissionMode, budget: Budget) {
        self.default_mode.narrow(permissions);
        let mut own = self.budget.lock();
        *own = own.narrowed_by(budget);
    }

    /// Ends a job and waits until none of its tasks is running. Does nothing to one that has ended.
    /// Cancel safe: the job ends even if nobody waits.
    pub async fn stop(&self, id: JobId) -> Result<(), JobError> {
        let record = self.find(id)?;
        record.handle.begin_stop();
        record.handle.ended().await;
        // It has ended even if that can't be stored.
        let _ = self.live.durable(id).await;
        Ok(())
    }

    /// Ends all jobs and waits until none is running. If the store outlives the process, they are only
    /// suspended: they go on after a restart.
    pub async fn stop_all(&self) {
        let handles = {
            let jobs = self.jobs.lock();
            jobs.records.values().map(|listed| listed.record.handle.clone()).collect()
        };
        if self.live.shared().journal().is_lasting() {
            suspend_all(handles).await;
        } else {
            stop_all(handles).await;
        }
    }

    /// The running jobs and those that ended recently, in order of start.
    pub fn running(&self) -> RunningJobs {
        let mut waiting = self.tasks.inbox().waiting_works();
        let mut jobs: Vec<(u64, JobInfo)> = {
            let mut jobs = self.jobs.lock();
            jobs.forget(&self.settings);
            let listed = jobs.records.values().filter_map(|listed| {
                let works = waiting.remove(&listed.record.id).unwrap_or_default();
                Some((listed.number, listed.record.info(works)?))
            });
            listed.collect()
        };
        jobs.sort_unstable_by_key(|(number, _)| *number);
        RunningJobs { jobs: jobs.into_iter().map(|(_, info)| info).collect() }
    }

    /// The status of a job and its works, from the store if it is no longer listed.
    pub async fn status(&self, id: JobId) -> Result<JobStatusReply, JobError> {
        if let Ok(record) = self.find(id) {
            let works = self.tasks.inbox().waiting_works().remove(&id).unwrap_or_default();
            if let Some(status) = record.status(works) {
                return Ok(status);
            }
        }
        let journal = self.live.shared().journal();
        let fold = refold::<JobResponse, JobFold>(&**journal, id.into()).await?;
        let status = fold.map(|fold| status_reply(id, &fold, &Waiting::default()));
        status.ok_or(JobError::JobNotFound)
    }

    /// What was judged in the tasks of a job so far, from the store.
    pub async fn verdicts(&self, id: JobId) -> Result<JobVerdicts, JobError> {
        let found = verdicts::list(&**self.live.shared().journal(), id).await?;
        found.ok_or(JobError::JobNotFound)
    }

    /// Deletes a job that has ended, with its tasks and their sessions.
    pub async fn delete(&self, id: JobId) -> Result<(), JobError> {
        let journal = self.live.shared().journal();
        let record = journal.record(id.into()).await?;
        let (record, ..) = record.ok_or(JobError::JobNotFound)?;
        if record.ended_at.is_none() {
            return Err(JobError::StillRunning);
        }
        self.jobs.lock().remove(id);
        self.live.remove(id);
        journal.delete(id.into()).await?;
        self.tasks.sessions().delete_orphans().await?;
        Ok(())
    }

    /// The logs of running jobs and of those that ended recently.
    pub fn live(&self) -> &LiveRegistry<JobId, JobResponse> {
        &self.live
    }

    fn find(&self, id: JobId) -> Result<Arc<Record>, JobError> {
        let mut jobs = self.jobs.lock();
        jobs.forget(&self.settings);
        let listed = jobs.records.get(&id).ok_or(JobError::JobNotFound)?;
        Ok(listed.record.clone())
    }
}

impl Jobs {
    fn add(&mut self, record: Arc<Record>, settings: &JobSettings) -> Result<(), JobError> {
        if self.records.len() - self.finished.len() >= settings.max_jobs {
            return Err(JobError::TooManyJobs);
        }
        self.started += 1;
        self.records.insert(record.id, Listed { number: self.started, record });
        Ok(())
    }

    /// Drops a job that has ended from the list.
    fn remove(&mut self, id: JobId) {
        self.records.remove(&id);
        self.finished.retain(|(_, finished)| *finished != id);
    }

    fn finish(&mut self, id: JobId, settings: &JobSettings) {
        self.finished.push_back((Instant::now(), id));
        self.forget(settings);
    }

    /// Drops jobs that ended too long ago. Called on every access, so it needs no timer.
    fn forget(&mut self, settings: &JobSettings) {
        let now = Instant::now();
        while let Some((ended, id)) = self.finished.front() {
            let is_old = now >= *ended + settings.keep_finished;
            if !is_old && self.finished.len() <= settings.max_finished {
                return;
            }
            self.records.remove(id);
            self.finished.pop_front();
        }
        shrink(&mut self.records);
    }
}

fn finish(manager: &Weak<JobManager>, id: JobId) {
    if let Some(manager) = manager.upgrade() {
        manager.jobs.lock().finish(id, &manager.settings);
        tracing::info!(job = %id, "job ended");
    }
}
