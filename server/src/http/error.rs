//! The only place with status codes for what went wrong.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::bridge::BridgeError;
use wire::server::Refusal as RefusalReply;
use wire::{ErrorName, ErrorReply};

use crate::security::Refusal;

/// Whether the length was declared or not, it is one error to the caller.
const BODY_TOO_LARGE: &str = "BodyTooLarge";

/// A path below `/api` that is no endpoint.
pub(super) async fn unknown_api_endpoint() -> Response {
    let reply = RefusalReply { error: "Unknown API endpoint".into(), message: None };
    (StatusCode::NOT_FOUND, Json(reply)).into_response()
}

/// An endpoint, but not with this method.
pub(super) async fn method_not_allowed() -> Response {
    reply(
        StatusCode::METHOD_NOT_ALLOWED,
        "MethodNotAllowed",
        "this endpoint does not take this method; see the Allow header",
    )
}

/// Not an API path, not a page, not a file, or not with this method.
pub(super) fn not_found() -> Response {
    reply(StatusCode::NOT_FOUND, "NotFound", "there is nothing at this address")
}

/// A query or body that can't be read as what it should be.
pub(super) fn unreadable(status: StatusCode, message: &str) -> Response {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => reply(status, BODY_TOO_LARGE, message),
        _ => reply(status, "UnreadableRequest", message),
    }
}

/// The domain said no: an answer like any other, with status 200.
pub(super) fn said_no(error: ErrorName, message: Option<String>) -> Response {
    Json(ErrorReply { error, message }).into_response()
}

/// Our own mistake; the log has more.
pub(super) fn crashed() -> Response {
    reply(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", "the server made a mistake")
}

/// The bridge said no. Its clients go by the status.
pub(super) fn bridge_refused(error: &BridgeError) -> Response {
    let (status, name) = match error {
        BridgeError::TextMissing => (StatusCode::BAD_REQUEST, "TextMissing"),
        BridgeError::TextTooLong => (StatusCode::BAD_REQUEST, "TextTooLong"),
        BridgeError::UnknownMode(_) => (StatusCode::BAD_REQUEST, "UnknownMode"),
        BridgeError::AgentDisabled => (StatusCode::BAD_REQUEST, "AgentDisabled"),
        BridgeError::StepsOutOfRange(_) => (StatusCode::BAD_REQUEST, "StepsOutOfRange"),
        BridgeError::ModelIdNotFound(_) => (StatusCode::BAD_REQUEST, "ModelIdNotFound"),
        BridgeError::SessionNotFound(_) => (StatusCode::NOT_FOUND, "SessionNotFound"),
        BridgeError::RunNotFound(_) => (StatusCode::NOT_FOUND, "RunNotFound"),
        BridgeError::ApprovalNotFound(_) => (StatusCode::NOT_FOUND, "ApprovalNotFound"),
        BridgeError::TooManyMessages { .. } => (StatusCode::TOO_MANY_REQUESTS, "TooManyMessages"),
        BridgeError::TooManyRuns => (StatusCode::TOO_MANY_REQUESTS, "TooManyRuns"),
        BridgeError::TooManyClients => (StatusCode::TOO_MANY_REQUESTS, "TooManyClients"),
        BridgeError::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "Stopping"),
    };
    let mut response = reply(status, name, &error.to_string());
    if let BridgeError::TooManyMessages { retry_after } = error {
        response.headers_mut().insert(header::RETRY_AFTER, retry_after.as_secs().into());
    }
    response
}

/// A message that can't be taken as it is: whatever it names wrongly, the message is at fault.
pub(super) fn message_refused(error: &BridgeError) -> Response {
    let mut response = bridge_refused(error);
    if response.status() == StatusCode::NOT_FOUND {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    response
}

/// The guard refused the request.
pub(super) fn refused(refusal: &Refusal) -> Response {
    let (status, name) = match refusal {
        Refusal::Target(_) => (StatusCode::BAD_REQUEST, "BadRequestTarget"),
        Refusal::Host(_) => (StatusCode::FORBIDDEN, "HostNotAllowed"),
        Refusal::CrossSite(_) => (StatusCode::FORBIDDEN, "CrossSiteRequest"),
        Refusal::Credentials => (StatusCode::UNAUTHORIZED, "AccessKeyRequired"),
        Refusal::BodyTooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, BODY_TOO_LARGE),
    };
    let mut response = reply(status, name, &refusal.to_string());
    if *refusal == Refusal::Credentials {
        let scheme = HeaderValue::from_static("Bearer realm=\"copilot-portal\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    }
    response
}

fn reply(status: StatusCode, error: &str, message: &str) -> Response {
    let reply = RefusalReply { error: error.into(), message: Some(message.into()) };
    (status, Json(reply)).into_response()
}
