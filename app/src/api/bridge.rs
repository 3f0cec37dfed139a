//! Requests to the bridge: JSON both ways, with errors as HTTP status codes.

use wire::MessageId;
use wire::bridge::{
    Acknowledged, CancelRequest, ClearRequest, DiscardRequest, MessageAccepted, MessageRequest,
    SessionHistory, SessionSummary,
};
use wire::json::{FromJson, ToJson, to_string};

use super::{ApiError, encode_segment, fetch, parse, send_text};

pub(crate) async fn projects() -> Result<Vec<SessionSummary>, ApiError> {
    fetch("/sessions").await
}

/// The history of a project.
pub(crate) async fn history(id: &str) -> Result<SessionHistory, ApiError> {
    fetch(&format!("/sessions/{}", encode_segment(id))).await
}

/// The path of a project's events, beginning after the event with the id `last_event`.
pub(crate) fn events_path(id: &str, last_event: &str) -> String {
    let (id, last_event) = (encode_segment(id), encode_segment(last_event));
    format!("/events?session={id}&lastEventId={last_event}")
}

/// Starts a run in the project that the message names.
pub(crate) async fn send(message: &MessageRequest) -> Result<(), ApiError> {
    let _: MessageAccepted = post("/message", message).await?;
    Ok(())
}

pub(crate) async fn cancel(id: MessageId) -> Result<(), ApiError> {
    acknowledge("/cancel", &CancelRequest { id: id.to_string() }).await
}

/// Discards a draft.
pub(crate) async fn discard(id: MessageId) -> Result<(), ApiError> {
    acknowledge("/discard", &DiscardRequest { id: id.to_string() }).await
}

/// Clears the history of a project.
pub(crate) async fn clear(id: String) -> Result<(), ApiError> {
    acknowledge("/clear", &ClearRequest { session_id: id }).await
}

async fn acknowledge(path: &str, body: &dyn ToJson) -> Result<(), ApiError> {
    let _: Acknowledged = post(path, body).await?;
    Ok(())
}

async fn post<T: FromJson>(path: &str, body: &dyn ToJson) -> Result<T, ApiError> {
    let body = to_string(body);
    parse(&send_text(path, &body, "application/json", None).await?)
}
