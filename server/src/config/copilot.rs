//! `[copilot]` of `portal.toml` and its options: the GitHub Copilot CLI, and what it runs on.

use std::path::{Path, PathBuf};

use agents::provider::BaseUrl;
use copilot::settings::{CopilotSettings, OwnProvider, ProviderKind, WireApi};
use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use super::command_line::CommandLine;
use super::providers::{ModelTable, check_models, find_key};
use super::text::FileText;

const NOT_BUILT_IN: &str = "GitHub Copilot is not part of this build: build it with the feature `copilot`, or switch it off";

/// `[copilot]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CopilotTable {
    pub(super) enabled: Option<bool>,
    pub(super) cli_path: Option<PathBuf>,
    pub(super) provider: Option<OwnProviderTable>,
}

/// `[copilot.provider]`: an endpoint that serves the models instead of GitHub.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct OwnProviderTable {
    base_url: Spanned<String>,
    #[serde(default, rename = "type")]
    kind: Kind,
    wire_api: Option<Spanned<Api>>,
    api_key_env: Option<Spanned<String>>,
    api_key_file: Option<Spanned<PathBuf>>,
    models: Spanned<Vec<ModelTable>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    OpenAi,
    Anthropic,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Api {
    Completions,
    Responses,
}

/// Settings of the CLI; `None` if it is not used. In test mode it is used only if a setting
/// mentions it, since tests must not depend on what is installed.
pub(super) fn settle(
    line: &CommandLine,
    table: &CopilotTable,
    file: &FileText,
    working_directory: &Path,
    test: bool,
    secrets: &[String],
) -> Result<Option<CopilotSettings>, ConfigError> {
    let cli = line.copilot_cli.as_ref().or(table.cli_path.as_ref());
    let provider = match &table.provider {
        Some(provider) => Some(provider.settle(file, working_directory)?),
        None => None,
    };
    let is_set_up = cli.is_some() || provider.is_some();
    let enabled = line.copilot.or(table.enabled);
    if !enabled.unwrap_or(!test || is_set_up) {
        return Ok(None);
    }
    if !cfg!(feature = "copilot") {
        if enabled.unwrap_or(is_set_up) {
            return Err(ConfigError::Arguments(NOT_BUILT_IN.to_owned()));
        }
        return Ok(None);
    }
    Ok(Some(CopilotSettings {
        cli: cli.map(|path| working_directory.join(path)),
        provider,
        secrets: secrets.to_vec(),
        ..CopilotSettings::default()
    }))
}

impl CopilotTable {
    /// Name of the environment variable that holds the key of the endpoint.
    pub(super) fn key_variable(&self) -> Option<&String> {
        Some(self.provider.as_ref()?.api_key_env.as_ref()?.get_ref())
    }
}

impl OwnProviderTable {
    fn settle(
        &self,
        file: &FileText,
        working_directory: &Path,
    ) -> Result<OwnProvider, ConfigError> {
        let base_url = BaseUrl::parse(self.base_url.get_ref())
            .map_err(|problem| file.error(&self.base_url, problem))?;
        if let Some(api) = &self.wire_api
            && self.kind == Kind::Anthropic
        {
            let problem = "wireApi is for the type openai".to_owned();
            return Err(file.error(api, problem));
        }
        if self.models.get_ref().is_empty() {
            let problem = "at least one model must be named".to_owned();
            return Err(file.error(&self.models, problem));
        }
        let (variable, path) = (self.api_key_env.as_ref(), self.api_key_file.as_ref());
        Ok(OwnProvider {
            base_url,
            key: find_key(file, working_directory, variable, path)?,
            kind: match self.kind {
                Kind::OpenAi => ProviderKind::OpenAi,
                Kind::Anthropic => ProviderKind::Anthropic,
            },
            wire_api: self.wire_api.as_ref().map(|api| match api.get_ref() {
                Api::Completions => WireApi::Completions,
                Api::Responses => WireApi::Responses,
            }),
            models: check_models(file, self.models.get_ref())?,
        })
    }
}

#[cfg(all(test, feature = "copilot"))]
mod tests {
    use std::ffi::OsString;

    use agents::provider::KeySource;

    use super::*;
    use crate::config::tests::named;
    use crate::config::{DEFAULT_FILE, Request, read_with};

    fn run(arguments: &[&str], text: &str) -> Result<Option<CopilotSettings>, String> {
        let folder = tempfile::tempdir().expect("temporary folder");
        std::fs::write(folder.path().join(DEFAULT_FILE), text).expect("configuration file");
        let arguments = arguments.iter().map(OsString::from);
        match read_with(named().chain(arguments), folder.path(), None)
            .map_err(|error| error.to_string())?
        {
            Request::Run(settings) => Ok(settings.copilot),
            other => panic!("asked for something else: {other:?}"),
        }
    }

