//! A followed job as signals: its state, and the current time.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use web_sys::js_sys::Date;
use wire::{Budget, ErrorName, JobId, JobStatus, JobStatusReply, LiveBatch, LiveId, Spent};

use super::feed::Feed;
use super::inbox::InboxFeed;
use super::job::{JobState, Millis, Past, Span, Standing, Tab};
use super::outline::WorkFacts;
use crate::api::{self, ApiError};
use crate::live::{self, Next, Source};
use crate::poll::{Connection, back_off, sleep};
use crate::reactive::prelude::*;

/// How often a status is asked for that live responses went beyond, if the server can't be reached.
const STATUS_TRIES: u32 = 6;

/// How often to ask what was used of a budget.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What a page knows about a run of a job.
#[derive(Clone, Copy)]
pub(crate) struct Tracking {
    /// Notifies on everything except tab contents.
    pub(crate) job: RwSignal<JobState<Feed>>,
    pub(crate) connection: RwSignal<Connection>,
    /// The browser's clock; advances while something is running.
    now: RwSignal<Millis>,
}

impl Tracking {
    /// Follows a run until everything in it was read or the calling component is disposed.
    pub(crate) fn new(id: JobId) -> Self {
        let job = RwSignal::new(JobState::new(id));
        let connection = RwSignal::new(Connection::Connecting);
        let tracking = Self { job, connection, now: RwSignal::new(0) };
        let owner = Owner::current().unwrap_or_default();
        // Effects run in the browser only.
        Effect::new(move |_| {
            let is_asking = Rc::default();
            let tracker = Rc::new(Tracker { tracking, owner: owner.clone(), is_asking });
            tracker.clone().follow_questions();
            live::follow(tracker);
        });
        let runs = Memo::new(move |_| tracking.is_running());
        Effect::new(move |_| {
            if runs.get() {
                let tick = move || tracking.now.set(read_clock());
                if let Ok(interval) = set_interval_with_handle(tick, Duration::from_secs(1)) {
                    on_cleanup(move || interval.clear());
                }
            }
        });
        tracking.follow_budget(id, runs);
        tracking
    }

    /// Asks what was used of the budget, if there is one: again and again while the job runs, and once
    /// more when it has ended.
    fn follow_budget(self, id: JobId, runs: Memo<bool>) {
        let is_limited = Memo::new(move |_| self.job.with(|job| !job.budget.is_empty()));
        let look = move || {
            spawn_local(async move {
                if let Ok(reply) = api::job_status(id).await {
                    // The page may have been left in the meantime.
                    let _ = self.job.try_update(|job| job.spent = reply.spent);
                }
            });
        };
        Effect::new(move |_| {
            if !is_limited.get() {
                return;
            }
            if runs.get()
                && let Ok(interval) = set_interval_with_handle(look, LOOK_AGAIN)
            {
                on_cleanup(move || interval.clear());
            }
            look();
        });
    }

    /// What was used of the budget of all works.
    pub(crate) fn budget(self) -> (Budget, Spent) {
        self.job.with(|job| (job.budget, job.spent))
    }

    /// Whether the job is running, as far as known.
    pub(crate) fn is_running(self) -> bool {
        self.connection.with(|connection| *connection != Connection::NotFound)
            && self.job.with(|job| job.status == Some(JobStatus::Running))
    }

    /// The time, while something is running.
    pub(crate) fn now(self) -> Millis {
        self.now.get()
    }

    /// The first work that waits for a person.
    pub(crate) fn asking(self) -> Option<u32> {
        self.job.with(JobState::asking)
    }

    /// How a work stands.
    pub(crate) fn standing(self, work: u32) -> Standing {
        self.job.with(|job| job.standing(work))
    }

    /// How long a work has been running, or ran.
    pub(crate) fn work_elapsed(self, work: u32) -> Option<String> {
        self.elapsed(self.job.with(|job| job.work(work).map(|work| work.span))?)
    }

    /// How long the job has been running, or ran.
    pub(crate) fn job_elapsed(self) -> Option<String> {
        self.elapsed(self.job.with(|job| job.span))
    }

    fn elapsed(self, span: Span) -> Option<String> {
        span.elapsed(|| self.now.get())
    }
}

/// How a work stands, for the outline. What was carried over ran in another job.
pub(crate) fn facts<T: Tab>(job: &JobState<T>, id: u32) -> WorkFacts {
    let standing = job.standing(id);
    let Standing { state, past, .. } = standing;
    let Some(work) = job.work(id) else { return WorkFacts { state, ..WorkFacts::default() } };
    let is_carried = past == Some(Past::CarriedOver);
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    WorkFacts {
        state,
        span: if is_carried { Span::default() } else { work.span },
        rounds: count(work.rounds().len()),
        attempts: if is_carried || !standing.has_run() { Some(0) } else { work.known_attempts() },
    }
}

#[expect(clippy::cast_possible_truncation, reason = "whole milliseconds")]
fn read_clock() -> Millis {
    Date::now() as Millis
}

/// Parses a time of the server.
#[expect(clippy::cast_possible_truncation, reason = "whole milliseconds")]
fn read_time(text: &str) -> Option<Millis> {
    let time = Date::parse(text);
    (!time.is_nan()).then_some(time as Millis)
}

