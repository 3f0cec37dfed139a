//! Every request that a page makes. Pages call these functions and nothing else.

pub(crate) mod alive;
pub(crate) mod attachments;
pub(crate) mod bridge;
pub(crate) mod folder;
pub(crate) mod history;
pub(crate) mod markdown;
pub(crate) mod session;
pub(crate) mod stored;

use std::fmt;

use gloo_net::http::Request;
use web_sys::AbortSignal;
use web_sys::js_sys::{JSON, Object, Reflect, decode_uri_component, global};
use web_sys::wasm_bindgen::{JsCast, JsValue};
use wire::chart::Chart;
use wire::json::{self, Document, FromJson, JsonError};
use wire::server::{Refusal, TestReply};
use wire::{
    AnsweredInbox, Budget, Done, ErrorName, ErrorReply, Events, ExtensionTrust, Extensions,
    InboxChoice, JobId, JobList, JobStarted, JobStatusReply, JobVerdicts, LiveToken,
    MESSAGE_HEADER, Models, PermissionId, PermissionMode, RunningJobs, STORE_HEADER, SessionBudget,
    SessionId, SessionResponse, SessionStarted, Sessions, StopReply, TaskId, TaskStarted, Tasks,
    TokenReply,
};

use crate::explain::{Known, explain};
use crate::store_trouble;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiError {
    /// The server could not be reached, or the connection broke.
    Unreachable,
    /// The server refused the request before it reached the domain.
    Refused {
        /// The HTTP status code.
        status: u16,
        /// The server's explanation, as text for people.
        reason: String,
    },
    /// The domain refused the request.
    Domain {
        /// Which rule of the domain was broken.
        name: ErrorName,
        /// Details from the header `Portal-Message`.
        details: Option<String>,
    },
    /// The answer does not follow the contract.
    Malformed(String),
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable => f.write_str("The server can't be reached. Is it still running?"),
            Self::Refused { status, reason } => {
                write!(f, "The server refused the request ({status}): {reason}")
            }
            Self::Domain { .. } => f.write_str(&self.explain(Known::default())),
            Self::Malformed(detail) => write!(f, "The server sent an invalid answer: {detail}"),
        }
    }
}

impl From<ErrorName> for ApiError {
    fn from(name: ErrorName) -> Self {
        Self::Domain { name, details: None }
    }
}

impl From<JsonError> for ApiError {
    fn from(error: JsonError) -> Self {
        Self::Malformed(error.to_string())
    }
}

impl ApiError {
    /// The same text as `Display`, with what the page knows about the request.
    pub(crate) fn explain(&self, known: Known<'_>) -> String {
        match self {
            Self::Domain { name, details } => {
                explain(*name, &Known { details: details.as_deref(), ..known })
            }
            other => other.to_string(),
        }
    }
}

/// Gets the greeting of `api/test`.
pub async fn test() -> Result<TestReply, ApiError> {
    fetch("/api/test").await
}

/// The models that sessions can be started with.
pub async fn models() -> Result<Models, ApiError> {
    fetch("/api/copilot/models").await
}

/// Lists the open sessions, including those of jobs.
pub async fn sessions() -> Result<Sessions, ApiError> {
    fetch("/api/copilot/session").await
}

/// A token for a new reader.
pub async fn token() -> Result<LiveToken, ApiError> {
    let reply: TokenReply = fetch("/api/token").await?;
    Ok(reply.token)
}

/// Starts a session in a folder.
pub async fn start_session(model: &str, folder: &str) -> Result<SessionId, ApiError> {
    let path = format!("/api/copilot/session/start/{}", encode_path(model));
    let started: SessionStarted = ask(&path, folder).await?;
    Ok(started.session_id)
}

/// Queues a prompt in a session.
pub async fn query(id: SessionId, prompt: &str) -> Result<(), ApiError> {
    let _: Done = ask(&format!("/api/copilot/session/{id}/query"), prompt).await?;
    Ok(())
}

/// Aborts the running turn.
pub async fn abort(id: SessionId) -> Result<(), ApiError> {
    let _: Done = ask(&format!("/api/copilot/session/{id}/abort"), "").await?;
    Ok(())
}

/// Ends a session and its agent.
pub async fn stop_session(id: SessionId) -> Result<(), ApiError> {
    let _: StopReply = ask(&format!("/api/copilot/session/{id}/stop"), "").await?;
    Ok(())
}

/// Starts a session that continues a closed one.
pub async fn continue_session(id: SessionId) -> Result<SessionId, ApiError> {
    let started: SessionStarted = ask(&format!("/api/copilot/session/{id}/continue"), "").await?;
    Ok(started.session_id)
}

/// Stored responses of a session, after the one with this number.
pub async fn session_events(
    id: SessionId,
    after: u64,
) -> Result<Events<SessionResponse>, ApiError> {
    let path = format!("/api/copilot/session/{id}/events?after={after}");
    accept(&get_text(&path, None).await?)
}

