//! The API of the prompts that wait in a session.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use engine::session::SessionError;

use super::session_api::{done, open_session, session_id};
use super::text::Prompt;
use super::{AppState, error};

/// `copilot/session/{id}/queue`: lists them.
pub(super) async fn list(State(state): State<AppState>, Path(id): Path<String>) -> Response {
    let waiting = match session_id(&id) {
        Ok(id) => state.sessions.waiting(id).await,
        Err(error) => Err(error),
    };
    match waiting {
        Ok(waiting) => Json(waiting).into_response(),
        Err(error) => error::said_no(error.name(), None),
    }
}

/// `copilot/session/{id}/queue/{promptId}/remove`: removes one.
pub(super) async fn remove(
    State(state): State<AppState>,
    Path((id, prompt)): Path<(String, String)>,
) -> Response {
    let removed = match open_session(&state, &id).await {
        Ok(session) => match number(&prompt) {
            Ok(prompt) => session.remove_waiting(prompt).await,
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    done(removed)
}

/// `copilot/session/{id}/queue/{promptId}/edit`: replaces the text of one by the body.
pub(super) async fn edit(
    State(state): State<AppState>,
    Path((id, prompt)): Path<(String, String)>,
    Prompt(text): Prompt,
) -> Response {
    let edited = match open_session(&state, &id).await {
        Ok(session) => match number(&prompt) {
            Ok(prompt) => session.edit_waiting(prompt, text).await,
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    done(edited)
}

/// A text that cannot be a number names no prompt.
fn number(prompt: &str) -> Result<u64, SessionError> {
    prompt.parse().map_err(|_| SessionError::NotQueued)
}
