//! Runs cargo: shows how many crates are done, and how long the build may take.
//!
//! Cargo draws its own progress bar only on a terminal, and does not estimate the time. Here its
//! bar is enabled, parsed and reworded; warnings and errors pass through unchanged.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use crate::report::{about, seconds};
use crate::terminal::StatusLine;

/// The number of cores of the machine on which the times were measured.
const MEASURED_CORES: u32 = 2;

/// A command without the variables that `cargo run` sets for this program: a build script that
/// watches `CARGO_PKG_NAME` and the like would otherwise run again whenever cargo is called by
/// hand.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Replaces this process by the program, so that signals reach it.
#[cfg(unix)]
pub fn become_program(command: &mut Command) -> io::Result<ExitCode> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

/// Runs the program and passes on its exit code.
#[cfg(not(unix))]
pub fn become_program(command: &mut Command) -> io::Result<ExitCode> {
    let code = command.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Runs a build, shows its progress, and passes on every line of its standard output. `whole` is
/// the measured time of a build from scratch.
pub fn run(
    command: &mut Command,
    whole: Duration,
    on_line: impl FnMut(&str),
) -> io::Result<ExitStatus> {
    let display = Display::new(whole);
    let color = if display.line.is_terminal() { "always" } else { "never" };
    command
        .env("CARGO_TERM_PROGRESS_WHEN", "always")
        .env("CARGO_TERM_PROGRESS_WIDTH", "120")
        .env("CARGO_TERM_COLOR", env::var("CARGO_TERM_COLOR").unwrap_or_else(|_| color.to_owned()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        let reader = scope.spawn(move || errors.map_or(Ok(()), |errors| display.follow(errors)));
        if let Some(output) = output {
            each_line(output, on_line)?;
        }
        reader.join().map_err(|_| io::Error::other("the display of progress panicked"))?
    })?;
    child.wait()
}

/// Passes on whole lines as text: output that is not UTF-8 must not end a build or a test run.
pub fn each_line(output: impl Read, mut on_line: impl FnMut(&str)) -> io::Result<()> {
    let mut reader = BufReader::new(output);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        on_line(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']));
        line.clear();
    }
    Ok(())
}

/// The expected time here of a build whose time was measured elsewhere. Some crates wait for each
/// other, so more than eight cores make little difference.
fn expected_here(measured: Duration) -> Duration {
    let cores = thread::available_parallelism().map_or(MEASURED_CORES as usize, usize::from);
    let cores = u32::try_from(cores.min(8)).unwrap_or(MEASURED_CORES);
    measured * MEASURED_CORES / cores
}

struct Display {
    line: StatusLine,
    start: Instant,
    whole: Duration,
    /// How many crates were up to date at the first report.
    ready: Option<u32>,
}

impl Display {
    fn new(whole: Duration) -> Self {
        Self {
            line: StatusLine::new(),
            start: Instant::now(),
            whole: expected_here(whole),
            ready: None,
        }
    }

    /// Reads cargo's messages until the end. The bar overwrites itself, without a line break.
    fn follow(mut self, errors: impl Read) -> io::Result<()> {
        let mut reader = BufReader::new(errors);
        let mut piece = Vec::new();
        loop {
            let buffer = reader.fill_buf()?;
            if buffer.is_empty() {
                break;
            }
            let end = buffer.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let length = end.map_or(buffer.len(), |end| end + 1);
            piece.extend_from_slice(&buffer[..length]);
            reader.consume(length);
            if end.is_some() {
                self.note(&String::from_utf8_lossy(&piece));
                piece.clear();
            }
        }
        self.note(&String::from_utf8_lossy(&piece));
        self.line.clear();
        Ok(())
    }

    fn note(&mut self, piece: &str) {
        let text = piece.trim_end_matches(['\r', '\n']);
        match Said::of(text) {
            Said::Progress(progress) => {
                let ready = *self.ready.get_or_insert(progress.done);
                let status =
                    progress.describe(self.start.elapsed(), self.expected(ready, &progress));
                self.line.show(&status);
            }
            Said::Download(what) => {
                self.line.show(&format!("      {what} ({})", seconds(self.start.elapsed())));
            }
            Said::Nothing => {}
            Said::Words => self.line.print(text),
        }
    }

    /// The expected time for the crates that were not up to date at the beginning.
    fn expected(&self, ready: u32, progress: &Progress) -> Duration {
        let missing = progress.total.saturating_sub(ready);
        self.whole.mul_f64(f64::from(missing) / f64::from(progress.total.max(1)))
    }
}

/// The kind of a message from cargo.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Progress(Progress),
    /// Crates are being downloaded.
    Download(String),
    /// Nothing that the bar does not show as well.
    Nothing,
    /// Warnings, errors, and anything else that people should read.
    Words,
}