/// The path of the list of what is alive.
pub(crate) const ALIVE_PATH: &str = "/api/copilot/alive";

/// The path of the list of what waits for a person.
pub(crate) const INBOX_PATH: &str = "/api/copilot/inbox";

/// Answers an item of the inbox; the text may be empty.
pub async fn answer(id: PermissionId, choice: InboxChoice, text: &str) -> Result<(), ApiError> {
    let _: Done = ask(&format!("{INBOX_PATH}/{id}"), &format!("{choice}\n{text}")).await?;
    Ok(())
}

/// The items that left the inbox last.
pub async fn answered() -> Result<AnsweredInbox, ApiError> {
    fetch(&format!("{INBOX_PATH}/answered?limit=20")).await
}

/// Sets a session's permission mode.
pub async fn set_permissions(id: SessionId, mode: PermissionMode) -> Result<(), ApiError> {
    let _: Done = ask(&format!("/api/copilot/session/{id}/permissions"), mode.as_str()).await?;
    Ok(())
}

/// How much a session may use, and has used.
pub async fn session_budget(id: SessionId) -> Result<SessionBudget, ApiError> {
    accept(&get_text(&format!("/api/copilot/session/{id}/budget"), None).await?)
}

/// Sets how much a session may use.
pub async fn set_budget(id: SessionId, budget: &Budget) -> Result<(), ApiError> {
    let body = json::to_string(budget);
    let _: Done = ask(&format!("/api/copilot/session/{id}/budget"), &body).await?;
    Ok(())
}

/// The extensions of a session.
pub async fn extensions(id: SessionId) -> Result<Extensions, ApiError> {
    accept(&get_text(&format!("/api/copilot/session/{id}/extensions"), None).await?)
}

/// Restarts the extensions of a session.
pub async fn reload_extensions(id: SessionId) -> Result<Extensions, ApiError> {
    ask(&format!("/api/copilot/session/{id}/extensions/reload"), "").await
}

/// Allows or forbids extensions in the folder of a session.
pub async fn trust_extensions(
    id: SessionId,
    trust: ExtensionTrust,
) -> Result<Extensions, ApiError> {
    ask(&format!("/api/copilot/session/{id}/extensions/trust"), trust.as_str()).await
}

/// Stops the server and everything it runs.
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

/// The jobs of the matrix; none without an entry.
pub async fn jobs() -> Result<JobList, ApiError> {
    list("/api/copilot/job").await
}

/// The running jobs, and those that ended recently.
pub async fn running_jobs() -> Result<RunningJobs, ApiError> {
    list("/api/copilot/job/running").await
}

/// Starts a job in a folder.
pub async fn start_job(name: &str, folder: &str, input: &str) -> Result<JobId, ApiError> {
    let path = format!("/api/copilot/job/start/{}", encode_segment(name));
    let started: JobStarted = ask(&path, &format!("{folder}\n{input}")).await?;
    Ok(started.job_id)
}

/// Stops a job and its running tasks.
pub async fn stop_job(id: JobId) -> Result<(), ApiError> {
    let _: StopReply = ask(&format!("/api/copilot/job/{id}/stop"), "").await?;
    Ok(())
}

/// Retries a run of a job that has ended: from a work on, or else all that did not succeed.
pub(crate) async fn retry_job(id: JobId, work: Option<u32>) -> Result<JobId, ApiError> {
    let work = work.map(|work| work.to_string()).unwrap_or_default();
    let started: JobStarted = ask(&format!("/api/copilot/job/{id}/retry"), &work).await?;
    Ok(started.job_id)
}

/// The path of a job's status.
pub(crate) fn job_status_path(id: JobId) -> String {
    format!("/api/copilot/job/{id}/status")
}

/// The status of a job and its works.
pub(crate) async fn job_status(id: JobId) -> Result<JobStatusReply, ApiError> {
    accept(&get_text(&job_status_path(id), None).await?)
}

/// What was judged in the tasks of a job.
pub(crate) async fn job_verdicts(id: JobId) -> Result<JobVerdicts, ApiError> {
    accept(&get_text(&format!("/api/copilot/job/{id}/verdicts"), None).await?)
}

/// A job of the entry, with its chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDefinition {
    /// The chart to draw.
    pub chart: Chart,
    /// The job and its chart as JSON text.
    pub json: String,
    /// Whether one of its tasks uses what the user typed.
    pub takes_input: bool,
}

