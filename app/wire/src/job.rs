//! Jobs: which ones run, and what happens in a run.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::chart::Chart;
use crate::entry::{Entry, GridRow, Job};
use crate::json::FromJson;
use crate::tagged::tagged;
use crate::{Budget, EntityState, JobId, Recovery, Spent, TaskId, Usage, WorkState};

/// The answer of `job`: the jobs that can be started, without the rest of the entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Jobs<'a> {
    /// Rows of the matrix in which the jobs are shown.
    pub grid: &'a [GridRow],
    /// The jobs by name.
    pub jobs: &'a IndexMap<String, Job>,
    /// The flow chart of each job, by the job's name.
    pub chart: IndexMap<&'a str, Chart>,
}

impl<'a> From<&'a Entry> for Jobs<'a> {
    fn from(entry: &'a Entry) -> Self {
        let chart = entry.jobs.iter().map(|(name, job)| (name.as_str(), Chart::of(job)));
        Self { grid: &entry.grid, jobs: &entry.jobs, chart: chart.collect() }
    }
}

/// The parts of [`Jobs`] that are needed to choose a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, FromJson)]
pub struct JobList {
    /// Rows of the matrix in which the jobs are shown.
    pub grid: Vec<GridRow>,
    /// The jobs by name.
    pub jobs: BTreeMap<String, JobFacts>,
    /// The flow chart of each job, by the job's name.
    #[serde(default)]
    pub chart: BTreeMap<String, Chart>,
}

/// What must be known to start a job.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct JobFacts {
    /// What it is for, in a sentence for people.
    pub description: Option<String>,
    /// Whether one of its tasks uses what the user typed.
    pub require_user_input: bool,
}

/// The answer of `job/start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct JobStarted {
    /// Id of the new run.
    pub job_id: JobId,
}

/// The answer of `job/running`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct RunningJobs {
    /// Those that run, and those that ended not long ago.
    pub jobs: Vec<JobInfo>,
}

/// A run of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct JobInfo {
    /// Id of this run of the job.
    pub job_id: JobId,
    /// Name of the job in the entry.
    pub job_name: String,
    /// When the run started; ISO 8601, UTC.
    pub start_time: String,
    /// Status of the run.
    pub status: JobStatus,
    /// The finer state of the run: running, waiting, interrupted, succeeded, failed or canceled.
    pub state: EntityState,
    /// Why it is in this state, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Status of a run of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub enum JobStatus {
    /// The run has not ended.
    Running,
    /// The job's work was done.
    Succeeded,
    /// The job's work was not done.
    Failed,
    /// The run was stopped from outside.
    Canceled,
}

impl JobStatus {
    /// The name on the wire, which pages show as well.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Canceled => "Canceled",
        }
    }
}

/// The answer of `job/{id}/status`: a [`JobInfo`] and its tasks. The fields are repeated because
/// flattening one into the other would copy each answer into a generic tree first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct JobStatusReply {
    /// Id of this run of the job.
    pub job_id: JobId,
    /// Name of the job in the entry.
    pub job_name: String,
    /// When the run started; ISO 8601, UTC, like all times here.
    pub start_time: String,
    /// When the run ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<String>,
    /// Time of the answer, since the reader's clock may be wrong.
    pub server_time: String,
    /// Status of the run.
    pub status: JobStatus,
    /// The finer state of the run, as in [`JobInfo::state`].
    pub state: EntityState,
    /// Why it is in this state, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The work that the reason is about: the one that decided the job, or that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_work_id: Option<u32>,
    /// Tokens and cost of all tasks that have ended, as far as their providers report them.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// The folder that its agents work in; absent in a job of an earlier version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// What the user typed to start it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user_input: String,
    /// The run that this one retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried_from: Option<JobId>,
    /// The runs that retry this one, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<JobId>,
    /// How much all tasks may use together.
    #[serde(default, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// How much of that was used so far, by tasks that run as well.
    #[serde(default)]
    pub spent: Spent,
    /// All works of the job by their numbers, each with its last run. A job of an earlier version
    /// lists only those that have been started.
    pub tasks: Vec<JobTask>,
}

