//! How the Copilot CLI is found and what it runs on, as configured by the operator. Part of every
//! build, so that a settings file is also valid for one without the feature `sdk`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use agents::provider::{BaseUrl, KeySource, ProviderModel};

/// Settings of the CLI and its models.
#[derive(Clone, Debug, Default)]
pub struct CopilotSettings {
    /// The program, if the operator named it; otherwise it is searched for.
    pub cli: Option<PathBuf>,
    /// An endpoint that serves the models instead of GitHub.
    pub provider: Option<OwnProvider>,
    /// Environment variables with keys, hidden from the CLI in addition to the portal's own.
    pub secrets: Vec<String>,
    /// Environment variables that are set for the CLI.
    pub environment: Vec<(OsString, OsString)>,
    /// Timeouts and cache times.
    pub limits: CopilotLimits,
}

/// An endpoint configured by the operator, on which the CLI's agent runs without a login.
#[derive(Clone, Debug)]
pub struct OwnProvider {
    /// The base address of its API.
    pub base_url: BaseUrl,
    /// Where its key comes from.
    pub key: KeySource,
    /// The protocol that it speaks.
    pub kind: ProviderKind,
    /// Which of `OpenAI`'s APIs it offers, if that matters.
    pub wire_api: Option<WireApi>,
    /// Its models: the endpoint is not asked for them.
    pub models: Vec<ProviderModel>,
}

/// The protocol of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProviderKind {
    /// The protocol of `OpenAI`.
    #[default]
    OpenAi,
    /// The protocol of Anthropic.
    Anthropic,
}

impl ProviderKind {
    /// The CLI's name for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// The two APIs of `OpenAI`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireApi {
    /// The chat completions API.
    Completions,
    /// The newer responses API.
    Responses,
}

impl WireApi {
    /// The CLI's name for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completions => "completions",
            Self::Responses => "responses",
        }
    }
}

/// Timeouts and cache times.
#[derive(Clone, Debug)]
pub struct CopilotLimits {
    /// Timeout for starting the CLI. Long, because it unpacks itself the first time.
    pub start: Duration,
    /// Timeout for listing models, including a start of the CLI. People wait for it.
    pub listing: Duration,
    /// Timeout for starting a conversation.
    pub session: Duration,
    /// How long the list of models is cached.
    pub model_list: Duration,
}

impl Default for CopilotLimits {
    fn default() -> Self {
        Self {
            start: Duration::from_mins(2),
            listing: Duration::from_secs(15),
            session: Duration::from_mins(1),
            model_list: Duration::from_mins(5),
        }
    }
}
