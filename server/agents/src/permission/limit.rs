//! Modes that only get stricter while a server runs.

use std::sync::Arc;

use tokio::sync::watch;
use wire::PermissionMode;

/// The most permissive mode that desks may have. Clones share it; it only ever gets stricter.
///
/// A desk checks it on each use, and a change wakes the questions that wait there. So narrowing
/// needs no list of desks.
#[derive(Clone, Debug)]
pub struct ModeLimit {
    mode: Arc<watch::Sender<PermissionMode>>,
    yields: bool,
}

impl ModeLimit {
    /// Limits nothing yet. Once narrowed, a desk keeps to it until somebody sets another mode there.
    pub fn yielding() -> Self {
        Self { yields: true, ..Self::default() }
    }

    /// The strictest mode that was asked for.
    pub fn get(&self) -> PermissionMode {
        *self.mode.borrow()
    }

    /// Makes the limit at least as strict as `mode`.
    pub fn narrow(&self, mode: PermissionMode) {
        self.mode.send_if_modified(|limit| {
            let before = std::mem::replace(limit, limit.stricter(mode));
            *limit != before
        });
    }

    /// Whether a mode that somebody sets after a narrowing may exceed the limit.
    pub(super) fn yields(&self) -> bool {
        self.yields
    }

    /// Reports every narrowing from now on.
    pub(super) fn changes(&self) -> watch::Receiver<PermissionMode> {
        self.mode.subscribe()
    }
}

impl Default for ModeLimit {
    /// Limits nothing yet. Once narrowed, it holds whatever mode is set at a desk.
    fn default() -> Self {
        Self { mode: Arc::new(watch::Sender::new(PermissionMode::ApproveAll)), yields: false }
    }
}

/// The mode of sessions and jobs that choose none. When it gets stricter, so do those that already
/// run with it.
#[derive(Debug)]
pub struct DefaultMode {
    initial: PermissionMode,
    limit: ModeLimit,
}

impl DefaultMode {
    /// A mode that was not narrowed yet, and the limit that narrowing it will change.
    pub fn new(initial: PermissionMode, limit: ModeLimit) -> Self {
        Self { initial, limit }
    }

    /// The mode for a session or job that starts now and chooses none.
    pub fn get(&self) -> PermissionMode {
        self.initial.stricter(self.limit.get())
    }

    /// The limit for sessions and jobs that chose no mode.
    pub fn limit(&self) -> ModeLimit {
        self.limit.clone()
    }

    /// Makes the default at least as strict as `mode`. If it already is, nobody is limited: modes
    /// that people chose stay as they are.
    pub fn narrow(&self, mode: PermissionMode) {
        let now = self.get();
        if now.stricter(mode) != now {
            self.limit.narrow(mode);
        }
    }
}
