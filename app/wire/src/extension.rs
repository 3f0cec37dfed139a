//! The extensions of a session and their states.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::json::FromJson;
use crate::permission::words;
use crate::{LogLevel, UnknownWord};

/// What `copilot/session/{id}/extensions` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct Extensions {
    /// Folder that is trusted or not: the repository of the session's folder, or that folder
    /// itself.
    pub folder: String,
    /// Whether extensions are started there.
    pub trusted: bool,
    /// In the order of their names; those of the project before those of the user.
    pub extensions: Vec<ExtensionInfo>,
}

/// An extension and its state in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionInfo {
    /// The name of its folder.
    pub name: String,
    /// Whether it belongs to the project or to the user.
    pub source: ExtensionSource,
    /// Path of its `extension.mjs`.
    pub path: String,
    /// State of the extension in this session.
    pub state: ExtensionState,
    /// Why it does not run, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The names of the tools that it adds.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Whether it has hooks for prompts, tool calls or errors.
    #[serde(default)]
    pub hooks: bool,
    /// Its most recent log lines, the newest last.
    #[serde(default)]
    pub log: Vec<ExtensionLine>,
}

/// Something that an extension said, in its log or on its standard error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionLine {
    /// Severity of the line.
    pub level: LogLevel,
    /// Text of the line.
    pub message: String,
    /// Time of the line; ISO 8601, UTC.
    pub at: String,
}

words!(
    /// Where an extension comes from.
    ExtensionSource {
        /// It belongs to the repository that the session works in.
        Project = "project",
        /// It belongs to the user, and runs everywhere.
        User = "user",
    }
);

words!(
    /// State of an extension in a session.
    ExtensionState {
        /// Its process has not joined the session yet.
        Starting = "starting",
        /// It has joined the session.
        Running = "running",
        /// It did not start, or has ended by itself.
        Failed = "failed",
        /// One of the project has the same name, and is used instead.
        Shadowed = "shadowed",
        /// The folder is not trusted.
        Untrusted = "untrusted",
        /// Node is not installed, or too old.
        NeedsNode = "needs-node",
        /// The package `@github/copilot-sdk` is not installed.
        NeedsSdk = "needs-sdk",
        /// It was stopped, and does not run.
        Stopped = "stopped",
    }
);

words!(
    /// The body of `copilot/session/{id}/extensions/trust`.
    ExtensionTrust {
        /// Extensions are started in that folder from now on.
        Allow = "allow",
        /// Extensions are no longer started in that folder.
        Forbid = "forbid",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_spelt_as_the_api_says() {
        let info = ExtensionInfo {
            name: "n".to_owned(),
            source: ExtensionSource::Project,
            path: "/p/.github/extensions/n/extension.mjs".to_owned(),
            state: ExtensionState::NeedsNode,
            reason: Some("r".to_owned()),
            tools: vec!["t".to_owned()],
            hooks: true,
            log: vec![ExtensionLine {
                level: LogLevel::Warning,
                message: "m".to_owned(),
                at: "2026-01-02T03:04:05Z".to_owned(),
            }],
        };
        let extensions =
            Extensions { folder: "/p".to_owned(), trusted: true, extensions: vec![info] };
        let json = concat!(
            r#"{"folder":"/p","trusted":true,"extensions":[{"name":"n","source":"project","#,
            r#""path":"/p/.github/extensions/n/extension.mjs","state":"needs-node","reason":"r","#,
            r#""tools":["t"],"hooks":true,"#,
            r#""log":[{"level":"warning","message":"m","at":"2026-01-02T03:04:05Z"}]}]}"#,
        );
        assert_eq!(serde_json::to_string(&extensions).expect("json"), json);
        let back: Extensions = serde_json::from_str(json).expect("extensions");
        assert_eq!(back, extensions);
    }

    #[test]
    fn states_are_words() {
        let words: Vec<_> = ExtensionState::ALL.iter().map(|state| state.as_str()).collect();
        assert_eq!(
            words,
            [
                "starting",
                "running",
                "failed",
                "shadowed",
                "untrusted",
                "needs-node",
                "needs-sdk",
                "stopped"
            ]
        );
        assert_eq!("allow".parse(), Ok(ExtensionTrust::Allow));
        assert_eq!("always".parse::<ExtensionTrust>(), Err(UnknownWord));
    }
}
