//! Modes that only get stricter while a server runs.

use std::sync::Arc;

use tokio::sync::watch;
use wire::PermissionMode;

/// A mode that desks do not go beyond. Clones share it; it only ever gets stricter.
///
/// A desk looks at it whenever it is used, and questions that wait there are woken by a change. So
/// narrowing needs no list of desks.
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

    /// Makes it as strict as `mode`, if it is not yet.
    pub fn narrow(&self, mode: PermissionMode) {
        self.mode.send_if_modified(|limit| {
            let before = std::mem::replace(limit, limit.stricter(mode));
            *limit != before
        });
    }

    /// Whether a mode that somebody sets after a narrowing counts as it is.
    pub(super) fn yields(&self) -> bool {
        self.yields
    }

    /// Tells of every narrowing from now on.
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

/// The mode of those who choose none. When it gets stricter, those who have it already follow.
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

    /// The mode of those who choose none now.
    pub fn get(&self) -> PermissionMode {
        self.initial.stricter(self.limit.get())
    }

    /// The limit of those who chose none.
    pub fn limit(&self) -> ModeLimit {
        self.limit.clone()
    }

    /// Makes it as strict as `mode`. If it is already, nobody is limited: modes that people chose
    /// stay as they are.
    pub fn narrow(&self, mode: PermissionMode) {
        let now = self.get();
        if now.stricter(mode) != now {
            self.limit.narrow(mode);
        }
    }
}
