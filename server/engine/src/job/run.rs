//! The future that runs a job: it runs the tasks that the plan starts, until the plan is decided.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use agents::permission::{SessionPermissions, WorkOfJob};
use futures_util::stream::{FuturesUnordered, StreamExt};
use platform::lifecycle::Lifecycle;
use store::fold::{Canceler, INTERRUPTED, WorkEnd};
use tokio_util::sync::CancellationToken;
use wire::entry::{Entry, OnInterrupted, TaskRef};
use wire::{FailureCause, JobStatus, TaskId, Usage};

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
    /// What happens to works that were running when the server stopped.
    pub(super) on_interrupted: OnInterrupted,
    pub(super) past: Past,
    pub(super) tasks: Arc<TaskManager>,
    pub(super) places: Places,
    pub(super) lifecycle: Lifecycle,
    /// Whether the job goes on after a restart.
    pub(super) is_lasting: bool,
}

/// What has happened in a run before it begins: nothing in a new one.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    /// The results so far, in their order.
    pub(super) results: Vec<WorkStopped>,
    /// The tasks that were running when the server stopped, by their works.
    pub(super) interrupted: HashMap<u32, TaskId>,
    /// What was going to end the job when the server stopped.
    pub(super) doom: Option<Doom>,
}

/// The end of a job that was not stored before the server stopped, but that follows from what was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Doom {
    pub(super) status: JobStatus,
    pub(super) error: Option<String>,
    /// The work that crashed or was cut off.
    pub(super) crashed: Option<u32>,
    pub(super) is_interrupted: bool,
}

/// How a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// It has ended.
    Ended(JobStatus),
    /// Only the server stops: it goes on after the restart.
    Suspended,
}

impl JobRun {
    /// Runs the job. All its tasks are dropped before its end is reported.
    pub(super) async fn run(self, mut end: Ending<EndOfJob>) {
        let running = self.meter.run();
        let mut errors = Vec::new();
        let work = &self.entry.jobs[&self.name].work;
        let mut is_interrupted = false;
        let over = match Plan::replay(work, self.past.results.iter().copied()) {
            Ok(plan) => {
                let works = work.task_refs().into_iter().map(|work| (work.work_id_in_job, work));
                let mut execution = Execution {
                    run: &self,
                    report: &end.report,
                    works: works.collect(),
                    queue: self.places.queue(),
                    running: FuturesUnordered::new(),
                    interrupted: self.past.interrupted.clone(),
                    exits: Exits::default(),
                    crashed: None,
                    is_interrupted: false,
                    errors: &mut errors,
                };
                let over = match &self.past.doom {
                    Some(doom) => execution.meet(doom),
                    None => execution.go(plan).await,
                };
                match over {
                    Over::Ended(_) => execution.halt().await,
                    Over::Suspended => execution.suspend().await,
                }
                is_interrupted = execution.is_interrupted;
                over
            }
            Err(error) => {
                errors.push(error.to_string());
                Over::Ended(JobStatus::Failed)
            }
        };
        // Before the end is reported, which closes the log.
        drop(running);
        end.over = over;
        end.errors = errors;
        let is_canceled = over == Over::Ended(JobStatus::Canceled);
        end.is_interrupted = is_interrupted || is_canceled && self.lifecycle.is_ending();
    }
}

/// The state of a running job.
struct Execution<'a> {
    run: &'a JobRun,
    report: &'a Report,
    works: HashMap<u32, TaskRef<'a>>,
    queue: PlaceQueue<u32>,
    running: FuturesUnordered<Pin<Box<dyn Future<Output = StoppedTask> + Send>>>,
    /// The tasks that were running when the server stopped, and are not taken up yet.
    interrupted: HashMap<u32, TaskId>,
    exits: Exits,
    /// The first work that crashed, which is why the others are stopped.
    crashed: Option<u32>,
    /// Whether it fails because the server had stopped.
    is_interrupted: bool,
    /// Why the job could not continue.
    errors: &'a mut Vec<String>,
}

