//! Status codes of all errors. No other module has any.

use std::fmt::Write;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::bridge::BridgeError;
use store::journal::StoreError;
use wire::server::Refusal as RefusalReply;
use wire::{ErrorName, ErrorReply, MESSAGE_HEADER};

use crate::security::Refusal;

/// The same error whether or not the length was declared.
const BODY_TOO_LARGE: &str = "BodyTooLarge";

/// A path below `/api` that is not an endpoint.
pub(super) async fn unknown_api_endpoint() -> Response {
    let reply = RefusalReply { error: "Unknown API endpoint".into(), message: None };
    (StatusCode::NOT_FOUND, Json(reply)).into_response()
}

/// The endpoint exists, but not with this method.
pub(super) async fn method_not_allowed() -> Response {
    reply(
        StatusCode::METHOD_NOT_ALLOWED,
        "MethodNotAllowed",
        "this endpoint does not take this method; see the Allow header",
    )
}

/// Not an API path, a page or a file, or not with this method.
pub(super) fn not_found() -> Response {
    reply(StatusCode::NOT_FOUND, "NotFound", "there is nothing at this address")
}

/// A query or body that cannot be parsed.
pub(super) fn unreadable(status: StatusCode, message: &str) -> Response {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => reply(status, BODY_TOO_LARGE, message),
        _ => reply(status, "UnreadableRequest", message),
    }
}

/// A prompt above its own limit, in a body within the general limit.
pub(super) fn prompt_too_large(limit: usize) -> Response {
    let message = format!("the prompt is larger than the limit of {limit} bytes");
    reply(StatusCode::PAYLOAD_TOO_LARGE, "PromptTooLarge", &message)
}

/// An attachment above its own limit, in a body within the general limit.
pub(super) fn attachment_too_large(limit: usize) -> Response {
    let message = format!("the attachment is larger than the limit of {limit} bytes");
    reply(StatusCode::PAYLOAD_TOO_LARGE, "AttachmentTooLarge", &message)
}

/// A body that did not arrive in time. The rest of it is not read.
pub(super) fn body_too_slow() -> Response {
    let message = "the request body did not arrive in time";
    let mut response = reply(StatusCode::REQUEST_TIMEOUT, "BodyTooSlow", message);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// A domain error: an ordinary answer with status 200. The body is only the name, because clients
/// compare all of it; details go into a header.
///
/// Except that a store which fails is nobody's mistake but the server's.
pub(super) fn said_no(error: ErrorName, details: Option<&str>) -> Response {
    if error == ErrorName::StoreUnavailable {
        let message = details.unwrap_or("nothing can be kept at the moment");
        return reply(StatusCode::SERVICE_UNAVAILABLE, "StoreUnavailable", message);
    }
    let mut response = Json(ErrorReply::from(error)).into_response();
    if let Some(details) = details.and_then(message_value) {
        response.headers_mut().insert(MESSAGE_HEADER, details);
    }
    response
}

/// The store fails.
pub(super) fn unavailable(error: &StoreError) -> Response {
    said_no(ErrorName::StoreUnavailable, Some(&error.to_string()))
}

/// Clients limit the size of all headers together, so longer texts are truncated.
const MAX_MESSAGE_BYTES: usize = 1000;

/// A text as the value of a header: printable ASCII, everything else percent-encoded.
fn message_value(text: &str) -> Option<HeaderValue> {
    let mut value = String::new();
    for character in text.chars() {
        let before = value.len();
        match character {
            '%' => value.push_str("%25"),
            ' '..='~' => value.push(character),
            _ => {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    // Writing to a string cannot fail.
                    let _ = write!(value, "%{byte:02X}");
                }
            }
        }
        // Truncated at a whole character, or nobody could decode the last one.
        if value.len() > MAX_MESSAGE_BYTES {
            value.truncate(before);
            break;
        }
    }
    HeaderValue::from_str(value.trim()).ok().filter(|value| !value.is_empty())
}

