//! How a provider is reached, as the operator set it up. Nothing in here shows a key.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

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

/// A model of a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderModel {
    /// As the provider calls it.
    pub id: String,
    /// For people; the id if there is none.
    pub name: Option<String>,
    /// What a request costs, as a multiple of a normal one. Unless it is said, a provider without
    /// a key is free and one with a key is normal.
    pub multiplier: Option<f64>,
    /// How many tokens it can read.
    pub context_window: Option<u64>,
}

/// Where a provider's API begins, such as `http://localhost:11434/v1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// Reads and checks an address; the error says what is accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let example = "use one such as http://localhost:11434/v1";
        let url = Url::parse(text).map_err(|error| format!("not a URL ({error}), {example}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(format!("not an http or https URL, {example}"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a URL must not carry a password, use apiKeyEnv or apiKeyFile".to_owned());
        }
        if url.fragment().is_some() {
            return Err(format!("a URL with a fragment (#) leads nowhere, {example}"));
        }
        Ok(Self(url))
    }

    /// The address of a path below. A query (some providers put a version there) is kept.
    pub(super) fn join(&self, path: &[&str]) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// The address itself, without a slash at its end.
    #[cfg(feature = "copilot")]
    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether it leads to this machine.
    pub(super) fn is_local(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost"
            || host.ends_with(".localhost")
            || address.is_ok_and(|address| address.is_loopback())
    }
}

/// Where a key comes from.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// The provider needs none.
    None,
    /// It is known.
    Given(ApiKey),
    /// The file that holds it, read for every request: keys are replaced while the portal runs.
    File(PathBuf),
    /// It should be there and is not: why. The provider can't be used.
    Missing(String),
}

impl KeySource {
    /// The key, if there is one; the error says why there should be one and is not.
    pub(crate) async fn read(&self) -> Result<Option<ApiKey>, String> {
        match self {
            Self::None => Ok(None),
            Self::Given(key) => Ok(Some(key.clone())),
            Self::Missing(why) => Err(why.clone()),
            Self::File(path) => {
                let problem =
                    |cause: String| format!("the key can't be read: {cause}: `{}`", path.display());
                let text = tokio::fs::read_to_string(path).await;
                let text = text.map_err(|error| problem(error.to_string()))?;
                ApiKey::new(&text).map(Some).map_err(problem)
            }
        }
    }
}

/// A key. Never printed by `{:?}`.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Checks a key. Space around it does not count: files end with a line break.
    pub fn new(text: &str) -> Result<Self, String> {
        let key = text.trim();
        if key.is_empty() {
            return Err("the key is empty".to_owned());
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the key has other characters than visible ASCII ones".to_owned());
        }
        Ok(Self(key.to_owned()))
    }

    /// A header's value, behind a prefix.
    pub(super) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The key itself, for those who send it.
    #[cfg(feature = "copilot")]
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The text without this key: providers repeat in errors what they were sent.
    pub(crate) fn remove_from(&self, text: &str) -> String {
        text.replace(&self.0, "…")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
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
