//! What is remembered of a run of a job, and told to those who ask.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use platform::clock::iso_8601;
use store::live::LiveLog;
use tokio_util::sync::CancellationToken;
use wire::{
    JobId, JobInfo, JobResponse, JobStatus, JobStatusReply, JobTask, TaskId, Usage, WorkStatus,
};

use crate::running::Handle;

/// A run of a job. Its size is bounded by the job's, however often its loops go round.
pub(super) struct Record {
    pub(super) id: JobId,
    name: String,
    start_time: String,
    state: Mutex<State>,
    pub(super) handle: Handle,
}

struct State {
    status: JobStatus,
    end_time: Option<String>,
    /// What all works took.
    usage: Usage,
    /// The last run of each work that was started.
    works: BTreeMap<u32, JobTask>,
}

impl Record {
    /// A run that begins now.
    pub(super) fn new(id: JobId, name: &str, stop: CancellationToken) -> Self {
        Self {
            id,
            name: name.to_owned(),
            start_time: now(),
            state: Mutex::new(State {
                status: JobStatus::Running,
                end_time: None,
                usage: Usage::default(),
                works: BTreeMap::new(),
            }),
            handle: Handle::new(stop),
        }
    }

    /// A line of the list.
    pub(super) fn info(&self) -> JobInfo {
        JobInfo {
            job_id: self.id,
            job_name: self.name.clone(),
            start_time: self.start_time.clone(),
            status: self.state.lock().status,
        }
    }

    /// All that is known.
    pub(super) fn status(&self) -> JobStatusReply {
        let state = self.state.lock();
        JobStatusReply {
            job_id: self.id,
            job_name: self.name.clone(),
            start_time: self.start_time.clone(),
            end_time: state.end_time.clone(),
            server_time: now(),
            status: state.status,
            usage: state.usage,
            tasks: state.works.values().cloned().collect(),
        }
    }
}

impl State {
    fn start_work(&mut self, work_id: u32, task_id: TaskId) {
        let task = JobTask {
            work_id_in_job: work_id,
            task_id: Some(task_id),
            status: WorkStatus::Running,
            start_time: now(),
            end_time: None,
            usage: Usage::default(),
        };
        self.works.insert(work_id, task);
    }

    fn stop_work(&mut self, work_id: u32, succeeded: bool, usage: Usage) {
        self.usage += usage;
        // A work that stops was started.
        if let Some(task) = self.works.get_mut(&work_id) {
            task.task_id = None;
            task.status = if succeeded { WorkStatus::Succeeded } else { WorkStatus::Failed };
            task.end_time = Some(now());
            task.usage = usage;
        }
    }
}

fn now() -> String {
    iso_8601(SystemTime::now())
}

/// Tells what happens in a job. The record knows first: whoever reads the log and then asks for the
/// status finds it there.
pub(super) struct Report {
    pub(super) record: Arc<Record>,
    pub(super) log: Arc<LiveLog<JobResponse>>,
}

impl Report {
    pub(super) fn work_started(&self, work_id: u32, task_id: TaskId) {
        self.record.state.lock().start_work(work_id, task_id);
        self.log.push(&JobResponse::WorkStarted { work_id, task_id });
    }

    pub(super) fn work_stopped(&self, work_id: u32, succeeded: bool, usage: Usage) {
        self.record.state.lock().stop_work(work_id, succeeded, usage);
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
            self.work_stopped(work_id, false, Usage::default());
        }
        {
            let mut state = self.record.state.lock();
            state.status = status;
            state.end_time = Some(now());
        }
        self.log.push(match status {
            JobStatus::Succeeded => &JobResponse::JobSucceeded,
            JobStatus::Canceled => &JobResponse::JobCanceled,
            JobStatus::Failed | JobStatus::Running => &JobResponse::JobFailed,
        });
        self.log.close();
    }
}
