//! Logs: structured lines on standard error, chosen by `RUST_LOG`. Standard output belongs to the
//! start-up lines, which scripts read.
//!
//! ```text
//!  whoever logs ─► queue of lines ─► one thread ─► standard error
//!                     └─ full: the line is dropped and counted
//! ```
//!
//! Standard error may be a pipe that nobody reads. Only the thread waits for it, never the server.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::{ConfigError, LogFormat};

/// What is written unless `RUST_LOG` says otherwise. Nothing at this level holds a prompt or a
/// secret.
const DEFAULT_FILTER: &str = "info";
/// How many lines wait to be written.
const WAITING_LINES: usize = 1024;
/// How long the last lines may hold up the end of the process.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Starts logging. Call it once, before anything that logs, and keep what it returns until the end.
pub fn start(format: LogFormat) -> Result<Logs, ConfigError> {
    let wanted = std::env::var("RUST_LOG").unwrap_or_default();
    let filter = if wanted.is_empty() { DEFAULT_FILTER } else { &wanted };
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| ConfigError::Arguments(format!("RUST_LOG: {error}: `{wanted}`")))?;
    let (queue, waiting) = sync_channel(WAITING_LINES);
    let lost = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&lost);
    let work = move || write_lines(&waiting, &counter, io::stderr);
    std::thread::Builder::new().name("log".to_owned()).spawn(work).map_err(|error| {
        ConfigError::Arguments(format!("can't start the log's thread: {error}"))
    })?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Lines { queue: queue.clone(), lost })
        .with_ansi(io::stderr().is_terminal());
    match format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().init(),
    }
    // The usual hook writes to standard error itself, and would wait for it.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(Logs { queue })
}

/// The end of the logs: dropped, it waits for the last lines for a moment.
pub struct Logs {
    queue: SyncSender<Message>,
}

impl Drop for Logs {
    fn drop(&mut self) {
        let (written, wait) = sync_channel(1);
        // No room: nobody reads them, so nobody waits.
        if self.queue.try_send(Message::Flush(written)).is_ok() {
            let _ = wait.recv_timeout(LAST_LINES);
        }
    }
}

/// What the thread gets.
enum Message {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

/// Where lines are put.
#[derive(Clone)]
struct Lines {
    queue: SyncSender<Message>,
    lost: Arc<AtomicU64>,
}

impl Write for Lines {
    /// A whole line: that is how they come.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.queue.try_send(Message::Line(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Writes lines for as long as there are some, and says how many were lost once there is room.
fn write_lines<W: Write>(waiting: &Receiver<Message>, lost: &AtomicU64, output: impl Fn() -> W) {
    while let Ok(message) = waiting.recv() {
        let mut next = Some(message);
        for _ in 0..WAITING_LINES {
            match next {
                // Nobody can be told that nobody can be told.
                Some(Message::Line(line)) => drop(output().write_all(&line)),
                Some(Message::Flush(written)) => drop(written.send(())),
                None => break,
            }
            next = waiting.try_recv().ok();
        }
        // At most one line is left in hand after so many.
        if let Some(Message::Line(line)) = next {
            drop(output().write_all(&line));
        }
        let lines = lost.swap(0, Ordering::Relaxed);
        if lines > 0 {
            tracing::warn!(lines, "log lines were lost: nobody read standard error");
        }
    }
}
