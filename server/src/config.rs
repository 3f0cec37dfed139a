//! What the operator decided: command line over environment over a file over defaults.
//!
//! ```text
//!   arguments + environment ──────────► CommandLine ─┐
//!                                                    ├─► Settings ─► narrow ─► Settings
//!   --config FILE, or the user's file ► ConfigFile ──┘                 ▲
//!   portal.toml in the working directory ► ConfigFile ─────────────────┘
//! ```
//!
//! A `portal.toml` that merely lies in the working directory may have been written by an agent, or
//! have come with a repository. So it may narrow what the portal may do, and nothing else.
//!
//! `main` reads it once, and `reload` what can change meanwhile; nothing else looks at arguments or
//! environment. Every mistake becomes one line that names its place and the remedy.

mod bridge;
mod budget;
mod command_line;
mod copilot;
mod extensions;
mod file;
mod guard;
mod jobs;
mod keys;
mod narrow;
mod providers;
mod sessions;
mod store;
mod text;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};

use ::copilot::settings::CopilotSettings;
use ::extensions::ExtensionSettings;
use agents::openai::ProviderSettings;
use agents::permission::Safeguards;
use agents::tools::AllowedRoots;
use clap::ValueEnum;
use engine::bridge::BridgeSettings;
use serde::Deserialize;
use wire::PermissionMode;
use wire::entry::OnInterrupted;

use crate::security::access::AccessKey;
use bridge::BridgeTables;
pub use budget::Budgets;
pub use command_line::StoreAction;
use command_line::{CommandLine, OtherCommand};
use file::{ConfigFile, ConfigFiles, Tables};
pub use store::{StorePlace, StoreSettings};

/// The file that is read from the working directory, to narrow rights, if it is there.
pub const DEFAULT_FILE: &str = "portal.toml";
const DEFAULT_PORT: u16 = 8888;
const DEFAULT_MAX_BODY_BYTES: u64 = 16 * 1024 * 1024;
const DEFAULT_MAX_SESSIONS: usize = 2000;
const DEFAULT_MAX_TASKS: NonZeroU16 = NonZeroU16::new(32).expect("not zero");
const DEFAULT_MAX_TASKS_PER_JOB: NonZeroU16 = NonZeroU16::new(8).expect("not zero");
const DEFAULT_SIMULATED_FIRST_MS: u64 = 300;
const DEFAULT_SIMULATED_DELTA_MS: u64 = 20;
const SHORTEST_ACCESS_KEY: usize = 16;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// All settings, checked and with defaults filled in.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address to listen on.
    pub host: IpAddr,
    /// The port to listen on; 0 lets the system choose.
    pub port: u16,
    /// Test mode: test-only endpoints, short count-downs.
    pub test: bool,
    /// The folder from which test entries may be installed.
    pub test_folder: PathBuf,
    /// The key that callers must present, if one is needed.
    pub access_key: Option<AccessKey>,
    /// Further keys, with names and roles.
    pub keys: Vec<AccessKey>,
    /// The files that `keys` were read from.
    pub key_files: Vec<PathBuf>,
    /// Whether `access_key` was generated, and so must be shown once.
    pub access_key_generated: bool,
    /// Further names under which this server is reached.
    pub allowed_hosts: Vec<String>,
    /// The largest request body in bytes.
    pub max_body_bytes: u64,
    /// The entry to install instead of the built-in sample.
    pub entry: Option<PathBuf>,
    /// How many sessions may be open at a time.
    pub max_sessions: usize,
    /// The models that continue failed turns of sessions, unless they choose others.
    pub fallback: Vec<String>,
    /// How many tasks of all jobs may run at a time.
    pub max_tasks: NonZeroU16,
    /// How many tasks of one job may run at a time.
    pub max_tasks_per_job: NonZeroU16,
    /// How long the simulated models wait before the first delta of a block.
    pub simulated_first_ms: u64,
    /// How long the simulated models wait between deltas.
    pub simulated_delta_ms: u64,
    /// Settings of the GitHub Copilot CLI; `None` if it is not used.
    pub copilot: Option<CopilotSettings>,
    /// Further providers of models, in the order of preference.
    pub providers: Vec<ProviderSettings>,
    /// The environment variables that hold keys: agents must not see them.
    pub secret_variables: Vec<String>,
    /// Permission mode of sessions, unless they choose another.
    pub permissions: PermissionMode,
    /// Permission mode of jobs, unless they name another.
    pub job_permissions: PermissionMode,
    /// What happens to works that were running when the server stopped, unless their job says so.
    pub on_interrupted: OnInterrupted,
    /// How much tasks, jobs and sessions may use, unless something else is said about them.
    pub budgets: Budgets,
    /// Which parts of a session's folder the portal's own tools may use.
    pub allowed_roots: AllowedRoots,
    /// Whether the portal's own tools may run commands.
    pub allow_commands: bool,
    /// Which extensions are started, and with which SDK.
    pub extensions: ExtensionSettings,
    /// How log lines look.
    pub log_format: LogFormat,
    /// Workspaces of the bridge, and what agents may do there.
    pub bridge: BridgeSettings,
    /// The folder for stored data; `None` if nothing is stored.
    pub data: Option<PathBuf>,
    /// Where sessions, tasks and jobs are kept, and for how long.
    pub store: StoreSettings,
    /// Files that are off limits for agents, or asked about each time.
    pub safeguards: Safeguards,
    /// What people should know about these settings, one line each.
    pub notices: Vec<String>,
    /// Where these settings were read.
    pub origin: Origin,
}

