//! Ids of the things that can be watched, and the tokens of those who watch.
//!
//! An id is a prefix and a random UUID: unique for ever and not guessable. Each kind has a type
//! of its own, so that a job's id cannot be taken for a task's.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

use crate::json::{FromJson, Value};

/// A text that is not an id of the wanted kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id: expected `{prefix}` followed by a UUID")]
pub struct ParseIdError {
    prefix: &'static str,
}

macro_rules! prefixed_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// What every id of this kind starts with.
            pub const PREFIX: &'static str = $prefix;

            /// A new id that nobody can guess.
            #[cfg(feature = "generate")]
            pub fn generate() -> Self {
                Self(Uuid::new_v4())
            }

            /// The id with a given UUID, for tests and stored data.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, self.0.as_hyphenated())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                parse_uuid(text, $prefix)
                    .map(Self)
                    .ok_or(ParseIdError { prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(de::Error::custom)
            }
        }

        impl FromJson for $name {
            fn from_json(value: Value<'_>) -> Self {
                Self(read_uuid(value, $prefix))
            }
        }
    };
}

prefixed_id!(
    /// Names one session.
    SessionId,
    "session-"
);
prefixed_id!(
    /// Names one run of a task.
    TaskId,
    "task-"
);
prefixed_id!(
    /// Names one run of a job.
    JobId,
    "job-"
);
prefixed_id!(
    /// Names one request of a tool for permission.
    PermissionId,
    "permission-"
);
prefixed_id!(
    /// Names one message to the bridge, and the run that answers it.
    MessageId,
    "message-"
);

prefixed_id!(
    /// Names one attachment of a session.
    AttachmentId,
    "file-"
);

/// Accepts only the spelling that [`fmt::Display`] gives: with a second one, readers would have two
/// keys for the same thing.
fn parse_uuid(text: &str, prefix: &str) -> Option<Uuid> {
    let rest = text.strip_prefix(prefix)?;
    let canonical = rest.len() == 36 && !rest.bytes().any(|byte| byte.is_ascii_uppercase());
    canonical.then(|| Uuid::parse_str(rest).ok()).flatten()
}

fn read_uuid(value: Value<'_>, prefix: &str) -> Uuid {
    parse_uuid(&value.text(), prefix).unwrap_or_else(|| {
        value.fail("an id of this kind");
        Uuid::nil()
    })
}

/// A text that cannot be a reader's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a token: expected 1 to {} bytes", LiveToken::MAX_BYTES)]
pub struct ParseTokenError;

/// Names one reader of live responses.
///
/// The server hands out UUIDs, but any short text that a client chooses will do. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LiveToken(Arc<str>);

impl LiveToken {
    /// The longest token: readers are kept in memory, so a token must not be a document.
    pub const MAX_BYTES: usize = 200;

    /// A new token, different from every other one.
    #[cfg(feature = "generate")]
    pub fn generate() -> Self {
        Self(Uuid::new_v4().to_string().into())
    }

    /// The token as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LiveToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for LiveToken {
    type Err = ParseTokenError;

    fn from_str(text: &str) -> Result<Self, ParseTokenError> {
        if text.is_empty() || text.len() > Self::MAX_BYTES {
            return Err(ParseTokenError);
        }
        Ok(Self(text.into()))
    }
}

impl Serialize for LiveToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for LiveToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl FromJson for LiveToken {
    fn from_json(value: Value<'_>) -> Self {
        value.parsed("a token", Self("".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";

    #[test]
    fn an_id_is_its_prefix_and_a_uuid() {
        let text = format!("session-{UUID}");
        let id: SessionId = text.parse().expect("a session id");
        assert_eq!(id.to_string(), text);
        assert_eq!(serde_json::to_string(&id).expect("json"), format!("\"{text}\""));
        let back: SessionId = serde_json::from_str(&format!("\"{text}\"")).expect("id");
        assert_eq!(back, id);
        assert!(format!("task-{UUID}").parse::<TaskId>().is_ok());
        assert!(format!("job-{UUID}").parse::<JobId>().is_ok());
    }

    #[test]
    fn nothing_else_is_an_id() {
        let upper = UUID.to_uppercase();
        let simple = UUID.replace('-', "");
        for text in [
            String::new(),
            "session-".to_owned(),
            UUID.to_owned(),
            format!("task-{UUID}"),
            format!("session-{UUID}x"),
            format!("session-{upper}"),
            format!("session-{simple}"),
            format!("session-{{{UUID}}}"),
            format!(" session-{UUID}"),
            "session-1".to_owned(),
        ] {
            assert!(text.parse::<SessionId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_token_is_any_short_text() {
        assert!("t".parse::<LiveToken>().is_ok());
        assert!(UUID.parse::<LiveToken>().is_ok());
        assert!("ü".repeat(100).parse::<LiveToken>().is_ok());
        assert!("".parse::<LiveToken>().is_err());
        assert!("x".repeat(201).parse::<LiveToken>().is_err());
    }

    #[cfg(feature = "generate")]
    #[test]
    fn generated_ids_differ_and_parse() {
        let (one, two) = (SessionId::generate(), SessionId::generate());
        assert_ne!(one, two);
        assert_eq!(one.to_string().parse(), Ok(one));
        assert_ne!(LiveToken::generate(), LiveToken::generate());
    }
}
