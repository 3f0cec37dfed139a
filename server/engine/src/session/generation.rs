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
        let rename = |id: &mut String| *id = format!("{}/{id}", self.0 + 1);
        match &mut event {
            AgentEvent::TurnStart { turn_id } | AgentEvent::TurnEnd { turn_id } => rename(turn_id),
            AgentEvent::TextStart { id, .. }
            | AgentEvent::TextDelta { id, .. }
            | AgentEvent::TextEnd { id, .. } => rename(id),
            AgentEvent::ToolStart { call_id, parent_call_id, .. } => {
                rename(call_id);
                parent_call_id.iter_mut().for_each(rename);
            }
            AgentEvent::ToolOutput { call_id, .. } | AgentEvent::ToolEnd { call_id, .. } => {
                rename(call_id);
            }
            AgentEvent::Usage { .. }
            | AgentEvent::Extensions(_)
            | AgentEvent::Error { .. }
            | AgentEvent::Crashed { .. } => {}
        }
        event
    }
}
