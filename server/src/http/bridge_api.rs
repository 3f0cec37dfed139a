//! The API of the bridge: requests are JSON, and answers have the status codes that its clients
//! expect.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::bridge::BridgeError;
use serde::de::DeserializeOwned;
use wire::bridge::{Acknowledged, ApprovalAnswer, CancelRequest, ClearRequest, DiscardRequest};

use super::inbox_api::Answerer;
use super::text::Text;
use super::{AppState, error};
use crate::encoding;

/// `GET /sessions`: lists all projects.
pub(super) async fn list_sessions(State(state): State<AppState>) -> Response {
    match state.bridge.sessions().await {
        Ok(sessions) => Json(sessions).into_response(),
        Err(error) => error::bridge_refused(&error),
    }
}

/// `GET /sessions/{id}`: the history of a project.
pub(super) async fn show_session(
    State(state): State<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let gzip = encoding::accepts(&headers, "gzip");
    // A path that was not percent-encoded has lost its first slash.
    let history = match state.bridge.history(&id).await {
        Err(BridgeError::SessionNotFound(_)) => state.bridge.history(&format!("/{id}")).await,
        found => found,
    };
    let history = match history {
        Ok(history) => history,
        Err(BridgeError::SessionNotFound(_)) => {
            return error::bridge_refused(&BridgeError::SessionNotFound(id));
        }
        Err(error) => return error::bridge_refused(&error),
    };
    let answer = tokio::task::spawn_blocking(move || encoding::json(&history, gzip));
    answer.await.unwrap_or_else(|failure| {
        tracing::error!(%failure, "showing a history has crashed");
        error::crashed()
    })
}

/// `POST /message`: starts a run, or keeps a draft.
pub(super) async fn send_message(State(state): State<AppState>, Text(body): Text) -> Response {
    let request = match read(&body) {
        Ok(request) => request,
        Err(unreadable) => return unreadable.refuse(),
    };
    match state.bridge.send(request).await {
        Ok(accepted) => (StatusCode::ACCEPTED, Json(accepted)).into_response(),
        Err(error) => error::message_refused(&error),
    }
}

/// `POST /approval`: answers a permission request.
pub(super) async fn decide(
    State(state): State<AppState>,
    Answerer(by): Answerer,
    Text(body): Text,
) -> Response {
    match read::<ApprovalAnswer>(&body) {
        Ok(ApprovalAnswer { approval_id, approved, always }) => {
            acknowledge(state.bridge.decide(&approval_id, approved, always, &by).await)
        }
        Err(unreadable) => unreadable.refuse(),
    }
}

/// `POST /cancel`: cancels a run.
pub(super) async fn cancel(State(state): State<AppState>, Text(body): Text) -> Response {
    match read::<CancelRequest>(&body) {
        Ok(request) => acknowledge(state.bridge.cancel(&request.id).await),
        Err(unreadable) => unreadable.refuse(),
    }
}

/// `POST /clear`: clears the history of a project.
pub(super) async fn clear(State(state): State<AppState>, Text(body): Text) -> Response {
    match read::<ClearRequest>(&body) {
        Ok(request) => acknowledge(state.bridge.clear(&request.session_id).await),
        Err(unreadable) => unreadable.refuse(),
    }
}

/// `POST /discard`: discards a draft.
pub(super) async fn discard(State(state): State<AppState>, Text(body): Text) -> Response {
    match read::<DiscardRequest>(&body) {
        Ok(request) => acknowledge(state.bridge.discard(&request.id).await),
        Err(unreadable) => unreadable.refuse(),
    }
}

/// Parses the body as JSON, whatever its declared type: scripts seldom declare it.
fn read<T: DeserializeOwned>(body: &str) -> Result<T, Unreadable> {
    serde_json::from_str(body).map_err(Unreadable)
}

/// The body is not the expected JSON.
struct Unreadable(serde_json::Error);

impl Unreadable {
    fn refuse(&self) -> Response {
        let message = format!("the body is not valid: {}", self.0);
        error::unreadable(StatusCode::BAD_REQUEST, &message)
    }
}

fn acknowledge(result: Result<(), BridgeError>) -> Response {
    match result {
        Ok(()) => Json(Acknowledged::default()).into_response(),
        Err(error) => error::bridge_refused(&error),
    }
}
