//! All jobs of a server.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU16;
use std::sync::{Arc, Weak};
use std::time::Duration;

use agents::permission::{DefaultMode, ModeLimit, SessionPermissions};
use parking_lot::Mutex;
use platform::lifecycle::Lifecycle;
use platform::memory::shrink;
use store::fold::{JobFold, JobNote, refold};
use store::live::{Delivery, LiveRegistry, LiveShared, PollError, ReaderKey};
use tokio::time::Instant;
use wire::entry::Entry;
use wire::{JobId, JobInfo, JobResponse, JobStatusReply, PermissionMode, RunningJobs};

use super::JobError;
use super::places::Places;
use super::record::{Record, Report, status_reply};
use super::run::{EndOfJob, JobRun};
use crate::running::{Handle, stop_all};
use crate::session::check_folder;
use crate::task::TaskManager;

/// The limits of jobs.
#[derive(Clone, Debug)]
pub struct JobSettings {
    /// Tasks of all jobs that run at a time.
    pub max_tasks: NonZeroU16,
    /// Tasks of one job that run at a time.
    pub max_tasks_per_job: NonZeroU16,
    /// How the tools of jobs that ask are dealt with, unless the job says otherwise.
    pub permissions: PermissionMode,
    /// Jobs that run at a time.
    pub max_jobs: usize,
    /// How long a job is listed after its end.
    pub keep_finished: Duration,
    /// How many are listed after their end. The oldest go first.
    pub max_finished: usize,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self {
            max_tasks: const { NonZeroU16::new(32).expect("not zero") },
            max_tasks_per_job: const { NonZeroU16::new(8).expect("not zero") },
            permissions: PermissionMode::ApproveAll,
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
    /// Of jobs that do not say themselves how they deal with questions.
    default_mode: DefaultMode,
    lifecycle: Lifecycle,
    live: Arc<LiveRegistry<JobId, JobResponse>>,
    jobs: Mutex<Jobs>,
}

/// What is remembered, whether or not the log still is.
#[derive(Default)]
struct Jobs {
    records: HashMap<JobId, Listed>,
    /// The ended ones among them and when they ended, the oldest first.
    finished: VecDeque<(Instant, JobId)>,
    started: u64,
}

struct Listed {
    /// Counts the jobs in the order of their start.
    number: u64,
    record: Arc<Record>,
}

impl JobManager {
    /// No job yet.
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
            settings,
            live: LiveRegistry::new(live, &lifecycle),
            jobs: Mutex::default(),
            lifecycle,
        })
    }

    /// Starts a job of an entry in a folder.
    ///
    /// Cancel safe: dropped before it returns, there may be a job whose id nobody knows.
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
        // A session may leave it to the server where to work. A job must be told.
        check_folder(working_directory).await?;
        if job.require_user_input && user_input.trim().is_empty() {
            return Err(JobError::UserInputRequired);
        }

        // No await until it runs: either all of it happens or nothing.
        let id = JobId::generate();
        let handle = Handle::new(self.lifecycle.token());
        let log = self.live.prepare(id);
        let record = Arc::new(Record::new(id, log.clone(), handle.clone()));
        self.jobs.lock().add(record.clone(), &self.settings)?;
        log.begin(&JobNote::Started {
            name: job_name.to_owned(),
            folder: working_directory.to_owned(),
            input: user_input.clone(),
        });
        self.live.add(id, log.clone());
        let report = Report { record, log };
        let manager = Arc::downgrade(self);
        let end = handle.ending(EndOfJob::new(report, move || finish(&manager, id)));
        let run = JobRun {
            name: job_name.to_owned(),
            working_directory: working_directory.to_owned(),
            permissions: SessionPermissions {
                mode: job.permissions.unwrap_or_else(|| self.default_mode.get()),
                approve_files: job.approve_files.clone(),
                limit: match job.permissions {
                    Some(_) => ModeLimit::default(),
                    None => self.default_mode.limit(),
                },
            },
            user_input,
            tasks: self.tasks.clone(),
            places: self.places.clone(),
            lifecycle: self.lifecycle.clone(),
            entry,
        };
        self.lifecycle.spawn(run.run(end));
        tracing::info!(job = %id, name = job_name, "job started");
        if let Err(error) = self.live.durable(id).await {
            // Nobody learns its id.
            handle.begin_stop();
            return Err(error.into());
        }
        Ok(id)
    }

    /// Deals with the tools of jobs more strictly, those that run included.
    pub fn narrow(&self, permissions: PermissionMode) {
        self.default_mode.narrow(permissions);
    }

    /// Ends a job and waits until nothing of it runs. One that has ended already stays as it is.
    /// Cancel safe: the job ends even if nobody waits.
    pub async fn stop(&self, id: JobId) -> Result<(), JobError> {
        let record = self.find(id)?;
        record.handle.begin_stop();
        record.handle.ended().await;
        // It has ended, whether or not that can be kept.
        let _ = self.live.durable(id).await;
        Ok(())
    }

    /// Ends all jobs.
    pub async fn stop_all(&self) {
        let handles = {
            let jobs = self.jobs.lock();
            jobs.records.values().map(|listed| listed.record.handle.clone()).collect()
        };
        stop_all(handles).await;
    }

    /// The jobs that run and those that ended not long ago, in the order of their start.
    pub fn running(&self) -> RunningJobs {
        let mut jobs: Vec<(u64, JobInfo)> = {
            let mut jobs = self.jobs.lock();
            jobs.forget(&self.settings);
            let listed = jobs.records.values();
            listed.filter_map(|listed| Some((listed.number, listed.record.info()?))).collect()
        };
        jobs.sort_unstable_by_key(|(number, _)| *number);
        RunningJobs { jobs: jobs.into_iter().map(|(_, info)| info).collect() }
    }

    /// How a job stands, and its works, as long as it is kept.
    pub async fn status(&self, id: JobId) -> Result<JobStatusReply, JobError> {
        if let Some(status) = self.find(id).ok().and_then(|record| record.status()) {
            return Ok(status);
        }
        let journal = self.live.shared().journal();
        let fold = refold::<JobResponse, JobFold>(&**journal, id.into()).await?;
        fold.map(|fold| status_reply(id, &fold)).ok_or(JobError::JobNotFound)
    }

    /// Forgets a job that has ended, with its tasks and their sessions.
    pub async fn delete(&self, id: JobId) -> Result<(), JobError> {
        let journal = self.live.shared().journal();
        let record = journal.record(id.into()).await?;
        let (record, ..) = record.ok_or(JobError::JobNotFound)?;
        if record.ended_at.is_none() {
            return Err(JobError::StillRunning);
        }
        self.jobs.lock().remove(id);
        self.live.remove(id);
        Ok(journal.delete(id.into()).await?)
    }

    /// Waits for something new for a reader of a job. Cancel safe.
    pub async fn poll(&self, id: JobId, reader: ReaderKey) -> Result<Delivery, PollError> {
        self.live.poll(id, reader).await
    }

    /// The logs of running jobs and of those that ended not long ago.
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

    /// Forgets one that has ended.
    fn remove(&mut self, id: JobId) {
        self.records.remove(&id);
        self.finished.retain(|(_, finished)| *finished != id);
    }

    fn finish(&mut self, id: JobId, settings: &JobSettings) {
        self.finished.push_back((Instant::now(), id));
        self.forget(settings);
    }

    /// Forgets what ended long ago. Called wherever somebody looks, so no clock has to run for it.
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
