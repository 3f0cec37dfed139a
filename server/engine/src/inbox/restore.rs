//! What waited when the server stopped.

use std::collections::HashMap;
use std::sync::Arc;

use store::fold::{QuestionFold, SessionFold, Stored, load, refold};
use store::journal::{Entity, OpenEntities, StoreError};
use wire::{
    InboxDecision, InboxItem, InboxKind, InboxResponse, SessionId, SessionResponse, TaskId,
};

use super::{Inbox, Open, Settlement};

impl Inbox {
    /// Takes up what waited when the server stopped, under the same ids. What nobody waits for any
    /// more is withdrawn. Called after the recovery, which closes the sessions of tasks.
    pub(crate) async fn restore(&self) -> Result<(), StoreError> {
        let journal = &**self.shared.journal();
        let mut sessions = HashMap::<SessionId, Option<SessionFold>>::new();
        let mut open = OpenEntities::questions(journal);
        while let Some(page) = open.next().await? {
            for (entity, _) in page {
                let Entity::Question(id) = entity else { continue };
                let stored = load::<InboxResponse, QuestionFold>(journal, entity).await?;
                let Some(Stored { fold, facts, notes }) = stored else { continue };
                let Some(item) = fold.item().cloned() else { continue };
                if let Some(session) = item.session_id
                    && !sessions.contains_key(&session)
                {
                    let stored = refold::<SessionResponse, _>(journal, session.into()).await?;
                    sessions.insert(session, stored);
                }
                let session = item.session_id.and_then(|id| sessions.get(&id)?.as_ref());
                let still_waits = if item.is_about_work() {
                    self.is_open(item.task_id).await?
                } else {
                    still_waits(&item, session)
                };
                let item = InboxItem { kind: kind_after_restart(item.kind), ..item };
                let shown = InboxResponse::InboxAdded(Box::new(item.clone()));
                let (item, facts) = (Arc::new(item), facts.len() as u64);
                let open = Open { item, fold, facts, notes, is_shown: true };
                self.open.lock().insert(id, open);
                if still_waits {
                    self.board.push(&shown);
                } else {
                    self.settle(id, Settlement::by_portal(InboxDecision::Withdrawn));
                }
            }
        }
        Ok(())
    }

    /// Whether a task has not ended.
    async fn is_open(&self, task: Option<TaskId>) -> Result<bool, StoreError> {
        let Some(task) = task else { return Ok(false) };
        let record = self.shared.journal().record(task.into()).await?;
        Ok(record.is_some_and(|(record, ..)| record.ended_at.is_none()))
    }

    /// Adds something that was asked before the server stopped and that is not in the inbox: the
    /// server was killed before it was stored here, or after its end was stored here alone. Returns
    /// when it is durable, and thus listed.
    pub(crate) async fn adopt(&self, item: InboxItem) -> Result<(), StoreError> {
        let stored = self.shared.journal().record(item.id.into()).await?;
        let (facts, notes) = stored.map_or((0, 0), |(_, facts, notes)| (facts, notes));
        self.add(item, facts, notes);
        self.durable().await
    }
}

/// Whether anybody still waits for the answer.
fn still_waits(item: &InboxItem, session: Option<&SessionFold>) -> bool {
    match item.kind {
        InboxKind::Permission | InboxKind::Question | InboxKind::Interrupted => {
            session.is_some_and(|session| session.questions().contains_key(&item.id))
        }
        InboxKind::Budget | InboxKind::Conflict => {
            item.session_id.is_none() || session.is_some_and(|session| !session.is_ended())
        }
    }
}

/// The turn that asked is over.
fn kind_after_restart(kind: InboxKind) -> InboxKind {
    match kind {
        InboxKind::Permission | InboxKind::Question => InboxKind::Interrupted,
        other => other,
    }
}
