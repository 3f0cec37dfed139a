//! Files that go with prompts.

use gloo_net::http::Request;
use web_sys::File;
use wire::{Attached, AttachmentId, SessionId};

use super::{ApiError, accept, encode_segment, login_secret, read_text};

/// Gives the server a file for the prompts of a session.
pub(crate) async fn attach(id: SessionId, file: &File) -> Result<Attached, ApiError> {
    let name = encode_segment(&file.name());
    // A name is a segment of the path, and a segment is not empty.
    let name = if name.is_empty() { "file" } else { &name };
    let mut request = Request::post(&format!("/api/copilot/session/{id}/attach/{name}"));
    if let Some(secret) = login_secret() {
        request = request.header("portal-login", &secret);
    }
    let request = request.header("content-type", "application/octet-stream");
    accept(&read_text(request.body(file.clone())).await?)
}

/// The address of a file.
pub(crate) fn attachment_url(session: SessionId, id: AttachmentId) -> String {
    format!("/api/copilot/session/{session}/attachment/{id}")
}
