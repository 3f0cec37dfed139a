//! What can go wrong with a request, how it is described, and whether a retry may help.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::settings::ProviderLimits;

/// In characters. Some providers answer with whole pages.
const LONGEST_MESSAGE: usize = 500;

/// Why a request failed. Displays as a sentence for people, which may still contain a key: see
/// `Client::describe`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    /// Nothing could be sent.
    #[error("{0}")]
    NotReady(String),
    /// A response with an error status.
    #[error("HTTP {status}: {}", .complaint.message)]
    Refused { status: u16, complaint: Complaint, retry_after: Option<Duration> },
    /// An error in the middle of a stream.
    #[error("the provider reports an error: {}", .0.message)]
    Reported(Complaint),
    /// The connection failed or was lost.
    #[error("{0}")]
    Lost(String),
    /// The stream ended before the answer did.
    #[error("the answer was cut off: the provider ended the stream in the middle")]
    CutOff,
    /// The provider did not send anything within the time limit.
    #[error("{0} (time-out)")]
    TimedOut(String),
    /// The response is not what a chat endpoint sends.
    #[error("not an answer of a chat endpoint: {0}")]
    Garbled(String),
    /// The answer exceeds the limit, in bytes.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The provider ended the answer before the model did.
    #[error("{0}")]
    Incomplete(String),
}

/// The error that a provider reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) message: String,
    /// The provider's error code: a word or a number.
    pub(super) code: String,
}

impl Complaint {
    /// Parses the body of an error in any of the known shapes.
    pub(super) fn read(body: &str) -> Self {
        match serde_json::from_str(body) {
            Ok(json) => Self::from_json(&json),
            // A web page explains nothing here.
            Err(_) if body.trim_start().starts_with('<') => Self::default().or_unexplained(),
            Err(_) => Self { message: shorten(body), code: String::new() }.or_unexplained(),
        }
    }

    /// Parses `{"error":{"message",…}}`, `{"error":"…"}`, `{"message":"…"}`, `{"detail":"…"}`, or
    /// one of these in a list.
    pub(super) fn from_json(json: &Value) -> Self {
        let json = json.get(0).unwrap_or(json);
        let error = json.get("error").filter(|error| !error.is_null()).unwrap_or(json);
        let message = error.as_str().map(str::to_owned).or_else(|| {
            let named = ["message", "detail", "error"].into_iter().find_map(|name| error.get(name));
            named.map(|text| text.as_str().map_or_else(|| text.to_string(), str::to_owned))
        });
        let code = ["code", "type"].into_iter().filter_map(|name| match error.get(name)? {
            Value::String(code) => Some(code.clone()),
            Value::Number(code) => Some(code.to_string()),
            _ => None,
        });
        let code = code.into_iter().next().unwrap_or_default();
        Self { message: shorten(&message.unwrap_or_default()), code }.or_unexplained()
    }

    fn or_unexplained(mut self) -> Self {
        if self.message.is_empty() {
            "the provider does not say why".clone_into(&mut self.message);
        }
        self
    }

    /// Whether the conversation exceeds the model's context window. Providers share no code for
    /// this.
    fn is_overflow(&self) -> bool {
        const CODES: [&str; 4] = [
            "context_length_exceeded",
            "exceed_context_size_error",
            "context_window_exceeded",
            "model_max_prompt_tokens_exceeded",
        ];
        const TEXTS: [&str; 8] = [
            "maximum context length",
            "context length exceeded",
            "context window",
            "exceeds the available context size",
            "prompt is too long",
            "input is too long",
            "input token count exceeds",
            "reduce the length of the messages",
        ];
        let message = self.message.to_lowercase();
        CODES.contains(&&*self.code) || TEXTS.iter().any(|text| message.contains(text))
    }
}

impl Failure {
    /// Whether the conversation exceeds the model's context window.
    pub(super) fn is_overflow(&self) -> bool {
        match self {
            Self::Refused { status, complaint, .. } => *status != 429 && complaint.is_overflow(),
            Self::Reported(complaint) => complaint.is_overflow(),
            _ => false,
        }
    }

    /// Whether the provider would refuse this request however often it is sent.
    pub(super) fn is_about_the_request(&self) -> bool {
        self.is_overflow() || matches!(self, Self::Refused { status: 400 | 413 | 422, .. })
    }

    /// Whether the provider rejected the option of that name.
    pub(super) fn blames(&self, option: &str) -> bool {
        matches!(self, Self::Refused { status: 400 | 422, complaint, .. }
            if complaint.message.contains(option))
    }

    /// How long to wait before the next attempt; `None` if a retry makes no sense.
    pub(super) fn retry_wait(&self, attempt: u32, limits: &ProviderLimits) -> Option<Duration> {
        if attempt >= limits.retries || self.is_overflow() {
            return None;
        }
        let asked = match self {
            Self::Refused { status, complaint, retry_after } if is_passing(*status) => {
                // Waiting does not raise a quota.
                if complaint.code == "insufficient_quota" {
                    return None;
                }
                *retry_after
            }
            Self::Reported(complaint) if complaint.code.parse().is_ok_and(is_passing) => None,
            Self::Lost(_) | Self::CutOff => None,
            _ => return None,
        };
        match asked {
            Some(wait) => (wait <= limits.longest_wait).then_some(wait),
            None => Some(back_off(attempt, limits)),
        }
    }

    /// What happened, for logs: contains no text of the provider.
    pub(super) fn headline(&self) -> String {
        match self {
            Self::Refused { status, .. } => format!("HTTP {status}"),
            Self::Reported(_) => "an error in the stream".to_owned(),
            Self::Garbled(_) => "not an answer of a chat endpoint".to_owned(),
            other => other.to_string(),
        }
    }
}

fn is_passing(status: u16) -> bool {
    matches!(status, 429 | 500 | 502..=504 | 520..=529)
}

/// Doubles each time, plus up to a quarter at random, so that clients that failed together do not
/// retry together.
fn back_off(attempt: u32, limits: &ProviderLimits) -> Duration {
    let wait = limits.first_back_off.saturating_mul(1 << attempt.min(16));
    let chance = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.subsec_micros());
    (wait + wait / 4 * (chance % 100) / 100).min(limits.longest_wait)
}

/// How long the provider asks clients to wait: in seconds, as a date, or in its own header in
/// milliseconds.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    if let Some(Ok(milliseconds)) = text("retry-after-ms").map(str::parse) {
        return Some(Duration::from_millis(milliseconds));
    }
    let value = text("retry-after")?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// The text on one line, truncated.
pub(super) fn shorten(text: &str) -> String {
    // Only a prefix is processed, so that a huge text costs no time.
    let words = text.get(..text.floor_char_boundary(LONGEST_MESSAGE * 8)).unwrap_or(text);
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