/// Follows the job, its tasks and their sessions.
struct Tracker {
    tracking: Tracking,
    /// Owns the signals of tabs.
    owner: Owner,
    /// Whether a status is being asked for.
    is_asking: Rc<Cell<bool>>,
}

impl Tracker {
    /// Asks for the status if live responses went beyond the last one: only the server knows why
    /// something did not succeed, and what was passed by.
    fn refresh_states(&self) {
        if self.is_asking.get() || !self.take_outdated() {
            return;
        }
        self.is_asking.set(true);
        let tracker = Self {
            tracking: self.tracking,
            owner: self.owner.clone(),
            is_asking: self.is_asking.clone(),
        };
        spawn_local(async move {
            tracker.ask_for_states().await;
            tracker.is_asking.set(false);
            // What has happened meanwhile may not be in it.
            tracker.refresh_states();
        });
    }

    /// False if the page was left.
    fn take_outdated(&self) -> bool {
        let outdated = self.tracking.job.try_update_untracked(JobState::take_outdated);
        outdated.unwrap_or_default()
    }

    async fn ask_for_states(&self) {
        let job = self.tracking.job;
        let Some(id) = job.try_with_untracked(JobState::id) else { return };
        for failures in 1..=STATUS_TRIES {
            match api::job_status(id).await {
                Ok(reply) => {
                    // The page may have been left.
                    let _ = job.try_update(|job| job.take_states(reply));
                    return;
                }
                Err(ApiError::Domain { .. }) => return,
                Err(_) => sleep(back_off(failures)).await,
            }
        }
    }

    /// Takes the questions about interrupted works from the inbox, while there may be any.
    fn follow_questions(self: Rc<Self>) {
        let job = self.tracking.job;
        let may_be_asked = Memo::new(move |_| job.with(JobState::may_be_asked));
        Effect::new(move |_| {
            if !may_be_asked.get() {
                return;
            }
            let asked = InboxFeed::new().items;
            let tracker = self.clone();
            Effect::new(move |_| {
                let take = |job: &mut JobState<Feed>| asked.with(|items| job.take_questions(items));
                if job.try_update_untracked(take) == Some(true) {
                    job.notify();
                }
                tracker.refresh_states();
            });
        });
    }

    /// Reads what sessions have said that were over before they could be followed.
    fn read_missed(&self) {
        let missed = self.tracking.job.try_update_untracked(JobState::take_missed);
        for (id, tab, source) in missed.unwrap_or_default() {
            spawn_local(async move {
                // Without it the tab shows the rest.
                let Ok(said) = api::stored::session(id).await else { return };
                if !tab.blocks.is_disposed() {
                    tab.take_session(source, said);
                    tab.end_session(source);
                }
            });
        }
    }

    /// Reads which runs the works had, if the job ended too long ago to be followed.
    fn read_stored(&self) {
        let job = self.tracking.job;
        if !job.with_untracked(JobState::lacks_runs) {
            return;
        }
        let id = job.with_untracked(JobState::id);
        spawn_local(async move {
            // Without them the page shows how the works stand.
            if let Ok(stored) = api::stored::job(id).await {
                let said = stored.into_iter().map(|timed| timed.response).collect();
                let _ = job.try_update(|job| job.take_stored(said));
            }
        });
    }

    /// Reads the verdicts that were given before the page came.
    fn read_verdicts(&self) {
        let job = self.tracking.job;
        let id = job.with_untracked(JobState::id);
        spawn_local(async move {
            // Without them the page shows those that arrive.
            if let Ok(reply) = api::job_verdicts(id).await {
                let _ = job.try_update(|job| job.take_verdicts(reply.verdicts));
            }
        });
    }
}

impl Source for Tracker {
    fn preface(&self) -> Option<String> {
        let id = self.tracking.job.with_untracked(JobState::id);
        Some(api::job_status_path(id))
    }

    fn take_preface(&self, answer: &str) -> Next {
        match api::accept::<JobStatusReply>(answer) {
            Ok(reply) => {
                let now = read_clock();
                self.tracking.now.set(now);
                self.tracking.job.update(|job| job.take_status(reply, now, read_time));
                self.read_verdicts();
                Next::Continue
            }
            Err(ApiError::Domain {
                name: ErrorName::JobNotFound | ErrorName::EntryNotInstalled,
                ..
            }) => Next::End(Connection::NotFound),
            Err(error) => Next::Retry(error),
        }
    }

    fn ids(&self) -> Vec<LiveId> {
        self.tracking.job.with_untracked(JobState::open_ids)
    }

    fn take(&self, batch: LiveBatch) -> Next {
        let now = read_clock();
        let Tracking { job, .. } = self.tracking;
        let taken = self.owner.with(|| job.try_update_untracked(|job| job.take(batch, now)));
        match taken {
            Some(Err(error)) => {
                job.notify();
                return Next::Retry(error.into());
            }
            Some(Ok(true)) => {
                self.tracking.now.set(now);
                job.notify();
            }
            _ => {}
        }
        self.refresh_states();
        self.read_missed();
        if job.with_untracked(JobState::is_read) {
            self.read_stored();
            return Next::End(Connection::Ended);
        }
        Next::Continue
    }

    fn tell(&self, connection: Connection) {
        let told = self.tracking.connection;
        if told.with_untracked(|told| *told != connection) {
            told.set(connection);
        }
    }
}
