//! The API of jobs. Handlers parse, call the manager, and serialise.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use engine::job::JobError;
use wire::{Done, JobId, JobStarted, Jobs, RunningJobs, StopReply};

use super::entry_api::Installed;
use super::text::{Prompt, Text};
use super::{AppState, error};

/// `copilot/job`: lists the installed jobs.
pub(super) async fn list_jobs(Installed(entry): Installed) -> Response {
    Json(Jobs::from(&*entry)).into_response()
}

/// `copilot/job/running`: lists the running jobs.
pub(super) async fn list_running(State(state): State<AppState>, _: Installed) -> Json<RunningJobs> {
    Json(state.jobs.running())
}

/// `copilot/job/start/{job-name}`: starts a job. The body has the working directory, then the
/// user's input.
pub(super) async fn start_job(
    State(state): State<AppState>,
    Installed(entry): Installed,
    Path(name): Path<String>,
    Prompt(body): Prompt,
) -> Response {
    let (directory, user_input) = split_first_line(&body);
    match state.jobs.start(entry, &name, directory, user_input.to_owned()).await {
        Ok(job_id) => Json(JobStarted { job_id }).into_response(),
        Err(error) => said_no(&error),
    }
}

/// `copilot/job/{id}/status`: the status of a job and its works.
pub(super) async fn job_status(State(state): State<AppState>, Path(id): Path<String>) -> Response {
    let status = match job_id(&id) {
        Ok(id) => state.jobs.status(id).await,
        Err(error) => Err(error),
    };
    match status {
        Ok(status) => Json(status).into_response(),
        Err(error) => said_no(&error),
    }
}

/// `copilot/job/{id}/verdicts`: what was judged in the tasks of a job.
pub(super) async fn job_verdicts(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Response {
    let verdicts = match job_id(&id) {
        Ok(id) => state.jobs.verdicts(id).await,
        Err(error) => Err(error),
    };
    match verdicts {
        Ok(verdicts) => Json(verdicts).into_response(),
        Err(error) => said_no(&error),
    }
}

/// `copilot/job/{id}/stop`: stops a job.
pub(super) async fn stop_job(State(state): State<AppState>, Path(id): Path<String>) -> Response {
    let stopped = match job_id(&id) {
        Ok(id) => state.jobs.stop(id).await,
        Err(error) => Err(error),
    };
    match stopped {
        Ok(()) => Json(StopReply::default()).into_response(),
        Err(error) => said_no(&error),
    }
}

/// `copilot/job/{id}/retry`: runs a job once more, from the work that the body names, or from what
/// failed.
pub(super) async fn retry_job(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Text(body): Text,
) -> Response {
    let retried = match job_id(&id) {
        Ok(id) => state.jobs.retry(id, work_id(&body)).await,
        Err(error) => Err(error),
    };
    match retried {
        Ok(job_id) => Json(JobStarted { job_id }).into_response(),
        Err(error) => said_no(&error),
    }
}

/// `copilot/job/{id}/delete`
pub(super) async fn delete_job(State(state): State<AppState>, Path(id): Path<String>) -> Response {
    let deleted = match job_id(&id) {
        Ok(id) => state.jobs.delete(id).await,
        Err(error) => Err(error),
    };
    match deleted {
        Ok(()) => Json(Done {}).into_response(),
        Err(error) => said_no(&error),
    }
}

/// A text that cannot be an id names no job.
fn job_id(id: &str) -> Result<JobId, JobError> {
    id.parse().map_err(|_| JobError::JobNotFound)
}

/// The work that a body names; `None` if it is blank. What is not a number is a work that no job has:
/// they are counted from 0, and there are never that many.
fn work_id(body: &str) -> Option<u32> {
    let text = body.trim();
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| text.parse().ok()).flatten();
    (!text.is_empty()).then(|| number.unwrap_or(u32::MAX))
}

fn split_first_line(text: &str) -> (&str, &str) {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    (line.strip_suffix('\r').unwrap_or(line), rest)
}

fn said_no(error: &JobError) -> Response {
    let message = match error {
        JobError::WorkingDirectory(error) => Some(error.to_string()),
        JobError::BudgetNotSupported(error) => Some(error.to_string()),
        JobError::Store(error) => Some(error.to_string()),
        _ => None,
    };
    error::said_no(error.name(), message.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_is_named_by_its_number() {
        for body in ["", " ", "\r\n\t"] {
            assert_eq!(work_id(body), None, "{body:?}");
        }
        for (body, id) in [("0", 0), (" 7\r\n", 7), ("012", 12), ("4294967294", u32::MAX - 1)] {
            assert_eq!(work_id(body), Some(id), "{body:?}");
        }
        for body in ["x", "-1", "+1", "1.0", "1e1", "1 2", "0x1", "\u{663}", "99999999999", "null"]
        {
            assert_eq!(work_id(body), Some(u32::MAX), "{body:?}");
        }
    }

    #[test]
    fn the_first_line_is_the_directory_whatever_ends_it() {
        for (body, directory, user_input) in [
            ("", "", ""),
            ("/src", "/src", ""),
            ("/src\n", "/src", ""),
            ("/src\r\n", "/src", ""),
            ("/src\nfix\nit\n", "/src", "fix\nit\n"),
            ("/src\r\nfix\r\nit", "/src", "fix\r\nit"),
            ("\nfix", "", "fix"),
            ("/a\rb\nfix", "/a\rb", "fix"),
        ] {
            assert_eq!(split_first_line(body), (directory, user_input), "{body:?}");
        }
    }
}
