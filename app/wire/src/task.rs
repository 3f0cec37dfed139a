//! Tasks: what there is to run, and what happens in a run.

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::entry::Entry;
use crate::{SessionId, TaskId};

/// The answer of `task`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tasks {
    /// In the order of the entry.
    pub tasks: Vec<TaskInfo>,
}

impl From<&Entry> for Tasks {
    fn from(entry: &Entry) -> Self {
        let tasks = entry.tasks.iter().map(|(name, task)| TaskInfo {
            name: name.clone(),
            require_user_input: task.require_user_input,
        });
        Self { tasks: tasks.collect() }
    }
}

/// A task that can be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskInfo {
    /// Unique in the entry.
    pub name: String,
    /// Whether it makes no sense without any input.
    pub require_user_input: bool,
}

/// The answer of `task/start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStarted {
    /// The new run.
    pub task_id: TaskId,
}

/// One response of a run of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "callback", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TaskResponse {
    /// The end: it was done.
    TaskSucceeded,
    /// The end: it was not done.
    TaskFailed,
    /// The engine decided something.
    TaskDecision {
        /// What and why, after a prefix such as `[CRITERIA]`.
        reason: String,
    },
    /// The engine opened a session.
    TaskSessionStarted {
        /// Which.
        session_id: SessionId,
        /// It judges rather than does.
        is_driving: bool,
    },
    /// The engine closed a session, or it died.
    TaskSessionStopped {
        /// Which.
        session_id: SessionId,
        /// It did what it was opened for.
        succeeded: bool,
    },
    /// Something broke.
    #[serde(untagged, rename_all = "camelCase")]
    Error {
        /// What.
        #[serde(rename = "taskError")]
        message: String,
    },
}

/// All fields of all responses, for the same reason as in `session`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyResponse {
    callback: Option<String>,
    task_error: Option<String>,
    reason: Option<String>,
    session_id: Option<SessionId>,
    is_driving: Option<bool>,
    succeeded: Option<bool>,
}

impl TryFrom<AnyResponse> for TaskResponse {
    /// What is missing or unknown.
    type Error = &'static str;

    fn try_from(any: AnyResponse) -> Result<Self, &'static str> {
        let session_id = any.session_id.ok_or("sessionId");
        let Some(callback) = any.callback else {
            return Ok(Self::Error { message: any.task_error.ok_or("callback")? });
        };
        Ok(match callback.as_str() {
            "taskSucceeded" => Self::TaskSucceeded,
            "taskFailed" => Self::TaskFailed,
            "taskDecision" => Self::TaskDecision { reason: any.reason.ok_or("reason")? },
            "taskSessionStarted" => Self::TaskSessionStarted {
                session_id: session_id?,
                is_driving: any.is_driving.ok_or("isDriving")?,
            },
            "taskSessionStopped" => Self::TaskSessionStopped {
                session_id: session_id?,
                succeeded: any.succeeded.ok_or("succeeded")?,
            },
            _ => return Err("a known callback"),
        })
    }
}

impl<'de> Deserialize<'de> for TaskResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let any = AnyResponse::deserialize(deserializer)?;
        any.try_into()
            .map_err(|missing| de::Error::custom(format_args!("a task response lacks {missing}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_spelt_as_the_api_says() {
        use TaskResponse as R;
        let id = "session-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";
        let session_id = id.parse().expect("id");
        let table = [
            (R::TaskSucceeded, r#"{"callback":"taskSucceeded"}"#.to_owned()),
            (R::TaskFailed, r#"{"callback":"taskFailed"}"#.to_owned()),
            (
                R::TaskDecision { reason: "[MISC] x".to_owned() },
                r#"{"callback":"taskDecision","reason":"[MISC] x"}"#.to_owned(),
            ),
            (
                R::TaskSessionStarted { session_id, is_driving: true },
                format!(
                    r#"{{"callback":"taskSessionStarted","sessionId":"{id}","isDriving":true}}"#
                ),
            ),
            (
                R::TaskSessionStopped { session_id, succeeded: false },
                format!(
                    r#"{{"callback":"taskSessionStopped","sessionId":"{id}","succeeded":false}}"#
                ),
            ),
            (R::Error { message: "e".to_owned() }, r#"{"taskError":"e"}"#.to_owned()),
        ];
        for (response, json) in table {
            assert_eq!(serde_json::to_string(&response).expect("json"), json);
            assert_eq!(serde_json::from_str::<R>(&json).expect(&json), response);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for json in ["{}", "[]", r#"{"callback":"onIdle"}"#, r#"{"callback":"taskDecision"}"#] {
            assert!(serde_json::from_str::<TaskResponse>(json).is_err(), "{json}");
        }
    }
}
