//! Bodies that are plain text.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::Body as _;

use super::error;

/// The whole body as UTF-8, empty if there is none.
pub(super) struct Text(pub(super) String);

impl<S: Send + Sync> FromRequest<S> for Text {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let bytes = Bytes::from_request(request, state)
            .await
            .map_err(|rejection| error::unreadable(rejection.status(), &rejection.body_text()))?;
        String::from_utf8(bytes.into())
            .map(Self)
            .map_err(|_| error::unreadable(StatusCode::BAD_REQUEST, "the body is not UTF-8"))
    }
}

/// Limit of a prompt, in bytes. Far more than any model accepts, and far less than the limit of
/// bodies, because a prompt stays in the history of its session.
pub(super) const LARGEST_PROMPT: usize = 1024 * 1024;

/// A body for a model: text of limited length.
pub(super) struct Prompt(pub(super) String);

impl<S: Send + Sync> FromRequest<S> for Prompt {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let declared = request.body().size_hint().lower();
        if usize::try_from(declared).is_ok_and(|length| length > LARGEST_PROMPT) {
            return Err(error::prompt_too_large(LARGEST_PROMPT));
        }
        let Text(text) = Text::from_request(request, state).await?;
        if text.len() > LARGEST_PROMPT {
            return Err(error::prompt_too_large(LARGEST_PROMPT));
        }
        Ok(Self(text))
    }
}
