//! A line that an extension wrote.

use leptos::prelude::*;
use wire::LogLevel;

/// The line; its level is a word, too.
#[component]
pub(crate) fn LogLine(
    /// Who wrote it, where that is not clear.
    extension: Option<String>,
    level: LogLevel,
    message: String,
    /// It is there for the moment.
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
