//! What providers have in common, as configured by the operator: an address, a key, models. Nothing
//! in here prints a key.

use std::fmt;
use std::path::PathBuf;

use reqwest::Url;
use reqwest::header::HeaderValue;

/// A model of a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderModel {
    /// The provider's id for the model.
    pub id: String,
    /// The name shown to people; the id if there is none.
    pub name: Option<String>,
    /// The cost of a request as a multiple of a normal one. Defaults to 0 for a provider without a
    /// key and to 1 for one with a key.
    pub multiplier: Option<f64>,
    /// The context window, in tokens.
    pub context_window: Option<u64>,
}

/// The base address of a provider's API, such as `http://localhost:11434/v1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// Parses an address; the error says what is accepted.
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

    /// The address of a path below it. A query is kept: some providers put a version there.
    pub(crate) fn join(&self, path: &[&str]) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// The address without a trailing slash.
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether the address is on this machine.
    pub(crate) fn is_local(&self) -> bool {
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
    /// The key itself, known since startup.
    Given(ApiKey),
    /// The file that holds the key. Read for every request, because keys are replaced while the
    /// portal runs.
    File(PathBuf),
    /// The key is missing, and why. The provider cannot be used.
    Missing(String),
}

impl KeySource {
    /// The key, or `None` if none is needed; the error says why a required key is missing.
    pub async fn read(&self) -> Result<Option<ApiKey>, String> {
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

/// An API key. Never printed by `{:?}`.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Checks a key. Surrounding whitespace is ignored, because files end with a line break.
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

    /// The value of a header: the prefix and the key.
    pub(crate) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The key itself, for code that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The text with this key removed: providers quote in errors what they were sent.
    pub fn remove_from(&self, text: &str) -> String {
        text.replace(&self.0, "…")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}
