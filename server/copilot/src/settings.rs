//! How the Copilot CLI is found and what it runs on, as the operator set it up. Known to every
//! build, so that a settings file means the same to one without the feature `sdk`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use agents::provider::{BaseUrl, KeySource, ProviderModel};

/// The CLI and its models.
#[derive(Clone, Debug, Default)]
pub struct CopilotSettings {
    /// The program, if the operator named it; else it is looked for.
    pub cli: Option<PathBuf>,
    /// Who serves the models instead of GitHub.
    pub provider: Option<OwnProvider>,
    /// Variables that the CLI must not see, besides the portal's own: those with keys.
    pub secrets: Vec<String>,
    /// Variables that the CLI gets besides the portal's.
    pub environment: Vec<(OsString, OsString)>,
    /// What one may wait for.
    pub limits: CopilotLimits,
}

/// An endpoint of the operator's, on which the CLI's agent runs without a login.
#[derive(Clone, Debug)]
pub struct OwnProvider {
    /// Where its API begins.
    pub base_url: BaseUrl,
    /// Where its key comes from.
    pub key: KeySource,
    /// What it speaks.
    pub kind: ProviderKind,
    /// Which of the dialects, if there are several.
    pub wire_api: Option<WireApi>,
    /// Its models: it is not asked for them.
    pub models: Vec<ProviderModel>,
}

/// What an endpoint speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProviderKind {
    /// As `OpenAI` does.
    #[default]
    OpenAi,
    /// As Anthropic does.
    Anthropic,
}

impl ProviderKind {
    /// The CLI's word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// The two dialects of `OpenAI`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireApi {
    /// Chat completions.
    Completions,
    /// Responses.
    Responses,
}

impl WireApi {
    /// The CLI's word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completions => "completions",
            Self::Responses => "responses",
        }
    }
}

/// What one may wait for.
#[derive(Clone, Debug)]
pub struct CopilotLimits {
    /// For the CLI to start. Long: the first time it unpacks itself.
    pub start: Duration,
    /// For the list of models, with a start that it may need. People wait for it.
    pub listing: Duration,
    /// For a conversation to begin.
    pub session: Duration,
    /// How long the list of models is remembered.
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
