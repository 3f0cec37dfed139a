//! What is remembered of a run of a job, and told to those who ask.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use wire::{JobId, JobInfo, JobResponse, JobStatus, JobStatusReply, JobTask, TaskId, WorkStatus};

use super::clock::iso_8601;
use crate::live::LiveLog;

/// A run of a job. Its size is bounded by the job's, however often its loops go round.
pub(super) struct Record {
    pub(super) id: JobId,
    name: String,
    start_time: String,
    state: Mutex<State>,
    /// Said to be reached: the job stops.
    pub(super) stop: CancellationToken,
    /// Says that nothing of it runs and that its end was told.
    pub(super) ended: CancellationToken,
}

struct State {
    status: JobStatus,
    /// The last run of each work that was started.
    works: BTreeMap<u32, JobTask>,
}

impl Record {
    /// A run that begins now.
    pub(super) fn new(id: JobId, name: &str, stop: CancellationToken) -> Self {
        Self {
            id,
            name: name.to_owned(),
            start_time: iso_8601(SystemTime::now()),
            state: Mutex::new(State { status: JobStatus::Running, works: BTreeMap::new() }),
            stop,
            ended: CancellationToken::new(),
        }
    }

    /// A line of the list.
    pub(super) fn info(&self) -> JobInfo {
        self.info_with(self.state.lock().status)
    }

    /// All that is known.
    pub(super) fn status(&self) -> JobStatusReply {
        let (status, works) = {
            let state = self.state.lock();
            (state.status, state.works.values().copied().collect())
        };
        JobStatusReply::new(self.info_with(status), works)
    }

    fn info_with(&self, status: JobStatus) -> JobInfo {
        JobInfo {
            job_id: self.id,
            job_name: self.name.clone(),
            start_time: self.start_time.clone(),
            status,
        }
    }

    fn set_work(&self, work_id: u32, task_id: Option<TaskId>, status: WorkStatus) {
        let task = JobTask { work_id_in_job: work_id, task_id, status };
        self.state.lock().works.insert(work_id, task);
    }
}

/// Tells what happens in a job. The record knows first: whoever reads the log and then asks for the
/// status finds it there.
pub(super) struct Report {
    pub(super) record: Arc<Record>,
    pub(super) log: Arc<LiveLog<JobResponse>>,
}

impl Report {
    pub(super) fn work_started(&self, work_id: u32, task_id: TaskId) {
        self.record.set_work(work_id, Some(task_id), WorkStatus::Running);
        self.log.push(&JobResponse::WorkStarted { work_id, task_id });
    }

    pub(super) fn work_stopped(&self, work_id: u32, succeeded: bool) {
        let status = if succeeded { WorkStatus::Succeeded } else { WorkStatus::Failed };
        self.record.set_work(work_id, None, status);
        self.log.push(&JobResponse::WorkStopped { work_id, succeeded });
    }

    pub(super) fn error(&self, message: String) {
        self.log.push(&JobResponse::Error { message });
    }

    /// Nothing can be told any more after this.
    pub(super) fn end(&self, status: JobStatus) {
        // Left over only if a panic passed through.
        let left: Vec<u32> = {
            let state = self.record.state.lock();
            let running = state.works.values().filter(|work| work.task_id.is_some());
            running.map(|work| work.work_id_in_job).collect()
        };
        for work_id in left {
            self.work_stopped(work_id, false);
        }
        self.record.state.lock().status = status;
        self.log.push(match status {
            JobStatus::Succeeded => &JobResponse::JobSucceeded,
            JobStatus::Canceled => &JobResponse::JobCanceled,
            JobStatus::Failed | JobStatus::Running => &JobResponse::JobFailed,
        });
        self.log.close();
    }
}
