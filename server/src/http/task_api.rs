//! The API of tasks. Handlers parse, call the manager, and serialise.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use engine::task::TaskError;
use wire::{StopReply, TaskStarted, Tasks};

use super::entry_api::Installed;
use super::error::unavailable;
use super::text::Prompt;
use super::{AppState, error};

/// `copilot/task`: lists the installed tasks.
pub(super) async fn list_tasks(Installed(entry): Installed) -> Json<Tasks> {
    Json(Tasks::from(&*entry))
}

/// `copilot/task/start/{task-name}/session/{session-id}`: starts a task with the user's input in
/// the body.
pub(super) async fn start_task(
    State(state): State<AppState>,
    Installed(entry): Installed,
    Path((name, session)): Path<(String, String)>,
    Prompt(user_input): Prompt,
) -> Response {
    if let Err(error) = state.tasks.live().check_store() {
        return unavailable(&error);
    }
    let started = match session.parse() {
        Ok(session) => state.tasks.start_borrowing(entry, &name, session, user_input).await,
        Err(_) => Err(TaskError::SessionNotFound),
    };
    let task_id = match started {
        Ok(task_id) => task_id,
        Err(error @ TaskError::BudgetNotSupported(_)) => {
            return error::said_no(error.name(), Some(&error.to_string()));
        }
        Err(error) => return error::said_no(error.name(), None),
    };
    match state.tasks.live().durable(task_id).await {
        Ok(()) => Json(TaskStarted { task_id }).into_response(),
        Err(error) => unavailable(&error),
    }
}

/// `copilot/task/{id}/stop`: stops a task.
pub(super) async fn stop_task(State(state): State<AppState>, Path(id): Path<String>) -> Response {
    let stopped = match id.parse() {
        Ok(id) => state.tasks.stop(id).await,
        Err(_) => Err(TaskError::TaskNotFound),
    };
    match stopped {
        Ok(()) => Json(StopReply::default()).into_response(),
        Err(error) => error::said_no(error.name(), None),
    }
}
