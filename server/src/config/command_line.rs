//! Arguments and environment variables.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand, ValueEnum};
use wire::PermissionMode;
use wire::entry::OnInterrupted;

use super::{ConfigError, LogFormat};

/// A self-hosted portal for coding agents.
///
/// Serves the web app on http://localhost:8888 and its API below /api. Settings come from these
/// options, else from the environment, else from a file (--config, or the user's own portal.toml),
/// else from the defaults. A portal.toml in the working directory can only take rights away.
#[derive(Debug, Parser)]
#[expect(clippy::doc_markdown, reason = "these comments are what --help prints")]
// The last one of an option counts, so that a script's options can be followed by one's own.
#[command(name = "copilot-portal", version, max_term_width = 100, args_override_self = true)]
#[command(args_conflicts_with_subcommands = true, subcommand_help_heading = "Other commands")]
pub(super) struct CommandLine {
    #[command(subcommand)]
    pub(super) command: Option<OtherCommand>,

    /// The port to listen on, as a bare argument
    #[arg(value_name = "PORT", conflicts_with = "port")]
    pub(super) port_argument: Option<u16>,

    /// The port to listen on; 0 takes any free one [default: 8888]
    #[arg(long, value_name = "N", env = "COPILOT_PORTAL_PORT")]
    pub(super) port: Option<u16>,

    /// The address to listen on [default: 127.0.0.1]. Any address that other machines can reach
    /// needs an access key; without --access-key one is made and printed as a login URL
    #[arg(long, value_name = "ADDRESS", env = "COPILOT_PORTAL_HOST")]
    pub(super) host: Option<String>,

    /// The key callers must show, as `Authorization: Bearer KEY` or by opening /login?key=KEY
    /// once. At least 16 characters. Other users of this machine can see arguments: prefer the
    /// environment variable
    #[arg(long, value_name = "KEY", env = "COPILOT_PORTAL_ACCESS_KEY", hide_env_values = true)]
    pub(super) access_key: Option<String>,

    /// A further name under which browsers reach this server, such as portal.lan; repeatable
    #[arg(long, value_name = "NAME", env = "COPILOT_PORTAL_ALLOWED_HOSTS", value_delimiter = ',')]
    pub(super) allowed_host: Option<Vec<String>>,

    /// The largest request body in bytes [default: 16777216]
    #[arg(long, value_name = "N", env = "COPILOT_PORTAL_MAX_BODY_BYTES")]
    pub(super) max_body_bytes: Option<u64>,

    /// The entry: a JSON file with the tasks and jobs to offer [default: a built-in sample]
    #[arg(long, value_name = "FILE", env = "COPILOT_PORTAL_ENTRY")]
    pub(super) entry: Option<PathBuf>,

    /// How many sessions may be open at a time [default: 2000]
    #[arg(long, value_name = "N", env = "COPILOT_PORTAL_MAX_SESSIONS")]
    pub(super) max_sessions: Option<usize>,

    /// A model that continues a session's turn in which its own model failed; repeatable, tried in
    /// this order [default: none]. Each session can be told otherwise
    #[arg(long, value_name = "MODEL", env = "COPILOT_PORTAL_FALLBACK", value_delimiter = ',')]
    pub(super) fallback: Option<Vec<String>>,

    /// How many tasks of all jobs may run at a time; further ones wait [default: 32]
    #[arg(long, value_name = "N", env = "COPILOT_PORTAL_MAX_TASKS")]
    pub(super) max_tasks: Option<NonZeroU16>,

    /// How many tasks of one job may run at a time; further ones wait [default: 8]
    #[arg(long, value_name = "N", env = "COPILOT_PORTAL_MAX_TASKS_PER_JOB")]
    pub(super) max_tasks_per_job: Option<NonZeroU16>,