impl Said {
    fn of(text: &str) -> Self {
        let plain = without_colors(text);
        let plain = plain.trim();
        let (verb, rest) = plain.split_once(' ').unwrap_or((plain, ""));
        match verb {
            "Building" => Progress::parse(rest).map_or(Self::Words, Self::Progress),
            "Downloading" | "Updating" | "Downloaded" => Self::Download(plain.to_owned()),
            "" | "Compiling" | "Checking" | "Finished" | "Fresh" | "Documenting" | "Locking"
            | "Adding" | "Generated" => Self::Nothing,
            _ => Self::Words,
        }
    }
}

/// Cargo's progress bar: `[====>    ] 12/345: syn, serde`.
#[derive(Debug, PartialEq, Eq)]
struct Progress {
    done: u32,
    total: u32,
    crates: String,
}

impl Progress {
    fn parse(bar: &str) -> Option<Self> {
        let (_, rest) = bar.split_once(']')?;
        let (numbers, crates) = rest.split_once(':').unwrap_or((rest, ""));
        let (done, total) = numbers.trim().split_once('/')?;
        let crates = crates.trim().to_owned();
        Some(Self { done: done.parse().ok()?, total: total.parse().ok()?, crates })
    }

    fn describe(&self, elapsed: Duration, expected: Duration) -> String {
        let Self { done, total, crates } = self;
        let time = if expected > elapsed {
            format!("{} of {}", seconds(elapsed), about(expected))
        } else {
            seconds(elapsed)
        };
        format!("      {done} of {total} crates, {time}: {crates}")
    }
}

/// The text without escape sequences for colours.
fn without_colors(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            characters.find(char::is_ascii_alphabetic);
        } else {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_of_cargo_is_read_with_and_without_colours() {
        let expected =
            Said::Progress(Progress { done: 12, total: 345, crates: "syn, serde(build)".into() });
        for text in [
            "    Building [=>       ] 12/345: syn, serde(build)",
            "\u{1b}[K\u{1b}[1m\u{1b}[36m    Building\u{1b}[0m [=>   ] 12/345: syn, serde(build)",
        ] {
            assert_eq!(Said::of(text), expected, "{text}");
        }
    }

    #[test]
    fn what_the_bar_tells_is_not_said_twice_and_the_rest_passes() {
        for (text, expected) in [
            ("   Compiling syn v2.0.1", Said::Nothing),
            ("    Finished `dev` profile in 3s", Said::Nothing),
            (" Downloading 12 crates", Said::Download("Downloading 12 crates".into())),
            ("warning: unused variable", Said::Words),
            ("  --> src/lib.rs:1:1", Said::Words),
            ("    Blocking waiting for file lock on build directory", Said::Words),
        ] {
            assert_eq!(Said::of(text), expected, "{text}");
        }
    }

    #[test]
    fn progress_tells_the_crates_and_the_time() {
        let progress = Progress { done: 12, total: 345, crates: "syn".into() };
        let [early, late] = [30, 200]
            .map(|passed| progress.describe(Duration::from_secs(passed), Duration::from_secs(150)));
        assert_eq!(early, "      12 of 345 crates, 30.0 s of about 3 min: syn");
        assert_eq!(late, "      12 of 345 crates, 3 min 20 s: syn");
    }

    #[test]
    fn only_what_is_missing_takes_time() {
        let display = Display::new(Duration::from_secs(100));
        let progress = Progress { done: 75, total: 100, crates: String::new() };
        assert_eq!(display.expected(75, &progress), display.whole / 4);
        assert_eq!(display.expected(100, &progress), Duration::ZERO);
    }
}
