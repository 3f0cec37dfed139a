//! The API of sessions and their models. Handlers parse, call a session or the manager, and serialise.

use std::sync::Arc;

use agents::permission::Answer;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use engine::session::{Session, SessionError, SessionSummary};
use wire::{
    Alive, Budget, Done, ErrorName, FallbackModels, Models, PermissionDecision, PermissionMode,
    SessionId, SessionInfo, SessionStarted, Sessions, StopReply,
};

use super::inbox_api::Answerer;
use super::text::{Prompt, Text};
use super::{AppState, error};

/// `copilot/models`: lists the models of all backends.
pub(super) async fn list_models(State(state): State<AppState>) -> Json<Models> {
    Json(state.sessions.catalog().models().await)
}

/// `copilot/session`: lists the sessions.
pub(super) async fn list_sessions(State(state): State<AppState>) -> Response {
    match state.sessions.list_all().await {
        Ok(sessions) => {
            let sessions = sessions.into_iter().map(session_info).collect();
            Json(Sessions { sessions }).into_response()
        }
        Err(error) => error::said_no(error.name(), None),
    }
}

fn session_info(summary: SessionSummary) -> SessionInfo {
    SessionInfo {
        session_id: summary.id,
        title: Some(summary.title).filter(|title| !title.is_empty()),
        model_id: summary.model,
        working_directory: summary.working_directory.display().to_string(),
        permissions: summary.permissions,
        busy: summary.busy,
        queued: u32::try_from(summary.queued).unwrap_or(u32::MAX),
        can_steer: summary.can_steer,
        takes_images: summary.takes_images,
    }
}

