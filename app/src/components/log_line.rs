//! A log line of an extension.

use wire::LogLevel;

use crate::html::{Html, html};
use crate::reactive::prelude::*;

/// The line; its level is shown as a word, too.
#[component]
pub(crate) fn LogLine(
    /// The extension's name, where it is not obvious.
    extension: Option<String>,
    level: LogLevel,
    message: String,
    /// Whether the line is ephemeral.
    fleeting: bool,
) -> Html {
    let level = match level {
        LogLevel::Info => "info",
        LogLevel::Warning => "warning",
        LogLevel::Error => "error",
    };
    html! {
        <p class=format!("extension-log {level}") class:fleeting=fleeting>
            <span class="extension-log-level">{level}</span>
            {extension.map(|name| html! { <span class="extension-log-name">{name}</span> })}
            {message}
        </p>
    }
}
