//! The API of a session's extensions. Handlers parse, call the session, and serialise.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use engine::session::SessionError;
use wire::{ErrorName, ExtensionTrust, Extensions};

use super::session_api::{open_session, session_id};
use super::text::Text;
use super::{AppState, error};

/// `copilot/session/{id}/extensions`: lists a session's extensions.
pub(super) async fn list_extensions(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Response {
    match open_session(&state, &id).await {
        Ok(session) => listed(Ok(session.extensions().await)),
        Err(error) => listed(Err(error)),
    }
}

/// `copilot/session/{id}/extensions/reload`: restarts a session's extensions.
pub(super) async fn reload_extensions(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Response {
    match open_session(&state, &id).await {
        Ok(session) => listed(Ok(session.reload_extensions().await)),
        Err(error) => listed(Err(error)),
    }
}

/// `copilot/session/{id}/extensions/trust`: allows or forbids them, as the body says.
pub(super) async fn trust_extensions(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Text(decision): Text,
) -> Response {
    let id = match session_id(&id) {
        Ok(id) => id,
        Err(error) => return listed(Err(error)),
    };
    let Ok(decision) = decision.trim().parse::<ExtensionTrust>() else {
        let message = "the body must be allow or forbid";
        return error::said_no(ErrorName::InvalidExtensionTrust, Some(message));
    };
    match state.sessions.find(id).await {
        Ok(session) => listed(match decision {
            ExtensionTrust::Allow => session.allow_extensions().await,
            ExtensionTrust::Forbid => session.forbid_extensions().await,
        }),
        Err(error) => listed(Err(error)),
    }
}

fn listed(result: Result<Extensions, SessionError>) -> Response {
    match result {
        Ok(extensions) => Json(extensions).into_response(),
        Err(error) => error::said_no(error.name(), None),
    }
}