/// A bug in the server; the log has the details.
pub(super) fn crashed() -> Response {
    reply(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", "the server made a mistake")
}

/// An error of the bridge, whose clients expect status codes.
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
        BridgeError::DraftNotFound(_) => (StatusCode::NOT_FOUND, "DraftNotFound"),
        BridgeError::TooManyDrafts => (StatusCode::TOO_MANY_REQUESTS, "TooManyDrafts"),
        BridgeError::TooManyMessages { .. } => (StatusCode::TOO_MANY_REQUESTS, "TooManyMessages"),
        BridgeError::TooManyRuns => (StatusCode::TOO_MANY_REQUESTS, "TooManyRuns"),
        BridgeError::TooManyClients => (StatusCode::TOO_MANY_REQUESTS, "TooManyClients"),
        BridgeError::BudgetExceeded => (StatusCode::FORBIDDEN, "BudgetExceeded"),
        BridgeError::BudgetNotSupported(_) => (StatusCode::BAD_REQUEST, "BudgetNotSupported"),
        BridgeError::NotStarted(_) => (StatusCode::SERVICE_UNAVAILABLE, "SessionNotStarted"),
        BridgeError::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "StoreUnavailable"),
        BridgeError::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "Stopping"),
    };
    let mut response = reply(status, name, &error.to_string());
    if let BridgeError::TooManyMessages { retry_after } = error {
        response.headers_mut().insert(header::RETRY_AFTER, retry_after.as_secs().into());
    }
    response
}

/// A message that cannot be accepted: whatever it names wrongly, the message is at fault.
pub(super) fn message_refused(error: &BridgeError) -> Response {
    let mut response = bridge_refused(error);
    if response.status() == StatusCode::NOT_FOUND {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    response
}

/// Too many wrong keys from one address.
pub(super) fn too_many_wrong_keys(wait: Duration) -> Response {
    let message = Refusal::TooManyWrongKeys(wait).to_string();
    let mut response = reply(StatusCode::TOO_MANY_REQUESTS, "TooManyWrongKeys", &message);
    response.headers_mut().insert(header::RETRY_AFTER, (wait.as_secs() + 1).into());
    response
}

/// There is no login, or its secret has already been returned.
pub(super) fn no_secret() -> Response {
    reply(StatusCode::FORBIDDEN, "LoginSecretTold", "the secret of a login is returned only once")
}

/// The role of the caller's key does not allow this.
pub(super) fn role_not_allowed() -> Response {
    refused(&Refusal::Role)
}

/// A refusal by the guard.
pub(super) fn refused(refusal: &Refusal) -> Response {
    let (status, name) = match refusal {
        Refusal::Target(_) => (StatusCode::BAD_REQUEST, "BadRequestTarget"),
        Refusal::Host(_) => (StatusCode::FORBIDDEN, "HostNotAllowed"),
        Refusal::CrossSite(_) => (StatusCode::FORBIDDEN, "CrossSiteRequest"),
        Refusal::DuplicateHeader(_) => (StatusCode::BAD_REQUEST, "DuplicateHeader"),
        Refusal::PostRequired | Refusal::MustBeAsked => (StatusCode::FORBIDDEN, "PostRequired"),
        Refusal::Credentials => (StatusCode::UNAUTHORIZED, "AccessKeyRequired"),
        Refusal::AgentProcess => (StatusCode::FORBIDDEN, "AgentProcess"),
        Refusal::TooManyWrongKeys(wait) => return too_many_wrong_keys(*wait),
        Refusal::Role => (StatusCode::FORBIDDEN, "RoleNotAllowed"),
        Refusal::LoginSecret => (StatusCode::FORBIDDEN, "LoginSecretRequired"),
        Refusal::BodyTooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, BODY_TOO_LARGE),
    };
    let mut response = reply(status, name, &refusal.to_string());
    if *refusal == Refusal::Credentials {
        let scheme = HeaderValue::from_static("Bearer realm=\"copilot-portal\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    }
    response
}

/// The complete response to a connection of another user of this machine.
pub(super) const OTHER_USER: &str = "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\n\
    cache-control: no-store\r\nconnection: close\r\n\r\n\
    {\"error\":\"OtherUser\",\"message\":\"this server is another user's, who can let others in by \
    --access-key\"}";

fn reply(status: StatusCode, error: &str, message: &str) -> Response {
    let reply = RefusalReply { error: error.into(), message: Some(message.into()) };
    (status, Json(reply)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<String> {
        message_value(text).map(|value| value.to_str().expect("ASCII").to_owned())
    }

    #[test]
    fn any_text_is_a_header() {
        for (text, header) in [
            ("no such folder: `/a b`", "no such folder: `/a b`"),
            ("100% ü", "100%25 %C3%BC"),
            ("one\r\ntwo\t\0", "one%0D%0Atwo%09%00"),
            ("\u{7f}世", "%7F%E4%B8%96"),
            (" padded ", "padded"),
        ] {
            assert_eq!(value(text).as_deref(), Some(header), "{text:?}");
        }
        assert_eq!(value(""), None);
        assert_eq!(value("  "), None);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(value(&"a".repeat(5000)).map(|value| value.len()), Some(MAX_MESSAGE_BYTES));
        let cut = value(&"世".repeat(5000)).expect("a value");
        assert_eq!(cut, "%E4%B8%96".repeat(MAX_MESSAGE_BYTES / 9));
    }
}
