//! The answers of the live endpoints, one shape for sessions, tasks and jobs.

use serde::Serialize;

use crate::{Alive, ErrorName, ErrorReply, Inbox, JobId, SessionId, TaskId};

/// What a live call with a token answers.
///
/// A call without a token answers a bare response or an error instead.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LiveReply<R> {
    /// Everything from the reader's position to the end.
    Responses {
        /// Responses in the order in which they happened, never empty.
        responses: Vec<R>,
    },
    /// There are no responses to read, for this reason.
    Error(ErrorReply),
}

/// Something with live responses, and the names of its errors.
pub trait LiveEntity {
    /// The error that each reader gets once, after reading everything.
    const CLOSED: ErrorName;
    /// The error for an id that names nothing, or nothing any more.
    const NOT_FOUND: ErrorName;
}

impl LiveEntity for SessionId {
    const CLOSED: ErrorName = ErrorName::SessionClosed;
    const NOT_FOUND: ErrorName = ErrorName::SessionNotFound;
}

impl LiveEntity for TaskId {
    const CLOSED: ErrorName = ErrorName::TaskClosed;
    const NOT_FOUND: ErrorName = ErrorName::TaskNotFound;
}

impl LiveEntity for JobId {
    const CLOSED: ErrorName = ErrorName::JobsClosed;
    const NOT_FOUND: ErrorName = ErrorName::JobNotFound;
}

/// It never ends, so neither error is ever given.
impl LiveEntity for Inbox {
    const CLOSED: ErrorName = ErrorName::HttpRequestTimeout;
    const NOT_FOUND: ErrorName = ErrorName::HttpRequestTimeout;
}

/// Nor does this.
impl LiveEntity for Alive {
    const CLOSED: ErrorName = ErrorName::HttpRequestTimeout;
    const NOT_FOUND: ErrorName = ErrorName::HttpRequestTimeout;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionResponse;

    #[test]
    fn live_replies_are_spelt_as_the_api_says() {
        let table: [(LiveReply<SessionResponse>, &str); 4] = [
            (
                LiveReply::Responses { responses: vec![SessionResponse::Idle] },
                r#"{"responses":[{"callback":"onIdle"}]}"#,
            ),
            (
                LiveReply::Error(ErrorName::HttpRequestTimeout.into()),
                r#"{"error":"HttpRequestTimeout"}"#,
            ),
            (
                LiveReply::Error(ErrorName::ParallelCallNotSupported.into()),
                r#"{"error":"ParallelCallNotSupported"}"#,
            ),
            (LiveReply::Error(SessionId::CLOSED.into()), r#"{"error":"SessionClosed"}"#),
        ];
        for (reply, json) in table {
            assert_eq!(serde_json::to_string(&reply).expect("json"), json);
        }
    }

    #[test]
    fn each_kind_of_entity_names_its_own_end() {
        assert_eq!(TaskId::CLOSED, ErrorName::TaskClosed);
        assert_eq!(JobId::CLOSED, ErrorName::JobsClosed);
        assert_eq!(JobId::NOT_FOUND, ErrorName::JobNotFound);
    }
}
