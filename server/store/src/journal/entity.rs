//! The entities that have a stream.

use std::fmt;
use std::str::FromStr;

use wire::{EntityKind, JobId, PermissionId, SessionId, TaskId};

/// Identifies a stream by what it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Entity {
    Session(SessionId),
    Task(TaskId),
    Job(JobId),
    /// Something that was asked of a person. Has lists of its own.
    Question(PermissionId),
    /// The portal itself, which is in no list.
    Portal,
}

const PORTAL: &str = "portal";
/// The kind of questions, as it is stored and queried.
const QUESTION: &str = "question";

impl Entity {
    /// What sort of thing it is; `None` for what the history does not list.
    pub fn kind(self) -> Option<EntityKind> {
        match self {
            Self::Session(_) => Some(EntityKind::Session),
            Self::Task(_) => Some(EntityKind::Task),
            Self::Job(_) => Some(EntityKind::Job),
            Self::Question(_) | Self::Portal => None,
        }
    }

    /// The kind as it is stored; `None` for what is in no list at all.
    pub(super) fn stored_kind(self) -> Option<&'static str> {
        match self {
            Self::Question(_) => Some(QUESTION),
            other => other.kind().map(EntityKind::as_str),
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

impl From<PermissionId> for Entity {
    fn from(id: PermissionId) -> Self {
        Self::Question(id)
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(id) => fmt::Display::fmt(id, f),
            Self::Task(id) => fmt::Display::fmt(id, f),
            Self::Job(id) => fmt::Display::fmt(id, f),
            Self::Question(id) => fmt::Display::fmt(id, f),
            Self::Portal => f.write_str(PORTAL),
        }
    }
}

/// The text is not the id of any kind of entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a session, a task, a job or a question")]
pub struct ParseEntityError;

impl FromStr for Entity {
    type Err = ParseEntityError;

    fn from_str(text: &str) -> Result<Self, ParseEntityError> {
        let entity = if text == PORTAL {
            Ok(Self::Portal)
        } else if text.starts_with(SessionId::PREFIX) {
            text.parse().map(Self::Session)
        } else if text.starts_with(TaskId::PREFIX) {
            text.parse().map(Self::Task)
        } else if text.starts_with(JobId::PREFIX) {
            text.parse().map(Self::Job)
        } else {
            text.parse().map(Self::Question)
        };
        entity.map_err(|_| ParseEntityError)
    }
}
