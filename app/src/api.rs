//! Every request that a page makes. Pages call these functions and nothing else.

use std::fmt;

use gloo_net::http::{Request, Response};
use serde::de::DeserializeOwned;
use wire::server::{ErrorReply, TestReply};

/// Why a request brought no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiError {
    /// The server could not be reached, or the connection broke.
    Unreachable,
    /// The server refused the request.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's own words.
        reason: String,
    },
    /// The answer was not what the contract says.
    Malformed(String),
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable => f.write_str("The server can't be reached. Is it still running?"),
            Self::Refused { status, reason } => {
                write!(f, "The server refused the request ({status}): {reason}")
            }
            Self::Malformed(detail) => write!(f, "The server's answer makes no sense: {detail}"),
        }
    }
}

/// Asks `api/test` for its greeting.
pub async fn test() -> Result<TestReply, ApiError> {
    get("/api/test").await
}

async fn get<T: DeserializeOwned>(path: &str) -> Result<T, ApiError> {
    let response = Request::get(path).send().await.map_err(|_| ApiError::Unreachable)?;
    if !response.ok() {
        return Err(refusal(&response).await);
    }
    response.json().await.map_err(|error| ApiError::Malformed(error.to_string()))
}

async fn refusal(response: &Response) -> ApiError {
    let reason = match response.json::<ErrorReply>().await {
        Ok(reply) => reply.message.unwrap_or(reply.error),
        Err(_) => response.status_text(),
    };
    ApiError::Refused { status: response.status(), reason }
}
