//! Reads the settings, starts the server, and turns what became of it into an exit code.

use std::process::ExitCode;

use server::{config, startup, telemetry};

/// A mistake of the operator's: wrong settings, a port in use.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("copilot-portal: {error}");
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn run() -> anyhow::Result<()> {
    let working_directory = std::env::current_dir()?;
    let arguments = std::env::args_os().skip(1);
    let settings = match config::read(arguments, &working_directory)? {
        config::Request::Run(settings) => settings,
        config::Request::Print(text) => {
            print!("{text}");
            return Ok(());
        }
    };
    telemetry::start(settings.log_format)?;
    startup::run(&settings, &working_directory)?;
    Ok(())
}
