//! Every request that a page makes. Pages call these functions and nothing else.

use std::fmt;

use gloo_net::http::{Request, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use web_sys::AbortSignal;
use wire::server::{Refusal, TestReply};
use wire::{
    Done, ErrorName, ErrorReply, JobId, JobList, JobStarted, LiveEntity, LiveToken, Models,
    RunningJobs, SessionId, SessionResponse, SessionStarted, Sessions, StopReply, TaskId,
    TaskResponse, TaskStarted, Tasks, TokenReply,
};

/// Why a request brought no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiError {
    /// The server could not be reached, or the connection broke.
    Unreachable,
    /// The server refused the request before it reached the domain.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's own words.
        reason: String,
    },
    /// The domain said no.
    Domain {
        /// Which error.
        name: ErrorName,
        /// More about it.
        message: Option<String>,
    },
    /// The answer was not what the contract says.
    Malformed(String),
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable => f.write_str("The server can't be reached. Is it still running?"),
            Self::Refused { status, reason } => {
                write!(f, "The server refused the request ({status}): {reason}")
            }
            Self::Domain { name, message } => {
                f.write_str(explain(*name))?;
                message.as_ref().map_or(Ok(()), |message| write!(f, " ({message})"))
            }
            Self::Malformed(detail) => write!(f, "The server's answer makes no sense: {detail}"),
        }
    }
}

/// An error of the domain, for people.
fn explain(name: ErrorName) -> &'static str {
    match name {
        ErrorName::ModelIdNotFound => "This model is not available any more. Refresh the list.",
        ErrorName::ModelNotAvailable => "The model's provider could not start a session.",
        ErrorName::WorkingDirectoryNotAbsolutePath => {
            "This is not an absolute path. Start with the root, as in /home/me/project."
        }
        ErrorName::WorkingDirectoryNotExists => "There is no such folder on the server's machine.",
        ErrorName::SessionNotFound | ErrorName::SessionClosed => "This session has ended.",
        ErrorName::TaskNotFound => "There is no such task, or not any more.",
        ErrorName::EntryNotInstalled => "No tasks and jobs are installed.",
        ErrorName::JobNotFound => "There is no such job, or not any more.",
        ErrorName::UserInputRequired => "This job needs input: say what it is about.",
        ErrorName::TooManyJobs => "Too many jobs are running. Wait for one to end.",
        ErrorName::TooManySessions => "Too many sessions are open. Close one first.",
        ErrorName::TooManyQueries => "Too many prompts are waiting in this session.",
        ErrorName::TooManyReaders | ErrorName::TooManyPendingCalls => {
            "Too many windows follow this server."
        }
        _ => "The server said no.",
    }
}

/// Asks `api/test` for its greeting.
pub async fn test() -> Result<TestReply, ApiError> {
    fetch(Request::get("/api/test")).await
}

/// The models that sessions can be started with.
pub async fn models() -> Result<Models, ApiError> {
    fetch(Request::get("/api/copilot/models")).await
}

/// The open sessions.
pub async fn sessions() -> Result<Sessions, ApiError> {
    fetch(Request::get("/api/copilot/session")).await
}

/// A name for a new reader.
pub async fn token() -> Result<LiveToken, ApiError> {
    let reply: TokenReply = fetch(Request::get("/api/token")).await?;
    Ok(reply.token)
}

/// Starts a session in a folder.
pub async fn start_session(model: &str, folder: &str) -> Result<SessionId, ApiError> {
    let path = format!("/api/copilot/session/start/{}", encode_path(model));
    let started: SessionStarted = ask(&path, folder).await?;
    Ok(started.session_id)
}

/// Sends a prompt.
pub async fn query(id: SessionId, prompt: &str) -> Result<(), ApiError> {
    let _: Done = ask(&format!("/api/copilot/session/{id}/query"), prompt).await?;
    Ok(())
}

/// Ends the running turn.
pub async fn abort(id: SessionId) -> Result<(), ApiError> {
    let _: Done = ask(&format!("/api/copilot/session/{id}/abort"), "").await?;
    Ok(())
}

/// Ends a session.
pub async fn stop_session(id: SessionId) -> Result<(), ApiError> {
    let _: StopReply = ask(&format!("/api/copilot/session/{id}/stop"), "").await?;
    Ok(())
}

/// Ends the server.
pub async fn stop_server() -> Result<(), ApiError> {
    let _: Done = ask("/api/stop", "").await?;
    Ok(())
}

/// The tasks that can be started; without an entry there are none.
pub async fn tasks() -> Result<Tasks, ApiError> {
    list("/api/copilot/task").await
}

/// Starts a task in a session.
pub async fn start_task(name: &str, session: SessionId, input: &str) -> Result<TaskId, ApiError> {
    let path = format!("/api/copilot/task/start/{}/session/{session}", encode_segment(name));
    let started: TaskStarted = ask(&path, input).await?;
    Ok(started.task_id)
}

