//! What the program has acknowledged, which therefore must be there after a kill.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use std::sync::{Mutex, MutexGuard};

/// Everything that was acknowledged so far. Shared by all who use the program.
pub(super) struct Acknowledged {
    /// The folder in which the agents work.
    pub(super) folder: PathBuf,
    /// Counts what is sent, so that no two prompts or titles are the same.
    sent: AtomicU64,
    state: Mutex<State>,
    /// By the path of the session. Locked for the whole call, or nobody could tell which title was
    /// the last.
    pub(super) titles: Mutex<BTreeMap<String, String>>,
}

#[derive(Default)]
pub(super) struct State {
    /// By path.
    pub(super) sessions: BTreeMap<String, KnownSession>,
    /// Tasks in borrowed sessions, by id.
    pub(super) tasks: BTreeSet<String>,
    /// By id.
    pub(super) jobs: BTreeMap<String, KnownJob>,
    /// Questions that a reader has seen and nobody has answered: session and id.
    pub(super) questions: Vec<(String, String)>,
    /// Sessions that were used or read since the last check.
    pub(super) used: BTreeSet<String>,
}

#[derive(Clone, Default)]
pub(super) struct KnownSession {
    /// In the order in which they were acknowledged.
    pub(super) prompts: Vec<String>,
    /// Decisions by the ids of their questions.
    pub(super) answers: BTreeMap<String, String>,
    pub(super) stop: Stop,
}

#[derive(Clone, Default)]
pub(super) struct KnownJob {
    pub(super) stop: Stop,
    /// A check has found it ended.
    pub(super) has_ended: bool,
}

/// Whether somebody asked for the end of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stop {
    #[default]
    Never,
    /// It may have been stopped or not.
    Asked,
    Acknowledged,
}

impl Acknowledged {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            sent: AtomicU64::default(),
            state: Mutex::default(),
            titles: Mutex::default(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no user panics")
    }

    pub(super) fn next_number(&self) -> u64 {
        self.sent.fetch_add(1, Ordering::Relaxed)
    }

    /// Changes what is known of a session.
    pub(super) fn note(&self, session: &str, note: impl FnOnce(&mut KnownSession)) {
        let mut state = self.state();
        note(state.sessions.entry(session.to_owned()).or_default());
        state.used.insert(session.to_owned());
    }

    /// The sessions that nobody has asked to stop.
    pub(super) fn open_sessions(&self) -> Vec<String> {
        let state = self.state();
        let open = state.sessions.iter().filter(|(_, session)| session.stop == Stop::Never);
        open.map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn acknowledged_prompts(&self) -> usize {
        self.state().sessions.values().map(|session| session.prompts.len()).sum()
    }

    pub(super) fn summary(&self) -> String {
        let titles = self.titles.lock().expect("no user panics").len();
        let state = self.state();
        let answers: usize = state.sessions.values().map(|session| session.answers.len()).sum();
        let stopped = |stop: Stop| stop == Stop::Acknowledged;
        format!(
            "{} sessions ({} stopped), {titles} titles, {answers} answers, {} tasks, {} jobs ({} \
             stopped)",
            state.sessions.len(),
            state.sessions.values().filter(|session| stopped(session.stop)).count(),
            state.tasks.len(),
            state.jobs.len(),
            state.jobs.values().filter(|job| stopped(job.stop)).count(),
        )
    }
}
