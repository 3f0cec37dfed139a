//! Jobs: which ones run, and what happens in a run.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::chart::Chart;
use crate::entry::{Entry, GridRow, Job};
use crate::tagged::tagged;
use crate::{JobId, TaskId, Usage};

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct JobList {
    /// Rows of the matrix in which the jobs are shown.
    pub grid: Vec<GridRow>,
    /// The jobs by name.
    pub jobs: BTreeMap<String, JobFacts>,
}

/// What must be known to start a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobFacts {
    /// Whether one of its tasks uses what the user typed.
    pub require_user_input: bool,
}

/// The answer of `job/start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobStarted {
    /// Id of the new run.
    pub job_id: JobId,
}

/// The answer of `job/running`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningJobs {
    /// Those that run, and those that ended not long ago.
    pub jobs: Vec<JobInfo>,
}

/// A run of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobInfo {
    /// Id of this run of the job.
    pub job_id: JobId,
    /// Name of the job in the entry.
    pub job_name: String,
    /// When the run started; ISO 8601, UTC.
    pub start_time: String,
    /// State of the run.
    pub status: JobStatus,
}

/// State of a run of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// State of the run.
    pub status: JobStatus,
    /// Tokens and cost of all tasks that have ended, as far as their providers report them.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// The works that have been started, each with its last run.
    pub tasks: Vec<JobTask>,
}

/// The last run of a work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobTask {
    /// Number of the work within its job.
    pub work_id_in_job: u32,
    /// Id of the running task, to follow it; absent once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// State of this run.
    pub status: WorkStatus,
    /// When this run started; ISO 8601, UTC.
    pub start_time: String,
    /// When this run ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<String>,
    /// Tokens and cost, once this run has ended.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
}

/// State of a run of a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
                    r#"{{"jobs":[{{"jobId":"{JOB}","jobName":"scrum","startTime":"2026-01-02T03:04:05Z","status":"{name}"}}]}}"#
                ),
            );
        }
    }

    #[test]
    fn a_status_lists_the_tasks_beside_the_job() {
        let task = |work_id_in_job, status| JobTask {
            work_id_in_job,
            task_id: None,
            status,
            start_time: "s".to_owned(),
            end_time: Some("e".to_owned()),
            usage: Usage::default(),
        };
        let running =
            JobTask { task_id: TASK.parse().ok(), end_time: None, ..task(2, WorkStatus::Running) };
        let JobInfo { job_id, job_name, start_time, status } = info(JobStatus::Running);
        let tasks = vec![task(0, WorkStatus::Succeeded), task(1, WorkStatus::Failed), running];
        let server_time = "n".to_owned();
        let reply = JobStatusReply {
            job_id,
            job_name,
            start_time,
            end_time: None,
            server_time,
            status,
            usage: Usage { input_tokens: 3, ..Usage::default() },
            tasks,
        };
        assert_spelling(
            &reply,
            &format!(
                concat!(
                    r#"{{"jobId":"{}","jobName":"scrum","startTime":"2026-01-02T03:04:05Z","#,
                    r#""serverTime":"n","status":"Running","usage":{{"inputTokens":3,"outputTokens":0}},"tasks":["#,
                    r#"{{"workIdInJob":0,"status":"Succeeded","startTime":"s","endTime":"e"}},"#,
                    r#"{{"workIdInJob":1,"status":"Failed","startTime":"s","endTime":"e"}},"#,
                    r#"{{"workIdInJob":2,"taskId":"{}","status":"Running","startTime":"s"}}]}}"#
                ),
                JOB, TASK
            ),
        );
    }
}
