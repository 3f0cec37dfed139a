//! The id of anything that can be followed.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer};

use crate::json::{FromJson, Value};
use crate::{JobId, SessionId, TaskId};

/// Names anything that has live responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum LiveId {
    Session(SessionId),
    Task(TaskId),
    Job(JobId),
    /// The inbox, of which a server has one.
    Inbox,
    /// What is alive, which a server has one list of.
    Alive,
}

/// The id of the inbox.
const INBOX: &str = "inbox";
/// The id of what is alive.
const ALIVE: &str = "alive";

/// A text that is no id of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id of a session, a task or a job, nor `inbox` or `alive`")]
pub struct ParseLiveIdError;

impl From<SessionId> for LiveId {
    fn from(id: SessionId) -> Self {
        Self::Session(id)
    }
}

impl From<TaskId> for LiveId {
    fn from(id: TaskId) -> Self {
        Self::Task(id)
    }
}

impl From<JobId> for LiveId {
    fn from(id: JobId) -> Self {
        Self::Job(id)
    }
}

impl fmt::Display for LiveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(id) => fmt::Display::fmt(id, f),
            Self::Task(id) => fmt::Display::fmt(id, f),
            Self::Job(id) => fmt::Display::fmt(id, f),
            Self::Inbox => f.write_str(INBOX),
            Self::Alive => f.write_str(ALIVE),
        }
    }
}

impl FromStr for LiveId {
    type Err = ParseLiveIdError;

    fn from_str(text: &str) -> Result<Self, ParseLiveIdError> {
        let id = if text == INBOX {
            return Ok(Self::Inbox);
        } else if text == ALIVE {
            return Ok(Self::Alive);
        } else if text.starts_with(SessionId::PREFIX) {
            text.parse().map(Self::Session)
        } else if text.starts_with(TaskId::PREFIX) {
            text.parse().map(Self::Task)
        } else {
            text.parse().map(Self::Job)
        };
        id.map_err(|_| ParseLiveIdError)
    }
}

impl serde::Serialize for LiveId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LiveId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl FromJson for LiveId {
    fn from_json(value: Value<'_>) -> Self {
        value.parsed("an id", Self::Inbox)
    }
}