impl Execution<'_> {
    /// Follows the plan until it is decided, or the job is stopped or crashes. Tasks may still be
    /// running then.
    async fn go(&mut self, mut plan: Plan) -> Over {
        if let Some(succeeded) = plan.decided() {
            return decided(succeeded);
        }
        // Those that were running have had a place before.
        let (before, new): (Vec<_>, Vec<_>) =
            plan.running().partition(|work| self.interrupted.contains_key(work));
        self.enqueue(before.into_iter().chain(new));
        let stop = self.report.record.handle.stopping().clone();
        // Nothing is done for a job that the store may forget.
        match stop.run_until_cancelled(self.report.log.durable()).await {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                self.errors.push(error.to_string());
                return Over::Ended(JobStatus::Failed);
            }
            None => return self.stopped(),
        }
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return self.stopped(),
                Some(stopped) = self.running.next() => {
                    if stopped.end == TaskEnd::Suspended && self.stopped() == Over::Suspended {
                        return Over::Suspended;
                    }
                    let stop = self.settle(stopped);
                    // At shutdown, a task may stop before its job is told to.
                    if !stop.succeeded && self.run.lifecycle.is_ending() {
                        return Over::Ended(JobStatus::Canceled);
                    }
                    if !self.errors.is_empty() {
                        return Over::Ended(JobStatus::Failed);
                    }
                    match plan.apply(stop) {
                        Ok(Next::Start(works)) => self.enqueue(works),
                        Ok(Next::Decided(succeeded)) => return decided(succeeded),
                        Err(error) => {
                            self.errors.push(error.to_string());
                            return Over::Ended(JobStatus::Failed);
                        }
                    }
                }
                (work_id, place) = self.queue.next() => {
                    if let Err(error) = self.start(work_id, place) {
                        self.errors.push(error);
                        return Over::Ended(JobStatus::Failed);
                    }
                }
            }
        }
    }

    /// Goes on with what was going to end the job when the server stopped.
    fn meet(&mut self, doom: &Doom) -> Over {
        for (work_id, task_id) in std::mem::take(&mut self.interrupted) {
            if let Some(managed) = self.managed(work_id) {
                self.take_up(work_id, task_id, managed, None);
            }
        }
        self.errors.extend(doom.error.clone());
        self.crashed = doom.crashed;
        self.is_interrupted = doom.is_interrupted;
        Over::Ended(doom.status)
    }

    /// What a stop means: the end of the job, or only its suspension.
    fn stopped(&self) -> Over {
        let handle = &self.report.record.handle;
        // A task may notice the end of the server first.
        let is_suspended = handle.is_suspended() || !handle.stopping().is_cancelled();
        if self.run.is_lasting && is_suspended {
            return Over::Suspended;
        }
        Over::Ended(JobStatus::Canceled)
    }

    fn enqueue(&mut self, works: impl IntoIterator<Item = u32>) {
        for work_id in works {
            self.report.record.enqueue(work_id);
            self.queue.push(work_id);
        }
    }

    fn start(&mut self, work_id: u32, place: Place) -> Result<(), String> {
        let managed = self.managed(work_id).ok_or("a work without a task")?;
        if let Some(task_id) = self.interrupted.remove(&work_id) {
            self.report.record.dequeue(work_id);
            self.take_up(work_id, task_id, managed, Some(place));
            return Ok(());
        }
        let name = managed.name.clone();
        // Before anything happens in the task, so that a restart finds it.
        let announce = |task_id| self.report.work_started(work_id, task_id);
        let task = self.run.tasks.start_managed(managed, announce);
        let task = StopOnDrop(task.map_err(|error| format!("{name}: {error}"))?);
        self.running.push(Box::pin(task.follow(work_id, Some(place), self.exits.clone())));
        Ok(())
    }

    /// What the task of a work is started with.
    fn managed(&self, work_id: u32) -> Option<ManagedTask> {
        let work = self.works.get(&work_id)?;
        let record = self.report.record.clone();
        Some(ManagedTask {
            entry: self.run.entry.clone(),
            name: work.task_id.to_owned(),
            model_override: work.model_override.cloned(),
            working_directory: self.run.working_directory.clone(),
            permissions: self.run.permissions.clone(),
            work: Some(WorkOfJob { job: self.report.record.id, work_id }),
            user_input: self.run.user_input.clone(),
            job_meter: Some(self.run.meter.clone()),
            on_interrupted: self.run.on_interrupted,
            on_recovery: Some(Box::new(move |recovery| record.recovered(work_id, recovery))),
        })
    }

    /// Lets a task go on that was running when the server stopped.
    fn take_up(&self, work_id: u32, task_id: TaskId, managed: ManagedTask, place: Option<Place>) {
        let (tasks, exits) = (self.run.tasks.clone(), self.exits.clone());
        self.running.push(Box::pin(async move {
            match tasks.take_up_managed(task_id, managed).await {
                Ok(task) => StopOnDrop(task).follow(work_id, place, exits).await,
                Err(error) => {
                    tracing::error!(task = %task_id, %error, "a task was not taken up");
                    let end = TaskEnd::Crashed(FailureCause::Internal);
                    let usage = Usage::default();
                    StoppedTask { work_id, end, usage, attempts: None, _place: place }
                }
            }
        }));
    }

    /// Reports the end of a task, and frees its place.
    fn settle(&mut self, stopped: StoppedTask) -> WorkStopped {
        let StoppedTask { work_id, end, usage, attempts, _place } = stopped;
        if let TaskEnd::Crashed(cause) = &end {
            let name = self.works.get(&work_id).map_or("", |work| work.task_id);
            self.errors.push(explain_crash(name, work_id, cause));
            self.crashed.get_or_insert(work_id);
        }
        if end == TaskEnd::Interrupted {
            self.errors.push(INTERRUPTED.to_owned());
            self.crashed.get_or_insert(work_id);
            self.is_interrupted = true;
        }
        let end = self.work_end(end);
        let succeeded = end.is_none();
        self.report.work_stopped(work_id, end, usage, attempts);
        WorkStopped { work_id, succeeded }
    }

    /// Why a work did not succeed; `None` if it did.
    fn work_end(&self, end: TaskEnd) -> Option<WorkEnd> {
        Some(match end {
            TaskEnd::Succeeded => return None,
            TaskEnd::Failed(cause) | TaskEnd::Crashed(cause) => WorkEnd::Failed { cause },
            TaskEnd::Interrupted => WorkEnd::Interrupted,
            TaskEnd::Stopped if self.run.lifecycle.is_ending() && !self.run.is_lasting => {
                WorkEnd::Interrupted
            }
            TaskEnd::Stopped | TaskEnd::Suspended => {
                let by = match self.crashed {
                    Some(work_id) => Canceler::Crash { work_id },
                    None if self.exits.halt.is_cancelled() => Canceler::Job,
                    None => Canceler::User,
                };
                WorkEnd::Canceled { by }
            }
        })
    }

    /// Stops the running tasks and waits for them.
    async fn halt(&mut self) {
        self.exits.halt.cancel();
        while let Some(stopped) = self.running.next().await {
            self.settle(stopped);
        }
    }

    /// Waits until the running tasks are suspended. Nothing is reported: they go on.
    async fn suspend(&mut self) {
        self.exits.suspend.cancel();
        while self.running.next().await.is_some() {}
    }
}

