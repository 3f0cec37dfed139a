//! `[[providers]]` of `portal.toml`: further providers of models, with the owner's own keys.

use std::collections::{BTreeMap, HashSet};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::openai::{ProviderHeaders, ProviderLimits, ProviderSettings, parse_key_header};
use agents::provider::{ApiKey, BaseUrl, KeySource, ProviderModel};
use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use super::text::FileText;

/// Names of the backends that are built in.
const TAKEN: [&str; 2] = ["copilot", "simulated"];

/// One table of `[[providers]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ProviderTable {
    name: Spanned<String>,
    base_url: Spanned<String>,
    /// Dialect of the API. There is only one so far; a file that names it keeps it if others are
    /// added.
    #[serde(default, rename = "api")]
    _api: Api,
    api_key_env: Option<Spanned<String>>,
    api_key_file: Option<Spanned<PathBuf>>,
    api_key_header: Option<Spanned<String>>,
    organization: Option<Spanned<String>>,
    #[serde(default)]
    headers: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    models: Vec<ModelTable>,
    connect_timeout_ms: Option<NonZeroU64>,
    first_byte_timeout_ms: Option<NonZeroU64>,
    idle_timeout_ms: Option<NonZeroU64>,
    max_rounds: Option<NonZeroU32>,
    max_retries: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Api {
    #[default]
    Chat,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ModelTable {
    id: Spanned<String>,
    name: Option<String>,
    multiplier: Option<Spanned<f64>>,
    context_window: Option<NonZeroU64>,
}

/// Checks the providers of a file. A missing key is no error here: it is reported with the list of
/// models, and the other providers work without it.
pub(super) fn settle(
    tables: &[ProviderTable],
    file: &FileText,
    working_directory: &Path,
) -> Result<Vec<ProviderSettings>, ConfigError> {
    let mut names = HashSet::new();
    let mut providers = Vec::new();
    for table in tables {
        check_name(table.name.get_ref()).map_err(|problem| file.error(&table.name, problem))?;
        if !names.insert(table.name.get_ref()) {
            let problem = format!("two providers have this name: `{}`", table.name.get_ref());
            return Err(file.error(&table.name, problem));
        }
        providers.push(table.settle(file, working_directory)?);
    }
    Ok(providers)
}

impl ProviderTable {
    /// Name of the environment variable that holds its key.
    pub(super) fn key_variable(&self) -> Option<&String> {
        self.api_key_env.as_ref().map(Spanned::get_ref)
    }

    fn settle(
        &self,
        file: &FileText,
        working_directory: &Path,
    ) -> Result<ProviderSettings, ConfigError> {
        let base_url = BaseUrl::parse(self.base_url.get_ref())
            .map_err(|problem| file.error(&self.base_url, problem))?;
        let key_header = match &self.api_key_header {
            Some(name) => Some(
                parse_key_header(name.get_ref()).map_err(|problem| file.error(name, problem))?,
            ),
            None => None,
        };
        Ok(ProviderSettings {
            key: self.key(file, working_directory)?,
            key_header,
            headers: self.headers(file)?,
            models: check_models(file, &self.models)?,
            limits: self.limits(),
            ..ProviderSettings::new(self.name.get_ref(), base_url)
        })
    }

    fn key(&self, file: &FileText, working_directory: &Path) -> Result<KeySource, ConfigError> {
        let key = find_key(
            file,
            working_directory,
            self.api_key_env.as_ref(),
            self.api_key_file.as_ref(),
        )?;
        match (&key, &self.api_key_header) {
            (KeySource::None, Some(header)) => {
                let problem = "apiKeyHeader needs apiKeyEnv or apiKeyFile".to_owned();
                Err(file.error(header, problem))
            }
            _ => Ok(key),
        }
    }

    fn headers(&self, file: &FileText) -> Result<ProviderHeaders, ConfigError> {
        let mut headers = ProviderHeaders::default();
        let organization = self.organization.iter().map(|value| ("OpenAI-Organization", value));
        let others = self.headers.iter().map(|(name, value)| (&**name, value));
        for (name, value) in organization.chain(others) {
            headers.add(name, value.get_ref()).map_err(|problem| file.error(value, problem))?;
        }
        Ok(headers)
    }

    fn limits(&self) -> ProviderLimits {
        let usual = ProviderLimits::default();
        let time = |milliseconds: Option<NonZeroU64>, usual| {
            milliseconds.map_or(usual, |time| Duration::from_millis(time.get()))
        };
        ProviderLimits {
            connect: time(self.connect_timeout_ms, usual.connect),
            first_byte: time(self.first_byte_timeout_ms, usual.first_byte),
            idle: time(self.idle_timeout_ms, usual.idle),
            rounds: self.max_rounds.map_or(usual.rounds, NonZeroU32::get),
            retries: self.max_retries.unwrap_or(usual.retries),
            ..usual
        }
    }
}

/// Tells where the key of a provider comes from, if it has one.
pub(super) fn find_key(
    file: &FileText,
    working_directory: &Path,
    variable: Option<&Spanned<String>>,
    path: Option<&Spanned<PathBuf>>,
) -> Result<KeySource, ConfigError> {
    match (variable, path) {
        (Some(_), Some(path)) => {
            let problem = "a key has one source: apiKeyEnv or apiKeyFile, not both".to_owned();
            Err(file.error(path, problem))
        }
        (Some(variable), None) => {
            let name = variable.get_ref();
            if name.is_empty() || name.contains(['=', '\0']) {
                let problem = format!("not the name of an environment variable: `{name}`");
                return Err(file.error(variable, problem));
            }
            Ok(key_of_environment(name))
        }
        (None, Some(path)) => Ok(KeySource::File(working_directory.join(path.get_ref()))),
        (None, None) => Ok(KeySource::None),
    }
}

/// Checks the models of a provider.
pub(super) fn check_models(
    file: &FileText,
    tables: &[ModelTable],
) -> Result<Vec<ProviderModel>, ConfigError> {
    let mut ids = HashSet::new();
    let mut models = Vec::new();
    for model in tables {
        let id = model.id.get_ref();
        if id.trim().is_empty() {
            return Err(file.error(&model.id, "a model's id can't be empty".to_owned()));
        }
        if !ids.insert(id) {
            let problem = format!("two models of one provider have this id: `{id}`");
            return Err(file.error(&model.id, problem));
        }
        if let Some(multiplier) = &model.multiplier
            && !(multiplier.get_ref().is_finite() && *multiplier.get_ref() >= 0.0)
        {
            let problem = "a multiplier is 0 (free) or a positive number".to_owned();
            return Err(file.error(multiplier, problem));
        }
        models.push(ProviderModel {
            id: id.clone(),
            name: model.name.clone(),
            multiplier: model.multiplier.as_ref().map(|multiplier| *multiplier.get_ref()),
            context_window: model.context_window.map(NonZeroU64::get),
        });
    }
    Ok(models)
}

/// Accepts only plain names, as they become part of model ids and paths.
fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(plain) {
        return Err(format!("a provider's name has letters, digits, `-`, `_` and `.`: `{name}`"));
    }
    if TAKEN.contains(&name) {
        return Err(format!("a provider of this name is built in: `{name}`"));
    }
    Ok(())
}

