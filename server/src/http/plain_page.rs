//! Small pages outside the app: the login, the list of logins, and confirmations.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use super::AppState;

/// A small page outside the app, with at most one script.
pub(super) fn page(
    state: &AppState,
    status: StatusCode,
    title: &str,
    body: &str,
    script: Option<&str>,
) -> Response {
    let css = &state.site.assets().css;
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let (script, allowed) = match script {
        Some(script) => (
            format!("<script type=\"module\" nonce=\"{nonce}\">{script}</script>"),
            format!("script-src 'nonce-{nonce}'; connect-src 'self'; "),
        ),
        None => (String::new(), String::new()),
    };
    let page = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title} · Copilot Portal</title><link rel=\"icon\" href=\"/favicon.svg\">\
         <link rel=\"stylesheet\" href=\"{css}\"></head><body>\
         <main class=\"site-main\">{body}</main>{script}</body></html>"
    );
    let policy = format!(
        "default-src 'none'; style-src 'self'; img-src 'self'; {allowed}form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'"
    );
    let policy = HeaderValue::from_str(&policy).expect("a policy is plain ASCII");
    (status, [(header::CONTENT_SECURITY_POLICY, policy)], Html(page)).into_response()
}

/// Escapes text for HTML, including attributes.
pub(super) fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_not_leave_its_attribute() {
        assert_eq!(escape("/a\"><b>&'"), "/a&quot;&gt;&lt;b&gt;&amp;&#39;");
    }
}
