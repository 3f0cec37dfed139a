//! Ids that stay unique in a session whose conversation was replaced by a new one.

use agents::AgentEvent;

/// How many conversations the session had before this one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Generation(pub(super) u32);

impl Generation {
    /// Prefixes the event's ids, because every conversation of the session counts from 1.
    pub(super) fn apply(self, mut event: AgentEvent) -> AgentEvent {
        if self.0 == 0 {
            return event;
        }
        event.rename_ids(|id| *id = format!("{}/{id}", self.0 + 1));
        event
    }
}
