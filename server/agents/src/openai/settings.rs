//! How a provider is reached, as configured by the operator. Nothing in here prints a key.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::provider::{BaseUrl, KeySource, ProviderModel};

/// Settings of one provider.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// A short name, for lists and logs.
    pub name: String,
    /// The base address of its API.
    pub base_url: BaseUrl,
    /// Where its key comes from.
    pub key: KeySource,
    /// The header that carries the key; without one it is `Authorization: Bearer KEY`.
    pub key_header: Option<HeaderName>,
    /// Extra headers, sent with every request.
    pub headers: ProviderHeaders,
    /// Its models; if empty, the provider is asked for them.
    pub models: Vec<ProviderModel>,
    /// Timeouts and other limits.
    pub limits: ProviderLimits,
}

impl ProviderSettings {
    /// A provider without a key, with default limits, that is asked for its models.
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

/// Extra headers. Values are never printed by `{:?}`.
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

/// Parses the name of the header that carries a key; the error says what is accepted.
pub fn parse_key_header(name: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("not a header's name, use one such as api-key: `{name}`"))
}

/// Timeouts and other limits for requests to a provider.
#[derive(Clone, Debug)]
pub struct ProviderLimits {
    /// Timeout for establishing a connection.
    pub connect: Duration,
    /// Timeout from the request to the first byte of an answer. Long, because models have to be
    /// loaded and think.
    pub first_byte: Duration,
    /// Timeout between two pieces of an answer.
    pub idle: Duration,
    /// How often a request is repeated as long as nothing of its answer was received.
    pub retries: u32,
    /// Delay before the first retry, unless the provider names one; doubled for each further retry.
    pub first_back_off: Duration,
    /// If the provider asks for a longer delay than this, the request fails.
    pub longest_wait: Duration,
    /// Limit of requests for one prompt. A model that calls tools for ever costs money for ever.
    pub rounds: u32,
    /// Limit for one answer, in bytes, including everything around its text.
    pub answer_bytes: usize,
    /// How long the list of models is cached.
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