/// The definition of a job; `None` if no job has this name.
pub async fn job_definition(name: &str) -> Result<Option<JobDefinition>, ApiError> {
    let answer = get_text("/api/copilot/job", None).await?;
    match accept::<Done>(&answer) {
        Ok(_) => Ok(pick_job(&answer, name)),
        Err(ApiError::Domain { name: ErrorName::EntryNotInstalled, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Uses the browser's own JSON functions: doing the same in Rust would only enlarge the download.
fn pick_job(answer: &str, name: &str) -> Option<JobDefinition> {
    let answer = JSON::parse(answer).ok()?;
    let pick = |kind: &str| {
        let all: Object = Reflect::get(&answer, &kind.into()).ok()?.dyn_into().ok()?;
        let own = Object::has_own(&all, &name.into());
        own.then(|| Reflect::get(&all, &name.into()).ok()).flatten()
    };
    let (job, chart) = (pick("jobs")?, pick("chart")?);
    let takes_input = Reflect::get(&job, &"requireUserInput".into()).ok()?.is_truthy();
    let both = Object::new();
    Reflect::set(&both, &"job".into(), &job).ok()?;
    Reflect::set(&both, &"chart".into(), &chart).ok()?;
    let json = JSON::stringify_with_replacer_and_space(&both, &JsValue::NULL, &2.into()).ok()?;
    let chart = String::from(JSON::stringify(&chart).ok()?);
    Some(JobDefinition { chart: parse(&chart).ok()?, json: json.into(), takes_input })
}

/// Waits for the next responses of many entities, one a line. `signal` ends the wait.
pub(crate) async fn follow(
    token: &LiveToken,
    entities: &str,
    signal: &AbortSignal,
) -> Result<String, ApiError> {
    post_text(&format!("/api/copilot/live/{token}"), entities, Some(signal)).await
}

/// Gets a list of the entry; empty without an entry.
async fn list<T: FromJson + Default>(path: &str) -> Result<T, ApiError> {
    match accept(&get_text(path, None).await?) {
        Err(ApiError::Domain { name: ErrorName::EntryNotInstalled, .. }) => Ok(T::default()),
        result => result,
    }
}

/// Calls an acting endpoint. Domain errors become [`ApiError::Domain`].
async fn ask<T: FromJson>(path: &str, body: &str) -> Result<T, ApiError> {
    accept(&post_text(path, body, None).await?)
}

/// Parses an answer that may be a domain error.
pub(crate) fn accept<T: FromJson>(answer: &str) -> Result<T, ApiError> {
    let answer = Document::parse(answer)?;
    match answer.read::<ErrorReply>() {
        Ok(reply) => Err(reply.error.into()),
        Err(_) => Ok(answer.read()?),
    }
}

async fn fetch<T: FromJson>(path: &str) -> Result<T, ApiError> {
    parse(&get_text(path, None).await?)
}

/// Sends a request without a body.
pub(crate) async fn get_text(path: &str, signal: Option<&AbortSignal>) -> Result<String, ApiError> {
    read_text(Request::get(path).abort_signal(signal).build()).await
}

async fn post_text(
    path: &str,
    body: &str,
    signal: Option<&AbortSignal>,
) -> Result<String, ApiError> {
    send_text(path, body, "text/plain; charset=utf-8", signal).await
}

async fn send_text(
    path: &str,
    body: &str,
    content_type: &str,
    signal: Option<&AbortSignal>,
) -> Result<String, ApiError> {
    let mut request = Request::post(path).abort_signal(signal);
    if let Some(secret) = login_secret() {
        request = request.header("portal-login", &secret);
    }
    read_text(request.header("content-type", content_type).body(body)).await
}

/// The secret of this browser's login, which acting calls present in addition to the cookie. Stored
/// by the page after the login; `None` without an access key.
fn login_secret() -> Option<String> {
    let storage = Reflect::get(&global(), &"localStorage".into()).ok()?;
    Reflect::get(&storage, &"portal-login".into()).ok()?.as_string()
}

/// Parses an answer as JSON.
pub(crate) fn parse<T: FromJson>(text: &str) -> Result<T, ApiError> {
    Ok(json::from_str(text)?)
}

async fn read_text(request: Result<Request, gloo_net::Error>) -> Result<String, ApiError> {
    let request = request.map_err(|error| ApiError::Malformed(error.to_string()))?;
    let response = request.send().await.map_err(|_| ApiError::Unreachable)?;
    store_trouble::tell(response.headers().get(STORE_HEADER).is_some());
    // A connection may also break in the middle of an answer.
    let text = response.text().await.map_err(|_| ApiError::Unreachable)?;
    if !response.ok() {
        let reply: Option<Refusal> = json::from_str(&text).ok();
        let reason = reply.map(|reply| reply.message.unwrap_or(reply.error));
        let reason = reason.unwrap_or_else(|| response.status_text());
        return Err(ApiError::Refused { status: response.status(), reason });
    }
    // Only domain errors have details, which do not fit into their text.
    if let Some(details) = response.headers().get(MESSAGE_HEADER)
        && let Ok(reply) = json::from_str::<ErrorReply>(&text)
    {
        let details = decode_uri_component(&details).map_or(details, String::from);
        return Err(ApiError::Domain { name: reply.error, details: Some(details) });
    }
    Ok(text)
}

/// Percent-encodes what is not allowed in a path. A slash is: model ids contain them.
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

/// Encodes a name as one segment of a path, whatever it contains.
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
