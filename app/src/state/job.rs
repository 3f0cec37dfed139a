//! Converts responses of a job, its tasks and their sessions to the status of each work and the
//! content of its tabs.
//!
//! ```text
//!   job ─ workStarted ─► task ─ taskSessionStarted ─► session     each adds to what is followed
//!    │                    │                              │
//!    └─► status, times    └─► tabs, decisions            └─► blocks in its tab
//! ```
//!
//! Tabs order their content by the times of the responses, in whatever order they arrive.
//!
//! A work that starts again begins anew: the content of its previous run is dropped.

mod tally;
mod time;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use wire::{
    ErrorName, JobId, JobResponse, JobStatus, JobStatusReply, LiveBatch, LiveId, LiveItem,
    LiveReply, SessionId, SessionResponse, TaskId, TaskResponse, Timed, Usage, WorkStatus,
};

use tally::Tallies;
pub(crate) use time::{Millis, Span};

/// Limit of ids in one call; the rest follows later.
const MAX_IDS: usize = 500;

/// The source number of a task's decisions in a tab. Driving sessions follow it.
const DECISIONS: usize = 0;

/// The content of a tab. Its sessions, and the task's decisions, are numbered sources.
pub(crate) trait Tab: Clone {
    /// An empty tab; the task may already be running.
    fn new(task_runs: bool) -> Self;
    /// Adds responses of a session.
    fn take_session(&self, source: usize, responses: Vec<Timed<SessionResponse>>);
    /// A session has ended.
    fn end_session(&self, source: usize);
    /// Adds a response of the task.
    fn take_task(&self, source: usize, id: TaskId, response: Timed<TaskResponse>);
    /// The task has ended.
    fn end_task(&self);
    /// Frees the content: the tab will not be shown again.
    fn forget(&self);
}

/// The state of a run of a job.
pub(crate) struct JobState<T> {
    id: JobId,
    /// The status of the job, once it is known.
    pub(crate) status: Option<JobStatus>,
    /// The name of the job, once it is known.
    pub(crate) name: Option<String>,
    pub(crate) span: Span,
    /// Errors that the job reported.
    pub(crate) errors: Vec<String>,
    works: BTreeMap<u32, Work<T>>,
    /// The works of followed tasks, without those of earlier runs.
    tasks: HashMap<TaskId, u32>,
    /// The tab and source number of each session.
    sessions: HashMap<SessionId, (T, usize)>,
    tallies: Tallies,
    /// Usage of the sessions that had ended, according to the last status.
    told: Usage,
    /// Everything that was not read to its end.
    open: Vec<LiveId>,
    /// Whether the job's next responses happened before the last status, whose times apply then.
    replays: bool,
}

/// A work and its last run.
pub(crate) struct Work<T> {
    pub(crate) status: Option<WorkStatus>,
    pub(crate) span: Span,
    /// What the last status said about it.
    known: Option<Known>,
    /// Usage of its last ended run, according to the last status.
    told: Usage,
    run: Option<Run<T>>,
}

#[derive(Clone, Copy)]
struct Known {
    /// The run, if it was under way.
    task: Option<TaskId>,
    span: Span,
}

/// The tabs of a work's run.
struct Run<T> {
    task: TaskId,
    /// Whether it has sent any response.
    is_heard: bool,
    driving: T,
    /// The number of its driving sessions.
    drivers: usize,
    attempts: Vec<T>,
    sessions: Vec<SessionId>,
}

impl<T> Default for Work<T> {
    fn default() -> Self {
        Self { status: None, span: Span::default(), known: None, told: Usage::default(), run: None }
    }
}

impl<T: Tab> JobState<T> {
    /// The initial state, with nothing known.
    pub(crate) fn new(id: JobId) -> Self {
        Self {
            id,
            status: None,
            name: None,
            span: Span::default(),
            errors: Vec::new(),
            works: BTreeMap::new(),
            tasks: HashMap::new(),
            sessions: HashMap::new(),
            tallies: Tallies::default(),
            told: Usage::default(),
            open: vec![LiveId::Job(id)],
            replays: true,
        }
    }

    /// The job's id, for its status.
    pub(crate) fn id(&self) -> JobId {
        self.id
    }

    /// A work, if it was ever started.
    pub(crate) fn work(&self, id: u32) -> Option<&Work<T>> {
        self.works.get(&id)
    }

    /// How many works have ended, and how many are running.
    pub(crate) fn progress(&self) -> (usize, usize) {
        let started = self.works.values().filter(|work| work.status.is_some()).count();
        let is_running = |work: &&Work<T>| work.status == Some(WorkStatus::Running);
        let running = self.works.values().filter(is_running).count();
        (started - running, running)
    }

    /// The usage of its sessions. A page opened late cannot read all of them, and the server only
    /// reports those that have ended, so this is whichever is larger.
    pub(crate) fn usage(&self) -> Usage {
        tally::larger(self.tallies.usage(), self.told)
    }

