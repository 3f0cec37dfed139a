//! HTTP: the route table, and what every handler shares.
//!
//! ```text
//!  socket ─► listener ─► guard (security, headers) ─► router ─┬─► /api/…  server_api …
//!                                                             │         session_api, task_api, job_api, live
//!                                                             ├─► /sessions, /message, /events …  bridge_api
//!                                                             ├─► pages   (Leptos)
//!                                                             └─► files   (site), else 404
//! ```

mod bridge_api;
mod bridge_events;
pub(crate) mod encoding;
mod entry_api;
mod error;
mod guard;
mod job_api;
pub mod listener;
mod live;
mod live_batch;
mod login;
mod outbox;
mod pages;
mod server_api;
mod session_api;
mod task_api;
mod text;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef, Request};
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{MethodRouter, any, get, post};
use engine::bridge::Bridge;
use engine::entry::EntryStore;
use engine::job::JobManager;
use engine::lifecycle::Lifecycle;
use engine::live::LiveShared;
use engine::session::SessionManager;
use engine::task::TaskManager;
use leptos::config::LeptosOptions;

use crate::security::Policy;
use crate::site::Site;

/// How long the end of the sessions may hold up the end of the server.
const STOP_DEADLINE: Duration = Duration::from_secs(2);

/// What a server is made of.
pub struct Parts {
    /// Owns the background work and knows when the end has begun.
    pub lifecycle: Lifecycle,
    /// Who may call.
    pub policy: Policy,
    /// What all live calls have in common.
    pub live: Arc<LiveShared>,
    /// All sessions.
    pub sessions: Arc<SessionManager>,
    /// The entry that is installed.
    pub entries: Arc<EntryStore>,
    /// All tasks.
    pub tasks: Arc<TaskManager>,
    /// All jobs.
    pub jobs: Arc<JobManager>,
    /// Prompts and agent runs in workspace folders.
    pub bridge: Arc<Bridge>,
    /// From where entries may be installed by request; `None` if they may not.
    pub test_folder: Option<PathBuf>,
    /// What `api/config` tells.
    pub repo_root: PathBuf,
    /// The built browser half.
    pub site: Site,
}

/// What handlers see. Cheap to clone.
#[derive(Clone)]
pub struct AppState(Arc<Parts>);

