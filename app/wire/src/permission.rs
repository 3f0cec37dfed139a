//! Questions that a tool asks before it acts, and their answers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::PermissionId;
use crate::json::FromJson;
use crate::tagged::with_field;

/// An enum whose variants are words, the same in JSON, in text bodies and in settings.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$meaning:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, crate::json::FromJson)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[$meaning])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Every variant, in the order of declaration.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word on the wire and in settings.
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

impl PermissionMode {
    /// The stricter of two modes: `deny` before `ask` before `approve-all`.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Deny, _) | (_, Self::Deny) => Self::Deny,
            (Self::Ask, _) | (_, Self::Ask) => Self::Ask,
            (Self::ApproveAll, Self::ApproveAll) => Self::ApproveAll,
        }
    }
}

words!(
    /// What a tool wants to do.
    PermissionKind {
        /// Create a new file.
        Create = "create",
        /// Change an existing file.
        Write = "write",
        /// Run a command or a program.
        Command = "command",
        /// Read something outside of the workspace.
        Read = "read",
        /// Fetch something from the network.
        Url = "url",
        /// Call a tool that the portal did not provide.
        Tool = "tool",
        /// Ask a person something, who answers with a text.
        Question = "question",
        /// Anything that fits no other kind.
        Other = "other",
    }
);

words!(
    /// A person's answer to a permission request.
    PermissionDecision {
        /// Let the tool act this once.
        Approve = "approve",
        /// Let the tool act, and approve everything in the same [`AlwaysScope`] for the rest of the
        /// session.
        ApproveAlways = "approve-always",
        /// Do not let the tool act.
        Deny = "deny",
    }
);

words!(
    /// How a permission request ended.
    PermissionOutcome {
        /// It was approved, by a person or by a change of mode.
        Approved = "approve",
        /// A person approved everything in its [`AlwaysScope`].
        ApprovedAlways = "approve-always",
        /// It was denied, by a person or by a change of mode.
        Denied = "deny",
        /// Nobody answered in time, so the tool may not act.
        TimedOut = "timed-out",
        /// The tool no longer waits, for example because the turn was aborted.
        Withdrawn = "withdrawn",
    }
);

impl PermissionOutcome {
    /// Whether the tool may act.
    pub fn is_approved(self) -> bool {
        matches!(self, Self::Approved | Self::ApprovedAlways)
    }
}

/// A tool's request for permission to do something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequest {
    /// Kind of action.
    pub kind: PermissionKind,
    /// Summary for people, in one line.
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
    /// Whether people are asked each time, without the choice to approve always. That is so for
    /// files that run later.
    #[serde(default, skip_serializing_if = "is_false")]
    pub each_time: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Longer details may have been truncated, so different ones could look alike. They are asked about
/// each time.
const LONGEST_ALWAYS: usize = 64 * 1024;

/// What "approve always" covers: all requests with an equal scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlwaysScope {
    kind: PermissionKind,
    /// The folder of a file, or in which a command runs.
    folder: Option<String>,
    /// A command, an address or the name of a tool.
    exactly: Option<String>,
}

impl PermissionRequest {
    /// Whether it shows everything that the tool is about to do. If not, an equal request may be
    /// about something else.
    pub fn is_complete(&self) -> bool {
        let is_short =
            |text: &Option<String>| text.as_ref().is_none_or(|text| text.len() <= LONGEST_ALWAYS);
        is_short(&self.detail) && is_short(&self.diff)
    }

