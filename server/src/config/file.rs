//! Reads `portal.toml`: the files and their tables.

use std::num::NonZeroU16;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use wire::PermissionMode;

use super::bridge::{AgentTable, BridgeTable, WorkspaceTable};
use super::budget::Budgets;
use super::copilot::CopilotTable;
use super::extensions::ExtensionsTable;
use super::jobs::JobsTable;
use super::keys::KeyTable;
use super::providers::ProviderTable;
use super::sessions::SessionsTable;
use super::store::StoreTable;
use super::text::FileText;
use super::{ConfigError, DEFAULT_FILE, LogFormat};

/// A configuration file and its tables. The default stands for no file.
#[derive(Debug, Default)]
pub(super) struct ConfigFile {
    pub(super) text: FileText,
    pub(super) tables: Tables,
}

/// All tables of a configuration file, each of which may be absent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Tables {
    pub(super) server: ServerTable,
    pub(super) sessions: SessionsTable,
    pub(super) simulated: SimulatedTable,
    pub(super) log: LogTable,
    pub(super) copilot: CopilotTable,
    pub(super) providers: Vec<ProviderTable>,
    pub(super) permissions: PermissionsTable,
    pub(super) agent: AgentTable,
    pub(super) bridge: BridgeTable,
    pub(super) workspaces: Vec<WorkspaceTable>,
    pub(super) extensions: ExtensionsTable,
    pub(super) keys: Vec<KeyTable>,
    pub(super) store: StoreTable,
    pub(super) jobs: JobsTable,
    pub(super) budget: Budgets,
}

/// `[permissions]`: whether tools may change things.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct PermissionsTable {
    pub(super) sessions: Option<PermissionMode>,
    pub(super) jobs: Option<PermissionMode>,
    pub(super) always_ask: Vec<Spanned<String>>,
}

/// `[simulated]`: how fast the simulated models write.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SimulatedTable {
    pub(super) first_ms: Option<u64>,
    pub(super) delta_ms: Option<u64>,
}

/// `[server]`: where the server listens, who may use it, and how much.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ServerTable {
    pub(super) port: Option<u16>,
    pub(super) host: Option<Spanned<String>>,
    pub(super) access_key: Option<Spanned<String>>,
    pub(super) allowed_hosts: Option<Vec<String>>,
    pub(super) max_body_bytes: Option<u64>,
    pub(super) entry: Option<PathBuf>,
    pub(super) max_sessions: Option<usize>,
    pub(super) max_tasks: Option<NonZeroU16>,
    pub(super) max_tasks_per_job: Option<NonZeroU16>,
    pub(super) test: bool,
    pub(super) test_folder: Option<PathBuf>,
}

/// `[log]`: how log lines look.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LogTable {
    pub(super) format: Option<LogFormat>,
}

/// The configuration files that are taken into account.
#[derive(Debug, Default)]
pub(super) struct ConfigFiles {
    /// The file that was asked for, else the user's own.
    pub(super) chosen: ConfigFile,
    /// A file that merely lies in the working directory. Anybody may have put it there.
    pub(super) found: Option<ConfigFile>,
}

impl ConfigFiles {
    /// Reads the file that was asked for, else the user's if it exists; and a `portal.toml` in the
    /// working directory.
    pub(super) fn find(
        asked_for: Option<&Path>,
        user_file: Option<&Path>,
        working_directory: &Path,
    ) -> Result<Self, ConfigError> {
        let chosen = ConfigFile::choose(asked_for, user_file, working_directory)?;
        let path = working_directory.join(DEFAULT_FILE);
        let real = |path: &Path| path.canonicalize().ok();
        let is_chosen = real(&path).is_some_and(|found| Some(found) == real(chosen.text.path()));
        let found = if is_chosen { None } else { ConfigFile::read(path, false)? };
        Ok(Self { chosen, found })
    }
}

impl ConfigFile {
    /// Reads the file that was asked for, else the user's if it exists.
    pub(super) fn choose(
        asked_for: Option<&Path>,
        user_file: Option<&Path>,
        working_directory: &Path,
    ) -> Result<Self, ConfigError> {
        let chosen = match (asked_for, user_file) {
            (Some(path), _) => Self::read(working_directory.join(path), true)?,
            (None, Some(path)) => Self::read(path.to_owned(), false)?,
            (None, None) => None,
        };
        Ok(chosen.unwrap_or_default())
    }

    fn read(path: PathBuf, must_exist: bool) -> Result<Option<Self>, ConfigError> {
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let text = FileText::new(path, text);
                Ok(Some(Self { tables: text.parse()?, text }))
            }
            Err(error) if !must_exist && error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ConfigError::File {
                file: path,
                line: None,
                problem: format!("the configuration file can't be read: {error}"),
            }),
        }
    }

    /// Names of the environment variables that hold keys.
    pub(super) fn secret_variables(&self) -> Vec<String> {
        let Tables { providers, copilot, keys, .. } = &self.tables;
        let providers = providers.iter().filter_map(ProviderTable::key_variable);
        let keys = keys.iter().filter_map(KeyTable::key_variable);
        providers.chain(copilot.key_variable()).chain(keys).cloned().collect()
    }
}
