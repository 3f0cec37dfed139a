//! The status line at the bottom of the terminal that shows the progress of a build.

use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often progress is written to a log, which keeps every line.
const LOG_INTERVAL: Duration = Duration::from_secs(15);
/// The width if it is unknown.
const USUAL_WIDTH: usize = 80;

/// Standard error, with one line that is overwritten repeatedly.
pub(crate) struct StatusLine {
    is_terminal: bool,
    width: usize,
    /// Whether the status line is visible.
    is_shown: bool,
    last: Instant,
}

impl StatusLine {
    pub(crate) fn new() -> Self {
        let is_terminal = io::stderr().is_terminal();
        let width = if is_terminal { terminal_width() } else { USUAL_WIDTH };
        Self { is_terminal, width, is_shown: false, last: Instant::now() }
    }

    /// Whether this is a terminal, so that colours and moving lines make sense.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Shows the status: at once on a terminal, at intervals in a log.
    pub(crate) fn show(&mut self, text: &str) {
        if self.is_terminal {
            // One column less: a full line would wrap on some terminals.
            self.write(&format!("\r\x1b[2K{}", clip(text, self.width - 1)));
            self.is_shown = true;
        } else if self.last.elapsed() >= LOG_INTERVAL {
            self.last = Instant::now();
            self.write(&format!("{text}\n"));
        }
    }

    /// Prints a permanent line.
    pub(crate) fn print(&mut self, line: &str) {
        self.clear();
        self.write(&format!("{line}\n"));
    }

    /// Removes the status line.
    pub(crate) fn clear(&mut self) {
        if self.is_shown {
            self.write("\r\x1b[2K");
            self.is_shown = false;
        }
    }

    #[expect(clippy::unused_self, reason = "writing needs ownership of the line")]
    fn write(&mut self, text: &str) {
        let mut output = io::stderr().lock();
        // A closed standard error is no reason to stop the build.
        let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    }
}

/// Truncates a text to fit into a line.
fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Asks the terminal with `stty`: the standard library cannot.
fn terminal_width() -> usize {
    let output =
        Command::new("stty").arg("size").stdin(Stdio::inherit()).stderr(Stdio::null()).output();
    let size = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let width = size.ok().and_then(|size| size.split_whitespace().nth(1)?.parse().ok());
    width.filter(|width| *width >= 20).unwrap_or(USUAL_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_to_the_width() {
        assert_eq!(clip("12 of 34", 8), "12 of 34");
        assert_eq!(clip("12 of 345", 8), "12 of 3…");
    }
}