    /// The usage of the sessions in a work's last run.
    pub(crate) fn usage_of(&self, work: u32) -> Usage {
        let Some(work) = self.works.get(&work) else { return Usage::default() };
        let heard = work.run.as_ref().map(|run| self.tallies.usage_of(&run.sessions));
        tally::larger(heard.unwrap_or_default(), work.told)
    }

    /// The first work with a pending permission request.
    pub(crate) fn asking(&self) -> Option<u32> {
        let asks =
            |work: &Work<T>| work.run.as_ref().is_some_and(|run| self.tallies.asks(&run.sessions));
        self.works.iter().find(|(_, work)| asks(work)).map(|(id, _)| *id)
    }

    /// The ids for the next call; none once everything was read.
    pub(crate) fn open_ids(&self) -> &[LiveId] {
        &self.open[..self.open.len().min(MAX_IDS)]
    }

    /// Processes a fresh status of the job. `parse` reads the server's times.
    pub(crate) fn take_status(
        &mut self,
        reply: JobStatusReply,
        now: Millis,
        parse: impl Fn(&str) -> Option<Millis>,
    ) {
        let server_now = parse(&reply.server_time).unwrap_or(now);
        // The clocks of server and browser may differ.
        let here = |time: &str| parse(time).map(|time| time + now - server_now);
        let span = |start: &str, end: Option<String>| Span {
            start: here(start),
            end: end.as_deref().and_then(here),
        };
        self.replays = true;
        self.status = Some(reply.status);
        self.name = Some(reply.job_name);
        self.told = reply.usage;
        self.span = span(&reply.start_time, reply.end_time);
        for task in reply.tasks {
            let work = self.works.entry(task.work_id_in_job).or_default();
            work.status = Some(task.status);
            work.span = span(&task.start_time, task.end_time);
            work.told = task.usage;
            work.known = Some(Known { task: task.task_id, span: work.span });
        }
    }

    /// Processes an answer. Returns whether anything changed except tab contents; the error is one
    /// that does not mean the end of something.
    pub(crate) fn take(&mut self, batch: LiveBatch, now: Millis) -> Result<bool, ErrorName> {
        let (mut changed, mut failure) = (false, None);
        for item in batch.live {
            changed |= !matches!(item, LiveItem::Session(_, LiveReply::Responses { .. }));
            let id = item.id();
            let error = match item {
                LiveItem::Session(id, LiveReply::Responses { responses }) => {
                    changed |= self.tallies.take(id, &responses);
                    if let Some((tab, source)) = self.sessions.get(&id) {
                        tab.take_session(*source, responses);
                    }
                    continue;
                }
                LiveItem::Task(id, LiveReply::Responses { responses }) => {
                    self.take_task(id, responses);
                    continue;
                }
                LiveItem::Job(_, LiveReply::Responses { responses }) => {
                    self.take_job(responses, now);
                    continue;
                }
                LiveItem::Inbox(_) => continue,
                LiveItem::Session(_, LiveReply::Error(reply))
                | LiveItem::Task(_, LiveReply::Error(reply))
                | LiveItem::Job(_, LiveReply::Error(reply)) => reply.error,
            };
            if is_end(error) {
                self.close(id);
            } else {
                failure = Some(error);
            }
        }
        failure.map_or(Ok(changed), Err)
    }

    fn take_job(&mut self, responses: Vec<Timed<JobResponse>>, now: Millis) {
        for Timed { response, .. } in responses {
            match response {
                JobResponse::WorkStarted { work_id, task_id } => {
                    self.start_work(work_id, task_id, now);
                }
                JobResponse::WorkStopped { work_id, succeeded } => {
                    self.stop_work(work_id, succeeded, now);
                }
                JobResponse::JobSucceeded => self.end(JobStatus::Succeeded, now),
                JobResponse::JobFailed => self.end(JobStatus::Failed, now),
                JobResponse::JobCanceled => self.end(JobStatus::Canceled, now),
                JobResponse::Error { message } => self.errors.push(message),
            }
        }
        if std::mem::take(&mut self.replays) {
            for work in self.works.values_mut() {
                work.doubt_start(now);
            }
        }
    }

    fn start_work(&mut self, work_id: u32, task: TaskId, now: Millis) {
        let work = self.works.entry(work_id).or_default();
        let known = work
            .known
            .filter(|known| self.replays && known.task.is_none_or(|running| running == task));
        let start = known.and_then(|known| known.span.start).unwrap_or(now);
        work.status = Some(WorkStatus::Running);
        work.span = Span { start: Some(start), end: None };
        let run = Run {
            task,
            is_heard: false,
            driving: T::new(true),
            drivers: 0,
            attempts: Vec::new(),
            sessions: Vec::new(),
        };
        if !self.replays {
            work.told = Usage::default();
        }
        if let Some(before) = work.run.replace(run) {
            self.forget(&before);
        }
        self.tasks.insert(task, work_id);
        self.open.push(LiveId::Task(task));
    }

