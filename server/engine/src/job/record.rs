//! What clients see of a run of a job: the fold of its log.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use store::fold::{Fold, JobFold, JobNote, WorkEnd};
use store::live::{LiveItem, LiveLog};
use wire::{
    FailureCause, JobId, JobInfo, JobResponse, JobStatus, JobStatusReply, Recovery, TaskId, Usage,
};

use super::status::{Waiting, job_info, status_reply};
use crate::budget::Meter;
use crate::running::Handle;

/// A run of a job. Once it has ended, its size is bounded by the job's, however many iterations its
/// loops had.
pub(super) struct Record {
    pub(super) id: JobId,
    pub(super) handle: Handle,
    meter: Arc<Meter>,
    source: Mutex<Source>,
    /// The works that wait for a place. Not stored: they mean nothing once the job has ended.
    queued: Mutex<BTreeSet<u32>>,
}

/// Where the fold of the run is.
enum Source {
    Log(Arc<LiveLog<JobResponse>>),
    /// A copy, so that the log can be dropped.
    Ended(Box<JobFold>),
}

impl Record {
    /// A run whose fold is in its log.
    pub(super) fn new(
        id: JobId,
        log: Arc<LiveLog<JobResponse>>,
        meter: Arc<Meter>,
        handle: Handle,
    ) -> Self {
        Self { id, handle, meter, source: Mutex::new(Source::Log(log)), queued: Mutex::default() }
    }

    fn read<T: Default>(&self, read: impl FnOnce(&JobFold) -> T) -> T {
        match &*self.source.lock() {
            Source::Log(log) => log.fold(read).unwrap_or_default(),
            Source::Ended(fold) => read(fold),
        }
    }

    /// The run as an item of the job list. `for_people` are the works that wait for somebody's
    /// answer.
    pub(super) fn info(&self, for_people: BTreeSet<u32>) -> Option<JobInfo> {
        let waiting = self.waiting(for_people);
        self.read(|fold| Some(job_info(self.id, fold, &waiting)))
    }

    /// The run's status with all its works. `for_people` are those that wait for somebody's answer.
    pub(super) fn status(&self, for_people: BTreeSet<u32>) -> Option<JobStatusReply> {
        let waiting = self.waiting(for_people);
        let status = self.read(|fold| Some(status_reply(self.id, fold, &waiting)));
        // The fold does not have the time since the last note.
        status.map(|status| JobStatusReply { spent: self.meter.spent(), ..status })
    }

    fn waiting(&self, for_people: BTreeSet<u32>) -> Waiting {
        Waiting { for_places: self.queued.lock().clone(), for_people }
    }

    /// A work is due and waits for a place.
    pub(super) fn enqueue(&self, work_id: u32) {
        self.queued.lock().insert(work_id);
    }

    /// A work has its place.
    pub(super) fn dequeue(&self, work_id: u32) {
        self.queued.lock().remove(&work_id);
    }

    /// It was decided how a work goes on after the server had stopped.
    pub(super) fn recovered(&self, work_id: u32, recovery: Recovery) {
        if let Source::Log(log) = &*self.source.lock() {
            log.note(&JobNote::Recovered { work_id, recovery });
        }
    }

    /// The ids of the running works.
    fn running_works(&self) -> Vec<u32> {
        self.read(|fold| {
            let works = fold.works().iter();
            works.filter(|(_, work)| work.task_id.is_some()).map(|(id, _)| *id).collect()
        })
    }

    /// Adds a note to the copied fold.
    pub(super) fn note_after_end(&self, at: u64, note: &JobNote) {
        if let Source::Ended(fold) = &mut *self.source.lock() {
            fold.note(at, note);
        }
    }

    /// Copies the fold and drops the log.
    fn freeze(&self) {
        let fold = Box::new(self.read(JobFold::clone));
        *self.source.lock() = Source::Ended(fold);
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
        self.record.dequeue(work_id);
    }

    /// Reports the end of a work; `end` says why it did not succeed, `attempts` how often it was tried,
    /// if that is known.
    pub(super) fn work_stopped(
        &self,
        work_id: u32,
        end: Option<WorkEnd>,
        usage: Usage,
        attempts: Option<u32>,
    ) {
        self.log.append(&stopped(work_id, end, usage, attempts));
    }

    /// Reports the end and closes the log.
    pub(super) fn end(&self, status: JobStatus, errors: Vec<String>, is_interrupted: bool) {
        let errors = errors.into_iter().map(|message| JobResponse::Error { message });
        let mut items: Vec<_> = errors.map(LiveItem::Entry).collect();
        if is_interrupted {
            items.push(LiveItem::Note(JobNote::Interrupted));
        }
        // There are some only after a panic.
        for work_id in self.record.running_works() {
            let end = WorkEnd::Failed { cause: FailureCause::Internal };
            items.extend(stopped(work_id, Some(end), Usage::default(), None));
        }
        self.record.queued.lock().clear();
        items.push(LiveItem::Entry(match status {
            JobStatus::Succeeded => JobResponse::JobSucceeded,
            JobStatus::Canceled => JobResponse::JobCanceled,
            JobStatus::Failed | JobStatus::Running => JobResponse::JobFailed,
        }));
        self.log.append(&items);
        self.log.close();
        self.record.freeze();
    }
}

/// The end of a run of a work. Stored as one, so that a restart does not find a part of it.
fn stopped(
    work_id: u32,
    end: Option<WorkEnd>,
    usage: Usage,
    attempts: Option<u32>,
) -> Vec<LiveItem<JobResponse>> {
    let mut items = Vec::new();
    if let Some(attempts) = attempts {
        items.push(LiveItem::Note(JobNote::Attempted { work_id, attempts }));
    }
    if !usage.is_empty() {
        items.push(LiveItem::Note(JobNote::Used { work_id, usage }));
    }
    let succeeded = end.is_none();
    if let Some(end) = end {
        items.push(LiveItem::Note(JobNote::Unsuccessful { work_id, end }));
    }
    items.push(LiveItem::Entry(JobResponse::WorkStopped { work_id, succeeded }));
    items
}
