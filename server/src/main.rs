//! Reads the settings, starts the server or runs another subcommand, and turns the outcome into an
//! exit code.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

#[cfg(unix)]
use platform::supervisor;
use server::{config, startup, store_command, telemetry, validate};

/// An entry or a store with problems.
const EXIT_INVALID: u8 = 1;
/// What the operator has to change: wrong settings, a port in use, a store that can't be opened.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    #[cfg(unix)]
    {
        let mut arguments = std::env::args_os().skip(1);
        if arguments.next().is_some_and(|first| first == supervisor::COMMAND) {
            return supervisor::run(arguments);
        }
    }
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("copilot-portal: {error}");
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn run() -> anyhow::Result<ExitCode> {
    let working_directory = std::env::current_dir()?;
    let arguments = std::env::args_os().skip(1);
    let settings = match config::read(arguments, &working_directory)? {
        config::Request::Run(settings) => settings,
        config::Request::Print(text) => {
            print(&text)?;
            return Ok(ExitCode::SUCCESS);
        }
        config::Request::Validate(file) => {
            let (lines, code) = match validate::validate(&file) {
                Ok(line) => (line, ExitCode::SUCCESS),
                Err(lines) => (lines, ExitCode::from(EXIT_INVALID)),
            };
            print(&format!("{lines}\n"))?;
            return Ok(code);
        }
        config::Request::Store(action, folder) => {
            let is_well = store_command::run(action, &folder, &mut std::io::stdout().lock())?;
            return Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(EXIT_INVALID) });
        }
    };
    let _logs = telemetry::start(settings.log_format)?;
    startup::run(&settings, &working_directory)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints text. The reader may close the pipe before the end.
fn print(text: &str) -> std::io::Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