/// Where settings were read, to read them again.
#[derive(Clone, Debug)]
pub struct Origin {
    arguments: Vec<OsString>,
    working_directory: PathBuf,
    user_file: Option<PathBuf>,
    config: Option<PathBuf>,
}

impl Origin {
    /// The configuration files, which need not exist.
    pub fn files(&self) -> Vec<PathBuf> {
        let asked_for = self.config.as_ref().map(|path| self.working_directory.join(path));
        let chosen = asked_for.or_else(|| self.user_file.clone());
        chosen.into_iter().chain([self.working_directory.join(DEFAULT_FILE)]).collect()
    }

    /// Reads the settings again, from the same places.
    pub fn read_again(&self) -> Result<Settings, ConfigError> {
        let (arguments, user_file) = (self.arguments.iter().cloned(), self.user_file.clone());
        match read_with(arguments, &self.working_directory, user_file)? {
            Request::Run(settings) => Ok(*settings),
            Request::Print(_) | Request::Validate(_) | Request::Store(..) => {
                unreachable!("the same arguments asked for a server before")
            }
        }
    }
}

/// What the arguments ask for.
#[derive(Debug)]
pub enum Request {
    /// Run the server.
    Run(Box<Settings>),
    /// Print this text and end (`--help`, `--version`, `schema`, `sample`).
    Print(String),
    /// Check the entry in this file and end.
    Validate(PathBuf),
    /// Do this with the store of this data folder and end.
    Store(StoreAction, PathBuf),
}

/// A mistake in arguments, environment or file. Displays as one line.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ConfigError {
    /// A mistake in the arguments or the environment.
    #[error("{0}; see --help")]
    Arguments(String),
    /// A mistake in a configuration file, with its line if that is known.
    #[error("{}{}: {problem}", file.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
    File {
        /// Path of the configuration file.
        file: PathBuf,
        /// Number of the line, from 1.
        line: Option<usize>,
        /// What is wrong and what is accepted.
        problem: String,
    },
}

/// Reads arguments (without the program's name), the environment and the configuration files.
pub fn read(
    arguments: impl IntoIterator<Item = OsString>,
    working_directory: &Path,
) -> Result<Request, ConfigError> {
    read_with(arguments, working_directory, guard::user_file())
}

