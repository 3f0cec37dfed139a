//! HTTP: the route table, and what every handler shares.
//!
//! ```text
//!  socket ─► listener ─► guard (security, headers) ─► router ─┬─► /api/…  server_api …
//!                                                             ├─► pages   (Leptos)
//!                                                             └─► files   (site), else 404
//! ```

mod error;
mod guard;
pub mod listener;
mod login;
mod pages;
mod server_api;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef};
use axum::routing::{any, get};
use engine::lifecycle::Lifecycle;
use leptos::config::LeptosOptions;

use crate::security::Policy;
use crate::site::Site;

/// What a server is made of.
#[derive(Debug)]
pub struct Parts {
    /// Owns the background work and knows when the end has begun.
    pub lifecycle: Lifecycle,
    /// Who may call.
    pub policy: Policy,
    /// What `api/config` tells.
    pub repo_root: PathBuf,
    /// The built browser half.
    pub site: Site,
}

/// What handlers see. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AppState(Arc<Parts>);

impl AppState {
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }
}

impl std::ops::Deref for AppState {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl FromRef<AppState> for LeptosOptions {
    fn from_ref(state: &AppState) -> Self {
        state.site.options().clone()
    }
}

/// The whole server as a service: API, pages and files behind the guard.
///
/// Reading endpoints take GET, acting ones GET and POST: existing scripts call them so, and the
/// guard, not the method, keeps other sites out.
pub fn router(state: AppState) -> Router {
    let api = Router::new()
        .route("/test", get(server_api::test))
        .route("/config", get(server_api::config))
        .route("/token", get(server_api::token))
        .route("/stop", get(server_api::stop).post(server_api::stop))
        .method_not_allowed_fallback(error::method_not_allowed)
        .fallback(error::unknown_api_endpoint);

    Router::new()
        // The bare prefix and its slash are API paths too, and have no endpoint.
        .route("/api", any(error::unknown_api_endpoint))
        .route("/api/", any(error::unknown_api_endpoint))
        .nest("/api", api)
        .route("/login", get(login::by_url).post(login::by_form))
        .merge(pages::routes(&state))
        .fallback(pages::file_or_not_found)
        // The guard caps every body; a second, smaller cap would only confuse.
        .layer(DefaultBodyLimit::disable())
        .layer(axum::middleware::from_fn_with_state(state.clone(), guard::guard))
        .with_state(state)
}
