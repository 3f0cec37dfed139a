//! Logs: structured lines on standard error, chosen by `RUST_LOG`. Standard output belongs to the
//! start-up lines, which scripts read.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{ConfigError, LogFormat};

/// What is written unless `RUST_LOG` says otherwise. Nothing at this level holds a prompt or a
/// secret.
const DEFAULT_FILTER: &str = "info";

/// Starts logging. Call it once, before anything that logs.
pub fn start(format: LogFormat) -> Result<(), ConfigError> {
    let wanted = std::env::var("RUST_LOG").unwrap_or_default();
    let filter = if wanted.is_empty() { DEFAULT_FILTER } else { &wanted };
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| ConfigError::Arguments(format!("RUST_LOG: {error}: `{wanted}`")))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().init(),
    }
    Ok(())
}