/// Like [`read`], but with the user's own file elsewhere, or without one.
pub fn read_with(
    arguments: impl IntoIterator<Item = OsString>,
    working_directory: &Path,
    user_file: Option<PathBuf>,
) -> Result<Request, ConfigError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let line = match CommandLine::read(arguments.iter().cloned())? {
        command_line::Read::Line(line) => *line,
        command_line::Read::Print(text) => return Ok(Request::Print(text)),
    };
    match line.command {
        Some(OtherCommand::Validate { file }) => return Ok(Request::Validate(file)),
        Some(OtherCommand::Store { action, data_dir, config }) => {
            let chosen =
                ConfigFile::choose(config.as_deref(), user_file.as_deref(), working_directory)?;
            let data = find_data(data_dir.as_deref(), &chosen, working_directory)?;
            return Ok(Request::Store(action, data));
        }
        Some(OtherCommand::Schema) => return Ok(Request::Print(wire::entry::schema())),
        Some(OtherCommand::Sample) => return Ok(Request::Print(engine::entry::SAMPLE.to_owned())),
        None => {}
    }
    // Tests must not depend on what belongs to the user.
    let user_file = user_file.filter(|_| !line.test);
    let ConfigFiles { mut chosen, found } =
        ConfigFiles::find(line.config.as_deref(), user_file.as_deref(), working_directory)?;
    if let Some(found) = &found {
        chosen.tables.take_harmless(&found.tables);
    }
    let origin = Origin {
        working_directory: working_directory.to_owned(),
        user_file,
        config: line.config.clone(),
        arguments,
    };
    let mut settings = settle(line, chosen, origin)?;
    if let Some(found) = &found {
        narrow::narrow(&mut settings, found)?;
    }
    settings.safeguards.guarded = guard::guarded(&settings);
    settings.bridge.safeguards = settings.safeguards.clone();
    Ok(Request::Run(Box::new(settings)))
}

/// The data folder that a server would use.
fn find_data(
    of_line: Option<&Path>,
    file: &ConfigFile,
    working_directory: &Path,
) -> Result<PathBuf, ConfigError> {
    let test = file.tables.server.test;
    bridge::settle_data(of_line, &file.tables.bridge, working_directory, test).ok_or_else(|| {
        let problem = "there is no data folder: name one with --data-dir";
        ConfigError::Arguments(problem.to_owned())
    })
}

fn settle(line: CommandLine, file: ConfigFile, origin: Origin) -> Result<Settings, ConfigError> {
    let working_directory = &*origin.working_directory;
    let default_address =
        line.site_address.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT));
    let host = settle_host(&line, &file)?.unwrap_or(default_address.ip());
    let given_key = settle_access_key(&line, &file)?;
    // Nobody beyond this machine gets in without a key, even if the operator forgot one.
    let keys = keys::settle(&file.tables.keys, &file.text, working_directory)?;
    let key_files = keys::files(&file.tables.keys, working_directory);
    let access_key_generated = given_key.is_none() && keys.is_empty() && !host.is_loopback();
    let access_key = given_key.or_else(|| access_key_generated.then(AccessKey::generate));

    let providers = providers::settle(&file.tables.providers, &file.text, working_directory)?;
    let secret_variables = file.secret_variables();
    let test = line.test || file.tables.server.test;
    let copilot = copilot::settle(
        &line,
        &file.tables.copilot,
        &file.text,
        working_directory,
        test,
        &secret_variables,
    )?;
    let tables = BridgeTables {
        agent: &file.tables.agent,
        bridge: &file.tables.bridge,
        workspaces: &file.tables.workspaces,
    };
    let bridge = bridge::settle(&line, tables, &file.text, working_directory, &secret_variables)?;
    let of_line = line.data_dir.as_deref();
    let data = bridge::settle_data(of_line, &file.tables.bridge, working_directory, test);
    let store = store::settle(&line, &file.tables.store, &file.text, data.as_deref(), test)?;
    let extensions = extensions::settle(
        &line,
        &file.tables.extensions,
        &file.text,
        working_directory,
        test,
        &secret_variables,
    )?;

    let fallback = sessions::settle_fallback(&line, &file.tables.sessions, &file.text)?;
    let always_ask = guard::always_ask(&file, extensions.user_folder.as_deref())?;
    let safeguards = Safeguards { always_ask, ..Safeguards::default() };

    let Tables { server, simulated, log, permissions, agent, jobs, budget, .. } = file.tables;
    let test_folder = match line.test_folder.or(server.test_folder) {
        Some(folder) => working_directory.join(folder),
        None => working_directory.join("tests"),
    };
    let entry = line.entry.or(server.entry).map(|entry| working_directory.join(entry));
    Ok(Settings {
        host,
        port: line.port.or(server.port).unwrap_or(default_address.port()),
        test,
        test_folder,
        access_key,
        keys,
        key_files,
        access_key_generated,
        allowed_hosts: line.allowed_host.or(server.allowed_hosts).unwrap_or_default(),
        max_body_bytes: line
            .max_body_bytes
            .or(server.max_body_bytes)
            .unwrap_or(DEFAULT_MAX_BODY_BYTES),
        entry,
        max_sessions: line.max_sessions.or(server.max_sessions).unwrap_or(DEFAULT_MAX_SESSIONS),
        fallback,
        max_tasks: line.max_tasks.or(server.max_tasks).unwrap_or(DEFAULT_MAX_TASKS),
        max_tasks_per_job: line
            .max_tasks_per_job
            .or(server.max_tasks_per_job)
            .unwrap_or(DEFAULT_MAX_TASKS_PER_JOB),
        simulated_first_ms: line
            .simulated_first_ms
            .or(simulated.first_ms)
            .unwrap_or(DEFAULT_SIMULATED_FIRST_MS),
        simulated_delta_ms: line
            .simulated_delta_ms
            .or(simulated.delta_ms)
            .unwrap_or(DEFAULT_SIMULATED_DELTA_MS),
        copilot,
        providers,
        secret_variables,
        permissions: line.permissions.or(permissions.sessions).unwrap_or(PermissionMode::Ask),
        job_permissions: line
            .job_permissions
            .or(permissions.jobs)
            .unwrap_or(PermissionMode::ApproveAll),
        on_interrupted: line.on_interrupted.or(jobs.on_interrupted).unwrap_or_default(),
        budgets: budget,
        allowed_roots: AllowedRoots::from_setting(&agent.allowed_roots),
        allow_commands: line.allow_commands || agent.allow_commands == Some(true),
        extensions,
        log_format: line.log_format.or(log.format).unwrap_or_default(),
        bridge,
        data,
        store,
        safeguards,
        notices: Vec::new(),
        origin,
    })
}

