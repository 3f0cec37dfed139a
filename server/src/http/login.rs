//! `/login`: exchanges an access key for a login. `/logins`: lists who is logged in.
//!
//! ```text
//!  /login (key) ─► cookie ─► /login/done ─ script ─► /login/secret ─► localStorage ─► /
//! ```
//!
//! The cookie allows reading; to act, a page also presents the secret of its login. The secret is
//! returned once, to a script of this origin, and never appears in a cookie or in HTML.

use std::fmt::Write;
use std::net::IpAddr;
use std::time::Duration;

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form, Json};
use serde::{Deserialize, Serialize};

use super::plain_page::{escape, page};
use super::{AppState, error};
use crate::security::access::{Caller, Role};
use crate::security::logins::{LoginInfo, Logins};
use crate::security::peer::Peer;

/// The form, and the URL that the server prints.
pub(super) const PATH: &str = "/login";
/// The page that stores the secret of the login in the browser.
pub(super) const DONE: &str = "/login/done";
/// Returns the secret of the caller's login.
pub(super) const SECRET: &str = "/login/secret";
/// The page that lists all logins.
pub(super) const LIST: &str = "/logins";
/// Ends all logins, including the caller's.
pub(super) const END_ALL: &str = "/logins/end";
/// Ends the caller's login.
pub(super) const LOGOUT: &str = "/logout";
/// The key of the secret in `localStorage`; the app uses the same name.
pub(super) const STORED_AS: &str = "portal-login";

#[derive(Deserialize)]
pub(super) struct Credentials {
    key: Option<String>,
}

/// What the form says above its input.
#[derive(Clone, Copy)]
pub(super) enum Hint {
    /// No key was tried yet.
    First,
    /// The key was wrong.
    Wrong,
}

type From = Option<Extension<Peer>>;

fn address(from: From) -> Option<IpAddr> {
    from.map(|Extension(peer)| peer.address())
}

/// `GET /login?key=KEY`: the URL that the server printed. Without a key, the form.
pub(super) async fn by_url(
    State(state): State<AppState>,
    from: From,
    headers: HeaderMap,
    credentials: Result<Query<Credentials>, QueryRejection>,
) -> Response {
    match credentials {
        Ok(Query(Credentials { key: Some(key) })) => {
            log_in(&state, &key, address(from), &headers).await
        }
        Ok(Query(Credentials { key: None })) => match state.policy.access.logins.find(&headers) {
            Some(_) => Redirect::to(LIST).into_response(),
            None => form(&state, Hint::First),
        },
        Err(rejection) => error::unreadable(rejection.status(), &rejection.body_text()),
    }
}

/// `POST /login`: the form was submitted.
pub(super) async fn by_form(
    State(state): State<AppState>,
    from: From,
    headers: HeaderMap,
    credentials: Result<Form<Credentials>, FormRejection>,
) -> Response {
    match credentials {
        Ok(Form(credentials)) => {
            let key = credentials.key.unwrap_or_default();
            log_in(&state, key.trim(), address(from), &headers).await
        }
        Err(rejection) => error::unreadable(rejection.status(), &rejection.body_text()),
    }
}

async fn log_in(
    state: &AppState,
    key: &str,
    from: Option<IpAddr>,
    headers: &HeaderMap,
) -> Response {
    let access = &state.policy.access;
    if !access.is_locked() {
        // Nothing to log in to.
        return Redirect::to("/").into_response();
    }
    // Checked before the key: otherwise an attacker could simply keep trying.
    if let Some(wait) = access.brake.wait(from) {
        return error::too_many_wrong_keys(wait);
    }
    let Some(key) = access.find_key(key) else {
        access.brake.failed(from);
        return form(state, Hint::Wrong);
    };
    tracing::info!(key = key.name(), ?from, "logged in");
    let cookie = access.logins.begin(key, from, headers);
    access.logins.durable().await;
    ([(header::SET_COOKIE, cookie)], Redirect::to(DONE)).into_response()
}

/// `GET /login/done`: stores the secret of the login and goes to the start page. Needs no cookie,
/// because a browser that follows a link from another site sends none here.
pub(super) async fn done(State(state): State<AppState>) -> Response {
    let script = format!(
        "try{{const answer=await fetch(\"{SECRET}\",{{method:\"POST\"}});\
         if(answer.ok)localStorage.setItem(\"{STORED_AS}\",(await answer.json()).secret)}}\
         finally{{location.replace(\"/\")}}"
    );
    let body = "<div class=\"card\"><h1>Copilot Portal</h1><p>Logging in…</p>\
                <noscript><p>The portal needs scripts.</p></noscript></div>";
    page(&state, StatusCode::OK, "Logging in", body, Some(&script))
}

#[derive(Serialize)]
struct SecretReply {
    secret: String,
}

