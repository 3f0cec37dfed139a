//! The future that runs a job: it runs the tasks that the plan starts, until the plan is decided.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use agents::permission::{SessionPermissions, WorkOfJob};
use futures_util::stream::{FuturesUnordered, StreamExt};
use platform::lifecycle::Lifecycle;
use store::fold::{Canceler, WorkEnd};
use tokio_util::sync::CancellationToken;
use wire::entry::{Entry, TaskRef};
use wire::{JobStatus, Usage};

use super::places::{Place, PlaceQueue, Places};
use super::plan::{Next, Plan, WorkStopped};
use super::record::Report;
use crate::budget::Meter;
use crate::running::{Conclude, Ending};
use crate::task::{ManagedTask, RunningTask, TaskEnd, TaskManager};

/// What a run needs to know before it begins.
pub(super) struct JobRun {
    pub(super) entry: Arc<Entry>,
    pub(super) name: String,
    pub(super) working_directory: String,
    pub(super) permissions: SessionPermissions,
    pub(super) user_input: String,
    /// Counts for all its tasks.
    pub(super) meter: Arc<Meter>,
    pub(super) tasks: Arc<TaskManager>,
    pub(super) places: Places,
    pub(super) lifecycle: Lifecycle,
}

impl JobRun {
    /// Runs the job. All its tasks are dropped before its end is reported.
    pub(super) async fn run(self, mut end: Ending<EndOfJob>) {
        let running = self.meter.run();
        let mut errors = Vec::new();
        let work = &self.entry.jobs[&self.name].work;
        let status = match Plan::new(work) {
            Ok(plan) => {
                let works = work.task_refs().into_iter().map(|work| (work.work_id_in_job, work));
                let mut execution = Execution {
                    run: &self,
                    report: &end.report,
                    works: works.collect(),
                    queue: self.places.queue(),
                    running: FuturesUnordered::new(),
                    halt: CancellationToken::new(),
                    crashed: None,
                    errors: &mut errors,
                };
                let status = execution.go(plan).await;
                execution.halt().await;
                status
            }
            Err(error) => {
                errors.push(error.to_string());
                JobStatus::Failed
            }
        };
        // Before the end is reported, which closes the log.
        drop(running);
        end.status = status;
        end.errors = errors;
        end.is_interrupted = status == JobStatus::Canceled && self.lifecycle.is_ending();
    }
}

/// The state of a running job.
struct Execution<'a> {
    run: &'a JobRun,
    report: &'a Report,
    works: HashMap<u32, TaskRef<'a>>,
    queue: PlaceQueue<u32>,
    running: FuturesUnordered<Pin<Box<dyn Future<Output = StoppedTask> + Send>>>,
    /// Cancelled to stop the running tasks.
    halt: CancellationToken,
    /// The first work that crashed, which is why the others are stopped.
    crashed: Option<u32>,
    /// Why the job could not continue.
    errors: &'a mut Vec<String>,
}

impl Execution<'_> {
    /// Follows the plan until it is decided, or the job is stopped or crashes. Tasks may still be
    /// running then.
    async fn go(&mut self, mut plan: Plan) -> JobStatus {
        self.enqueue(plan.running());
        let stop = self.report.record.handle.stopping().clone();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return JobStatus::Canceled,
                Some(stopped) = self.running.next() => {
                    let stop = self.settle(stopped);
                    // At shutdown, a task may stop before its job is told to.
                    if !stop.succeeded && self.run.lifecycle.is_ending() {
                        return JobStatus::Canceled;
                    }
                    if !self.errors.is_empty() {
                        return JobStatus::Failed;
                    }
                    match plan.apply(stop) {
                        Ok(Next::Start(works)) => self.enqueue(works),
                        Ok(Next::Decided(true)) => return JobStatus::Succeeded,
                        Ok(Next::Decided(false)) => return JobStatus::Failed,
                        Err(error) => {
                            self.errors.push(error.to_string());
                            return JobStatus::Failed;
                        }
                    }
                }
                (work_id, place) = self.queue.next() => {
                    if let Err(error) = self.start(work_id, place) {
                        self.errors.push(error);
                        return JobStatus::Failed;
                    }
                }
            }
        }
    }

    fn enqueue(&mut self, works: impl IntoIterator<Item = u32>) {
        for work_id in works {
            self.report.record.enqueue(work_id);
            self.queue.push(work_id);
        }
    }

    fn start(&mut self, work_id: u32, place: Place) -> Result<(), String> {
        let work = self.works.get(&work_id).ok_or("a work without a task")?;
        let task = self.run.tasks.start_managed(ManagedTask {
            entry: self.run.entry.clone(),
            name: work.task_id.to_owned(),
            model_override: work.model_override.cloned(),
            working_directory: self.run.working_directory.clone(),
            permissions: self.run.permissions.clone(),
            work: Some(WorkOfJob { job: self.report.record.id, work_id }),
            user_input: self.run.user_input.clone(),
            job_meter: Some(self.run.meter.clone()),
        });
        let task = StopOnDrop(task.map_err(|error| format!("{}: {error}", work.task_id))?);
        self.report.work_started(work_id, task.0.id);
        self.running.push(Box::pin(task.follow(work_id, place, self.halt.clone())));
        Ok(())
    }

    /// Reports the end of a task, and frees its place.
    fn settle(&mut self, stopped: StoppedTask) -> WorkStopped {
        let StoppedTask { work_id, end, usage, place } = stopped;
        if let TaskEnd::Crashed(cause) = &end {
            let name = self.works.get(&work_id).map_or("", |work| work.task_id);
            self.errors.push(format!("task `{name}` (work {work_id}): {cause}"));
            self.crashed.get_or_insert(work_id);
        }
        let end = self.work_end(end);
        let succeeded = end.is_none();
        self.report.work_stopped(work_id, end, usage);
        drop(place);
        WorkStopped { work_id, succeeded }
    }

    /// Why a work did not succeed; `None` if it did.
    fn work_end(&self, end: TaskEnd) -> Option<WorkEnd> {
        Some(match end {
            TaskEnd::Succeeded => return None,
            TaskEnd::Failed(cause) | TaskEnd::Crashed(cause) => WorkEnd::Failed { cause },
            TaskEnd::Stopped if self.run.lifecycle.is_ending() => WorkEnd::Interrupted,
            TaskEnd::Stopped => {
                let by = match self.crashed {
                    Some(work_id) => Canceler::Crash { work_id },
                    None if self.halt.is_cancelled() => Canceler::Job,
                    None => Canceler::User,
                };
                WorkEnd::Canceled { by }
            }
        })
    }

    /// Stops the running tasks and waits for them.
    async fn halt(&mut self) {
        self.halt.cancel();
        while let Some(stopped) = self.running.next().await {
            self.settle(stopped);
        }
    }
}

