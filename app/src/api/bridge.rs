//! The requests of the bridge: JSON both ways, and its refusals are HTTP statuses.

use serde::Serialize;
use serde::de::DeserializeOwned;
use wire::bridge::{
    Acknowledged, ApprovalAnswer, CancelRequest, ClearRequest, MessageAccepted, MessageRequest,
    SessionHistory, SessionSummary,
};
use wire::{MessageId, PermissionDecision, PermissionId};

use super::{ApiError, encode_segment, fetch, parse, send_text};

/// The projects.
pub(crate) async fn projects() -> Result<Vec<SessionSummary>, ApiError> {
    fetch("/sessions").await
}

/// What happened in a project so far.
pub(crate) async fn history(id: &str) -> Result<SessionHistory, ApiError> {
    fetch(&format!("/sessions/{}", encode_segment(id))).await
}

/// Where events of a project are told, from the one after `last_event` on.
pub(crate) fn events_path(id: &str, last_event: u64) -> String {
    format!("/events?session={}&lastEventId={last_event}", encode_segment(id))
}

/// Starts a run.
pub(crate) async fn send(message: &MessageRequest) -> Result<(), ApiError> {
    let _: MessageAccepted = post("/message", message).await?;
    Ok(())
}

/// Answers a question. There is no yes for good here.
pub(crate) async fn decide(id: PermissionId, decision: PermissionDecision) -> Result<(), ApiError> {
    let approved = decision != PermissionDecision::Deny;
    acknowledge("/approval", &ApprovalAnswer { approval_id: id.to_string(), approved }).await
}

/// Ends a run.
pub(crate) async fn cancel(id: MessageId) -> Result<(), ApiError> {
    acknowledge("/cancel", &CancelRequest { id: id.to_string() }).await
}

/// Forgets what happened in a project.
pub(crate) async fn clear(id: String) -> Result<(), ApiError> {
    acknowledge("/clear", &ClearRequest { session_id: id }).await
}

async fn acknowledge(path: &str, body: &impl Serialize) -> Result<(), ApiError> {
    let _: Acknowledged = post(path, body).await?;
    Ok(())
}

async fn post<T: DeserializeOwned>(path: &str, body: &impl Serialize) -> Result<T, ApiError> {
    let body = serde_json::to_string(body).expect("plain structs serialise");
    parse(&send_text(path, &body, "application/json", None).await?)
}
