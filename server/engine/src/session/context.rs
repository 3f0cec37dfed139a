//! What was said in a session and in those that it continues.
//!
//! ```text
//!   closed ◄── continued_from ── closed ◄── continued_from ── the session
//!      └─ facts ─────────────────── facts ────────────────────── facts ──► one PastConversation
//! ```

use agents::Fact;
use store::fold::{SessionFold, Stored, load};
use store::journal::{Journal, StoreError};
use wire::{SessionId, SessionResponse};

/// The conversation of a session, from the beginning of the first one that it continues.
pub(super) struct Context {
    /// The fold of the session itself.
    pub(super) fold: SessionFold,
    /// Everything that was said and done, in order.
    pub(super) facts: Vec<Fact>,
    /// Whether one of the sessions before is no longer kept.
    pub(super) is_truncated: bool,
}

impl Context {
    /// Reads the context of a session; `None` if it is unknown.
    pub(super) async fn read(
        journal: &dyn Journal,
        id: SessionId,
    ) -> Result<Option<Self>, StoreError> {
        let Some(stored) = load_session(journal, id).await? else { return Ok(None) };
        // The latest session first.
        let mut parts = vec![facts(&stored)];
        let mut before = stored.fold.continued_from();
        while let Some(id) = before {
            let Some(stored) = load_session(journal, id).await? else { break };
            parts.push(facts(&stored));
            before = stored.fold.continued_from();
        }
        Ok(Some(Self {
            fold: stored.fold,
            facts: parts.into_iter().rev().flatten().collect(),
            is_truncated: before.is_some(),
        }))
    }

    /// How often the conversation was replaced by a new one. Ids of a conversation are counted from
    /// its facts, so one that has lost some of them counts as a new one.
    pub(super) fn replaced(&self) -> u32 {
        self.fold.replaced() + u32::from(self.is_truncated)
    }
}

async fn load_session(
    journal: &dyn Journal,
    id: SessionId,
) -> Result<Option<Stored<SessionFold>>, StoreError> {
    load::<SessionResponse, SessionFold>(journal, id.into()).await
}

fn facts(stored: &Stored<SessionFold>) -> Vec<Fact> {
    let responses = stored.facts.iter();
    // We wrote them, so they parse unless a newer version added their kind.
    let responses = responses.filter_map(|fact| serde_json::from_str(&fact.json).ok());
    Fact::from_responses(&responses.collect::<Vec<SessionResponse>>())
}
