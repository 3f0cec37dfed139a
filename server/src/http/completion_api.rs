//! The API that completes paths while somebody types.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use engine::session::complete_folder;
use serde::Deserialize;

use super::session_api::session_id;
use super::{AppState, error};

/// What is typed of a folder.
#[derive(Deserialize)]
pub(super) struct FoldersQuery {
    path: String,
}

/// `copilot/folders`: the folders of this machine that complete a path.
pub(super) async fn folders(query: Result<Query<FoldersQuery>, QueryRejection>) -> Response {
    match query {
        Ok(Query(FoldersQuery { path })) => Json(complete_folder(path).await).into_response(),
        Err(rejection) => error::unreadable(rejection.status(), &rejection.body_text()),
    }
}

/// What the path of a file contains.
#[derive(Deserialize)]
pub(super) struct FilesQuery {
    #[serde(default)]
    q: String,
}

/// `copilot/session/{id}/files`: the files of its folder that match a text.
pub(super) async fn files(
    State(state): State<AppState>,
    Path(id): Path<String>,
    query: Result<Query<FilesQuery>, QueryRejection>,
) -> Response {
    let text = match query {
        Ok(Query(FilesQuery { q })) => q,
        Err(rejection) => return error::unreadable(rejection.status(), &rejection.body_text()),
    };
    let files = match session_id(&id) {
        Ok(id) => state.sessions.files(id, text).await,
        Err(error) => Err(error),
    };
    match files {
        Ok(files) => Json(files).into_response(),
        Err(error) => error::said_no(error.name(), None),
    }
}
