//! Tasks: what there is to run, and what happens in a run.

#[cfg(test)]
mod decision_tests;
mod flat;

use serde::{Deserialize, Deserializer, Serialize};

use crate::entry::Entry;
use crate::json::FromJson;
use crate::tagged::{tagged, with_field};
use crate::{Decision, SessionId, TaskId, Verdict};

/// The answer of `task`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct Tasks {
    /// Tasks in the order of the entry.
    pub tasks: Vec<TaskInfo>,
}

impl From<&Entry> for Tasks {
    fn from(entry: &Entry) -> Self {
        let tasks = entry.tasks.iter().map(|(name, task)| TaskInfo {
            name: name.clone(),
            require_user_input: task.require_user_input,
            description: task.description.clone(),
        });
        Self { tasks: tasks.collect() }
    }
}

/// A task that can be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct TaskInfo {
    /// Name of the task, unique in the entry.
    pub name: String,
    /// Whether the user must type something to start it.
    pub require_user_input: bool,
    /// What it is for, in a sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The answer of `task/start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct TaskStarted {
    /// Id of the new run.
    pub task_id: TaskId,
}

tagged! {
    /// One response of a run of a task.
    #[derive(Clone, Debug, PartialEq)]
    pub enum TaskResponse {
        /// The task has ended, and it was done.
        TaskSucceeded,
        /// The task has ended, and it was not done.
        TaskFailed,
        /// The engine decided something.
        #[serde(deserialize_with = "read_decision")]
        TaskDecision {
            /// The decision as a sentence for people, after a prefix such as `[CRITERIA]`.
            reason: String,
            /// The decision as fields for programs.
            #[serde(flatten)]
            decision: Decision,
        },
        /// A criterion was judged. Comes before the decision that follows from it.
        TaskVerdict(Verdict),
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
    }

    /// The sessions of the task crashed, or an internal error occurred.
    Error = "taskError"
}

/// Does without `flatten`, which would copy the fields first, as a derived tag would.
fn read_decision<'de, D: Deserializer<'de>>(source: D) -> Result<(String, Decision), D::Error> {
    with_field("reason", source)
}

impl From<Decision> for TaskResponse {
    fn from(decision: Decision) -> Self {
        Self::TaskDecision { reason: decision.to_string(), decision }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Judge, Met, VerdictCriterion};

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
            (
                R::TaskVerdict(Verdict {
                    attempt: 2,
                    criterion: VerdictCriterion::Tool("job_prepare_document".to_owned()),
                    met: Met::Yes,
                    reason: "a.md".to_owned(),
                    evidence: None,
                    judge: None,
                }),
                concat!(
                    r#"{"callback":"taskVerdict","attempt":2,"criterion":"tool:job_prepare_document","#,
                    r#""met":"yes","reason":"a.md"}"#
                )
                .to_owned(),
            ),
            (
                R::TaskVerdict(Verdict {
                    attempt: 1,
                    criterion: VerdictCriterion::Condition,
                    met: Met::Unknown,
                    reason: "r".to_owned(),
                    evidence: Some("e".to_owned()),
                    judge: Some(Judge { session_id, model: "m".to_owned() }),
                }),
                format!(
                    r#"{{"callback":"taskVerdict","attempt":1,"criterion":"condition","met":"unknown","reason":"r","evidence":"e","judge":{{"sessionId":"{id}","model":"m"}}}}"#
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
            r#"{"callback":"taskVerdict","attempt":1,"criterion":"condition","reason":"x"}"#,
            r#"{"callback":"taskVerdict","attempt":1,"criterion":"mood","met":"yes","reason":"x"}"#,
        ] {
            assert!(serde_json::from_str::<TaskResponse>(json).is_err(), "{json}");
        }
    }
}
