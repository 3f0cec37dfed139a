//! Markdown as HTML for pages, which then need no parser.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;
use wire::server::MarkdownReply;

use super::error;
use super::text::Text;

/// Where pages have their texts rendered.
pub(super) const PATH: &str = "/api/markdown";

/// Limit of all texts of a call, in bytes.
pub(super) const LARGEST_BODY: usize = 4 * 1024 * 1024;

/// Calls that render at a time: it takes one core each, and highlighted code is several times as
/// large as its text.
static RENDERING: Semaphore = Semaphore::const_new(2);

/// `markdown`: the HTML of each text of the JSON array in the body.
pub(super) async fn render(Text(body): Text) -> Response {
    let permit = RENDERING.acquire().await.expect("the semaphore is never closed");
    // Not on the threads that serve everybody else: it takes tens of milliseconds a megabyte.
    let rendering = tokio::task::spawn_blocking(move || {
        // Held until the work is done, even if the client hangs up.
        let _permit = permit;
        let texts: Vec<String> = serde_json::from_str(&body)?;
        drop(body);
        let html = texts
            .iter()
            .map(|text| markdown::looks_like_markdown(text).then(|| markdown::to_html(text)));
        Ok::<_, serde_json::Error>(MarkdownReply { html: html.collect() })
    });
    match rendering.await {
        Ok(Ok(reply)) => Json(reply).into_response(),
        Ok(Err(problem)) => {
            let message = format!("the body must be a JSON array of texts: {problem}");
            error::unreadable(StatusCode::BAD_REQUEST, &message)
        }
        Err(_) => error::crashed(),
    }
}
