//! What is stored of jobs and tasks that ended too long ago to be followed.

use wire::json::FromJson;
use wire::{Events, JobId, JobResponse, SessionId, SessionResponse, TaskId, TaskResponse, Timed};

use super::{ApiError, accept, get_text};

/// All stored responses of a job.
pub(crate) async fn job(id: JobId) -> Result<Vec<Timed<JobResponse>>, ApiError> {
    all(format!("/api/copilot/job/{id}")).await
}

/// All stored responses of a task.
pub(crate) async fn task(id: TaskId) -> Result<Vec<Timed<TaskResponse>>, ApiError> {
    all(format!("/api/copilot/task/{id}")).await
}

/// All stored responses of a session.
pub(crate) async fn session(id: SessionId) -> Result<Vec<Timed<SessionResponse>>, ApiError> {
    all(format!("/api/copilot/session/{id}")).await
}

async fn all<R: FromJson>(path: String) -> Result<Vec<Timed<R>>, ApiError> {
    let (mut after, mut read) = (0, Vec::new());
    loop {
        let answer = get_text(&format!("{path}/events?after={after}"), None).await?;
        let page = accept::<Events<R>>(&answer)?;
        after = page.next;
        read.extend(page.events.into_iter().map(|event| event.timed));
        if page.end {
            return Ok(read);
        }
    }
}