    const PROVIDER: &str = "[copilot.provider]\nbaseUrl = 'http://localhost:11434/v1'\n\
                            models = [{ id = 'a' }, { id = 'b', name = 'B', multiplier = 2 }]\n";

    #[test]
    fn it_is_used_unless_it_is_switched_off() {
        for (arguments, text, is_used) in [
            (&[][..], "", true),
            (&[], "[copilot]\nenabled = false\n", false),
            (&["--copilot", "true"], "[copilot]\nenabled = false\n", true),
            (&["--copilot=false"], "", false),
            (&["--test"], "", false),
            (&["--test"], "[copilot]\nenabled = true\n", true),
            (&["--test", "--copilot-cli", "x"], "", true),
            (&["--test"], PROVIDER, true),
            (&["--test", "--copilot", "false"], PROVIDER, false),
        ] {
            let copilot = run(arguments, text).expect("settings");
            assert_eq!(copilot.is_some(), is_used, "{arguments:?} {text:?}");
        }
    }

    #[test]
    fn the_program_is_named_on_the_command_line_or_in_the_file() {
        let text = "[copilot]\ncliPath = 'bin/copilot'\n";
        let cli = |arguments: &[&str]| run(arguments, text).expect("settings").expect("used").cli;
        assert!(cli(&[]).expect("named").ends_with("bin/copilot"));
        assert_eq!(cli(&["--copilot-cli", "/opt/copilot"]), Some("/opt/copilot".into()));
        assert_eq!(run(&[], "").expect("settings").expect("used").cli, None);
    }

    #[test]
    fn an_endpoint_of_ones_own_has_models_and_perhaps_a_key() {
        let copilot = run(&[], PROVIDER).expect("settings").expect("used");
        let own = copilot.provider.expect("an endpoint");
        assert!(matches!(own.key, KeySource::None));
        assert_eq!((own.kind, own.wire_api), (ProviderKind::OpenAi, None));
        assert_eq!((own.models.len(), own.models[1].multiplier), (2, Some(2.0)));

        let text = format!(
            "{PROVIDER}type = 'anthropic'\napiKeyEnv = 'CARGO_PKG_NAME'\n\
             [[providers]]\nname = 'x'\nbaseUrl = 'http://x'\napiKeyEnv = 'X_KEY'\n"
        );
        let copilot = run(&[], &text).expect("settings").expect("used");
        assert_eq!(copilot.secrets, ["X_KEY", "CARGO_PKG_NAME"]);
        let shown = format!("{copilot:?}");
        let own = copilot.provider.expect("an endpoint");
        assert!(matches!(own.key, KeySource::Given(_)));
        assert_eq!(own.kind, ProviderKind::Anthropic);
        assert!(shown.contains("ApiKey(…)"), "{shown}");
    }

    #[test]
    fn mistakes_name_their_line_and_what_is_accepted() {
        for (text, line, words) in [
            ("[copilot]\ncli = 'x'\n", 2, &["unknown field `cli`", "`cliPath`"][..]),
            ("[copilot]\nenabled = 'yes'\n", 2, &["string \"yes\"", "boolean"]),
            ("[copilot.provider]\nmodels = []\n", 1, &["missing field `baseUrl`"]),
            ("[copilot.provider]\nbaseUrl = 'http://x'\n", 1, &["missing field `models`"]),
            ("[copilot.provider]\nbaseUrl = 'http://x'\nmodels = []\n", 3, &["at least one model"]),
            (
                "[copilot.provider]\nbaseUrl = 'x'\nmodels = [{ id = 'a' }]\n",
                2,
                &["http://localhost:11434/v1"],
            ),
            (&format!("{PROVIDER}type = 'azure'\n"), 4, &["`azure`", "`openai`", "`anthropic`"]),
            (&format!("{PROVIDER}wireApi = 'chat'\n"), 4, &["`completions`", "`responses`"]),
            (
                &format!("{PROVIDER}type = 'anthropic'\nwireApi = 'responses'\n"),
                5,
                &["wireApi is for the type openai"],
            ),
            (&format!("{PROVIDER}apiKey = 'sk-1'\n"), 4, &["unknown field `apiKey`"]),
            (&format!("{PROVIDER}apiKeyEnv = 'A'\napiKeyFile = 'b'\n"), 5, &["not both"]),
            (
                "[copilot.provider]\nbaseUrl = 'http://x'\nmodels = [{ id = 'a' },\n{ id = 'a' }]\n",
                4,
                &["two models"],
            ),
        ] {
            let message = run(&[], text).expect_err(text);
            assert!(message.contains(&format!("portal.toml:{line}: ")), "{text:?}: {message}");
            for word in words {
                assert!(message.contains(word), "{text:?}: {message}");
            }
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
}
