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

mod lineage;
mod questions;
mod standing;
mod status;
mod tab;
mod tally;
mod time;
mod verdicts;
mod work;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use wire::{
    Budget, Decision, EntityState, ErrorName, InboxItem, JobId, JobResponse, JobStatus, LiveBatch,
    LiveId, LiveItem, LiveReply, SessionId, Spent, TaskId, TaskResponse, Timed, Usage, WorkState,
    WorkStatus,
};

pub(crate) use lineage::Lineage;
use questions::Questions;
pub use standing::Past;
pub(crate) use standing::{Standing, describe_progress};
pub(crate) use tab::Tab;
use tally::Tallies;
pub(crate) use time::{Millis, Span};
pub(crate) use verdicts::Judged;
use verdicts::Verdicts;
pub(crate) use work::Work;
use work::{DECISIONS, Run};

/// Limit of ids in one call; the rest follows later.
const MAX_IDS: usize = 500;

/// The state of a run of a job.
pub(crate) struct JobState<T> {
    id: JobId,
    /// The status of the job, once it is known.
    pub(crate) status: Option<JobStatus>,
    /// The finer state of the job; running while it waits for a person, which follows from its works.
    state: Option<EntityState>,
    /// Why the job is in its state.
    reason: Option<String>,
    /// The work that the reason is about.
    fault: Option<u32>,
    /// Whether live responses went beyond what the last status says.
    is_outdated: bool,
    verdicts: Verdicts,
    /// The name of the job, once it is known.
    pub(crate) name: Option<String>,
    pub(crate) lineage: Lineage,
    pub(crate) span: Span,
    /// Errors that the job reported.
    pub(crate) errors: Vec<String>,
    works: BTreeMap<u32, Work<T>>,
    /// The works of followed tasks, without those of earlier runs.
    tasks: HashMap<TaskId, u32>,
    /// The tab and source number of each session.
    sessions: HashMap<SessionId, (T, usize)>,
    /// Sessions that have sent nothing yet.
    silent: Vec<SessionId>,
    /// Those of them that were over before they could be read.
    missed: Vec<SessionId>,
    tallies: Tallies,
    questions: Questions,
    /// Usage of the sessions that had ended, according to the last status.
    told: Usage,
    /// How much all works may use together.
    pub(crate) budget: Budget,
    /// How much of that was used, as the server said last.
    pub(crate) spent: Spent,
    /// Everything that was not read to its end.
    open: Vec<LiveId>,
    /// Whether the job's next responses happened before the last status, whose times apply then.
    replays: bool,
}