fn key_of_environment(name: &str) -> KeySource {
    let Some(value) = std::env::var_os(name) else {
        return KeySource::Missing(format!("the environment variable is not set: `{name}`"));
    };
    match ApiKey::new(&value.to_string_lossy()) {
        Ok(key) => KeySource::Given(key),
        Err(problem) => KeySource::Missing(format!("environment variable `{name}`: {problem}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::named;
    use crate::config::{DEFAULT_FILE, Request, Settings, read_with};

    fn run(text: &str) -> Result<Settings, String> {
        let folder = tempfile::tempdir().expect("temporary folder");
        std::fs::write(folder.path().join(DEFAULT_FILE), text).expect("configuration file");
        match read_with(named(), folder.path(), None).map_err(|error| error.to_string())? {
            Request::Run(settings) => Ok(*settings),
            other => panic!("asked for something else: {other:?}"),
        }
    }

    const LOCAL: &str = "[[providers]]\nname = 'local'\nbaseUrl = 'http://localhost:11434/v1'\n";

    #[test]
    fn a_provider_needs_a_name_and_an_address() {
        let settings = run(LOCAL).expect("a provider");
        let [provider] = &*settings.providers else {
            panic!("{settings:?}");
        };
        assert_eq!(provider.name, "local");
        assert!(matches!(provider.key, KeySource::None));
        assert!(provider.models.is_empty());
        assert_eq!(provider.limits.rounds, 50);
    }

    #[test]
    fn everything_can_be_said() {
        let text = format!(
            "{LOCAL}api = 'chat'\napiKeyFile = 'keys/local'\napiKeyHeader = 'api-key'\n\
             organization = 'org'\nheaders = {{ x-team = 'one' }}\nconnectTimeoutMs = 1\n\
             firstByteTimeoutMs = 2\nidleTimeoutMs = 3\nmaxRounds = 4\nmaxRetries = 0\n\
             models = [{{ id = 'a' }}, {{ id = 'b', name = 'B', multiplier = 0.5, contextWindow = 8192 }}]\n\
             [[providers]]\nname = 'other'\nbaseUrl = 'https://models.example/v1'\n\
             apiKeyEnv = 'NO_SUCH_VARIABLE'\n\
             [[providers]]\nname = 'third'\nbaseUrl = 'https://models.example/v1'\n\
             apiKeyEnv = 'CARGO_PKG_NAME'\n"
        );
        let settings = run(&text).expect("three providers");
        let [local, other, third] = &*settings.providers else {
            panic!("{settings:?}");
        };
        assert!(matches!(&local.key, KeySource::File(path) if path.ends_with("keys/local")));
        assert_eq!(local.models[1].context_window, Some(8192));
        assert_eq!(local.models[1].multiplier, Some(0.5));
        let limits = &local.limits;
        let times = [limits.connect, limits.first_byte, limits.idle].map(|time| time.as_millis());
        assert_eq!((times, limits.rounds, limits.retries), ([1, 2, 3], 4, 0));
        assert!(matches!(&other.key, KeySource::Missing(why) if why.contains("NO_SUCH_VARIABLE")));
        let KeySource::Given(key) = &third.key else {
            panic!("cargo sets this variable: {third:?}");
        };
        assert_eq!(*key, ApiKey::new(env!("CARGO_PKG_NAME")).expect("a key"));
        assert_eq!(format!("{key:?}"), "ApiKey(…)");
    }

    #[test]
    fn mistakes_name_their_line_and_what_is_accepted() {
        for (text, line, words) in [
            ("apiKey = 'sk-1'", 4, &["unknown field `apiKey`", "`apiKeyEnv`", "`apiKeyFile`"][..]),
            ("api = 'responses'", 4, &["unknown variant `responses`", "`chat`"]),
            ("models = ['a']", 4, &["string \"a\""]),
            ("models = [{ id = 'a' },\n{ ident = 'b' }]", 5, &["unknown field `ident`", "`id`"]),
            ("models = [{ id = 'a' },\n{ id = 'a' }]", 5, &["two models", "`a`"]),
            ("models = [{ id = '' }]", 4, &["can't be empty"]),
            ("models = [{ id = 'a', multiplier = -1 }]", 4, &["multiplier", "positive"]),
            ("models = [{ id = 'a', contextWindow = 0 }]", 4, &["0", "nonzero"]),
            ("idleTimeoutMs = 0", 4, &["0", "nonzero"]),
            ("maxRounds = 'x'", 4, &["string \"x\""]),
            ("apiKeyEnv = 'A'\napiKeyFile = 'b'", 5, &["apiKeyEnv or apiKeyFile"]),
            ("apiKeyEnv = 'A=B'", 4, &["environment variable"]),
            ("apiKeyHeader = 'api-key'", 4, &["needs apiKeyEnv"]),
            ("apiKeyEnv = 'A'\napiKeyHeader = 'a b'", 5, &["not a header's name"]),
            ("[providers.headers]\nauthorization = 'Bearer x'", 5, &["apiKeyEnv"]),
            ("[[providers]]\nname = 'local'\nbaseUrl = 'http://x'", 5, &["two providers"]),
            ("[[providers]]\nname = 'simulated'\nbaseUrl = 'http://x'", 5, &["built in"]),
            ("[[providers]]\nname = 'a/b'\nbaseUrl = 'http://x'", 5, &["letters, digits"]),
            ("[[providers]]\nname = 'x'\nbaseUrl = 'host:1'", 6, &["http or https"]),
            ("[[providers]]\nname = 'x'", 4, &["missing field `baseUrl`"]),
        ] {
            let message = run(&format!("{LOCAL}{text}\n")).expect_err(text);
            assert!(message.contains(&format!("portal.toml:{line}: ")), "{text:?}: {message}");
            for word in words {
                assert!(message.contains(word), "{text:?}: {message}");
            }
            assert_eq!(message.lines().count(), 1, "{message}");
            assert!(!message.contains("Bearer x"), "{message}");
        }
    }
}
