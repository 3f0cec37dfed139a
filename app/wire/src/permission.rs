//! Questions that a tool asks before it acts, and their answers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::PermissionId;

/// An enum whose variants are words, the same in JSON, in text bodies and in settings.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$meaning:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[$meaning])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// As it is written.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                Self::ALL.iter().copied().find(|known| known.as_str() == word).ok_or(UnknownWord)
            }
        }
    };
}

pub(crate) use words;

/// A word that is none of the accepted ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownWord;

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not one of the accepted words")
    }
}

impl std::error::Error for UnknownWord {}

words!(
    /// How a session deals with tools that ask.
    PermissionMode {
        /// Everything is approved without asking.
        ApproveAll = "approve-all",
        /// People are asked.
        Ask = "ask",
        /// Everything is refused.
        Deny = "deny",
    }
);

words!(
    /// What a tool wants to do.
    PermissionKind {
        /// Make a file.
        Create = "create",
        /// Change a file.
        Write = "write",
        /// Run a command.
        Command = "command",
        /// Read something outside of the workspace.
        Read = "read",
        /// Fetch something from the network.
        Url = "url",
        /// Call a tool that is not ours.
        Tool = "tool",
        /// Anything else.
        Other = "other",
    }
);

words!(
    /// What a person says to a question.
    PermissionDecision {
        /// Yes.
        Approve = "approve",
        /// Yes, and to everything of this kind for the rest of the session.
        ApproveAlways = "approve-always",
        /// No.
        Deny = "deny",
    }
);

words!(
    /// How a question ended.
    PermissionOutcome {
        /// Someone said yes.
        Approved = "approve",
        /// Someone said yes to everything of its kind.
        ApprovedAlways = "approve-always",
        /// Someone said no.
        Denied = "deny",
        /// Nobody said anything in time, which means no.
        TimedOut = "timed-out",
        /// Whoever asked is gone: the turn was aborted, say.
        Withdrawn = "withdrawn",
    }
);

impl PermissionOutcome {
    /// Whether the tool may act.
    pub fn is_approved(self) -> bool {
        matches!(self, Self::Approved | Self::ApprovedAlways)
    }
}

/// What a tool asks: may this be done?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequest {
    /// What sort of thing.
    pub kind: PermissionKind,
    /// One line for people.
    pub title: String,
    /// The file, or the folder in which a command runs; relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The command line, or the text of the new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The change as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// A question that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingPermission {
    /// What an answer names.
    #[serde(rename = "requestId")]
    pub id: PermissionId,
    /// The question.
    #[serde(flatten)]
    pub request: PermissionRequest,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_same_everywhere() {
        for decision in PermissionDecision::ALL {
            let json = serde_json::to_string(decision).expect("json");
            assert_eq!(json, format!("\"{decision}\""));
            assert_eq!(decision.as_str().parse(), Ok(*decision));
        }
        assert_eq!("always".parse::<PermissionDecision>(), Err(UnknownWord));
        assert_eq!("approve-all".parse(), Ok(PermissionMode::ApproveAll));
    }
}