    /// Whether tools of a session may change things: approve-all, ask or deny [default: ask]. Each
    /// session can be told otherwise
    #[arg(long, value_name = "MODE", env = "COPILOT_PORTAL_PERMISSIONS", value_parser = parse_mode)]
    pub(super) permissions: Option<PermissionMode>,

    /// The same for the tools of jobs that do not say it themselves [default: approve-all]
    #[arg(
        long,
        value_name = "MODE",
        env = "COPILOT_PORTAL_JOB_PERMISSIONS",
        value_parser = parse_mode
    )]
    pub(super) job_permissions: Option<PermissionMode>,

    /// What happens to works of jobs that were running when the server stopped: resume, ask or fail
    /// [default: resume]. Each job can say otherwise
    #[arg(
        long,
        value_name = "WORD",
        env = "COPILOT_PORTAL_ON_INTERRUPTED",
        value_parser = parse_on_interrupted
    )]
    pub(super) on_interrupted: Option<OnInterrupted>,

    /// Let the portal's own tool run commands [default: not]. The tools of GitHub Copilot always
    /// can, if they are permitted
    #[arg(long, env = "COPILOT_PORTAL_ALLOW_COMMANDS")]
    pub(super) allow_commands: bool,

    /// Start extensions in every folder [default: only where it was allowed]
    #[arg(long, env = "COPILOT_PORTAL_ALLOW_EXTENSIONS")]
    pub(super) allow_extensions: bool,

    /// How long simulated models wait before the first words of a block, in ms [default: 300]
    #[arg(long, value_name = "MS", env = "COPILOT_PORTAL_SIMULATED_FIRST_MS")]
    pub(super) simulated_first_ms: Option<u64>,

    /// How long simulated models wait between two words, in ms; 0 = back to back [default: 20]
    #[arg(long, value_name = "MS", env = "COPILOT_PORTAL_SIMULATED_DELTA_MS")]
    pub(super) simulated_delta_ms: Option<u64>,

    /// Whether to offer the models of the GitHub Copilot CLI, if it is installed [default: true]
    #[arg(long, value_name = "true|false", env = "COPILOT_PORTAL_COPILOT")]
    pub(super) copilot: Option<bool>,

    /// The GitHub Copilot CLI [default: the one that COPILOT_CLI_PATH names, or that is installed]
    #[arg(long, value_name = "FILE", env = "COPILOT_PORTAL_COPILOT_CLI")]
    pub(super) copilot_cli: Option<PathBuf>,

    /// A folder to work in by the bridge; repeatable [default: the repository]
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Vec<PathBuf>,

    /// Where the portal keeps what it remembers, such as sessions, jobs and histories of workspaces
    /// [default: copilot-portal where this system keeps the state of programs, such as
    /// ~/.local/state; in test mode nowhere]
    #[arg(long, value_name = "DIR", env = "COPILOT_PORTAL_DATA_DIR")]
    pub(super) data_dir: Option<PathBuf>,

    /// Where sessions, tasks and jobs are kept: sqlite, a database in the data folder, or memory,
    /// until the server ends [default: sqlite; in test mode, or without a data folder, memory]
    #[arg(long, value_name = "KIND", env = "COPILOT_PORTAL_STORE", hide_env_values = true)]
    pub(super) store: Option<String>,

    /// How many days after their end sessions, tasks and jobs are deleted; 0 = never [default: 90]
    #[arg(long, value_name = "N", env = "COPILOT_PORTAL_KEEP_DAYS")]
    pub(super) keep_days: Option<u32>,

    /// How many steps an agent of the bridge has [default: 12]
    #[arg(long, value_name = "N", env = "COPILOT_PORTAL_AGENT_MAX_STEPS")]
    pub(super) agent_max_steps: Option<u32>,

    /// Whether people are asked before an agent of the bridge changes something [default: true]
    #[arg(long, value_name = "BOOL", env = "COPILOT_PORTAL_AGENT_REQUIRE_APPROVAL")]
    pub(super) agent_require_approval: Option<bool>,

    /// The configuration file [default: copilot-portal/portal.toml where this system keeps the
    /// settings of a user, such as ~/.config, if it is there]
    #[arg(long, value_name = "FILE", env = "COPILOT_PORTAL_CONFIG")]
    pub(super) config: Option<PathBuf>,

    /// How log lines look. RUST_LOG chooses which are written
    #[arg(long, value_name = "FORMAT", env = "COPILOT_PORTAL_LOG_FORMAT")]
    pub(super) log_format: Option<LogFormat>,

    /// Test mode: test-only endpoints, short count-downs
    #[arg(long)]
    pub(super) test: bool,

    /// The folder from which tests may install entries [default: tests in the working directory]
    #[arg(long, value_name = "DIR")]
    pub(super) test_folder: Option<PathBuf>,

    /// Where `cargo leptos` wants the server to listen. It always says so: only a default
    #[arg(long, hide = true, env = "LEPTOS_SITE_ADDR")]
    pub(super) site_address: Option<SocketAddr>,
}

