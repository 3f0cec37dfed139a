//! The API of attachments: takes files for the prompts of a session, and shows them.

use agents::Attachment;
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::session::AttachError;
use http_body_util::Limited;
use hyper::body::Body as _;
use wire::{Attached, LARGEST_ATTACHMENT};

use super::session_api::{open_session, session_id};
use super::{AppState, error};

/// `copilot/session/{id}/attach/{name}`: keeps the file in the body for the session's prompts.
pub(super) async fn attach(
    State(state): State<AppState>,
    Path((id, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let bytes = match read(request, &state).await {
        Ok(bytes) => bytes,
        Err(refusal) => return refusal,
    };
    match keep(&state, &id, &name, bytes).await {
        Ok(attached) => Json(attached).into_response(),
        Err(error) => said_no(&error),
    }
}

async fn keep(
    state: &AppState,
    id: &str,
    name: &str,
    bytes: Vec<u8>,
) -> Result<Attached, AttachError> {
    open_session(state, id).await?.attach(name, bytes).await
}

/// The body, which may be larger than that of a prompt.
async fn read(request: Request, state: &AppState) -> Result<Vec<u8>, Response> {
    let of_bodies = usize::try_from(state.policy.max_body_bytes).unwrap_or(usize::MAX);
    let limit = of_bodies.min(LARGEST_ATTACHMENT);
    let declared = request.body().size_hint().lower();
    if usize::try_from(declared).unwrap_or(usize::MAX) > limit {
        return Err(error::attachment_too_large(limit));
    }
    // The guard's limit alone, if that is the lower one: only one of them is recognised.
    let request = if limit < of_bodies {
        request.map(|body| Body::new(Limited::new(body, limit)))
    } else {
        request
    };
    let bytes = Bytes::from_request(request, state).await;
    bytes.map(Into::into).map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => error::attachment_too_large(limit),
        status => error::unreadable(status, &rejection.body_text()),
    })
}

/// `copilot/session/{id}/attachment/{attachmentId}`: the file.
pub(super) async fn show(
    State(state): State<AppState>,
    Path((id, attachment)): Path<(String, String)>,
) -> Response {
    let found = match (session_id(&id), attachment.parse()) {
        (Ok(id), Ok(attachment)) => state.sessions.attachment(id, attachment).await,
        (Err(error), _) => Err(error.into()),
        // A text that cannot be an id names no attachment.
        (_, Err(_)) => Err(AttachError::NotFound),
    };
    match found {
        Ok(attachment) => file(attachment),
        Err(error) => said_no(&error),
    }
}

/// What a person attached is shown as what it is, and never as a page: even a text is only saved.
fn file(attachment: Attachment) -> Response {
    let (media_type, disposition, body) = match attachment {
        Attachment::Image(image) => (image.media_type, "inline", Body::from(image.bytes)),
        Attachment::Text(text) => ("text/plain; charset=utf-8", "attachment", Body::from(text)),
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(disposition));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; sandbox; frame-ancestors 'none'"),
    );
    (headers, body).into_response()
}

fn said_no(error: &AttachError) -> Response {
    error::said_no(error.name(), Some(&error.to_string()))
}
