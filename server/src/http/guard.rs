//! In front of everything: asks the policy, limits the body, sets security headers.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use http_body_util::Limited;
use hyper::body::Body as _;
use tower::Service;
use wire::STORE_HEADER;

use super::pace::{Deadline, Late, PacedBody};
use super::places::Place;
use super::{AppState, Portal, ask, error, login, markdown_api, pages};
use crate::security::peer::Peer;
use crate::security::{Audience, Refusal};
use crate::site::PACKAGE_PATH;

/// Deadline for the body of a login, and its limit in bytes. Anybody may send one.
const LOGIN_DEADLINE: Duration = Duration::from_secs(10);
const LOGIN_BODY: usize = 16 * 1024;
/// What strangers need to log in, and anyone to log out.
const LOGIN_PATHS: [&str; 4] = [login::PATH, login::DONE, login::SECRET, login::LOGOUT];
/// How long the body of an authorised caller may stall.
const BODY_PROGRESS: Duration = Duration::from_secs(30);

/// Passes a request to the router, or answers in its place.
pub(super) async fn answer(portal: &Portal, request: Request) -> Response {
    let Portal { state, routes, deeds } = portal;
    let (mut head, body) = request.into_parts();
    let path = head.uri.path();
    let (deed, asks) = deeds.of(path, head.method == Method::GET);
    let audience = if asks { Audience::Act } else { audience(path) };
    let judged = match state.policy.judge(&head, audience, deed) {
        Ok(_) if deed.is_a_persons() && is_agent(&head.extensions).await => {
            tracing::warn!(path, "refused a process of an agent");
            Err(Refusal::AgentProcess)
        }
        judged => judged,
    };
    let mut response = match judged {
        Ok(caller) => {
            if audience != Audience::Open
                && let Some(place) = head.extensions.get::<Arc<Place>>()
            {
                place.recognise();
            }
            let (body, late) = limit(state, path, body);
            head.extensions.insert(caller);
            // A router is always ready: polling readiness first would only cost another clone.
            match routes.clone().call(Request::from_parts(head, body)).await {
                Ok(_) if late.is_some_and(|late| late.is_late()) => error::body_too_slow(),
                Ok(response) => tell_trouble(state, response),
                Err(never) => match never {},
            }
        }
        Err(refusal) => {
            tracing::debug!(method = %head.method, path, %refusal, "refused");
            let wants_page = wants_page(&head.method, &head.headers);
            match refusal {
                Refusal::Credentials if wants_page => login::form(state, login::Hint::First),
                Refusal::MustBeAsked => ask::page(state, path, StatusCode::OK),
                // Without Sec-Fetch headers, browsers do not say what they do: a picture would get
                // the same.
                Refusal::PostRequired if wants_page => {
                    ask::page(state, path, StatusCode::FORBIDDEN)
                }
                refusal => error::refused(&refusal),
            }
        }
    };
    add_security_headers(response.headers_mut());
    response
}

/// Adds that nothing can be stored at the moment, if it is so, for pages to say it.
fn tell_trouble(state: &AppState, mut response: Response) -> Response {
    if state.live.journal().trouble().is_some() {
        let value = HeaderValue::from_static("unavailable");
        response.headers_mut().insert(HeaderName::from_static(STORE_HEADER), value);
    }
    response
}

/// Whether the caller is a process that an agent has started, as far as the system can tell. In
/// tests without a socket nothing is known about the caller.
async fn is_agent(extensions: &Extensions) -> bool {
    let Some(peer) = extensions.get::<Peer>().copied() else { return false };
    tokio::task::spawn_blocking(move || peer.is_agent()).await.unwrap_or(true)
}

/// Limits a body that exceeds the limit without having declared it, or arrives too slowly.
fn limit(state: &AppState, path: &str, body: Body) -> (Body, Option<Late>) {
    if body.is_end_stream() {
        return (body, None);
    }
    let cap = usize::try_from(state.policy.max_body_bytes).unwrap_or(usize::MAX);
    let (cap, deadline) = match path {
        login::PATH => (cap.min(LOGIN_BODY), Deadline::Whole(LOGIN_DEADLINE)),
        markdown_api::PATH => {
            (cap.min(markdown_api::LARGEST_BODY), Deadline::Progress(BODY_PROGRESS))
        }
        _ => (cap, Deadline::Progress(BODY_PROGRESS)),
    };
    let (body, late) = PacedBody::new(Body::new(Limited::new(body, cap)), deadline);
    (Body::new(body), Some(late))
}

fn audience(path: &str) -> Audience {
    if pages::is_page(path) || path == login::LIST || path == login::END_ALL {
        Audience::Page
    } else if path.starts_with(PACKAGE_PATH)
        || LOGIN_PATHS.contains(&path)
        // Browsers fetch what an installed app is called and looks like without its cookies.
        || matches!(path, "/favicon.svg" | "/manifest.webmanifest")
        || path.starts_with("/icons/")
    {
        Audience::Open
    } else {
        Audience::Api
    }
}

/// Whether a person with a browser is behind the request.
fn wants_page(method: &Method, headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    method == Method::GET && accept.is_some_and(|accept| accept.contains("text/html"))
}

/// Pages have their own policy; anything else may do nothing at all if it is ever displayed.
const NOTHING_ALLOWED: &str = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

fn add_security_headers(headers: &mut HeaderMap) {
    // Reserves once instead of growing three times.
    headers.reserve(HEADERS.len() + 2);
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(NOTHING_ALLOWED));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
