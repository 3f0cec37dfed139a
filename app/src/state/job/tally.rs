//! Usage and pending permission requests of a job's sessions. Separate from tabs, because the usage
//! of an earlier run still counts although its tabs are gone.

use std::collections::HashMap;

use wire::{PermissionId, SessionId, SessionResponse, Timed, Usage};

/// The tally of each session.
#[derive(Default)]
pub(super) struct Tallies(HashMap<SessionId, Tally>);

#[derive(Default)]
struct Tally {
    usage: Usage,
    waiting: Vec<PermissionId>,
}

impl Tallies {
    /// Processes responses of a session. Returns whether anything changed here.
    pub(super) fn take(&mut self, id: SessionId, responses: &[Timed<SessionResponse>]) -> bool {
        let mut changed = false;
        for Timed { response, .. } in responses {
            match response {
                SessionResponse::Usage { usage, .. } => {
                    self.0.entry(id).or_default().usage += *usage;
                }
                SessionResponse::PermissionRequest(asked) => {
                    self.0.entry(id).or_default().waiting.push(asked.id);
                }
                SessionResponse::PermissionResolved { request_id, .. } => {
                    let tally = self.0.entry(id).or_default();
                    tally.waiting.retain(|waiting| waiting != request_id);
                }
                _ => continue,
            }
            changed = true;
        }
        changed
    }

    /// A session has ended, and with it its pending permission requests.
    pub(super) fn end(&mut self, id: SessionId) {
        if let Some(tally) = self.0.get_mut(&id) {
            tally.waiting.clear();
        }
    }

    /// The usage of all sessions together.
    pub(super) fn usage(&self) -> Usage {
        sum(self.0.values())
    }

    /// The usage of some sessions.
    pub(super) fn usage_of(&self, ids: &[SessionId]) -> Usage {
        sum(ids.iter().filter_map(|id| self.0.get(id)))
    }

    /// Whether one of them has a pending permission request.
    pub(super) fn asks(&self, ids: &[SessionId]) -> bool {
        ids.iter().any(|id| self.0.get(id).is_some_and(|tally| !tally.waiting.is_empty()))
    }
}

/// The usage with more tokens.
pub(super) fn larger(one: Usage, other: Usage) -> Usage {
    let tokens = |usage: &Usage| usage.input_tokens.saturating_add(usage.output_tokens);
    if tokens(&other) > tokens(&one) { other } else { one }
}

fn sum<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Usage {
    tallies.fold(Usage::default(), |mut sum, tally| {
        sum += tally.usage;
        sum
    })
}