impl<T: Tab> JobState<T> {
    /// The initial state, with nothing known.
    pub(crate) fn new(id: JobId) -> Self {
        Self {
            id,
            status: None,
            state: None,
            reason: None,
            fault: None,
            is_outdated: false,
            verdicts: Verdicts::default(),
            name: None,
            lineage: Lineage::default(),
            span: Span::default(),
            errors: Vec::new(),
            works: BTreeMap::new(),
            tasks: HashMap::new(),
            sessions: HashMap::new(),
            silent: Vec::new(),
            missed: Vec::new(),
            tallies: Tallies::default(),
            questions: Questions::default(),
            told: Usage::default(),
            budget: Budget::default(),
            spent: Spent::default(),
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

    /// How a work stands.
    pub(crate) fn standing(&self, id: u32) -> Standing {
        let Some(work) = self.works.get(&id) else { return Standing::default() };
        let standing = work.standing.clone();
        if standing.is_running() && self.asks(work) {
            return Standing { state: WorkState::Waiting, ..standing };
        }
        standing
    }

    /// Whether the job has ended, as far as known.
    pub(crate) fn has_ended(&self) -> bool {
        self.status.is_some_and(|status| status != JobStatus::Running)
    }

    /// Whether something is left that a retry would run.
    pub(crate) fn can_retry(&self) -> bool {
        self.has_ended() && self.status != Some(JobStatus::Succeeded)
    }

    /// Whether a retry can begin with a work.
    pub(crate) fn can_retry_from(&self, work: u32) -> bool {
        self.has_ended() && self.standing(work).has_run()
    }

    /// The state of every work that is known.
    pub(crate) fn states(&self) -> Vec<WorkState> {
        self.works.keys().map(|id| self.standing(*id).state).collect()
    }

    /// The state of the job, once it is known.
    pub(crate) fn state(&self) -> Option<EntityState> {
        match self.state {
            Some(EntityState::Running) if self.asking().is_some() => Some(EntityState::Waiting),
            state => state,
        }
    }

    /// Why the job is in its state, and the work that this is about.
    pub(crate) fn reason(&self) -> Option<(String, Option<u32>)> {
        self.reason.clone().map(|reason| (reason, self.fault))
    }

    /// The verdicts on all works, in the order in which they were given.
    pub(crate) fn verdicts(&self) -> &[Judged] {
        self.verdicts.all()
    }

    /// Whether live responses went beyond the last status since this was called last.
    pub(crate) fn take_outdated(&mut self) -> bool {
        std::mem::take(&mut self.is_outdated)
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

    /// The works that wait for a person.
    pub(crate) fn all_asking(&self) -> Vec<u32> {
        let asking = self.works.iter().filter(|(_, work)| self.asks(work));
        asking.map(|(id, _)| *id).collect()
    }

    /// The first work that waits for a person.
    pub(crate) fn asking(&self) -> Option<u32> {
        self.works.iter().find(|(_, work)| self.asks(work)).map(|(id, _)| *id)
    }

    fn asks(&self, work: &Work<T>) -> bool {
        let sessions_ask = |run: &Run<T>| self.tallies.asks(&run.sessions);
        work.standing.is_asked_about() || work.run.as_ref().is_some_and(sessions_ask)
    }

    /// What people are asked about an interrupted work, other than by its sessions.
    pub(crate) fn questions_about(&self, work: u32) -> Vec<InboxItem> {
        let asked = self.works.get(&work).filter(|work| work.standing.is_asked_about());
        asked.map(|_| self.questions.of(work).cloned().collect()).unwrap_or_default()
    }

    /// The latest run of a work, if it ended before the page came: it is no longer told live, only
    /// stored.
    pub(crate) fn stored_run(&self, id: u32) -> Option<TaskId> {
        let work = self.works.get(&id)?;
        match &work.run {
            Some(run) if run.is_heard || self.tasks.contains_key(&run.task) => None,
            _ => work.rounds.last().copied(),
        }
    }

    /// Takes the sessions that were over before they could be read, each with its tab and source
    /// number there: what they said is stored.
    pub(crate) fn take_missed(&mut self) -> Vec<(SessionId, T, usize)> {
        let missed = std::mem::take(&mut self.missed);
        let known = missed.into_iter().filter_map(|id| {
            let (tab, source) = self.sessions.get(&id)?;
            Some((id, tab.clone(), *source))
        });
        known.collect()
    }

    /// Whether the server no longer tells the runs of an ended job, which have to be read from what is
    /// stored.
    pub(crate) fn lacks_runs(&self) -> bool {
        self.is_read() && self.works.values().all(|work| work.run.is_none())
    }

    /// Takes the stored responses of an ended job that is no longer told live. Its works stand as the
    /// status says.
    pub(crate) fn take_stored(&mut self, responses: Vec<JobResponse>) {
        for response in responses {
            match response {
                JobResponse::WorkStarted { work_id, task_id } => {
                    self.works.entry(work_id).or_default().add_round(task_id);
                }
                JobResponse::Error { message } => self.errors.push(message),
                _ => {}
            }
        }
    }

    /// Whether everything was read.
    pub(crate) fn is_read(&self) -> bool {
        self.open.is_empty()
    }

    /// The ids for the next call; none once everything was read.
    pub(crate) fn open_ids(&self) -> Vec<LiveId> {
        self.open[..self.open.len().min(MAX_IDS)].to_vec()
    }

    /// Whether the inbox may have a question about an interrupted work.
    pub(crate) fn may_be_asked(&self) -> bool {
        !self.is_read() && self.works.values().any(|work| work.standing.is_asked_about())
    }

    /// Takes what the inbox lists now. Returns whether it changed anything.
    pub(crate) fn take_questions(&mut self, items: &[InboxItem]) -> bool {
        let (has_changed, is_settled) = self.questions.take(self.id, items);
        // The answer decides how the work goes on.
        self.is_outdated |= is_settled;
        has_changed
    }

    /// Takes the stored verdicts.
    pub(crate) fn take_verdicts(&mut self, stored: Vec<wire::WorkVerdict>) {
        self.verdicts.take_stored(stored);
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
                    self.silent.retain(|silent| *silent != id);
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
                LiveItem::Inbox(_) | LiveItem::Alive(_) => continue,
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
                work.catch_up();
            }
            // They may have gone beyond the last status.
            self.is_outdated |= self.status == Some(JobStatus::Running);
        }
    }

    fn start_work(&mut self, work_id: u32, task: TaskId, now: Millis) {
        let work = self.works.entry(work_id).or_default();
        work.add_round(task);
        let known = work
            .known
            .filter(|known| self.replays && known.task.is_none_or(|running| running == task));
        let start = known.and_then(|known| known.span.start).unwrap_or(now);
        work.set_status(WorkStatus::Running, self.replays);
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
            work.told_attempts = None;
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
        let status = if succeeded { WorkStatus::Succeeded } else { WorkStatus::Failed };
        self.is_outdated |= work.set_status(status, self.replays);
        if let Some(run) = &work.run {
            run.driving.end_task();
        }
    }

    fn end(&mut self, status: JobStatus, now: Millis) {
        self.status = Some(status);
        self.span.end = self.span.end.or(Some(now));
        // An earlier status may have said so, and more.
        if matches!(self.state, None | Some(EntityState::Running | EntityState::Waiting)) {
            self.state = Some(match status {
                JobStatus::Running => EntityState::Running,
                JobStatus::Succeeded => EntityState::Succeeded,
                JobStatus::Failed => EntityState::Failed,
                JobStatus::Canceled => EntityState::Canceled,
            });
            self.reason = None;
            self.is_outdated = true;
        }
    }

    fn take_task(&mut self, id: TaskId, responses: Vec<Timed<TaskResponse>>) {
        let Some(&work_id) = self.tasks.get(&id) else { return };
        let work = self.works.get_mut(&work_id);
        let Some(run) = work.and_then(|work| work.run_of(id)) else { return };
        run.is_heard = true;
        for Timed { at, response } in responses {
            match response {
                TaskResponse::TaskSessionStarted { session_id, is_driving } => {
                    self.sessions.entry(session_id).or_insert_with(|| {
                        run.sessions.push(session_id);
                        self.silent.push(session_id);
                        run.open_session(is_driving)
                    });
                    // One that goes on after a restart may have been read to its end before.
                    let id = LiveId::Session(session_id);
                    if !self.open.contains(&id) {
                        self.open.push(id);
                    }
                }
                TaskResponse::TaskSessionStopped { session_id, .. } => {
                    self.tallies.end(session_id);
                    if let Some((tab, source)) = self.sessions.get(&session_id) {
                        tab.end_session(*source);
                    }
                }
                TaskResponse::TaskSucceeded | TaskResponse::TaskFailed => run.driving.end_task(),
                TaskResponse::TaskVerdict(verdict) => {
                    self.verdicts.add(Judged { work: work_id, task: id, verdict });
                }
                said => {
                    // Only the status says what it means for the work.
                    self.is_outdated |= is_recovery(&said);
                    run.driving.take_task(DECISIONS, id, Timed { at, response: said });
                }
            }
        }
    }

    /// Something was read to its end.
    fn close(&mut self, id: LiveId) {
        self.open.retain(|open| *open != id);
        match id {
            LiveId::Session(id) => {
                self.tallies.end(id);
                if self.silent.contains(&id) {
                    self.missed.push(id);
                }
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
            LiveId::Job(_) | LiveId::Inbox | LiveId::Alive => {}
        }
    }
}

fn is_recovery(said: &TaskResponse) -> bool {
    let TaskResponse::TaskDecision { decision, .. } = said else { return false };
    matches!(decision, Decision::Interrupted { .. })
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
