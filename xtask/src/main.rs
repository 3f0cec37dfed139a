//! The project's own commands, run as `cargo xtask <command>`.
//!
//! `build` makes the release binary that carries its site, `serve` builds and runs it,
//! `test` runs every check, `bench` measures. Plain Rust instead of shell scripts, so that
//! they behave the same on Linux, macOS and Windows.

mod arguments;
mod bench;
mod bindings;
mod browser;
mod checks;
mod compress;
mod fingerprint;
mod leptos;
mod licences;
mod packages;
mod process;
mod release;
mod report;
mod serve;
mod site;
mod style;
mod toolchain;
mod workspace;

use std::process::ExitCode;

use arguments::Command;
use workspace::Workspace;

fn main() -> ExitCode {
    let command = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(message) => {
            eprintln!("error: {message} (see `cargo xtask help`)");
            return ExitCode::from(2);
        }
    };
    match run(&command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Help => {
            print!("{}", arguments::USAGE);
            Ok(ExitCode::SUCCESS)
        }
        Command::Build => {
            let release = release::build(&Workspace::find()?)?;
            println!("{}", release.binary.display());
            Ok(ExitCode::SUCCESS)
        }
        Command::Serve(options) => serve::serve(&Workspace::find()?, options),
        Command::Test(options) => Ok(checks::run(&Workspace::find()?, options)),
        Command::Bench(chosen) => {
            bench::run(&Workspace::find()?, chosen)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
