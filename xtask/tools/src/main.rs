//! The tools behind `cargo xtask <command>`, which builds this program and execs it.
//!
//! `serve` builds quickly and runs the server, `build` makes the release binary with the embedded
//! site, `test` runs every check, `leptos` does the same with cargo-leptos, `pictures` takes the
//! README's screenshots, `bench` runs benchmarks. Plain Rust instead of shell scripts, so that they
//! behave the same on Linux, macOS and Windows.

#![cfg_attr(
    not(all(feature = "bench", feature = "checks", feature = "small")),
    allow(dead_code, reason = "what only other commands use")
)]

#[cfg(feature = "bench")]
mod bench;
mod bindings;
mod browser;
mod bundles;
#[cfg(feature = "checks")]
mod checks;
mod compress;
#[cfg(any(feature = "bench", feature = "checks"))]
mod download;
mod fingerprint;
#[cfg(any(feature = "bench", feature = "checks"))]
mod kept;
mod leptos;
#[cfg(feature = "checks")]
mod licences;
mod packages;
mod pictures;
mod process;
mod product;
mod serve;
mod shorten;
mod site;
mod style;
mod toolchain;
mod workspace;

use std::process::ExitCode;

use product::Kind;
use workspace::Workspace;
use xtask::arguments::{self, Command};

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
            let product = product::build(&Workspace::find()?, Kind::Small)?;
            println!("{}", product.binary.display());
            Ok(ExitCode::SUCCESS)
        }
        Command::Serve(options) => serve::serve(&Workspace::find()?, options),
        Command::Leptos => leptos::run(&Workspace::find()?),
        Command::Pictures => pictures::run(&Workspace::find()?),
        #[cfg(feature = "checks")]
        Command::Test(options) => Ok(checks::run(&Workspace::find()?, options)),
        #[cfg(feature = "bench")]
        Command::Bench(options) => bench::run(&Workspace::find()?, options),
        #[cfg(not(all(feature = "bench", feature = "checks")))]
        other => anyhow::bail!("these tools were built for another command than {other:?}"),
    }
}