    /// Its sessions are still read to their end, but their content is dropped.
    fn forget(&mut self, run: &Run<T>) {
        run.driving.forget();
        run.attempts.iter().for_each(Tab::forget);
        self.tasks.remove(&run.task);
        self.sessions.retain(|id, _| !run.sessions.contains(id));
        if !run.is_heard {
            self.open.retain(|id| *id != LiveId::Task(run.task));
        }
    }

    fn stop_work(&mut self, work_id: u32, succeeded: bool, now: Millis) {
        let work = self.works.entry(work_id).or_default();
        let known = work.known.filter(|_| self.replays);
        work.span.end = known.and_then(|known| known.span.end).or(Some(now));
        work.status = Some(if succeeded { WorkStatus::Succeeded } else { WorkStatus::Failed });
        if let Some(run) = &work.run {
            run.driving.end_task();
        }
    }

    fn end(&mut self, status: JobStatus, now: Millis) {
        self.status = Some(status);
        self.span.end = self.span.end.or(Some(now));
    }

    fn take_task(&mut self, id: TaskId, responses: Vec<Timed<TaskResponse>>) {
        let work = self.tasks.get(&id).and_then(|work| self.works.get_mut(work));
        let Some(run) = work.and_then(|work| work.run_of(id)) else { return };
        run.is_heard = true;
        for Timed { at, response } in responses {
            match response {
                TaskResponse::TaskSessionStarted { session_id, is_driving } => {
                    self.sessions.entry(session_id).or_insert_with(|| {
                        self.open.push(LiveId::Session(session_id));
                        run.sessions.push(session_id);
                        run.open_session(is_driving)
                    });
                }
                TaskResponse::TaskSessionStopped { session_id, .. } => {
                    self.tallies.end(session_id);
                    if let Some((tab, source)) = self.sessions.get(&session_id) {
                        tab.end_session(*source);
                    }
                }
                TaskResponse::TaskSucceeded | TaskResponse::TaskFailed => run.driving.end_task(),
                said => run.driving.take_task(DECISIONS, id, Timed { at, response: said }),
            }
        }
    }

    /// Something was read to its end.
    fn close(&mut self, id: LiveId) {
        self.open.retain(|open| *open != id);
        match id {
            LiveId::Session(id) => {
                self.tallies.end(id);
                if let Some((tab, source)) = self.sessions.get(&id) {
                    tab.end_session(*source);
                }
            }
            LiveId::Task(id) => {
                let work = self.tasks.remove(&id).and_then(|work| self.works.get_mut(&work));
                if let Some(run) = work.and_then(|work| work.run_of(id)) {
                    run.driving.end_task();
                }
            }
            LiveId::Job(_) | LiveId::Inbox => {}
        }
    }
}

impl<T: Tab> Work<T> {
    /// The run that is shown.
    pub(crate) fn task(&self) -> Option<TaskId> {
        self.run.as_ref().map(|run| run.task)
    }

    /// The number of task sessions.
    pub(crate) fn attempts(&self) -> usize {
        self.run.as_ref().map_or(0, |run| run.attempts.len())
    }

    /// The content of a tab: the driving one first, then the attempts.
    pub(crate) fn tab(&self, index: usize) -> Option<&T> {
        let run = self.run.as_ref()?;
        index.checked_sub(1).map_or(Some(&run.driving), |attempt| run.attempts.get(attempt))
    }

    fn run_of(&mut self, task: TaskId) -> Option<&mut Run<T>> {
        self.run.as_mut().filter(|run| run.task == task)
    }

    /// According to the status a run had ended, but this one continues: so it began since.
    fn doubt_start(&mut self, now: Millis) {
        let has_ended = self.known.is_some_and(|known| known.span.end.is_some());
        if self.status == Some(WorkStatus::Running) && has_ended {
            self.span.start = Some(now);
        }
    }
}

impl<T: Tab> Run<T> {
    /// Assigns a tab and a source number to a new session.
    fn open_session(&mut self, is_driving: bool) -> (T, usize) {
        if is_driving {
            self.drivers += 1;
            (self.driving.clone(), DECISIONS + self.drivers)
        } else {
            let tab = T::new(false);
            self.attempts.push(tab.clone());
            (tab, 0)
        }
    }
}

/// Whether an error only means that there is nothing more to read of an entity.
pub(super) fn is_end(error: ErrorName) -> bool {
    use ErrorName as E;
    matches!(
        error,
        E::SessionClosed
            | E::SessionNotFound
            | E::TaskClosed
            | E::TaskNotFound
            | E::JobsClosed
            | E::JobNotFound
    )
}