    /// What approving always would cover; `None` if people are asked each time.
    ///
    /// For files, it covers those directly in the same folder; for commands, the same command in
    /// the same folder; for addresses, the same address; for tools, the same tool with any
    /// arguments.
    pub fn always_scope(&self) -> Option<AlwaysScope> {
        let detail = self.detail.as_deref().unwrap_or_default();
        let is_incomparable = self.kind != PermissionKind::Create && detail.len() > LONGEST_ALWAYS;
        if self.each_time || self.kind == PermissionKind::Question || is_incomparable {
            return None;
        }
        let kind = self.kind;
        let path = self.path.as_deref();
        let (folder, exactly) = match kind {
            PermissionKind::Create | PermissionKind::Write | PermissionKind::Read => {
                // With its separator: elsewhere, a backslash is part of a name.
                let path = path.unwrap_or_default();
                let end = path.rfind(['/', '\\']).map_or(0, |index| index + 1);
                (Some(path[..end].to_owned()), None)
            }
            PermissionKind::Command => {
                (path.map(str::to_owned), Some(format!("{}\n{detail}", self.title)))
            }
            PermissionKind::Tool => (None, Some(self.title.clone())),
            PermissionKind::Url | PermissionKind::Question | PermissionKind::Other => {
                (None, Some(format!("{}\n{detail}", self.title)))
            }
        };
        Some(AlwaysScope { kind, folder, exactly })
    }
}

impl fmt::Display for AlwaysScope {
    /// Describes for people what is covered, such as `new files in src/`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            PermissionKind::Create => "new files",
            PermissionKind::Write => "changes of files",
            PermissionKind::Read => "reading files",
            PermissionKind::Command => "exactly this command",
            PermissionKind::Url => "exactly this address",
            PermissionKind::Tool => "this tool, whatever its arguments",
            PermissionKind::Question | PermissionKind::Other => "exactly this",
        };
        f.write_str(what)?;
        match self.folder.as_deref() {
            Some("" | ".") => f.write_str(" in the workspace's top folder"),
            Some(folder) => write!(f, " in {folder}"),
            None => Ok(()),
        }
    }
}

/// A question that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct PendingPermission {
    /// Id by which an answer refers to the question.
    #[serde(rename = "requestId")]
    pub id: PermissionId,
    /// What the tool wants to do.
    #[serde(flatten)]
    pub request: PermissionRequest,
}

impl<'de> Deserialize<'de> for PendingPermission {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let (id, request) = with_field("requestId", source)?;
        Ok(Self { id, request })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn always_covers_the_kind_and_the_folder_and_says_so() {
        use PermissionKind::{Command, Create, Tool, Write};
        let request = |kind, path: &str, detail: &str| PermissionRequest {
            kind,
            title: "t".to_owned(),
            path: Some(path.to_owned()),
            detail: Some(detail.to_owned()),
            diff: None,
            each_time: false,
        };
        let scope = |kind, path, detail| request(kind, path, detail).always_scope().expect("one");
        assert_eq!(scope(Create, "src/a", "x"), scope(Create, "src/b", "y"));
        for other in [
            scope(Write, "src/a", "x"),
            scope(Create, "a", "x"),
            scope(Create, "src/deep/a", "x"),
            scope(Create, "/src/a", "x"),
        ] {
            assert_ne!(scope(Create, "src/a", "x"), other);
        }
        assert_eq!(scope(Command, ".", "make"), scope(Command, ".", "make"));
        assert_ne!(scope(Command, ".", "make"), scope(Command, ".", "make it"));
        assert_ne!(scope(Command, ".", "make"), scope(Command, "src", "make"));
        let long = "x".repeat(LONGEST_ALWAYS + 1);
        assert_eq!(request(Command, ".", &long).always_scope(), None);
        let each_time = PermissionRequest { each_time: true, ..request(Create, "a", "") };
        assert_eq!(each_time.always_scope(), None);
        for (scope, words) in [
            (scope(Create, "src/a", ""), "new files in src/"),
            (scope(Write, "a", ""), "changes of files in the workspace's top folder"),
            (scope(Command, "src", ""), "exactly this command in src"),
            (scope(Tool, "", ""), "this tool, whatever its arguments"),
        ] {
            assert_eq!(scope.to_string(), words);
        }
    }

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
