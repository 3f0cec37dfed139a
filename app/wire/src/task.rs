//! Tasks: what there is to run, and what happens in a run.

#[cfg(test)]
mod decision_tests;
mod flat;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::entry::Entry;
use crate::{Decision, SessionId, TaskId};
use flat::Flat;

/// The answer of `task`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tasks {
    /// Tasks in the order of the entry.
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
    /// Name of the task, unique in the entry.
    pub name: String,
    /// Whether the user must type something to start it.
    pub require_user_input: bool,
}

/// The answer of `task/start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStarted {
    /// Id of the new run.
    pub task_id: TaskId,
}

/// One response of a run of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskResponse {
    /// The task has ended, and it was done.
    TaskSucceeded,
    /// The task has ended, and it was not done.
    TaskFailed,
    /// The engine decided something.
    TaskDecision {
        /// The decision as a sentence for people, after a prefix such as `[CRITERIA]`.
        reason: String,
        /// The decision as fields for programs.
        decision: Decision,
    },
    /// The engine opened a session.
    TaskSessionStarted {
        /// Id of the new session.
        session_id: SessionId,
        /// Whether it is a driving session, which only judges conditions.
        is_driving: bool,
    },
    /// The engine closed a session, or the session crashed.
    TaskSessionStopped {
        /// Id of the session that ended.
        session_id: SessionId,
        /// Whether the session did what it was opened for.
        succeeded: bool,
    },
    /// The sessions of the task crashed, or an internal error occurred.
    Error {
        /// The error, with its causes.
        message: String,
    },
}

impl From<Decision> for TaskResponse {
    fn from(decision: Decision) -> Self {
        Self::TaskDecision { reason: decision.to_string(), decision }
    }
}

impl Serialize for TaskResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Flat::from(self.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TaskResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let flat = Flat::deserialize(deserializer)?;
        flat.try_into()
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
                R::TaskDecision { reason: "[X] x".to_owned(), decision: Decision::Succeeded },
                r#"{"callback":"taskDecision","reason":"[X] x","kind":"Succeeded"}"#.to_owned(),
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
        for json in [
            "{}",
            "[]",
            r#"{"callback":"onIdle"}"#,
            r#"{"callback":"taskDecision"}"#,
            r#"{"callback":"taskDecision","kind":"Succeeded"}"#,
            r#"{"callback":"taskDecision","reason":"[TASK SUCCEEDED] the task succeeded"}"#,
            r#"{"callback":"taskDecision","reason":"x","kind":"Operation","attempt":2}"#,
            r#"{"callback":"taskDecision","reason":"x","kind":"Guess"}"#,
        ] {
            assert!(serde_json::from_str::<TaskResponse>(json).is_err(), "{json}");
        }
    }
}
