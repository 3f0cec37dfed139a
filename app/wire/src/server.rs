//! Answers about the server itself: `api/test`, `api/config`, and refusals.

use serde::{Deserialize, Serialize};

use crate::PermissionMode;
use crate::json::FromJson;

/// The answer to `api/test`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct TestReply {
    /// Fixed text by which scripts know the server.
    pub message: String,
}

/// The answer to `api/config`: what a page must know before it can offer anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct ConfigReply {
    /// The repository the server was started in, or its working directory.
    pub repo_root: String,
    /// The server's version.
    pub version: String,
    /// How sessions deal with tools that ask, unless they are told otherwise.
    pub permissions: PermissionMode,
    /// Whether callers must log in, and so can log out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub locked: bool,
    /// Whether what happened is kept when the server stops.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lasting: bool,
    /// What people should know about this server, such as settings that are ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// The answer to `copilot/test/installJobsEntry`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallReply {
    /// Whether the entry was installed.
    pub result: InstallResult,
    /// Reason why the entry was not installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Result of installing an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub enum InstallResult {
    /// The entry is installed.
    #[serde(rename = "OK")]
    Ok,
    /// The file is not allowed, cannot be read, or is not JSON.
    InvalidatePath,
    /// The entry breaks rules.
    InvalidateEntry,
    /// A session is running, or a model is unknown.
    Rejected,
}

/// The answer to `api/markdown`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkdownReply {
    /// The HTML of each text; `None` if it has no markup, so that it is shown as it is.
    pub html: Vec<Option<String>>,
}

/// The answer to a request that never reached the domain, with an HTTP status of 4xx.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct Refusal {
    /// The error's name; scripts compare it.
    pub error: String,
    /// What happened and what to do about it, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json<T: Serialize>(value: &T) -> String {
        serde_json::to_string(value).expect("plain structs serialise")
    }

    #[test]
    fn names_are_camel_case() {
        let reply = ConfigReply {
            repo_root: "/src".into(),
            version: "1.2.3".into(),
            permissions: PermissionMode::Ask,
            locked: false,
            lasting: false,
            notices: Vec::new(),
        };
        assert_eq!(json(&reply), r#"{"repoRoot":"/src","version":"1.2.3","permissions":"ask"}"#);
        let reply = ConfigReply { locked: true, lasting: true, ..reply };
        assert!(json(&reply).ends_with(r#","locked":true,"lasting":true}"#));
    }

    #[test]
    fn absent_message_is_left_out() {
        let reply = Refusal { error: "Unknown API endpoint".into(), message: None };
        assert_eq!(json(&reply), r#"{"error":"Unknown API endpoint"}"#);
        let reply = Refusal { error: "E".into(), message: Some("why".into()) };
        assert_eq!(json(&reply), r#"{"error":"E","message":"why"}"#);
    }
}
