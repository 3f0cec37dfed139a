//! What a simulated model remembers of its conversation, as facts.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::contract::{AgentEvent, AgentEvents, TextKind};
use crate::facts::FactFold;

/// Shared by a conversation and the listener for its events.
pub(super) type Memory = Arc<Mutex<FactFold>>;

/// Records all reported events in `memory`, and passes them on.
pub(super) fn remember(events: AgentEvents, memory: Memory) -> AgentEvents {
    AgentEvents::new(move |event| {
        note(&mut memory.lock(), &event);
        events.emit(event);
    })
}

fn note(memory: &mut FactFold, event: &AgentEvent) {
    match event {
        AgentEvent::TurnStart { .. } => memory.round(),
        AgentEvent::TextDelta { kind: TextKind::Message, id, delta } => memory.add_text(id, delta),
        AgentEvent::TextEnd { kind: TextKind::Message, id, content } => {
            memory.end_message(id, content.as_deref());
        }
        AgentEvent::ToolStart { call_id, name, arguments, .. } => {
            memory.start_call(call_id, name, arguments.clone());
        }
        AgentEvent::ToolEnd { call_id, outcome } => memory.end_call(call_id, outcome.clone()),
        _ => {}
    }
}