/// The jobs of the matrix; without an entry there are none.
pub async fn jobs() -> Result<JobList, ApiError> {
    list("/api/copilot/job").await
}

/// The jobs that run, and those that ended not long ago.
pub async fn running_jobs() -> Result<RunningJobs, ApiError> {
    list("/api/copilot/job/running").await
}

/// Starts a job in a folder.
pub async fn start_job(name: &str, folder: &str, input: &str) -> Result<JobId, ApiError> {
    let path = format!("/api/copilot/job/start/{}", encode_segment(name));
    let started: JobStarted = ask(&path, &format!("{folder}\n{input}")).await?;
    Ok(started.job_id)
}

/// Something whose responses can be followed.
pub(crate) trait Followed: LiveEntity + fmt::Display {
    /// One response of it.
    type Response: DeserializeOwned + 'static;
    /// Where in the API such things are.
    const PLACE: &'static str;
}

impl Followed for SessionId {
    type Response = SessionResponse;
    const PLACE: &'static str = "session";
}

impl Followed for TaskId {
    type Response = TaskResponse;
    const PLACE: &'static str = "task";
}

/// Where the responses of something are.
pub(crate) fn live_path<Id: Followed>(id: &Id) -> String {
    format!("/api/copilot/{}/{id}/live", Id::PLACE)
}

/// Waits for what happens next at a live path. `signal` ends the wait.
pub(crate) async fn follow(
    live_path: &str,
    token: &LiveToken,
    signal: &AbortSignal,
) -> Result<String, ApiError> {
    let request = Request::get(&format!("{live_path}/{token}")).abort_signal(Some(signal));
    read_text(request.send().await.map_err(|_| ApiError::Unreachable)?).await
}

/// Asks for a list of the entry; without an entry it is empty.
async fn list<T: DeserializeOwned + Default>(path: &str) -> Result<T, ApiError> {
    let response = Request::get(path).send().await.map_err(|_| ApiError::Unreachable)?;
    match accept(response).await {
        Err(ApiError::Domain { name: ErrorName::EntryNotInstalled, .. }) => Ok(T::default()),
        result => result,
    }
}

/// Calls an acting endpoint; an error of the domain is an error here.
async fn ask<T: DeserializeOwned>(path: &str, body: &str) -> Result<T, ApiError> {
    let request = Request::post(path).header("content-type", "text/plain; charset=utf-8");
    let request = request.body(body).map_err(|error| ApiError::Malformed(error.to_string()))?;
    accept(request.send().await.map_err(|_| ApiError::Unreachable)?).await
}

/// Reads an answer in which the domain may have said no.
async fn accept<T: DeserializeOwned>(response: Response) -> Result<T, ApiError> {
    let text = read_text(response).await?;
    match serde_json::from_str::<ErrorReply>(&text) {
        Ok(reply) => Err(ApiError::Domain { name: reply.error, message: reply.message }),
        Err(_) => parse(&text),
    }
}

async fn fetch<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, ApiError> {
    read(request.send().await.map_err(|_| ApiError::Unreachable)?).await
}

async fn read<T: DeserializeOwned>(response: Response) -> Result<T, ApiError> {
    parse(&read_text(response).await?)
}

/// Reads an answer.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ApiError> {
    serde_json::from_str(text).map_err(|error| ApiError::Malformed(error.to_string()))
}

async fn read_text(response: Response) -> Result<String, ApiError> {
    // A connection that breaks in the middle of an answer is a broken connection.
    let text = response.text().await.map_err(|_| ApiError::Unreachable)?;
    if !response.ok() {
        let reply: Option<Refusal> = serde_json::from_str(&text).ok();
        let reason = reply.map(|reply| reply.message.unwrap_or(reply.error));
        let reason = reason.unwrap_or_else(|| response.status_text());
        return Err(ApiError::Refused { status: response.status(), reason });
    }
    Ok(text)
}

/// Percent-encodes what may not stand in a path. A slash may: model ids have them.
fn encode_path(text: &str) -> String {
    use fmt::Write;
    text.bytes().fold(String::with_capacity(text.len()), |mut path, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                path.push(char::from(byte));
            }
            _ => write!(path, "%{byte:02X}").expect("writing to a string"),
        }
        path
    })
}

/// A name as one segment of a path, whatever is in it.
fn encode_segment(name: &str) -> String {
    encode_path(name).replace('/', "%2F")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_ids_survive_the_path() {
        assert_eq!(encode_path("vendor/model-1.5"), "vendor/model-1.5");
        assert_eq!(encode_path("a b?#%ü"), "a%20b%3F%23%25%C3%BC");
        assert_eq!(encode_segment("a/b c"), "a%2Fb%20c");
    }
}