/// A task that is stopped with its job, even if that panics.
struct StopOnDrop(RunningTask);

struct StoppedTask {
    work_id: u32,
    end: TaskEnd,
    usage: Usage,
    place: Place,
}

impl StopOnDrop {
    async fn follow(mut self, work_id: u32, place: Place, halt: CancellationToken) -> StoppedTask {
        let end = match halt.run_until_cancelled(self.0.outcome()).await {
            Some(end) => end,
            None => self.stop().await,
        };
        StoppedTask { work_id, end, usage: self.0.usage(), place }
    }

    async fn stop(&mut self) -> TaskEnd {
        self.0.begin_stop();
        self.0.outcome().await
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        // Does nothing if it has ended.
        self.0.begin_stop();
    }
}

/// What is needed to end a job, even after a panic.
pub(super) struct EndOfJob {
    pub(super) report: Report,
    pub(super) status: JobStatus,
    pub(super) errors: Vec<String>,
    /// Whether it ends because the server stops.
    pub(super) is_interrupted: bool,
    /// Moves it to the ended jobs; `None` once that is done.
    pub(super) finish: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl EndOfJob {
    /// Assumes a panic: status and errors are replaced at a regular end.
    pub(super) fn new(report: Report, finish: impl FnOnce() + Send + Sync + 'static) -> Self {
        let errors = vec!["internal error".to_owned()];
        Self {
            report,
            status: JobStatus::Failed,
            errors,
            is_interrupted: false,
            finish: Some(Box::new(finish)),
        }
    }
}

impl Conclude for EndOfJob {
    fn conclude(&mut self) {
        for error in self.errors.drain(..) {
            self.report.error(error);
        }
        if self.is_interrupted {
            self.report.interrupted();
        }
        self.report.end(self.status);
        if let Some(finish) = self.finish.take() {
            finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicBool, Ordering};

    use store::fold::JobNote;
    use store::live::{LiveLog, LiveSettings, LiveShared, ReaderKey};
    use wire::{Budget, JobId, JobResponse, Spent, TaskId};

    use super::*;
    use crate::job::record::Record;
    use crate::running::Handle;

    #[tokio::test(start_paused = true)]
    async fn a_job_that_panics_still_tells_its_end() {
        let id = JobId::generate();
        let shared = LiveShared::new(LiveSettings::default());
        let log = LiveLog::<JobResponse>::prepare(shared, id.into());
        log.begin(&JobNote::Started {
            name: "job".to_owned(),
            folder: String::new(),
            input: String::new(),
            work: None,
            entry: None,
            permissions: None,
            budget: Budget::default(),
        });
        let handle = Handle::new(CancellationToken::new());
        let meter = Arc::new(Meter::new(Budget::default(), Spent::default()));
        let record = Arc::new(Record::new(id, log.clone(), meter, handle));
        let report = Report { record: record.clone(), log: log.clone() };
        let finished = Arc::new(AtomicBool::new(false));
        let noted = finished.clone();
        let end = EndOfJob::new(report, move || noted.store(true, Ordering::Relaxed));
        let end = record.handle.ending(end);
        let job = tokio::spawn(async move {
            end.report.work_started(3, TaskId::generate());
            panic!("on purpose");
        });
        assert!(job.await.is_err_and(|error| error.is_panic()));

        record.handle.ended().await;
        assert!(finished.load(Ordering::Relaxed));
        let status = record.status(BTreeSet::new()).expect("it is kept");
        assert_eq!(status.status, JobStatus::Failed);
        assert_eq!(status.tasks[0].task_id, None);
        let reader = ReaderKey::Token("t".parse().expect("a token"));
        let told = log.poll(reader).await.expect("responses");
        let told: Vec<JobResponse> = told
            .entries()
            .iter()
            .map(|json| serde_json::from_str(json).expect("a response"))
            .collect();
        assert_eq!(
            told[1..],
            [
                JobResponse::Error { message: "internal error".to_owned() },
                JobResponse::WorkStopped { work_id: 3, succeeded: false },
                JobResponse::JobFailed,
            ]
        );
    }
}