fn settle_host(line: &CommandLine, file: &ConfigFile) -> Result<Option<IpAddr>, ConfigError> {
    match (&line.host, &file.tables.server.host) {
        (Some(host), _) => resolve(host)
            .map(Some)
            .map_err(|problem| ConfigError::Arguments(format!("--host: {problem}"))),
        (None, Some(host)) => {
            resolve(host.get_ref()).map(Some).map_err(|problem| file.text.error(host, problem))
        }
        (None, None) => Ok(None),
    }
}

fn settle_access_key(
    line: &CommandLine,
    file: &ConfigFile,
) -> Result<Option<AccessKey>, ConfigError> {
    match (&line.access_key, &file.tables.server.access_key) {
        (Some(key), _) => check_key(key)
            .map(Some)
            .map_err(|problem| ConfigError::Arguments(format!("--access-key: {problem}"))),
        (None, Some(key)) => {
            check_key(key.get_ref()).map(Some).map_err(|problem| file.text.error(key, problem))
        }
        (None, None) => Ok(None),
    }
}

fn check_key(key: &str) -> Result<AccessKey, String> {
    let length = key.chars().count();
    if length < SHORTEST_ACCESS_KEY || !key.chars().all(|c| c.is_ascii_graphic()) {
        return Err(format!(
            "an access key has at least {SHORTEST_ACCESS_KEY} visible ASCII characters, this one has {length}"
        ));
    }
    Ok(AccessKey::new(key))
}

fn resolve(host: &str) -> Result<IpAddr, String> {
    if let Ok(address) = host.parse() {
        return Ok(address);
    }
    let addresses = (host, 0).to_socket_addrs().map(|found| found.map(|a| a.ip()).collect());
    let addresses: Vec<IpAddr> = addresses.unwrap_or_default();
    addresses.iter().find(|address| address.is_ipv4()).or(addresses.first()).copied().ok_or_else(
        || format!("not an address of this machine, use an IP address such as 127.0.0.1: `{host}`"),
    )
}

#[cfg(test)]
mod tests;
