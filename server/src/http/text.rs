//! Bodies that are plain text.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::Response;

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
