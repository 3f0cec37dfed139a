//! The short answers of the API, and the names of its errors.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json::FromJson;
use crate::{LiveToken, SessionId};

/// `{"error": …}` and nothing else: clients compare the whole object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct ErrorReply {
    /// Name of the error.
    pub error: ErrorName,
}

/// The response header with details of an error, percent-encoded.
pub const MESSAGE_HEADER: &str = "portal-message";

/// The header of every answer while nothing can be stored; its value is `unavailable`.
pub const STORE_HEADER: &str = "portal-store";

impl From<ErrorName> for ErrorReply {
    fn from(error: ErrorName) -> Self {
        Self { error }
    }
}

/// Declares the names together with the list of all of them, so that the list is always complete.
macro_rules! error_names {
    ($($(#[$note:meta])* $name:ident,)*) => {
        /// The errors of the domain, spelt as on the wire.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, FromJson)]
        #[expect(missing_docs, reason = "the names are the documentation")]
        pub enum ErrorName {
            $($(#[$note])* $name,)*
        }

        impl ErrorName {
            /// Every error that the API can give.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

error_names! {
    ModelIdNotFound,
    WorkingDirectoryNotAbsolutePath,
    WorkingDirectoryNotExists,
    SessionNotFound,
    SessionClosed,
    TaskNotFound,
    TaskClosed,
    TaskCannotClose,
    JobNotFound,
    JobsClosed,
    EntryNotInstalled,
    UserInputRequired,
    HttpRequestTimeout,
    ParallelCallNotSupported,
    /// The model is listed, but its provider could not start a session.
    ModelNotAvailable,
    TooManySessions,
    TooManyJobs,
    TooManyQueries,
    TooManyReaders,
    TooManyPendingCalls,
    /// No question with that id waits, or it was answered before.
    PermissionNotPending,
    /// Nothing with that id waits in the inbox, or it was answered before.
    NotPending,
    /// The item in the inbox does not offer this answer, or the answer lacks its text.
    InvalidAnswer,
    InvalidPermissionDecision,
    InvalidPermissionMode,
    InvalidExtensionTrust,
    /// No prompt of this number waits: its turn has begun, or it was removed.
    NotQueued,
    /// The session's agent takes no prompts while it works.
    SteerNotSupported,
    /// No turn of the session is running.
    NotWorking,
    /// The session is working, or about to.
    SessionBusy,
    /// Something still runs that must have ended for this.
    StillRunning,
    /// No work of the job has a result that can be done without.
    NothingToRetry,
    /// The job has no work of that number.
    WorkNotFound,
    /// Neither a picture that the session's model takes nor UTF-8 text.
    AttachmentNotSupported,
    /// The session has as many attachments, or as large ones, as it may have.
    TooManyAttachments,
    /// The session has no attachment of that id.
    AttachmentNotFound,
    InvalidTitle,
    InvalidBudget,
    /// A limit that the model's provider reports no figures for.
    BudgetNotSupported,
    /// The session has used up its budget.
    BudgetExceeded,
    /// Nothing can be kept at the moment: the disk is full, or the store fails.
    StoreUnavailable,
}

impl fmt::Display for ErrorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The derived name is the wire spelling: variants are not renamed.
        fmt::Debug::fmt(self, f)
    }
}

/// `{}`: the request was carried out, or has begun to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct Done {}

/// The answer of `session/start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct SessionStarted {
    /// Id of the new session.
    pub session_id: SessionId,
}

/// The answer of `token`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct TokenReply {
    /// A new token with each answer.
    pub token: LiveToken,
}

/// The answer of `stop`: `{"result":"Closed"}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct StopReply {
    /// Always [`Closed::Closed`].
    pub result: Closed,
}

/// The only possible result of stopping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub enum Closed {
    /// What was stopped takes no more requests.
    #[default]
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: &impl Serialize) -> String {
        serde_json::to_string(value).expect("json")
    }

    #[test]
    fn replies_are_spelt_as_the_api_says() {
        assert_eq!(json(&Done {}), "{}");
        assert_eq!(json(&StopReply::default()), r#"{"result":"Closed"}"#);
        assert_eq!(
            json(&ErrorReply::from(ErrorName::ModelIdNotFound)),
            r#"{"error":"ModelIdNotFound"}"#
        );
        let id = "session-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";
        let started = SessionStarted { session_id: id.parse().expect("id") };
        assert_eq!(json(&started), format!(r#"{{"sessionId":"{id}"}}"#));
        let token = TokenReply { token: "t".parse().expect("token") };
        assert_eq!(json(&token), r#"{"token":"t"}"#);
    }

    #[test]
    fn a_success_is_never_taken_for_an_error() {
        let session = r#"{"sessionId":"session-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11"}"#;
        for success in ["{}", r#"{"result":"Closed"}"#, session] {
            assert!(serde_json::from_str::<ErrorReply>(success).is_err(), "{success}");
        }
    }

    #[test]
    fn an_error_displays_as_it_is_spelt() {
        let name = ErrorName::WorkingDirectoryNotAbsolutePath;
        assert_eq!(format!("\"{name}\""), json(&name));
    }
}
