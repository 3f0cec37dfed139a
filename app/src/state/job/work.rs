//! A work of a job on a page: how it stands, and the tabs of its last run.

use wire::{SessionId, TaskId, Usage, WorkStatus};

use super::standing::Standing;
use super::tab::Tab;
use super::time::{Millis, Span};

/// The source number of a task's decisions in a tab. Driving sessions follow it.
pub(super) const DECISIONS: usize = 0;

/// A work and its last run.
pub(crate) struct Work<T> {
    pub(crate) status: Option<WorkStatus>,
    pub(super) standing: Standing,
    pub(crate) span: Span,
    /// What the last status said about it.
    pub(super) known: Option<Known>,
    /// Usage of its last ended run, according to the last status.
    pub(super) told: Usage,
    /// How often its last ended run was tried, according to the last status that knows.
    pub(super) told_attempts: Option<u32>,
    /// Its runs, the first one first. A loop runs a work once in each iteration.
    pub(super) rounds: Vec<TaskId>,
    pub(super) run: Option<Run<T>>,
}

#[derive(Clone, Copy)]
pub(super) struct Known {
    /// The run, if it was under way.
    pub(super) task: Option<TaskId>,
    pub(super) span: Span,
}

/// The tabs of a work's run.
pub(super) struct Run<T> {
    pub(super) task: TaskId,
    /// Whether it has sent any response.
    pub(super) is_heard: bool,
    pub(super) driving: T,
    /// The number of its driving sessions.
    pub(super) drivers: usize,
    pub(super) attempts: Vec<T>,
    pub(super) sessions: Vec<SessionId>,
}

impl<T> Default for Work<T> {
    fn default() -> Self {
        Self {
            status: None,
            standing: Standing::default(),
            span: Span::default(),
            known: None,
            told: Usage::default(),
            told_attempts: None,
            rounds: Vec::new(),
            run: None,
        }
    }
}

impl<T: Tab> Work<T> {
    /// The run that is shown.
    pub(crate) fn task(&self) -> Option<TaskId> {
        self.run.as_ref().map(|run| run.task)
    }

    /// All of its runs that are known, the first one first.
    pub(crate) fn rounds(&self) -> &[TaskId] {
        &self.rounds
    }

    pub(super) fn add_round(&mut self, task: TaskId) {
        if !self.rounds.contains(&task) {
            self.rounds.push(task);
        }
    }

    /// The number of task sessions.
    pub(crate) fn attempts(&self) -> usize {
        self.run.as_ref().map_or(0, |run| run.attempts.len())
    }

    /// How often its last run was tried, as far as that is known. One that ended before the page came
    /// is not told live.
    pub(crate) fn known_attempts(&self) -> Option<u32> {
        let heard = self.run.as_ref().filter(|run| run.is_heard);
        let heard = heard.map(|run| u32::try_from(run.attempts.len()).unwrap_or(u32::MAX));
        let runs = self.status == Some(WorkStatus::Running);
        heard.max(self.told_attempts).or(runs.then_some(0))
    }

    /// The content of a tab: the driving one first, then the attempts.
    pub(crate) fn tab(&self, index: usize) -> Option<&T> {
        let run = self.run.as_ref()?;
        index.checked_sub(1).map_or(Some(&run.driving), |attempt| run.attempts.get(attempt))
    }

    pub(super) fn run_of(&mut self, task: TaskId) -> Option<&mut Run<T>> {
        self.run.as_mut().filter(|run| run.task == task)
    }

    /// A live response says how a run stands. While they repeat what the last status knows, the
    /// status knows better. Returns whether that is outdated now.
    pub(super) fn set_status(&mut self, status: WorkStatus, replays: bool) -> bool {
        self.status = Some(status);
        let is_known = replays && self.known.is_some();
        if !is_known {
            self.standing.change(status);
        }
        !is_known
    }

    /// After live responses have repeated what the last status knew: takes over what has started or
    /// stopped since.
    pub(super) fn catch_up(&mut self) {
        let Some(status) = self.status else { return };
        if (status == WorkStatus::Running) != self.standing.is_running() {
            self.standing.change(status);
        }
    }

    /// According to the status a run had ended, but this one continues: so it began since.
    pub(super) fn doubt_start(&mut self, now: Millis) {
        let has_ended = self.known.is_some_and(|known| known.span.end.is_some());
        if self.status == Some(WorkStatus::Running) && has_ended {
            self.span.start = Some(now);
            self.told_attempts = None;
        }
    }
}

impl<T: Tab> Run<T> {
    /// Assigns a tab and a source number to a new session.
    pub(super) fn open_session(&mut self, is_driving: bool) -> (T, usize) {
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