/// `POST /login/secret`: returns the secret of the caller's login, the first time only.
pub(super) async fn secret(State(state): State<AppState>, headers: HeaderMap) -> Response {
    let logins = &state.policy.access.logins;
    let secret = match logins.find(&headers) {
        Some(Caller::Login(id, _)) => logins.tell_secret(id),
        _ => None,
    };
    match secret {
        Some(secret) => Json(SecretReply { secret }).into_response(),
        None => error::no_secret(),
    }
}

/// `POST /logout`: ends the caller's login.
pub(super) async fn log_out(State(state): State<AppState>, headers: HeaderMap) -> Response {
    let logins = &state.policy.access.logins;
    if let Some(Caller::Login(id, _)) = logins.find(&headers) {
        logins.end(id);
        logins.durable().await;
    }
    ([(header::SET_COOKIE, Logins::forget_cookie())], Redirect::to(PATH)).into_response()
}

/// `POST /logins/end`: ends all logins, including the caller's. A stolen cookie could do that, too,
/// but would end with the others.
pub(super) async fn end_all(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> Response {
    if caller.rights().role != Role::Operator {
        return error::role_not_allowed();
    }
    tracing::info!("all logins are ended");
    let logins = &state.policy.access.logins;
    logins.end_all();
    logins.durable().await;
    ([(header::SET_COOKIE, Logins::forget_cookie())], Redirect::to(PATH)).into_response()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LoginsReply {
    logins: Vec<LoginReply>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LoginReply {
    id: String,
    key: String,
    age_seconds: u64,
    idle_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
    browser: String,
    current: bool,
}

/// `GET /api/logins`: lists who is logged in. Callers other than operators see only themselves.
pub(super) async fn list(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let logins = visible(&state, &caller).into_iter().map(|(login, current)| LoginReply {
        id: login.id.to_string(),
        key: login.key,
        age_seconds: login.age.as_secs(),
        idle_seconds: login.idle.as_secs(),
        address: login.from,
        browser: login.agent,
        current,
    });
    Json(LoginsReply { logins: logins.collect() }).into_response()
}

/// The logins that a caller may see, and whether each is the caller's own.
fn visible(state: &AppState, caller: &Caller) -> Vec<(LoginInfo, bool)> {
    let own = match caller {
        Caller::Login(id, _) => Some(*id),
        Caller::Anyone | Caller::Bearer(..) => None,
    };
    let all = caller.rights().role == Role::Operator;
    let logins = state.policy.access.logins.list().into_iter();
    logins
        .map(|login| (login.id == own.unwrap_or_default(), login))
        .filter(|(current, _)| all || *current)
        .map(|(current, login)| (login, current))
        .collect()
}

/// `GET /logins`: the same list as a page.
pub(super) async fn list_page(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let mut rows = String::new();
    for (login, current) in visible(&state, &caller) {
        let from = login.from.map(|from| from.to_string()).unwrap_or_default();
        let mark = if current { " (this browser)" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(
            rows,
            "<tr><td>{}{mark}</td><td>{}</td><td>{}</td><td>{} ago</td><td>{} ago</td></tr>",
            escape(&login.key),
            escape(&from),
            escape(&login.agent),
            in_words(login.age),
            in_words(login.idle),
        );
    }
    let table = if rows.is_empty() {
        "<p>Nobody is logged in.</p>".to_owned()
    } else {
        format!(
            "<table><thead><tr><th>Key</th><th>Address</th><th>Browser</th><th>Since</th>\
             <th>Last used</th></tr></thead><tbody>{rows}</tbody></table>"
        )
    };
    let end_all = if caller.rights().role == Role::Operator {
        format!(
            "<form method=\"post\" action=\"{END_ALL}\">\
             <button class=\"button danger\">End all logins</button></form>"
        )
    } else {
        String::new()
    };
    let body = format!(
        "<div class=\"card\"><h1>Logins</h1>{table}<div class=\"button-row\">\
         <form method=\"post\" action=\"{LOGOUT}\"><button class=\"button\">Log out</button></form>\
         {end_all}<a class=\"button\" href=\"/\">Back</a></div></div>"
    );
    page(&state, StatusCode::OK, "Logins", &body, None)
}

/// An approximate duration in words.
fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// A plain form without scripts, with status 401.
pub(super) fn form(state: &AppState, hint: Hint) -> Response {
    let hint = match hint {
        Hint::First => {
            "<p>Open the login URL that the server printed, or enter its access key.</p>"
        }
        Hint::Wrong => {
            "<p class=\"failure\" role=\"alert\">This is not the access key of this server.</p>"
        }
    };
    let body = format!(
        "<form class=\"card\" method=\"post\" action=\"{PATH}\">\
         <h1>Copilot Portal</h1>{hint}\
         <input name=\"user\" value=\"portal\" autocomplete=\"username\" hidden>\
         <label class=\"field\" for=\"key\"><span class=\"field-label\">Access key</span>\
         <input id=\"key\" name=\"key\" type=\"password\" required autofocus \
         autocomplete=\"current-password\"></label>\
         <div class=\"button-row\"><button class=\"button primary\">Log in</button></div></form>"
    );
    page(state, StatusCode::UNAUTHORIZED, "Log in", &body, None)
}
