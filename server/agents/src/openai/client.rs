//! Requests to a provider and the bytes of its answers. The only module that knows HTTP.
//!
//! Dropping a call or a [`Body`] closes its connection: that is how a turn is aborted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::failure::{Complaint, Failure, retry_after, shorten};
use super::settings::ProviderSettings;
use crate::provider::ApiKey;

/// Limit for the body of an error, in bytes.
const LONGEST_ERROR: usize = 64 * 1024;
/// Limit for a list of models, in bytes.
const LONGEST_MODEL_LIST: usize = 8 * 1024 * 1024;
/// People wait for the list of models, so its timeout is shorter than that of an answer.
const MODEL_LIST_TIME: Duration = Duration::from_secs(10);
const STREAM_OPTIONS: &str = "stream_options";

/// The client of one provider, shared by its sessions.
pub(super) struct Client {
    settings: ProviderSettings,
    /// Created on first use, `None` after it is closed.
    http: Mutex<Option<reqwest::Client>>,
    /// The key that was sent last, to be removed from texts that people read.
    key: Mutex<Option<ApiKey>>,
    /// Set once the provider has refused to count tokens in streams.
    without_stream_options: AtomicBool,
}

impl Client {
    pub(super) fn new(settings: ProviderSettings) -> Self {
        Self {
            settings,
            http: Mutex::default(),
            key: Mutex::default(),
            without_stream_options: AtomicBool::default(),
        }
    }

    pub(super) fn settings(&self) -> &ProviderSettings {
        &self.settings
    }

    /// A failure as text for people, without any key.
    pub(super) fn describe(&self, failure: &Failure) -> String {
        let text = failure.to_string();
        match &*self.key.lock() {
            Some(key) => key.remove_from(&text),
            None => text,
        }
    }

    /// Requests a streamed answer.
    pub(super) async fn chat(&self, mut request: Value) -> Result<Body, Failure> {
        let with_options = !self.without_stream_options.load(Ordering::Relaxed);
        if with_options {
            request[STREAM_OPTIONS] = json!({ "include_usage": true });
        }
        let answer = self.send_chat(&request).await;
        match answer {
            Err(failure) if with_options && failure.blames(STREAM_OPTIONS) => {
                self.without_stream_options.store(true, Ordering::Relaxed);
                if let Some(fields) = request.as_object_mut() {
                    fields.remove(STREAM_OPTIONS);
                }
                self.send_chat(&request).await
            }
            answer => answer,
        }
    }

    async fn send_chat(&self, request: &Value) -> Result<Body, Failure> {
        let limits = &self.settings.limits;
        let deadline = Instant::now() + limits.first_byte;
        let url = self.settings.base_url.join(&["chat", "completions"]);
        let request = self
            .http()?
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(request.to_string());
        let response = self.send(request, deadline).await?;
        Ok(Body {
            response,
            deadline,
            idle: limits.idle,
            left: limits.answer_bytes,
            limit: limits.answer_bytes,
        })
    }

    /// Requests the list of models.
    pub(super) async fn models(&self) -> Result<Value, Failure> {
        let deadline = Instant::now() + MODEL_LIST_TIME;
        let url = self.settings.base_url.join(&["models"]);
        let request = self.http()?.get(url).header(ACCEPT, "application/json");
        let response = self.send(request, deadline).await?;
        let limit = LONGEST_MODEL_LIST;
        // No idle timeout: the deadline covers the whole body.
        let mut body = Body { response, deadline, idle: Duration::ZERO, left: limit, limit };
        let text = body.read_all().await?;
        serde_json::from_slice(&text)
            .map_err(|_| Failure::Garbled(shorten(&String::from_utf8_lossy(&text))))
    }

    /// Closes the connections that are kept open.
    pub(super) fn close(&self) {
        self.http.lock().take();
    }

    fn http(&self) -> Result<reqwest::Client, Failure> {
        let mut http = self.http.lock();
        if let Some(http) = &*http {
            return Ok(http.clone());
        }
        let made = self.make_http().map_err(|error| {
            Failure::NotReady(format!("can't set up connections: {}", cause_of(&error)))
        })?;
        Ok(http.insert(made).clone())
    }

    fn make_http(&self) -> Result<reqwest::Client, reqwest::Error> {
        // Fails if another part of the process has installed one before, which is just as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let base_url = &self.settings.base_url;
        let mut builder = reqwest::Client::builder()
            // A key must only go to the configured address.
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(self.settings.limits.connect)
            .user_agent(concat!("copilot-portal/", env!("CARGO_PKG_VERSION")));
        if base_url.is_local() {
            builder = builder.no_proxy();
        }
        if !base_url.is_encrypted() {
            // No certificates are loaded, so that a machine without any can still reach its own
            // models.
            builder = builder.tls_certs_only([]);
        }
        builder.build()
    }

    async fn key(&self) -> Result<Option<ApiKey>, Failure> {
        let key = self.settings.key.read().await.map_err(Failure::NotReady)?;
        self.key.lock().clone_from(&key);
        Ok(key)
    }

