//! What is alive: the open sessions, the running jobs, and those that ended not long ago.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::json::FromJson;
use crate::permission::{UnknownWord, words};
use crate::tagged::tagged;
use crate::{EntityKind, EntityState, JobId, LiveId, PermissionMode, SessionId};

/// The answer of `alive`: what is alive now, what started last first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct Alive {
    /// The items.
    pub items: Vec<AliveItem>,
}

words!(
    /// What an open session or a job is about.
    AliveState {
        /// A turn runs, or a task of the job.
        Working = "working",
        /// A person must answer before it can continue.
        Waiting = "waiting",
        /// The session waits for a prompt.
        Idle = "idle",
        /// The server stopped during the session's latest turn, or while the job ran.
        Interrupted = "interrupted",
        /// The job was done.
        Succeeded = "succeeded",
        /// The job was not done.
        Failed = "failed",
        /// The job was stopped.
        Canceled = "canceled",
    }
);

/// A session or a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct AliveItem {
    /// Id of the session or the job.
    pub id: LiveId,
    /// Whether it is a session or a job.
    pub kind: EntityKind,
    /// First line of the first prompt unless it was renamed; the model before that. Name of a job.
    pub title: String,
    /// Folder in which its agents work.
    pub folder: String,
    /// The model that answers a session's prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it is about.
    pub state: AliveState,
    /// When that state began, in milliseconds since the Unix epoch.
    pub since: u64,
    /// When it started, in milliseconds since the Unix epoch.
    pub started_at: u64,
    /// The job that the session works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<JobId>,
    /// Name of the task that opened the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How many tasks of the job have succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<u32>,
    /// How many tasks the job has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    /// How many items of the inbox are about it.
    pub waiting: u32,
}

tagged! {
    /// One response of what is alive.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum AliveResponse {
        /// Something is new, or has changed.
        AliveChanged {
            /// The whole item.
            item: Box<AliveItem>,
        },
        /// A session was closed, or a job ended an hour ago.
        AliveGone {
            /// Id of the session or the job.
            id: LiveId,
        },
    }
}

/// The answer of `session/{id}/info`: what stands above a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct SessionHead {
    /// Id of the session.
    pub session_id: SessionId,
    /// First line of the first prompt unless it was renamed; the model before that.
    pub title: String,
    /// The model that answers its prompts.
    pub model_id: String,
    /// Folder in which its agent works.
    pub working_directory: String,
    /// The branch that is checked out there, or the beginning of a commit's hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// State at the time of the answer.
    pub state: EntityState,
    /// Permission mode of the session.
    pub permissions: PermissionMode,
    /// When it started; ISO 8601, UTC.
    pub started_at: String,
    /// The closed session that this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_from: Option<SessionId>,
    /// The job that it works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<JobId>,
    /// Whether prompts may have images.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_images: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "session-00000000-0000-4000-8000-000000000001";
    const JOB: &str = "job-00000000-0000-4000-8000-000000000002";

    #[test]
    fn responses_are_spelt_as_the_api_says() {
        let item = AliveItem {
            id: SESSION.parse().expect("an id"),
            kind: EntityKind::Session,
            title: "t".to_owned(),
            folder: "/src".to_owned(),
            model: Some("m".to_owned()),
            state: AliveState::Working,
            since: 1_790_000_000_000,
            started_at: 1_780_000_000_000,
            parent: JOB.parse().ok(),
            label: Some("review".to_owned()),
            done: None,
            total: None,
            waiting: 0,
        };
        let job = AliveItem {
            id: JOB.parse().expect("an id"),
            kind: EntityKind::Job,
            model: None,
            state: AliveState::Waiting,
            parent: None,
            label: None,
            done: Some(1),
            total: Some(3),
            waiting: 2,
            ..item.clone()
        };
        for (response, json) in [
            (
                AliveResponse::AliveChanged { item: Box::new(item) },
                format!(
                    concat!(
                        r#"{{"callback":"aliveChanged","item":{{"id":"{}","kind":"session","#,
                        r#""title":"t","folder":"/src","model":"m","state":"working","#,
                        r#""since":1790000000000,"startedAt":1780000000000,"parent":"{}","#,
                        r#""label":"review","waiting":0}}}}"#
                    ),
                    SESSION, JOB
                ),
            ),
            (
                AliveResponse::AliveChanged { item: Box::new(job) },
                format!(
                    concat!(
                        r#"{{"callback":"aliveChanged","item":{{"id":"{}","kind":"job","title":"t","#,
                        r#""folder":"/src","state":"waiting","since":1790000000000,"#,
                        r#""startedAt":1780000000000,"done":1,"total":3,"waiting":2}}}}"#
                    ),
                    JOB
                ),
            ),
            (
                AliveResponse::AliveGone { id: JOB.parse().expect("an id") },
                format!(r#"{{"callback":"aliveGone","id":"{JOB}"}}"#),
            ),
        ] {
            assert_eq!(serde_json::to_string(&response).expect("json"), json);
            assert_eq!(serde_json::from_str::<AliveResponse>(&json).expect(&json), response);
        }
    }
}
