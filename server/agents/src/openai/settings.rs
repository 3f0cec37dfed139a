//! How a provider is reached, as the operator set it up. Nothing in here shows a key.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::provider::{BaseUrl, KeySource, ProviderModel};

/// One provider.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// A short name, for lists and logs.
    pub name: String,
    /// Where its API begins.
    pub base_url: BaseUrl,
    /// Where its key comes from.
    pub key: KeySource,
    /// The header that carries the key; without one it is `Authorization: Bearer KEY`.
    pub key_header: Option<HeaderName>,
    /// Sent with every request.
    pub headers: ProviderHeaders,
    /// Its models; if there are none, the provider is asked.
    pub models: Vec<ProviderModel>,
    /// What one may wait for, and how much.
    pub limits: ProviderLimits,
}

impl ProviderSettings {
    /// A provider without a key, with the usual limits, that is asked for its models.
    pub fn new(name: &str, base_url: BaseUrl) -> Self {
        Self {
            name: name.to_owned(),
            base_url,
            key: KeySource::None,
            key_header: None,
            headers: ProviderHeaders::default(),
            models: Vec::new(),
            limits: ProviderLimits::default(),
        }
    }
}

/// Further headers. Values are never printed by `{:?}`.
#[derive(Clone, Debug, Default)]
pub struct ProviderHeaders(HeaderMap);

impl ProviderHeaders {
    /// Adds a header; the error says what is accepted.
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), String> {
        let known = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("not a header's name: `{name}`"))?;
        match known.as_str() {
            "authorization" | "api-key" | "x-api-key" | "cookie" | "proxy-authorization" => {
                return Err(format!(
                    "keys come from apiKeyEnv or apiKeyFile (and apiKeyHeader), not from: `{name}`"
                ));
            }
            "host" | "content-length" | "content-type" | "transfer-encoding" | "connection"
            | "accept" | "accept-encoding" => {
                return Err(format!("a header that the portal sets itself: `{name}`"));
            }
            _ => {}
        }
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("not a header's value, use visible ASCII: `{name}`"))?;
        value.set_sensitive(true);
        self.0.insert(known, value);
        Ok(())
    }

    pub(super) fn map(&self) -> &HeaderMap {
        &self.0
    }
}

/// Reads the name of the header that carries a key; the error says what is accepted.
pub fn parse_key_header(name: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("not a header's name, use one such as api-key: `{name}`"))
}

/// What one may wait for, and how much.
#[derive(Clone, Debug)]
pub struct ProviderLimits {
    /// For a connection.
    pub connect: Duration,
    /// From the request to the first byte of an answer. Long: models are loaded, and think.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// How often a request is repeated of which nothing has been answered.
    pub retries: u32,
    /// Before it is repeated for the first time, unless the provider says; doubled each time.
    pub first_back_off: Duration,
    /// If the provider wants one to wait longer than this, the request fails.
    pub longest_wait: Duration,
    /// Requests for one prompt. A model that calls tools for ever costs money for ever.
    pub rounds: u32,
    /// Of one answer, with all that is around its text.
    pub answer_bytes: usize,
    /// How long the list of models is remembered.
    pub model_list: Duration,
}

impl Default for ProviderLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_mins(5),
            idle: Duration::from_mins(2),
            retries: 4,
            first_back_off: Duration::from_millis(500),
            longest_wait: Duration::from_mins(1),
            rounds: 50,
            answer_bytes: 32 * 1024 * 1024,
            model_list: Duration::from_mins(5),
        }
    }
}
