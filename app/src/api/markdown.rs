//! Markdown, which the server renders: pages need no parser, and stay free for their readers.

use web_sys::js_sys::{Array, JSON, Reflect};
use web_sys::wasm_bindgen::JsValue;

use super::{ApiError, send_text};

/// The HTML of each text, as a string of JavaScript: it goes into the page without a copy in between.
/// Null if a text has no markup.
pub(crate) async fn render(texts: &[String]) -> Result<Vec<JsValue>, ApiError> {
    let body: Array = texts.iter().map(JsValue::from).collect();
    let body = JSON::stringify(&body).map_err(|error| malformed(&error))?;
    let answer = send_text("/api/markdown", &String::from(body), "application/json", None).await?;
    let answer = JSON::parse(&answer).map_err(|error| malformed(&error))?;
    let html = Reflect::get(&answer, &"html".into()).map_err(|error| malformed(&error))?;
    Ok(Array::from(&html).to_vec())
}

fn malformed(error: &JsValue) -> ApiError {
    ApiError::Malformed(error.as_string().unwrap_or_default())
}