    /// Fails if the configured key is missing.
    pub(super) async fn check_key(&self) -> Result<(), Failure> {
        self.key().await.map(drop)
    }

    /// Sends a request and waits for the head of a successful response.
    async fn send(&self, request: RequestBuilder, deadline: Instant) -> Result<Response, Failure> {
        let mut request = request.headers(self.settings.headers.map().clone());
        if let Some(key) = self.key().await? {
            let (name, prefix) = match &self.settings.key_header {
                Some(name) => (name.clone(), ""),
                None => (AUTHORIZATION, "Bearer "),
            };
            if let Some(value) = key.header(prefix) {
                request = request.header(name, value);
            }
        }
        let answer = timeout_at(deadline, request.send()).await;
        let response = answer.map_err(|_| no_answer())?.map_err(|error| not_sent(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        Err(refusal(response).await)
    }
}

async fn refusal(response: Response) -> Failure {
    let status = response.status();
    let retry_after = retry_after(response.headers(), SystemTime::now());
    let complaint = if status.is_redirection() {
        let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let target = shorten(target.unwrap_or("nowhere"));
        let message =
            format!("redirects are not followed, set baseUrl to where it leads: `{target}`");
        Complaint { message, code: String::new() }
    } else {
        let deadline = Instant::now() + MODEL_LIST_TIME;
        let limit = LONGEST_ERROR;
        let mut body = Body { response, deadline, idle: Duration::ZERO, left: limit, limit };
        // Half an explanation is better than none, so a truncated body is accepted.
        let text = body.read_available().await;
        Complaint::read(&String::from_utf8_lossy(&text))
    };
    let complaint = explain(status, complaint);
    Failure::Refused { status: status.as_u16(), complaint, retry_after }
}

fn explain(status: StatusCode, mut complaint: Complaint) -> Complaint {
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        complaint.message.push_str(" (check the key)");
    }
    complaint
}

/// The kind of a response's body, by its content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyKind {
    /// Server-sent events, as requested.
    Stream,
    /// A whole answer at once: some providers ignore the request to stream.
    Whole,
    /// A web page: there is no chat endpoint at this address.
    Page,
}

/// The body of a response while it is being read.
pub(super) struct Body {
    response: Response,
    /// When the next piece must have arrived.
    deadline: Instant,
    /// Longest time between two pieces; zero leaves the deadline unchanged.
    idle: Duration,
    left: usize,
    limit: usize,
}

impl Body {
    /// The kind declared by the response's headers.
    pub(super) fn kind(&self) -> BodyKind {
        let kind = self.response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().trim_start().to_ascii_lowercase();
        if kind.starts_with("application/json") {
            BodyKind::Whole
        } else if kind.starts_with("text/html") {
            BodyKind::Page
        } else {
            BodyKind::Stream
        }
    }

    /// The next bytes; `None` at the end. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, Failure> {
        let piece = timeout_at(self.deadline, self.response.chunk()).await;
        let untouched = self.left == self.limit;
        let piece = piece.map_err(|_| if untouched { no_answer() } else { stalled() })?;
        let piece = piece.map_err(|error| {
            Failure::Lost(format!("the connection was lost: {}", cause_of(&error)))
        })?;
        if let Some(piece) = &piece {
            self.left = self.left.checked_sub(piece.len()).ok_or(Failure::TooLarge(self.limit))?;
        }
        if !self.idle.is_zero() {
            self.deadline = Instant::now() + self.idle;
        }
        Ok(piece)
    }

    /// Everything that is left must arrive within this time.
    pub(super) fn hurry(&mut self, time: Duration) {
        self.deadline = self.deadline.min(Instant::now() + time);
        self.idle = Duration::ZERO;
    }

    pub(super) async fn read_all(&mut self) -> Result<Vec<u8>, Failure> {
        let mut all = Vec::new();
        while let Some(piece) = self.next().await? {
            all.extend_from_slice(piece.as_ref());
        }
        Ok(all)
    }

    async fn read_available(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while let Ok(Some(piece)) = self.next().await {
            all.extend_from_slice(piece.as_ref());
        }
        all
    }
}

fn no_answer() -> Failure {
    Failure::TimedOut("the provider does not answer".to_owned())
}

fn stalled() -> Failure {
    Failure::TimedOut("the provider stopped in the middle of its answer".to_owned())
}

fn not_sent(error: &reqwest::Error) -> Failure {
    if error.is_timeout() {
        return Failure::TimedOut("the provider can't be reached".to_owned());
    }
    let cause = cause_of(error);
    if error.is_connect() {
        return Failure::Lost(format!("the provider can't be reached: {cause}"));
    }
    Failure::Lost(format!("the connection was lost: {cause}"))
}

/// The root cause of an error. The layers above only repeat that there is one, and the address,
/// which can contain more than people should see.
fn cause_of(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    shorten(&cause.to_string())
}
