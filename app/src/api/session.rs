//! What a page asks of one session: what stands above it, its queue, and the files of its folder.

use wire::{Done, Files, PromptQueue, SessionHead, SessionId};

use super::{ApiError, accept, ask, get_text};
use crate::router::encode;

/// What stands above the conversation, open or closed.
pub(crate) async fn head(id: SessionId) -> Result<SessionHead, ApiError> {
    accept(&get_text(&path(id, "info"), None).await?)
}

/// Gives the session another title.
pub(crate) async fn rename(id: SessionId, title: &str) -> Result<(), ApiError> {
    act(id, "rename", title).await
}

/// Lets another model answer from the next prompt on.
pub(crate) async fn switch_model(id: SessionId, model: &str) -> Result<(), ApiError> {
    act(id, "model", model).await
}

/// Hands a prompt to the running turn.
pub(crate) async fn steer(id: SessionId, prompt: &str) -> Result<(), ApiError> {
    act(id, "steer", prompt).await
}

/// The whole text of a prompt that waits; none if its turn has begun.
pub(crate) async fn queued(id: SessionId, prompt: u64) -> Result<Option<String>, ApiError> {
    let waiting: PromptQueue = accept(&get_text(&path(id, "queue"), None).await?)?;
    Ok(waiting.queue.into_iter().find(|one| one.id == prompt).map(|one| one.prompt))
}

/// Changes a prompt that waits.
pub(crate) async fn edit_queued(id: SessionId, prompt: u64, text: &str) -> Result<(), ApiError> {
    act(id, &format!("queue/{prompt}/edit"), text).await
}

/// Removes a prompt that waits.
pub(crate) async fn remove_queued(id: SessionId, prompt: u64) -> Result<(), ApiError> {
    act(id, &format!("queue/{prompt}/remove"), "").await
}

/// Files below the session's folder whose paths contain a text.
pub(crate) async fn files(id: SessionId, text: &str) -> Result<Vec<String>, ApiError> {
    let path = path(id, &format!("files?q={}", encode(text)));
    let found: Files = accept(&get_text(&path, None).await?)?;
    Ok(found.files)
}

/// The whole conversation as a file of a kind, `md` or `json`.
pub(crate) async fn export(id: SessionId, kind: &str) -> Result<String, ApiError> {
    let text = get_text(&path(id, &format!("export.{kind}")), None).await?;
    match accept::<Done>(&text) {
        Err(error @ ApiError::Domain { .. }) => Err(error),
        _ => Ok(text),
    }
}

async fn act(id: SessionId, what: &str, body: &str) -> Result<(), ApiError> {
    let _: Done = ask(&path(id, what), body).await?;
    Ok(())
}

fn path(id: SessionId, what: &str) -> String {
    format!("/api/copilot/session/{id}/{what}")
}
