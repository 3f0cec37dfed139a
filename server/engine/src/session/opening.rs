//! A session on its way to be opened: a new one, or one that is kept.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use agents::{Found, PastConversation};
use parking_lot::Mutex;
use store::fold::{SessionFold, SessionNote};
use store::live::LiveLog;
use wire::{SessionId, SessionResponse};

use super::StartOptions;
use super::queue::Queue;

/// A session that is about to be opened.
pub(super) struct Opening {
    pub(super) id: SessionId,
    pub(super) found: Found,
    /// As it was asked for.
    pub(super) model_id: String,
    pub(super) folder: PathBuf,
    pub(super) options: StartOptions,
    pub(super) log: Arc<LiveLog<SessionResponse>>,
    pub(super) origin: Origin,
}

/// Where a session comes from.
pub(super) enum Origin {
    /// It is started now, as the note says.
    New(SessionNote),
    /// It was open when the server stopped.
    Kept(Box<Kept>),
}

/// A session that is kept.
pub(super) struct Kept {
    pub(super) fold: SessionFold,
    pub(super) past: PastConversation,
}

impl Origin {
    /// What was said before.
    pub(super) fn past(&self) -> Option<PastConversation> {
        match self {
            Self::New(_) => None,
            Self::Kept(kept) => Some(kept.past.clone()),
        }
    }

    /// How often its conversation was replaced by a new one.
    pub(super) fn replaced(&self) -> u32 {
        match self {
            Self::New(_) => 0,
            Self::Kept(kept) => kept.fold.replaced(),
        }
    }

    /// The session begins, or goes on with the prompts that waited.
    pub(super) fn begin(&self, log: &LiveLog<SessionResponse>, queue: &Queue) {
        match self {
            Self::New(note) => log.begin(note),
            Self::Kept(kept) => queue.restore(kept.fold.queue()),
        }
    }
}

/// The sessions whose logs were read and that have no agent. Each has a lock, which keeps its agent
/// from being resumed twice.
#[derive(Default)]
pub(super) struct Dormant(Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>>);

impl Dormant {
    pub(super) fn add(&self, id: SessionId) {
        self.0.lock().entry(id).or_default();
    }

    pub(super) fn get(&self, id: SessionId) -> Option<Arc<tokio::sync::Mutex<()>>> {
        self.0.lock().get(&id).cloned()
    }

    pub(super) fn remove(&self, id: SessionId) {
        self.0.lock().remove(&id);
    }
}
