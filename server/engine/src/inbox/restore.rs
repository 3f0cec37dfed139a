//! What waited when the server stopped.

use std::collections::HashMap;
use std::sync::Arc;

use store::fold::{QuestionFold, SessionFold, refold};
use store::journal::{Entity, OpenEntities, StoreError};
use wire::{InboxDecision, InboxItem, InboxKind, InboxResponse, SessionId, SessionResponse};

use super::{Inbox, Open, Settlement};

impl Inbox {
    /// Takes up what waited when the server stopped, under the same ids. What nobody waits for any
    /// more is withdrawn. Called after the recovery, which closes the sessions of tasks.
    pub async fn restore(&self) -> Result<(), StoreError> {
        let journal = &**self.shared.journal();
        let mut sessions = HashMap::<SessionId, Option<SessionFold>>::new();
        let mut open = OpenEntities::questions(journal);
        while let Some(page) = open.next().await? {
            for (entity, _) in page {
                let Entity::Question(id) = entity else { continue };
                let fold = refold::<InboxResponse, QuestionFold>(journal, entity).await?;
                let Some((fold, item)) =
                    fold.and_then(|fold| Some((fold.clone(), fold.item()?.clone())))
                else {
                    continue;
                };
                if let Some(session) = item.session_id
                    && !sessions.contains_key(&session)
                {
                    let stored = refold::<SessionResponse, _>(journal, session.into()).await?;
                    sessions.insert(session, stored);
                }
                let session = item.session_id.and_then(|id| sessions.get(&id)?.as_ref());
                let still_waits = still_waits(&item, session);
                let item = InboxItem { kind: kind_after_restart(item.kind), ..item };
                let shown = InboxResponse::InboxAdded(Box::new(item.clone()));
                let open = Open { item: Arc::new(item), fold, is_shown: true };
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
