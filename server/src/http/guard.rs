//! What stands in front of everything: asks the policy, caps the body, sets security headers.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use http_body_util::Limited;
use hyper::body::Body as _;
use tower::Service;

use super::{AppState, error, login, pages};
use crate::security::{Audience, Refusal};
use crate::site::PACKAGE_PATH;

/// Lets a request through to the router, or answers in its place.
pub(super) async fn answer(state: &AppState, routes: &Router, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let mut response = match state.policy.judge(&head, audience(head.uri.path())) {
        Ok(()) => {
            // A body without a declared length is cut off when it passes the cap.
            let body = if body.is_end_stream() {
                body
            } else {
                let cap = usize::try_from(state.policy.max_body_bytes).unwrap_or(usize::MAX);
                Body::new(Limited::new(body, cap))
            };
            // Always ready: asking first would only cost another copy of the router.
            match routes.clone().call(Request::from_parts(head, body)).await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        }
        Err(refusal) => {
            tracing::debug!(method = %head.method, path = head.uri.path(), %refusal, "refused");
            if refusal == Refusal::Credentials && wants_page(&head.method, &head.headers) {
                login::form(state, login::Hint::First)
            } else {
                error::refused(&refusal)
            }
        }
    };
    add_security_headers(response.headers_mut());
    response
}

fn audience(path: &str) -> Audience {
    if pages::is_page(path) {
        Audience::Page
    } else if path.starts_with(PACKAGE_PATH) || path == login::PATH || path == "/favicon.svg" {
        Audience::Open
    } else {
        Audience::Api
    }
}

/// A person with a browser stands behind the request.
fn wants_page(method: &Method, headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    method == Method::GET && accept.is_some_and(|accept| accept.contains("text/html"))
}

/// Pages bring a policy of their own; anything else may do nothing at all if it is ever shown.
const NOTHING_ALLOWED: &str = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

fn add_security_headers(headers: &mut HeaderMap) {
    // Room for all at once, instead of growing three times.
    headers.reserve(HEADERS.len() + 2);
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(NOTHING_ALLOWED));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
