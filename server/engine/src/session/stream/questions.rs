//! What a session asks people: in its own log, and in the inbox.

use std::collections::BTreeMap;

use agents::permission::{Answer, PermissionEvent};
use store::fold::OpenQuestion;
use wire::{PermissionId, PermissionOutcome, PermissionRequest, SessionResponse};

use super::{State, Stream};

impl Stream {
    /// Reports a permission request, or its answer.
    pub(in crate::session) fn permission(&self, event: PermissionEvent) {
        match event {
            PermissionEvent::Requested(asked) => {
                self.asking.ask(asked.question.id, &asked.question.request);
                self.log.push(&SessionResponse::PermissionRequest(asked.question));
            }
            PermissionEvent::Resolved { id, outcome, answer } => {
                self.resolve(id, outcome, answer.as_ref());
            }
        }
    }

    fn resolve(&self, id: PermissionId, outcome: PermissionOutcome, answer: Option<&Answer>) {
        self.log.push(&SessionResponse::PermissionResolved { request_id: id, decision: outcome });
        self.asking.settle(id, outcome, answer);
    }

    /// Asks whether the budget is to be raised, if it is used up. Returns whether it is.
    pub(in crate::session) fn check_budget(&self) -> bool {
        let reached = self.meter.used_up();
        if let Some(reached) = reached {
            self.asking.ask_for_budget(reached);
        }
        reached.is_some()
    }

    /// The budget was set on behalf of `by`: asks whether to raise it, or takes that question away.
    pub(in crate::session) fn budget_changed(&self, by: &str) {
        if !self.check_budget() {
            self.asking.settle_budget(by);
        }
    }

    /// Takes over the permission requests of a turn that was cut off.
    pub(in crate::session) fn set_interrupted(
        &self,
        questions: BTreeMap<PermissionId, OpenQuestion>,
    ) {
        self.state.lock().interrupted = questions;
    }

    /// The permission requests of a turn that was cut off, which still can be answered.
    pub(in crate::session) fn interrupted(&self) -> BTreeMap<PermissionId, OpenQuestion> {
        self.state.lock().interrupted.clone()
    }

    /// Ends such a request; `None` if it has ended before. Also returns whether it was the last one.
    pub(in crate::session) fn settle_interrupted(
        &self,
        id: PermissionId,
        outcome: PermissionOutcome,
        answer: Option<&Answer>,
    ) -> Option<(PermissionRequest, bool)> {
        let mut state = self.state.lock();
        let question = state.interrupted.remove(&id)?;
        self.resolve(id, outcome, answer);
        self.settled.notify_waiters();
        Some((question.request, state.interrupted.is_empty()))
    }

    /// Waits until no such request is left. Cancel safe.
    pub(in crate::session) async fn interrupted_settled(&self) {
        loop {
            // Before the look, or a change in between is missed.
            let mut settled = std::pin::pin!(self.settled.notified());
            settled.as_mut().enable();
            if self.state.lock().interrupted.is_empty() {
                return;
            }
            settled.await;
        }
    }

    /// Withdraws all such requests.
    pub(in crate::session) fn withdraw_interrupted(&self) {
        self.withdraw(&mut self.state.lock());
    }

    pub(super) fn withdraw(&self, state: &mut State) {
        for id in std::mem::take(&mut state.interrupted).into_keys() {
            self.resolve(id, PermissionOutcome::Withdrawn, None);
        }
        self.settled.notify_waiters();
    }
}
