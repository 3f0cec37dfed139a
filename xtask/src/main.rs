//! `cargo xtask`: announces what will happen, builds the tools that the command needs, and execs
//! them.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::time::Duration;

use xtask::arguments::{self, Command};
use xtask::build;
use xtask::report::Steps;

const TOOLS: &str = "xtask-tools";
/// How long the tools take to compile from scratch on two cores: for `serve` alone, and with
/// everything that the other commands need.
const FEW_TOOLS: Duration = Duration::from_secs(30);
const ALL_TOOLS: Duration = Duration::from_mins(1);

fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    let command = match arguments::parse(words.clone()) {
        Ok(Command::Help) => {
            print!("{}", arguments::USAGE);
            return ExitCode::SUCCESS;
        }
        Ok(command) => command,
        Err(message) => {
            eprintln!("error: {message} (see `cargo xtask help`)");
            return ExitCode::from(2);
        }
    };
    match run(&command, words) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command, words: Vec<OsString>) -> Result<ExitCode, String> {
    let this = env::current_exe().map_err(|error| format!("cannot find myself: {error}"))?;
    let tools = this.with_file_name(format!("{TOOLS}{}", env::consts::EXE_SUFFIX));
    announce(command, tools.exists());
    let environment = Steps::environment();
    Steps::new(command.steps())
        .run("Compiling the tools that build the rest", || build(command))?;

    let mut tools_command = process::Command::new(&tools);
    tools_command.args(words).env(environment.0, environment.1);
    build::become_program(&mut tools_command)
        .map_err(|error| format!("cannot start {}: {error}", tools.display()))
}

/// What a newcomer wants to know before the first minute has passed.
fn announce(command: &Command, is_again: bool) {
    let (what, first) = match command {
        Command::Serve(_) => ("Building and serving Copilot Portal", "5 minutes"),
        Command::Build => ("Building a release of Copilot Portal", "8 minutes"),
        Command::Test(_) => ("Testing Copilot Portal", "15 minutes"),
        Command::Leptos => ("Building Copilot Portal with cargo-leptos", "15 minutes"),
        Command::Pictures => ("Taking screenshots of Copilot Portal", "6 minutes"),
        Command::Bench(_) => ("Measuring Copilot Portal", "15 minutes"),
        Command::Help => return,
    };
    if is_again {
        eprintln!("{what}.");
    } else {
        eprintln!("{what}. The first time takes about {first} on two cores, later ones far less.");
    }
}

/// Builds the tools with the features that the command needs.
fn build(command: &Command) -> Result<(), String> {
    let features = command.features();
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = build::command(cargo);
    cargo.args(["build", "-p", TOOLS, "--features", &features.join(",")]).current_dir(root());
    let whole = if features.is_empty() { FEW_TOOLS } else { ALL_TOOLS };
    let status = build::run(&mut cargo, whole, |_| {});
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("the tools did not compile".to_owned()),
        Err(error) => Err(format!("cannot start cargo: {error}")),
    }
}

/// The repository's root. Set by `cargo run`; the compiled-in path is for a binary started by hand.
fn root() -> PathBuf {
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let folder = Path::new(&manifest);
    folder.parent().unwrap_or(folder).to_owned()
}
