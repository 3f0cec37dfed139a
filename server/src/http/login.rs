//! `/login`: shows the access key once and gets a cookie for it.

use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::{AppState, error};

/// The path of the login.
pub(super) const PATH: &str = "/login";

#[derive(Deserialize)]
pub(super) struct Credentials {
    key: Option<String>,
}

/// What the form says above its field.
#[derive(Clone, Copy)]
pub(super) enum Hint {
    /// Nothing was tried yet.
    First,
    /// A key was given, and it was wrong.
    Wrong,
}

/// `GET /login?key=KEY`, the URL that the server printed; without a key, the form.
pub(super) async fn by_url(
    State(state): State<AppState>,
    credentials: Result<Query<Credentials>, QueryRejection>,
) -> Response {
    match credentials {
        Ok(Query(Credentials { key: Some(key) })) => log_in(&state, &key),
        Ok(Query(Credentials { key: None })) => form(&state, Hint::First),
        Err(rejection) => error::unreadable(rejection.status(), &rejection.body_text()),
    }
}

/// `POST /login` from the form.
pub(super) async fn by_form(
    State(state): State<AppState>,
    credentials: Result<Form<Credentials>, FormRejection>,
) -> Response {
    match credentials {
        Ok(Form(credentials)) => log_in(&state, credentials.key.unwrap_or_default().trim()),
        Err(rejection) => error::unreadable(rejection.status(), &rejection.body_text()),
    }
}

fn log_in(state: &AppState, key: &str) -> Response {
    let Some(own) = &state.policy.access_key else {
        // Nothing to log in to.
        return Redirect::to("/").into_response();
    };
    if !own.opens_with(key) {
        tracing::warn!("login with a wrong access key");
        return form(state, Hint::Wrong);
    }
    ([(header::SET_COOKIE, own.set_cookie())], Redirect::to("/")).into_response()
}

/// A plain form without scripts, status 401.
pub(super) fn form(state: &AppState, hint: Hint) -> Response {
    let css = &state.site.assets().css;
    let hint = match hint {
        Hint::First => {
            "<p>Open the login URL that the server printed, or enter its access key.</p>"
        }
        Hint::Wrong => {
            "<p class=\"failure\" role=\"alert\">This is not the access key of this server.</p>"
        }
    };
    let page = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Log in · Copilot Portal</title><link rel=\"icon\" href=\"/favicon.svg\">\
         <link rel=\"stylesheet\" href=\"{css}\"></head><body>\
         <main class=\"site-main\"><form class=\"card\" method=\"post\" action=\"{PATH}\">\
         <h1>Copilot Portal</h1>{hint}\
         <input name=\"user\" value=\"portal\" autocomplete=\"username\" hidden>\
         <label class=\"field\" for=\"key\"><span class=\"field-label\">Access key</span>\
         <input id=\"key\" name=\"key\" type=\"password\" required autofocus \
         autocomplete=\"current-password\"></label>\
         <div class=\"button-row\"><button class=\"button primary\">Log in</button></div>\
         </form></main></body></html>"
    );
    let policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
                  base-uri 'none'; frame-ancestors 'none'";
    let headers = [(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy))];
    (StatusCode::UNAUTHORIZED, headers, Html(page)).into_response()
}
