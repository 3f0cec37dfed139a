//! The installed entry as an extractor, and the endpoint that installs one for tests.

use std::path::Path as FilePath;
use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts as RequestParts;
use axum::response::{IntoResponse, Response};
use engine::entry::{InstallError, Installer};
use wire::ErrorName;
use wire::entry::Entry;
use wire::server::{InstallReply, InstallResult};

use super::text::Text;
use super::{AppState, error};

/// The installed entry. Requests that need one are refused without it; only lists and starts do.
pub(super) struct Installed(pub(super) Arc<Entry>);

impl FromRequestParts<AppState> for Installed {
    type Rejection = Response;

    async fn from_request_parts(_: &mut RequestParts, state: &AppState) -> Result<Self, Response> {
        let entry = state.entries.current().map(Self);
        entry.ok_or_else(|| error::said_no(ErrorName::EntryNotInstalled, None))
    }
}

/// `copilot/test/installJobsEntry`: installs the file whose path is in the body. In test mode only.
pub(super) async fn install_jobs_entry(
    State(state): State<AppState>,
    Text(file): Text,
) -> Response {
    let Some(folder) = &state.test_folder else {
        return Json(InstallReply { result: InstallResult::Rejected, error: None }).into_response();
    };
    let file = FilePath::new(file.trim());
    let (entries, sessions) = (&state.entries, &state.sessions);
    let installed = entries.install_file_within(folder, file, Installer::TestApi, sessions).await;
    let (result, error) = match installed {
        Ok(()) => (InstallResult::Ok, None),
        Err(error) => {
            let result = match &error {
                InstallError::File { .. } => InstallResult::InvalidatePath,
                InstallError::Invalid(_) => InstallResult::InvalidateEntry,
                InstallError::SessionRunning | InstallError::UnknownModel(_) => {
                    InstallResult::Rejected
                }
                InstallError::Store(error) => return error::unavailable(error),
            };
            (result, Some(error.to_string()))
        }
    };
    Json(InstallReply { result, error }).into_response()
}
