//! A session that is being opened: a new one, or a stored one.

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
use super::stream::Stream;
use crate::budget::Meter;

/// What is known of a session before its agent starts.
pub(super) struct Opening {
    pub(super) id: SessionId,
    pub(super) found: Found,
    /// The model as the client named it; `found` has the provider's own name for it.
    pub(super) model_id: String,
    pub(super) folder: PathBuf,
    pub(super) options: StartOptions,
    pub(super) log: Arc<LiveLog<SessionResponse>>,
    pub(super) origin: Origin,
}

/// What a client decides about a new session.
pub(super) struct NewSession<'a> {
    pub(super) found: Found,
    /// The model as the client named it.
    pub(super) model_id: &'a str,
    pub(super) folder: PathBuf,
    pub(super) options: StartOptions,
}

/// The closed session that a new one continues.
pub(super) struct Earlier {
    pub(super) id: SessionId,
    /// Its conversation, and those of the sessions that it continued.
    pub(super) past: PastConversation,
    /// How often that was replaced by a new one, because it could not be resumed.
    pub(super) replaced: u32,
}

/// Where a session comes from.
pub(super) struct Origin {
    /// The conversation to resume, if there was one.
    pub(super) past: Option<PastConversation>,
    /// How often that conversation was replaced by a new one, because it could not be resumed.
    pub(super) replaced: u32,
    /// Whether the session is new or restored.
    pub(super) beginning: Beginning,
    /// Counts what it uses.
    pub(super) meter: Arc<Meter>,
}

/// Whether a session is new or restored.
pub(super) enum Beginning {
    /// A new session, with the note that begins its stream.
    New(SessionNote),
    /// A session that was open when the server stopped.
    Kept(Box<SessionFold>),
}

impl Origin {
    /// Writes the first note of a new session, or restores the questions and the queue of a stored one.
    pub(super) fn begin(&self, log: &LiveLog<SessionResponse>, stream: &Stream, queue: &Queue) {
        match &self.beginning {
            Beginning::New(note) => log.begin(note),
            Beginning::Kept(fold) => {
                if self.replaced > fold.replaced() {
                    log.note(&SessionNote::Handle { handle: None });
                }
                if fold.queue().any(|prompt| prompt.task.is_some()) {
                    log.note(&SessionNote::DroppedPrompts);
                }
                stream.set_interrupted(fold.questions().clone());
                queue.restore(fold);
            }
        }
    }
}

/// The open sessions whose logs are loaded but whose agents are not running. Each has a lock, which
/// keeps its agent from being resumed twice.
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
