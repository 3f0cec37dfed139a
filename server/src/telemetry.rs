//! Logs: structured lines on standard error, filtered by `RUST_LOG`. Standard output is reserved
//! for the start-up lines, which scripts read.
//!
//! ```text
//!  any thread ─► queue of lines ─► one thread ─► standard error
//!                     └─ full: the line is dropped and counted
//! ```
//!
//! Standard error may be a pipe that nobody reads. Only this thread ever blocks on it, never the
//! server.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::{ConfigError, LogFormat};

/// The filter unless `RUST_LOG` sets one. Nothing at this level contains a prompt or a secret.
const DEFAULT_FILTER: &str = "info";
/// Capacity of the queue, in lines.
const WAITING_LINES: usize = 1024;
/// How long the last lines may delay the exit of the process.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Starts logging. Call it once, before anything that logs, and keep the result until the end.
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
    // The default hook writes to standard error itself, and could block on it.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(Logs { queue })
}

/// Guards the end of the logs: dropping it waits a moment for the last lines.
pub struct Logs {
    queue: SyncSender<Message>,
}

impl Drop for Logs {
    fn drop(&mut self) {
        let (written, wait) = sync_channel(1);
        // If the queue is full, nobody reads the lines, so there is no point in waiting.
        if self.queue.try_send(Message::Flush(written)).is_ok() {
            let _ = wait.recv_timeout(LAST_LINES);
        }
    }
}

/// A message to the thread.
enum Message {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

/// Writes into the queue.
#[derive(Clone)]
struct Lines {
    queue: SyncSender<Message>,
    lost: Arc<AtomicU64>,
}

impl Write for Lines {
    /// Receives one whole line per call.
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

/// Writes lines as they arrive, and reports how many were lost once there is room.
fn write_lines<W: Write>(waiting: &Receiver<Message>, lost: &AtomicU64, output: impl Fn() -> W) {
    while let Ok(message) = waiting.recv() {
        let mut next = Some(message);
        for _ in 0..WAITING_LINES {
            match next {
                // If this fails, there is nowhere to report it.
                Some(Message::Line(line)) => drop(output().write_all(&line)),
                Some(Message::Flush(written)) => drop(written.send(())),
                None => break,
            }
            next = waiting.try_recv().ok();
        }
        // The loop may leave one line that was already received.
        if let Some(Message::Line(line)) = next {
            drop(output().write_all(&line));
        }
        let lines = lost.swap(0, Ordering::Relaxed);
        if lines > 0 {
            tracing::warn!(lines, "log lines were lost: nobody read standard error");
        }
    }
}
