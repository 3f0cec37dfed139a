//! The entities that have a stream.

use std::fmt;
use std::str::FromStr;

use wire::{EntityKind, JobId, LiveId, SessionId, TaskId};

/// Identifies a stream by what it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Entity {
    Session(SessionId),
    Task(TaskId),
    Job(JobId),
    /// The portal itself, which has no kind and is in no list.
    Portal,
}

const PORTAL: &str = "portal";

impl Entity {
    /// What sort of thing it is; `None` for the portal.
    pub fn kind(self) -> Option<EntityKind> {
        match self {
            Self::Session(_) => Some(EntityKind::Session),
            Self::Task(_) => Some(EntityKind::Task),
            Self::Job(_) => Some(EntityKind::Job),
            Self::Portal => None,
        }
    }
}

impl From<SessionId> for Entity {
    fn from(id: SessionId) -> Self {
        Self::Session(id)
    }
}

impl From<TaskId> for Entity {
    fn from(id: TaskId) -> Self {
        Self::Task(id)
    }
}

impl From<JobId> for Entity {
    fn from(id: JobId) -> Self {
        Self::Job(id)
    }
}

impl From<LiveId> for Entity {
    fn from(id: LiveId) -> Self {
        match id {
            LiveId::Session(id) => Self::Session(id),
            LiveId::Task(id) => Self::Task(id),
            LiveId::Job(id) => Self::Job(id),
        }
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(id) => fmt::Display::fmt(id, f),
            Self::Task(id) => fmt::Display::fmt(id, f),
            Self::Job(id) => fmt::Display::fmt(id, f),
            Self::Portal => f.write_str(PORTAL),
        }
    }
}

/// The text is not the id of any kind of entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a session, a task or a job")]
pub struct ParseEntityError;

impl FromStr for Entity {
    type Err = ParseEntityError;

    fn from_str(text: &str) -> Result<Self, ParseEntityError> {
        if text == PORTAL {
            return Ok(Self::Portal);
        }
        text.parse::<LiveId>().map(Self::from).map_err(|_| ParseEntityError)
    }
}