impl AppState {
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// Ends all runs, jobs, tasks and sessions, but does not wait for an agent that hangs.
    pub async fn stop_work(&self) {
        let stop = async {
            // In this order, or jobs would take the end of their tasks for failures, and tasks
            // would replace the sessions that end.
            self.bridge.stop_all().await;
            self.jobs.stop_all().await;
            self.tasks.stop_all().await;
            self.sessions.stop_all().await;
        };
        if tokio::time::timeout(STOP_DEADLINE, stop).await.is_err() {
            tracing::warn!("not all sessions ended in time");
        }
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

/// An acting endpoint: GET and POST.
fn act<H, T>(handler: H) -> MethodRouter<AppState>
where
    H: Handler<T, AppState> + Clone,
    T: 'static,
{
    // By itself, GET would answer HEAD by acting.
    let methods = get(handler.clone()).post(handler).head(error::method_not_allowed);
    methods.layer(no_second_cap())
}

/// The guard caps every body; a second, smaller cap would only confuse. Only around what takes a
/// body: each layer around the whole router costs every request some allocations.
fn no_second_cap() -> DefaultBodyLimit {
    DefaultBodyLimit::disable()
}

/// The whole server: API, pages and files behind the guard. Cheap to clone.
///
/// The guard stands outside the router, not in a layer of it: a layer would copy the matched route
/// and box one more future for every request.
#[derive(Clone)]
pub struct Portal {
    state: AppState,
    routes: Router,
}

impl Portal {
    /// Everything in its place.
    pub fn new(state: AppState) -> Self {
        Self { routes: routes(state.clone()), state }
    }

    /// Answers a request. Cancel safe: a dropped call is a client that hung up.
    pub async fn answer(&self, request: Request) -> Response {
        guard::answer(&self.state, &self.routes, request).await
    }
}

/// Reading endpoints take GET, acting ones GET and POST: existing scripts call them so, and the
/// guard, not the method, keeps other sites out. Paths are written in full, because a nested
/// router would rewrite the address of every request.
fn routes(state: AppState) -> Router {
    let mut routes = Router::new();
    if state.test_folder.is_some() {
        let install = act(entry_api::install_jobs_entry);
        routes = routes.route("/api/copilot/test/installJobsEntry", install);
    }
    routes
        .route("/api/test", get(server_api::test))
        .route("/api/config", get(server_api::config))
        .route("/api/token", get(server_api::token))
        .route("/api/stop", act(server_api::stop))
        .route("/api/copilot/models", get(session_api::list_models))
        .route("/api/copilot/session", get(session_api::list_sessions))
        .route("/api/copilot/session/start/{*model}", act(session_api::start_session))
        .route("/api/copilot/session/{id}/query", act(session_api::query_session))
        .route("/api/copilot/session/{id}/abort", act(session_api::abort_session))
        .route("/api/copilot/session/{id}/stop", act(session_api::stop_session))
        .route(
            "/api/copilot/session/{id}/permission/{request}",
            act(session_api::answer_permission),
        )
        .route("/api/copilot/session/{id}/permissions", act(session_api::set_permissions))
        .route("/api/copilot/session/{id}/live", get(session_api::poll_session))
        .route("/api/copilot/session/{id}/live/{token}", get(session_api::poll_session_as))
        // The spelling of the earliest clients.
        .route("/api/copilot/session/query/{id}", act(session_api::query_session))
        .route("/api/copilot/session/stop/{id}", act(session_api::stop_session))
        .route("/api/copilot/session/live/{id}", get(session_api::poll_session))
        .route("/api/copilot/task", get(task_api::list_tasks))
        .route("/api/copilot/task/start/{name}/session/{id}", act(task_api::start_task))
        .route("/api/copilot/task/{id}/stop", act(task_api::stop_task))
        .route("/api/copilot/task/{id}/live", get(task_api::poll_task))
        .route("/api/copilot/task/{id}/live/{token}", get(task_api::poll_task_as))
        .route("/api/copilot/job", get(job_api::list_jobs))
        .route("/api/copilot/job/running", get(job_api::list_running))
        .route("/api/copilot/job/start/{name}", act(job_api::start_job))
        .route("/api/copilot/job/{id}/status", get(job_api::job_status))
        .route("/api/copilot/job/{id}/stop", act(job_api::stop_job))
        .route("/api/copilot/job/{id}/live", get(job_api::poll_job))
        .route("/api/copilot/job/{id}/live/{token}", get(job_api::poll_job_as))
        // By POST only: there may be more ids than an address can hold, and browsers send no body
        // with GET.
        .route("/api/copilot/live/{token}", post(live_batch::poll_many).layer(no_second_cap()))
        .route("/api", any(error::unknown_api_endpoint))
        .route("/api/", any(error::unknown_api_endpoint))
        .route("/api/{*other}", any(error::unknown_api_endpoint))
        .route("/sessions", get(bridge_api::list_sessions))
        // An absolute path is an id, too, and has slashes.
        .route("/sessions/{*id}", get(bridge_api::show_session))
        .route("/message", post(bridge_api::send_message).layer(no_second_cap()))
        .route("/events", get(bridge_events::follow).head(error::method_not_allowed))
        .route("/approval", post(bridge_api::decide).layer(no_second_cap()))
        .route("/cancel", post(bridge_api::cancel).layer(no_second_cap()))
        .route("/clear", post(bridge_api::clear).layer(no_second_cap()))
        .route("/login", get(login::by_url).post(login::by_form).layer(no_second_cap()))
        .merge(pages::routes(&state))
        .method_not_allowed_fallback(error::method_not_allowed)
        .fallback(pages::file_or_not_found)
        .with_state(state)
}