/// What the program does besides serving. Takes none of the server's options.
#[derive(Debug, Subcommand)]
pub(super) enum OtherCommand {
    /// Check an entry: prints every problem on a line of its own; exit code 1 if there are any
    Validate {
        /// The entry, a JSON file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the JSON Schema of entries, for editors; a running server has it at
    /// /entry.schema.json
    Schema,
    /// Print the built-in sample entry, to begin one's own with
    Sample,
    /// Look after what the portal has kept: sessions, tasks and jobs
    Store {
        /// What to do
        #[arg(value_name = "ACTION")]
        action: StoreAction,

        /// The data folder [default: the one that a server would use]
        #[arg(long, value_name = "DIR", env = "COPILOT_PORTAL_DATA_DIR")]
        data_dir: Option<PathBuf>,

        /// The configuration file, which may name the data folder [default: as for a server]
        #[arg(long, value_name = "FILE", env = "COPILOT_PORTAL_CONFIG")]
        config: Option<PathBuf>,
    },
}

/// What can be done with a store from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoreAction {
    /// Print how large it is and what is in it; a server may run
    Info,
    /// Look for damage, print each problem on a line of its own; exit code 1 if there are any
    Check,
    /// Print everything as JSON, a session, task or job a line; a server may run
    Export,
    /// Give room that is not needed any more back to the disk; no server may run
    Vacuum,
}

/// What became of the arguments.
pub(super) enum Read {
    Line(Box<CommandLine>),
    Print(String),
}

impl CommandLine {
    pub(super) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Read, ConfigError> {
        let arguments = std::iter::once("copilot-portal".into()).chain(arguments);
        match Self::try_parse_from(arguments) {
            Ok(mut line) => {
                line.prefer_bare_port();
                Ok(Read::Line(Box::new(line)))
            }
            Err(error) if error.kind() == ErrorKind::DisplayHelp => {
                Ok(Read::Print(error.to_string()))
            }
            Err(error) if error.kind() == ErrorKind::DisplayVersion => {
                Ok(Read::Print(error.to_string()))
            }
            Err(error) => Err(ConfigError::Arguments(first_sentence(&error.to_string()))),
        }
    }

    /// A bare port is an argument too, so it wins over the environment's.
    fn prefer_bare_port(&mut self) {
        self.port = self.port_argument.take().or(self.port);
    }
}

fn parse_mode(word: &str) -> Result<PermissionMode, String> {
    word.parse().map_err(|_| "approve-all, ask and deny are accepted".to_owned())
}

fn parse_on_interrupted(word: &str) -> Result<OnInterrupted, String> {
    word.parse().map_err(|_| "resume, ask and fail are accepted".to_owned())
}

/// Clap explains itself over several lines; the first paragraph says what is wrong.
fn first_sentence(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or(text);
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    let sentence = words.join(" ");
    sentence.strip_prefix("error: ").unwrap_or(&sentence).to_owned()
}
