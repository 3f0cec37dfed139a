//! Sessions that nobody uses: their agents are freed.
//!
//! ```text
//!   open, with an agent ── idle for long ──▶ dormant: only its log, or nothing but what is stored
//!            ▲─────────── find: resumed ────────┘
//! ```

use std::sync::{Arc, Weak};
use std::time::Duration;

use wire::SessionId;

use super::handle::{OpenSessions, Session};
use super::opening::Dormant;

/// Parks one session.
pub(super) struct Parking {
    pub(super) id: SessionId,
    /// How long the session has to be idle.
    pub(super) after: Duration,
    pub(super) open: Weak<OpenSessions>,
    pub(super) dormant: Arc<Dormant>,
}

impl Parking {
    /// Makes the session dormant. False if somebody uses it; then it stays as it is.
    pub(super) fn park(&self) -> bool {
        let Some(open) = self.open.upgrade() else { return false };
        // Before it leaves the open ones, so that it is always found among one or the other.
        self.dormant.add(self.id);
        let is_parked = open.remove_unused(self.id, Session::close_if_unused);
        if is_parked {
            tracing::info!(session = %self.id, "session parked");
        } else {
            self.dormant.remove(self.id);
        }
        is_parked
    }
}

impl Session {
    /// Refuses further prompts, if no prompt waits or runs and no question is open.
    fn close_if_unused(&self) -> bool {
        !self.has_questions() && self.queue.close_if_idle()
    }
}
