//! What clients see of a run of a job: the fold of its log.

use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use platform::clock::{iso_8601, iso_8601_of_micros};
use store::fold::{JobFold, JobNote, WorkEnd};
use store::live::LiveLog;
use wire::{
    FailureCause, JobId, JobInfo, JobResponse, JobStatus, JobStatusReply, JobTask, TaskId, Usage,
};

use crate::running::Handle;

/// A run of a job. Once it has ended, its size is bounded by the job's, however many iterations its
/// loops had.
pub(super) struct Record {
    pub(super) id: JobId,
    pub(super) handle: Handle,
    source: Mutex<Source>,
}

/// Where the fold of the run is.
enum Source {
    Log(Arc<LiveLog<JobResponse>>),
    /// A copy, so that the log can be dropped.
    Ended(Box<JobFold>),
}

impl Record {
    /// A run whose fold is in its log.
    pub(super) fn new(id: JobId, log: Arc<LiveLog<JobResponse>>, handle: Handle) -> Self {
        Self { id, handle, source: Mutex::new(Source::Log(log)) }
    }

    fn read<T: Default>(&self, read: impl FnOnce(&JobFold) -> T) -> T {
        match &*self.source.lock() {
            Source::Log(log) => log.fold(read).unwrap_or_default(),
            Source::Ended(fold) => read(fold),
        }
    }

    /// The run as an item of the job list.
    pub(super) fn info(&self) -> Option<JobInfo> {
        self.read(|fold| {
            Some(JobInfo {
                job_id: self.id,
                job_name: fold.name().to_owned(),
                start_time: iso_8601_of_micros(fold.started_at()),
                status: fold.status(),
            })
        })
    }

    /// The run's status with all its works.
    pub(super) fn status(&self) -> Option<JobStatusReply> {
        self.read(|fold| Some(status_reply(self.id, fold)))
    }

    /// The ids of the running works.
    fn running_works(&self) -> Vec<u32> {
        self.read(|fold| {
            let works = fold.works().iter();
            works.filter(|(_, work)| work.task_id.is_some()).map(|(id, _)| *id).collect()
        })
    }

    /// Copies the fold and drops the log.
    fn freeze(&self) {
        let fold = Box::new(self.read(JobFold::clone));
        *self.source.lock() = Source::Ended(fold);
    }
}

/// The status of a job and its works.
pub(super) fn status_reply(job_id: JobId, fold: &JobFold) -> JobStatusReply {
    let tasks = fold.works().iter().map(|(work_id, work)| JobTask {
        work_id_in_job: *work_id,
        task_id: work.task_id,
        status: work.status,
        start_time: iso_8601_of_micros(work.started_at),
        end_time: work.ended_at.map(iso_8601_of_micros),
        usage: work.usage,
    });
    JobStatusReply {
        job_id,
        job_name: fold.name().to_owned(),
        start_time: iso_8601_of_micros(fold.started_at()),
        end_time: fold.ended_at().map(iso_8601_of_micros),
        server_time: iso_8601(SystemTime::now()),
        status: fold.status(),
        usage: fold.usage(),
        tasks: tasks.collect(),
    }
}

/// Reports what happens in a job. A client that has read something in the log finds it in the
/// status as well.
pub(super) struct Report {
    pub(super) record: Arc<Record>,
    pub(super) log: Arc<LiveLog<JobResponse>>,
}

impl Report {
    pub(super) fn work_started(&self, work_id: u32, task_id: TaskId) {
        self.log.push(&JobResponse::WorkStarted { work_id, task_id });
    }

    /// Reports the end of a work; `end` says why it did not succeed.
    pub(super) fn work_stopped(&self, work_id: u32, end: Option<WorkEnd>, usage: Usage) {
        if !usage.is_empty() {
            self.log.note(&JobNote::Used { work_id, usage });
        }
        let succeeded = end.is_none();
        if let Some(end) = end {
            self.log.note(&JobNote::Unsuccessful { work_id, end });
        }
        self.log.push(&JobResponse::WorkStopped { work_id, succeeded });
    }

    /// Notes that the job ends because the server stops.
    pub(super) fn interrupted(&self) {
        self.log.note(&JobNote::Interrupted);
    }

    pub(super) fn error(&self, message: String) {
        self.log.push(&JobResponse::Error { message });
    }

    /// Reports the end and closes the log.
    pub(super) fn end(&self, status: JobStatus) {
        // There are some only after a panic.
        for work_id in self.record.running_works() {
            let end = WorkEnd::Failed { cause: FailureCause::Internal };
            self.work_stopped(work_id, Some(end), Usage::default());
        }
        self.log.push(match status {
            JobStatus::Succeeded => &JobResponse::JobSucceeded,
            JobStatus::Canceled => &JobResponse::JobCanceled,
            JobStatus::Failed | JobStatus::Running => &JobResponse::JobFailed,
        });
        self.log.close();
        self.record.freeze();
    }
}
