//! `[extensions]` of `portal.toml`: which extensions are started, and with which SDK.

use std::path::{Path, PathBuf};

use extensions::ExtensionSettings;
use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use super::command_line::CommandLine;
use super::text::FileText;

/// `[extensions]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ExtensionsTable {
    pub(super) allow: Vec<Spanned<PathBuf>>,
    pub(super) sdk_path: Option<PathBuf>,
}

/// The settings of extensions. In test mode, the user's own extensions are left out.
pub(super) fn settle(
    line: &CommandLine,
    table: &ExtensionsTable,
    file: &FileText,
    working_directory: &Path,
    is_test: bool,
    secrets: &[String],
) -> Result<ExtensionSettings, ConfigError> {
    for folder in &table.allow {
        if !folder.get_ref().is_absolute() {
            let problem = format!("not an absolute path: `{}`", folder.get_ref().display());
            return Err(file.error(folder, problem));
        }
    }
    let sdk_path = variable("COPILOT_SDK_PATH").or_else(|| table.sdk_path.clone());
    let home = std::env::home_dir();
    let copilot = variable("COPILOT_HOME").or_else(|| Some(home?.join(".copilot")));
    Ok(ExtensionSettings {
        user_folder: copilot.filter(|_| !is_test).map(|folder| folder.join("extensions")),
        allow_everywhere: line.allow_extensions,
        allowed: table.allow.iter().map(|folder| folder.get_ref().clone()).collect(),
        sdk_path: sdk_path.map(|path| working_directory.join(path)),
        secrets: secrets.to_vec(),
        ..ExtensionSettings::default()
    })
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::named;
    use crate::config::{DEFAULT_FILE, Request, read_with};

    fn run(text: &str, arguments: &[&str]) -> Result<ExtensionSettings, String> {
        let folder = tempfile::tempdir().expect("temporary folder");
        std::fs::write(folder.path().join(DEFAULT_FILE), text).expect("configuration file");
        let arguments = arguments.iter().map(Into::into);
        match read_with(named().chain(arguments), folder.path(), None)
            .map_err(|error| error.to_string())?
        {
            Request::Run(settings) => Ok(settings.extensions),
            other => panic!("asked for something else: {other:?}"),
        }
    }

    #[test]
    fn nothing_is_allowed_unless_it_is_said() {
        let settings = run("", &[]).expect("settings");
        assert!(!settings.allow_everywhere && settings.allowed.is_empty());
        let settings = run("", &["--allow-extensions"]).expect("settings");
        assert!(settings.allow_everywhere);
        let text = "[extensions]\nallow = ['/one', '/two']\nsdkPath = '/sdk'\n";
        let settings = run(text, &[]).expect("settings");
        assert_eq!(settings.allowed, [Path::new("/one"), Path::new("/two")]);
        let message = run("[extensions]\nallow = [\n'/one',\n'two']\n", &[]).expect_err("refused");
        assert!(message.ends_with("portal.toml:4: not an absolute path: `two`"), "{message}");
        let message = run("[extensions]\nallowed = []\n", &[]).expect_err("refused");
        assert!(message.contains("`allow`") && message.contains("`sdkPath`"), "{message}");
    }

    #[test]
    fn test_mode_leaves_the_users_alone() {
        let settings = run("", &["--test"]).expect("settings");
        assert_eq!(settings.user_folder, None);
    }
}