/// A work, and its last run if it has been started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct JobTask {
    /// Number of the work within its job.
    pub work_id_in_job: u32,
    /// Id of the running task, to follow it; absent once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// Name of the work's task; absent in a job of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Status of this run; absent if the work has not been started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<WorkStatus>,
    /// The finer state of the work.
    pub state: WorkState,
    /// Whether its result was carried over from the run that this one retries.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub carried: bool,
    /// What was decided when the server had stopped during this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Why it is in this state, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When this run started; ISO 8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
    /// When this run ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<String>,
    /// How often the task was tried in this run, once it has ended; absent in a job of an earlier
    /// version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Tokens and cost, once this run has ended.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
}

/// Status of a run of a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub enum WorkStatus {
    /// The run has not ended.
    Running,
    /// The work's task was done.
    Succeeded,
    /// The work's task was not done.
    Failed,
}

tagged! {
    /// One response of a run of a job.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum JobResponse {
        /// A task was started.
        WorkStarted {
            /// Number of the work that the task belongs to.
            work_id: u32,
            /// Id of the task, to follow it.
            task_id: TaskId,
        },
        /// A task has ended.
        WorkStopped {
            /// Number of the work that the task belongs to.
            work_id: u32,
            /// Whether the task was done.
            succeeded: bool,
        },
        /// The job has ended, and its work was done.
        JobSucceeded,
        /// The job has ended, and its work was not done.
        JobFailed,
        /// The job has ended because it was stopped from outside.
        JobCanceled,
    }

    /// The run hit an internal error.
    Error = "jobError"
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::de::DeserializeOwned;

    use super::*;

    const JOB: &str = "job-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";
    const TASK: &str = "task-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c12";

    fn assert_spelling<T>(value: &T, json: &str)
    where
        T: Debug + PartialEq + Serialize + DeserializeOwned,
    {
        assert_eq!(serde_json::to_string(value).expect("json"), json);
        assert_eq!(&serde_json::from_str::<T>(json).expect(json), value);
    }

    fn info(status: JobStatus) -> JobInfo {
        JobInfo {
            job_id: JOB.parse().expect("id"),
            job_name: "scrum".to_owned(),
            start_time: "2026-01-02T03:04:05Z".to_owned(),
            status,
            state: EntityState::Waiting,
            reason: None,
        }
    }

    #[test]
    fn responses_are_spelt_as_the_api_says() {
        use JobResponse as R;
        let task_id = TASK.parse().expect("id");
        assert_spelling(
            &R::WorkStarted { work_id: 0, task_id },
            &format!(r#"{{"callback":"workStarted","workId":0,"taskId":"{TASK}"}}"#),
        );
        assert_spelling(
            &R::WorkStopped { work_id: 12, succeeded: false },
            r#"{"callback":"workStopped","workId":12,"succeeded":false}"#,
        );
        assert_spelling(&R::JobSucceeded, r#"{"callback":"jobSucceeded"}"#);
        assert_spelling(&R::JobFailed, r#"{"callback":"jobFailed"}"#);
        assert_spelling(&R::JobCanceled, r#"{"callback":"jobCanceled"}"#);
        assert_spelling(&R::Error { message: "e".to_owned() }, r#"{"jobError":"e"}"#);
    }

    #[test]
    fn any_other_response_is_refused() {
        for json in [
            "{}",
            "[]",
            r#"{"taskError":"e"}"#,
            r#"{"callback":"taskFailed"}"#,
            r#"{"callback":"workStopped","succeeded":true}"#,
            r#"{"callback":"workStopped","workId":1}"#,
            r#"{"callback":"workStopped","workId":-1,"succeeded":true}"#,
            r#"{"callback":"workStarted","workId":1}"#,
        ] {
            assert!(serde_json::from_str::<JobResponse>(json).is_err(), "{json}");
        }
        // A session's id is not a task's.
        let json = format!(
            r#"{{"callback":"workStarted","workId":0,"taskId":"{}"}}"#,
            TASK.replace("task-", "session-")
        );
        assert!(serde_json::from_str::<JobResponse>(&json).is_err(), "{json}");
    }

    #[test]
    fn replies_are_spelt_as_the_api_says() {
        let started = JobStarted { job_id: JOB.parse().expect("id") };
        assert_spelling(&started, &format!(r#"{{"jobId":"{JOB}"}}"#));
        assert_spelling(&RunningJobs::default(), r#"{"jobs":[]}"#);
        for (status, name) in [
            (JobStatus::Running, "Running"),
            (JobStatus::Succeeded, "Succeeded"),
            (JobStatus::Failed, "Failed"),
            (JobStatus::Canceled, "Canceled"),
        ] {
            assert_spelling(
                &RunningJobs { jobs: vec![info(status)] },
                &format!(
                    r#"{{"jobs":[{{"jobId":"{JOB}","jobName":"scrum","startTime":"2026-01-02T03:04:05Z","status":"{name}","state":"waiting"}}]}}"#
                ),
            );
        }
    }

    #[test]
    fn a_status_lists_the_tasks_beside_the_job() {
        let task = |work_id_in_job, status| JobTask {
            work_id_in_job,
            task_id: None,
            name: Some("n".to_owned()),
            status: Some(status),
            state: WorkState::Queued,
            carried: false,
            recovery: None,
            reason: None,
            start_time: Some("s".to_owned()),
            end_time: Some("e".to_owned()),
            attempts: None,
            usage: Usage::default(),
        };
        let running =
            JobTask { task_id: TASK.parse().ok(), end_time: None, ..task(2, WorkStatus::Running) };
        let not_started = JobTask {
            status: None,
            state: WorkState::NotReached,
            start_time: None,
            end_time: None,
            ..task(3, WorkStatus::Running)
        };
        let failed = JobTask {
            state: WorkState::False,
            carried: true,
            recovery: Some(Recovery::SentAgain),
            reason: Some("r".to_owned()),
            attempts: Some(2),
            ..task(1, WorkStatus::Failed)
        };
        let JobInfo { job_id, job_name, start_time, status, state, .. } = info(JobStatus::Running);
        let tasks = vec![task(0, WorkStatus::Succeeded), failed, running, not_started];
        let server_time = "n".to_owned();
        let reply = JobStatusReply {
            job_id,
            job_name,
            start_time,
            end_time: None,
            server_time,
            status,
            state,
            reason: Some("r".to_owned()),
            reason_work_id: Some(1),
            usage: Usage { input_tokens: 3, ..Usage::default() },
            folder: "/f".to_owned(),
            user_input: "u".to_owned(),
            retried_from: JOB.parse().ok(),
            retries: vec![job_id],
            budget: serde_json::from_str(r#"{"turns":5}"#).expect("a budget"),
            spent: Spent { minutes: 0.5, turns: 2, tokens: 3, cost: 0.0 },
            tasks,
        };
        assert_spelling(
            &reply,
            &format!(
                concat!(
                    r#"{{"jobId":"{}","jobName":"scrum","startTime":"2026-01-02T03:04:05Z","#,
                    r#""serverTime":"n","status":"Running","state":"waiting","reason":"r","reasonWorkId":1,"usage":{{"inputTokens":3,"outputTokens":0}},"#,
                    r#""folder":"/f","userInput":"u","retriedFrom":"{}","retries":["{}"],"#,
                    r#""budget":{{"turns":5}},"spent":{{"minutes":0.5,"turns":2,"tokens":3,"cost":0.0}},"tasks":["#,
                    r#"{{"workIdInJob":0,"name":"n","status":"Succeeded","state":"queued","startTime":"s","endTime":"e"}},"#,
                    r#"{{"workIdInJob":1,"name":"n","status":"Failed","state":"false","carried":true,"recovery":"sentAgain","reason":"r","startTime":"s","endTime":"e","attempts":2}},"#,
                    r#"{{"workIdInJob":2,"taskId":"{}","name":"n","status":"Running","state":"queued","startTime":"s"}},"#,
                    r#"{{"workIdInJob":3,"name":"n","state":"notReached"}}]}}"#
                ),
                JOB, JOB, JOB, TASK
            ),
        );
    }
}