/// Why a job failed whose task crashed.
pub(super) fn explain_crash(name: &str, work_id: u32, cause: &FailureCause) -> String {
    format!("task `{name}` (work {work_id}): {cause}")
}

fn decided(succeeded: bool) -> Over {
    Over::Ended(if succeeded { JobStatus::Succeeded } else { JobStatus::Failed })
}

/// A task that is stopped with its job, even if that panics.
struct StopOnDrop(RunningTask);

struct StoppedTask {
    work_id: u32,
    end: TaskEnd,
    usage: Usage,
    /// `None` if that is not known.
    attempts: Option<u32>,
    _place: Option<Place>,
}

/// Cancelled to end the running tasks.
#[derive(Clone, Default)]
struct Exits {
    /// To stop them.
    halt: CancellationToken,
    /// To let them stop with the server.
    suspend: CancellationToken,
}

impl StopOnDrop {
    async fn follow(mut self, work_id: u32, place: Option<Place>, exits: Exits) -> StoppedTask {
        tokio::select! {
            biased;
            () = exits.halt.cancelled() => self.0.begin_stop(),
            () = exits.suspend.cancelled() => self.0.suspend(),
            () = self.0.ended() => {}
        }
        let end = self.0.outcome().await;
        let (usage, attempts) = (self.0.usage(), self.0.attempts());
        StoppedTask { work_id, end, usage, attempts, _place: place }
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
    pub(super) over: Over,
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
            over: Over::Ended(JobStatus::Failed),
            errors,
            is_interrupted: false,
            finish: Some(Box::new(finish)),
        }
    }
}

impl Conclude for EndOfJob {
    fn conclude(&mut self) {
        let Over::Ended(status) = self.over else { return };
        self.report.end(status, std::mem::take(&mut self.errors), self.is_interrupted);
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
