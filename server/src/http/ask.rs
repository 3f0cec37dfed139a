//! The page that asks for confirmation when a browser navigates to an acting path, by a link or the
//! address bar. The form posts to the same path, which proves that the person meant it.

use axum::http::StatusCode;
use axum::response::Response;

use super::plain_page::{self, escape};
use super::{AppState, login};

/// A plain form. The status says whether the request itself was in order.
///
/// Without an access key it has no script. With one, a script posts in place of the form, because
/// only a script can present the secret of the login.
pub(super) fn page(state: &AppState, path: &str, status: StatusCode) -> Response {
    let (question, button) = match path {
        "/api/stop" => ("Stop the server?", "Stop Server"),
        _ => ("Do this?", "Do it"),
    };
    let path = escape(path);
    let body = format!(
        "<form class=\"card\" method=\"post\" action=\"{path}\">\
         <h1>{question}</h1><p>Nothing has happened yet. This address acts: <code>{path}</code></p>\
         <div class=\"button-row\"><button class=\"button danger\">{button}</button>\
         <a class=\"button\" href=\"/\">Cancel</a></div></form>"
    );
    let script = format!(
        "const form=document.querySelector(\"form\");\
         form.addEventListener(\"submit\",async event=>{{event.preventDefault();\
         const secret=localStorage.getItem(\"{}\")??\"\";\
         const answer=await fetch(form.action,{{method:\"POST\",headers:{{\"Portal-Login\":secret}}}});\
         form.textContent=answer.ok?\"Done.\":await answer.text()}})",
        login::STORED_AS
    );
    let script = state.policy.access.is_locked().then_some(&*script);
    plain_page::page(state, status, question, &body, script)
}
