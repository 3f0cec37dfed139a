//! `[[keys]]` of the configuration file: further access keys, each with a name and a role.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::text::FileText;
use super::{ConfigError, check_key};
use crate::security::access::{AccessKey, Rights, Role};

/// One table of `[[keys]]`. The key itself is never in the configuration file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct KeyTable {
    name: Spanned<String>,
    #[serde(default)]
    role: RoleName,
    may_answer: Option<bool>,
    key_env: Option<Spanned<String>>,
    key_file: Option<Spanned<PathBuf>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RoleName {
    #[default]
    Operator,
    Viewer,
}

impl KeyTable {
    /// Name of the environment variable that holds the key.
    pub(super) fn key_variable(&self) -> Option<&String> {
        self.key_env.as_ref().map(Spanned::get_ref)
    }

    fn settle(&self, file: &FileText, folder: &Path) -> Result<AccessKey, ConfigError> {
        let key = match (&self.key_env, &self.key_file) {
            (Some(variable), None) => {
                let name = variable.get_ref();
                std::env::var(name).map_err(|_| {
                    let problem = format!("the environment variable of a key is not set: `{name}`");
                    file.error(variable, problem)
                })?
            }
            (None, Some(path)) => {
                let place = folder.join(path.get_ref());
                std::fs::read_to_string(&place).map_err(|error| {
                    let place = place.display();
                    let problem = format!("the file of a key can't be read: {error}: `{place}`");
                    file.error(path, problem)
                })?
            }
            _ => {
                let problem = "a key has one source: keyEnv or keyFile".to_owned();
                return Err(file.error(&self.name, problem));
            }
        };
        let key = key.trim();
        check_key(key).map_err(|problem| match (&self.key_env, &self.key_file) {
            (Some(variable), _) => file.error(variable, problem),
            (None, Some(path)) => file.error(path, problem),
            (None, None) => file.error(&self.name, problem),
        })?;
        let role = match self.role {
            RoleName::Operator => Role::Operator,
            RoleName::Viewer => Role::Viewer,
        };
        let may_answer = self.may_answer.unwrap_or(role == Role::Operator);
        Ok(AccessKey::named(self.name.get_ref(), Rights { role, may_answer }, key))
    }
}

/// Paths of the files that hold keys.
pub(super) fn files(tables: &[KeyTable], folder: &Path) -> Vec<PathBuf> {
    let paths = tables.iter().filter_map(|key| key.key_file.as_ref());
    paths.map(|path| folder.join(path.get_ref())).collect()
}

/// Reads and checks the keys that a configuration file refers to.
pub(super) fn settle(
    tables: &[KeyTable],
    file: &FileText,
    folder: &Path,
) -> Result<Vec<AccessKey>, ConfigError> {
    let mut names = HashSet::new();
    let mut keys = Vec::new();
    for table in tables {
        let name = table.name.get_ref();
        if name.trim().is_empty() || !names.insert(name) {
            let problem = format!("every key has a name of its own: `{name}`");
            return Err(file.error(&table.name, problem));
        }
        keys.push(table.settle(file, folder)?);
    }
    Ok(keys)
}
