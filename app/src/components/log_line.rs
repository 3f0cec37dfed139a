//! A log line of an extension.

use leptos::prelude::*;
use wire::LogLevel;

/// The line; its level is shown as a word, too.
#[component]
pub(crate) fn LogLine(
    /// The extension's name, where it is not obvious.
    extension: Option<String>,
    level: LogLevel,
    message: String,
    /// Whether the line is ephemeral.
    fleeting: bool,
) -> impl IntoView {
    let level = match level {
        LogLevel::Info => "info",
        LogLevel::Warning => "warning",
        LogLevel::Error => "error",
    };
    view! {
        <p class=format!("extension-log {level}") class:fleeting=fleeting>
            <span class="extension-log-level">{level}</span>
            {extension.map(|name| view! { <span class="extension-log-name">{name}</span> })}
            {message}
        </p>
    }
}
