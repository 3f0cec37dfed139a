//! Requests about what is kept: its list, and what is done with an item of it.

use wire::{Done, History, LiveId};

use super::{ApiError, accept, ask, get_text};
/// What is kept, filtered by the arguments of a query.
pub(crate) async fn list(query: &str) -> Result<History, ApiError> {
    accept(&get_text(&format!("/api/copilot/history{query}"), None).await?)
}

/// Forgets a session or job that has ended. Tasks go with what they belong to.
pub(crate) async fn delete(id: LiveId) -> Result<(), ApiError> {
    let kind = if matches!(id, LiveId::Job(_)) { "job" } else { "session" };
    let _: Done = ask(&format!("/api/copilot/{kind}/{id}/delete"), "").await?;
    Ok(())
}