/// `copilot/session/{id}/info`: what stands above a conversation.
pub(super) async fn show_session(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Response {
    let head = match session_id(&id) {
        Ok(id) => state.sessions.head(id).await,
        Err(error) => Err(error),
    };
    match head {
        Ok(head) => Json(head).into_response(),
        Err(error) => error::said_no(error.name(), None),
    }
}

/// `copilot/alive`: lists what is alive.
pub(super) async fn list_alive(State(state): State<AppState>) -> Json<Alive> {
    Json(state.alive.list())
}

/// `copilot/session/start/{model-id}`: starts a session in the working directory in the body.
pub(super) async fn start_session(
    State(state): State<AppState>,
    Path(model): Path<String>,
    Text(working_directory): Text,
) -> Response {
    match state.sessions.start(&model, &working_directory).await {
        Ok(session_id) => Json(SessionStarted { session_id }).into_response(),
        Err(error) => error::said_no(error.name(), Some(&error.to_string())),
    }
}

/// `copilot/session/{id}/query`: queues the prompt in the body.
pub(super) async fn query_session(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Prompt(prompt): Prompt,
) -> Response {
    let sent = match open_session(&state, &id).await {
        Ok(session) => session.query(prompt).await,
        Err(error) => Err(error),
    };
    done(sent)
}

/// `copilot/session/{id}/steer`: hands the prompt in the body to the running turn.
pub(super) async fn steer_session(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Prompt(prompt): Prompt,
) -> Response {
    let steered = match open_session(&state, &id).await {
        Ok(session) => session.steer(prompt).await,
        Err(error) => Err(error),
    };
    done(steered)
}

/// `copilot/session/{id}/model`: lets the model in the body answer from the next prompt on.
pub(super) async fn switch_model(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Text(model): Text,
) -> Response {
    let switched = match open_session(&state, &id).await {
        Ok(session) => session.switch_model(model.trim().to_owned()).await,
        Err(error) => Err(error.into()),
    };
    match switched {
        Ok(()) => Json(Done {}).into_response(),
        Err(error) => error::said_no(error.name(), Some(&error.to_string())),
    }
}

/// `copilot/session/{id}/abort`: aborts the running turn.
pub(super) async fn abort_session(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Response {
    let aborted = match session_id(&id) {
        Ok(id) => state.sessions.abort(id).await,
        Err(error) => Err(error),
    };
    done(aborted)
}

/// `copilot/session/{id}/permission/{requestId}`: answers a permission request with the decision in
/// the body.
pub(super) async fn answer_permission(
    State(state): State<AppState>,
    Path((id, request)): Path<(String, String)>,
    Answerer(by): Answerer,
    Text(decision): Text,
) -> Response {
    let id = match session_id(&id) {
        Ok(id) => id,
        Err(error) => return error::said_no(error.name(), None),
    };
    let Ok(decision) = decision.trim().parse::<PermissionDecision>() else {
        let message = "the body must be approve, approve-always or deny";
        return error::said_no(ErrorName::InvalidPermissionDecision, Some(message));
    };
    // A text that cannot be an id names no request.
    let request = request.parse().map_err(|_| SessionError::PermissionNotPending);
    let answered = match request {
        Ok(request) => {
            let answer = Answer { decision, text: None, by };
            state.sessions.answer_permission(id, request, &answer).await
        }
        Err(error) => Err(error),
    };
    // A no counts whether or not it can be kept.
    let must_be_kept = decision != PermissionDecision::Deny;
    match state.sessions.answer_durable(id).await {
        Err(error) if must_be_kept && answered.is_ok() => done(Err(error.into())),
        _ => done(answered),
    }
}

/// `copilot/session/{id}/permissions`: sets the permission mode in the body.
pub(super) async fn set_permissions(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Text(mode): Text,
) -> Response {
    let Ok(mode) = mode.trim().parse::<PermissionMode>() else {
        let message = "the body must be approve-all, ask or deny";
        return error::said_no(ErrorName::InvalidPermissionMode, Some(message));
    };
    let set = match open_session(&state, &id).await {
        Ok(session) => session.set_permissions(mode).await,
        Err(error) => Err(error),
    };
    done(set)
}

/// `GET copilot/session/{id}/fallback`: the models that continue its failed turns.
pub(super) async fn show_fallback(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Response {
    let fallback = match session_id(&id) {
        Ok(id) => state.sessions.fallback(id).await,
        Err(error) => Err(error),
    };
    match fallback {
        Ok(fallback) => Json(FallbackModels { fallback }).into_response(),
        Err(error) => error::said_no(error.name(), None),
    }
}

/// `POST copilot/session/{id}/fallback`: sets them to the JSON array in the body.
pub(super) async fn set_fallback(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Text(models): Text,
) -> Response {
    let models = match serde_json::from_str(&models) {
        Ok(models) => models,
        Err(error) => {
            let message = format!("the body must be a JSON array of model ids: {error}");
            return error::unreadable(StatusCode::BAD_REQUEST, &message);
        }
    };
    let set = match session_id(&id) {
        Ok(id) => state.sessions.set_fallback(id, models).await,
        Err(error) => Err(error.into()),
    };
    match set {
        Ok(()) => Json(Done {}).into_response(),
        Err(error) => error::said_no(error.name(), Some(&error.to_string())),
    }
}

/// `copilot/session/{id}/budget` by GET: how much a session may use, and has used.
pub(super) async fn read_budget(State(state): State<AppState>, Path(id): Path<String>) -> Response {
    let budget = match session_id(&id) {
        Ok(id) => state.sessions.budget(id).await,
        Err(error) => Err(error),
    };
    match budget {
        Ok(budget) => Json(budget).into_response(),
        Err(error) => error::said_no(error.name(), None),
    }
}

/// `copilot/session/{id}/budget` by POST: sets the budget in the body.
pub(super) async fn set_budget(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Answerer(by): Answerer,
    Text(body): Text,
) -> Response {
    let budget = match serde_json::from_str::<Budget>(&body) {
        Ok(budget) => budget,
        Err(problem) if problem.is_data() => {
            return error::said_no(ErrorName::InvalidBudget, Some(&problem.to_string()));
        }
        Err(problem) => return error::unreadable(StatusCode::BAD_REQUEST, &problem.to_string()),
    };
    let set = match open_session(&state, &id).await {
        Ok(session) => session.set_budget(budget, &by).await,
        Err(error) => Err(error.into()),
    };
    match set {
        Ok(()) => Json(Done {}).into_response(),
        Err(error) => error::said_no(error.name(), Some(&error.to_string())),
    }
}

/// `copilot/session/{id}/stop`: stops a session.
pub(super) async fn stop_session(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Response {
    let stopped = match session_id(&id) {
        Ok(id) => state.sessions.stop(id).await,
        Err(error) => Err(error),
    };
    match stopped {
        Ok(()) => Json(StopReply::default()).into_response(),
        Err(error) => error::said_no(error.name(), None),
    }
}

/// `copilot/session/{id}/continue`: starts a session with the context of a closed one.
pub(super) async fn continue_session(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Response {
    let continued = match session_id(&id) {
        Ok(id) => state.sessions.continue_closed(id).await,
        Err(error) => Err(error.into()),
    };
    match continued {
        Ok(session_id) => Json(SessionStarted { session_id }).into_response(),
        Err(error) => error::said_no(error.name(), Some(&error.to_string())),
    }
}

/// `copilot/session/{id}/rename`, the title in the body
pub(super) async fn rename_session(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Text(title): Text,
) -> Response {
    let title = title.trim();
    if title.is_empty() || title.contains(['\n', '\r']) {
        let message = "the body must be a title: one line";
        return error::said_no(ErrorName::InvalidTitle, Some(message));
    }
    let renamed = match session_id(&id) {
        Ok(id) => state.sessions.rename(id, title.to_owned()).await,
        Err(error) => Err(error),
    };
    done(renamed)
}

/// `copilot/session/{id}/delete`
pub(super) async fn delete_session(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Response {
    let deleted = match session_id(&id) {
        Ok(id) => state.sessions.delete(id).await,
        Err(error) => Err(error),
    };
    done(deleted)
}

/// A text that cannot be an id names no session.
pub(super) fn session_id(id: &str) -> Result<SessionId, SessionError> {
    id.parse().map_err(|_| SessionError::SessionNotFound)
}

/// The open session of an id. Its agent is resumed if it has none.
pub(super) async fn open_session(state: &AppState, id: &str) -> Result<Arc<Session>, SessionError> {
    state.sessions.find(session_id(id)?).await
}

pub(super) fn done(result: Result<(), SessionError>) -> Response {
    match result {
        Ok(()) => Json(Done {}).into_response(),
        Err(error) => error::said_no(error.name(), None),
    }
}
