//! HTTP: the route table, and the state that all handlers share.
//!
//! ```text
//!  socket ─► listener ─► guard (security, headers) ─► router ─┬─► /api/…  server_api …
//!                                                             │         session_api, task_api, job_api,
//!                                                             │         inbox_api, live
//!                                                             ├─► /sessions, /message, /events …  bridge_api
//!                                                             ├─► pages   (Leptos)
//!                                                             └─► files   (site), else 404
//! ```

mod ask;
mod attachment_api;
mod bridge_api;
mod bridge_events;
mod completion_api;
mod deeds;
mod entry_api;
mod error;
mod extension_api;
mod guard;
mod history_api;
mod inbox_api;
mod job_api;
pub mod listener;
mod live;
mod live_batch;
mod login;
mod markdown_api;
mod outbox;
mod pace;
mod pages;
mod places;
mod plain_page;
mod queue_api;
mod server_api;
mod session_api;
mod task_api;
mod text;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{FromRef, Request};
use axum::response::Response;
use axum::routing::{any, get, post};
use engine::alive::Alive;
use engine::bridge::Bridge;
use engine::entry::EntryStore;
use engine::job::JobManager;
use engine::session::SessionManager;
use engine::task::TaskManager;
use leptos::config::LeptosOptions;
use platform::lifecycle::Lifecycle;
use store::live::LiveShared;
use wire::{JobId, SessionId, TaskId};

use crate::notices::Notices;
use crate::security::{Deed, Policy};
use crate::site::Site;
use deeds::{Deeds, Table, no_second_cap};

/// How long ending the sessions may delay the shutdown.
const STOP_DEADLINE: Duration = Duration::from_secs(2);

/// The parts of a server.
pub struct Parts {
    /// Owns the background work and knows whether the shutdown has begun.
    pub lifecycle: Lifecycle,
    /// Decides which requests are let through.
    pub policy: Policy,
    /// Shared by all live calls.
    pub live: Arc<LiveShared>,
    /// Lists what is alive.
    pub alive: Arc<Alive>,
    /// Starts and owns all sessions.
    pub sessions: Arc<SessionManager>,
    /// Holds the installed entry.
    pub entries: Arc<EntryStore>,
    /// Starts and owns all tasks.
    pub tasks: Arc<TaskManager>,
    /// Starts and owns all jobs.
    pub jobs: Arc<JobManager>,
    /// Runs prompts and agents in projects.
    pub bridge: Arc<Bridge>,
    /// The folder from which entries may be installed by request; `None` outside test mode.
    pub test_folder: Option<PathBuf>,
    /// The folder that `api/config` reports.
    pub repo_root: PathBuf,
    /// Notices that the pages show.
    pub notices: Notices,
    /// The built browser side.
    pub site: Site,
}

/// The state that handlers get. Cheap to clone.
#[derive(Clone)]
pub struct AppState(Arc<Parts>);

impl AppState {
    /// Wraps the parts, so that handlers can share them.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// Ends all runs, jobs, tasks and sessions, but does not wait for an agent that hangs.
    pub async fn stop_work(&self) {
        let stop = async {
            // The order matters: otherwise jobs would report the end of their tasks as failures,
            // and tasks would replace the sessions that end.
            self.bridge.begin_stop();
            self.jobs.stop_all().await;
            self.tasks.stop_all().await;
            self.sessions.stop_all().await;
        };
        if tokio::time::timeout(STOP_DEADLINE, stop).await.is_err() {
            tracing::warn!("not all sessions ended in time");
        }
        // Readers of sessions that go on after the restart.
        self.live.end_calls();
        self.bridge.end();
    }

    /// Stores how far readers have come, once they have got their last answers.
    pub fn save_readers(&self) {
        self.jobs.live().save();
        self.tasks.live().save();
        self.sessions.live().save();
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

/// The whole server: API, pages and files behind the guard. Cheap to clone.
///
/// The guard wraps the router instead of being one of its layers: a layer would copy the matched
/// route and box one more future for every request.
#[derive(Clone)]
pub struct Portal {
    state: AppState,
    routes: Router,
    deeds: Arc<Deeds>,
}

impl Portal {
    /// Builds the router and its guard.
    pub fn new(state: AppState) -> Self {
        let (routes, deeds) = routes(state.clone());
        Self { state, routes, deeds: Arc::new(deeds) }
    }

    /// True if callers must present a key.
    fn is_locked(&self) -> bool {
        self.state.policy.access.is_locked()
    }

    /// Whether connections of other users of this machine are refused: without a key, nothing else
    /// distinguishes them from its owner.
    pub(crate) fn is_for_one_user(&self) -> bool {
        !self.is_locked()
    }

    /// Answers a request. Cancel safe: dropping the call is what happens when a client hangs up.
    pub async fn answer(&self, request: Request) -> Response {
        guard::answer(self, request).await
    }
}

/// Reading endpoints take GET, acting ones GET and POST: existing scripts call them that way, and
/// the guard demands a proof of intent for acting by GET. Paths are written in full, because a
/// nested router would rewrite the URI of every request.
fn routes(state: AppState) -> (Router, Deeds) {
    let mut table = Table::default();
    if state.test_folder.is_some() {
        table = table.act("/api/copilot/test/installJobsEntry", entry_api::install_jobs_entry);
    }
    let Table { router, deeds } = table
        .route("/api/test", get(server_api::test))
        .route("/api/logins", get(login::list))
        .route("/api/config", get(server_api::config))
        .route("/api/token", get(server_api::token))
        .act("/api/stop", server_api::stop)
        // POST only: texts are longer than any URL.
        .post(markdown_api::PATH, Deed::Read, markdown_api::render)
        .route("/api/copilot/models", get(session_api::list_models))
        .route("/api/copilot/folders", get(completion_api::folders))
        .route("/api/copilot/session", get(session_api::list_sessions))
        .route("/api/copilot/session/{id}/info", get(session_api::show_session))
        .act("/api/copilot/session/start/{*model}", session_api::start_session)
        .act("/api/copilot/session/{id}/query", session_api::query_session)
        .act("/api/copilot/session/{id}/steer", session_api::steer_session)
        .act("/api/copilot/session/{id}/model", session_api::switch_model)
        .route("/api/copilot/session/{id}/queue", get(queue_api::list))
        .act("/api/copilot/session/{id}/queue/{prompt}/remove", queue_api::remove)
        .act("/api/copilot/session/{id}/queue/{prompt}/edit", queue_api::edit)
        // POST only: scripts that act by GET have no body to attach.
        .post("/api/copilot/session/{id}/attach/{name}", Deed::Act, attachment_api::attach)
        .route("/api/copilot/session/{id}/attachment/{attachment}", get(attachment_api::show))
        .act("/api/copilot/session/{id}/abort", session_api::abort_session)
        .act("/api/copilot/session/{id}/stop", session_api::stop_session)
        .act("/api/copilot/session/{id}/continue", session_api::continue_session)
        .answer("/api/copilot/session/{id}/permission/{request}", session_api::answer_permission)
        .govern("/api/copilot/session/{id}/permissions", session_api::set_permissions)
        .read_or_govern(
            "/api/copilot/session/{id}/fallback",
            session_api::show_fallback,
            session_api::set_fallback,
        )
        .read_or_govern(
            "/api/copilot/session/{id}/budget",
            session_api::read_budget,
            session_api::set_budget,
        )
        .route("/api/copilot/session/{id}/extensions", get(extension_api::list_extensions))
        .act("/api/copilot/session/{id}/extensions/reload", extension_api::reload_extensions)
        .govern("/api/copilot/session/{id}/extensions/trust", extension_api::trust_extensions)
        .route("/api/copilot/session/{id}/live", get(live::poll_one::<SessionId>))
        .route("/api/copilot/session/{id}/live/{token}", get(live::poll_as::<SessionId>))
        .act("/api/copilot/session/{id}/rename", session_api::rename_session)
        .act("/api/copilot/session/{id}/delete", session_api::delete_session)
        .route("/api/copilot/session/{id}/files", get(completion_api::files))
        .route("/api/copilot/session/{id}/events", get(history_api::session_events))
        .route("/api/copilot/session/{id}/export.md", get(history_api::export_markdown))
        .route("/api/copilot/session/{id}/export.json", get(history_api::export_json))
        // The spelling of the earliest clients.
        .act("/api/copilot/session/query/{id}", session_api::query_session)
        .act("/api/copilot/session/stop/{id}", session_api::stop_session)
        .route("/api/copilot/session/live/{id}", get(live::poll_one::<SessionId>))
        .route("/api/copilot/task", get(task_api::list_tasks))
        .act("/api/copilot/task/start/{name}/session/{id}", task_api::start_task)
        .act("/api/copilot/task/{id}/stop", task_api::stop_task)
        .route("/api/copilot/task/{id}/events", get(history_api::task_events))
        .route("/api/copilot/task/{id}/live", get(live::poll_one::<TaskId>))
        .route("/api/copilot/task/{id}/live/{token}", get(live::poll_as::<TaskId>))
        .route("/api/copilot/job", get(job_api::list_jobs))
        .route("/api/copilot/job/running", get(job_api::list_running))
        .act("/api/copilot/job/start/{name}", job_api::start_job)
        .route("/api/copilot/job/{id}/status", get(job_api::job_status))
        .route("/api/copilot/job/{id}/verdicts", get(job_api::job_verdicts))
        .act("/api/copilot/job/{id}/stop", job_api::stop_job)
        .act("/api/copilot/job/{id}/retry", job_api::retry_job)
        .act("/api/copilot/job/{id}/delete", job_api::delete_job)
        .route("/api/copilot/job/{id}/events", get(history_api::job_events))
        .route("/api/copilot/job/{id}/live", get(live::poll_one::<JobId>))
        .route("/api/copilot/job/{id}/live/{token}", get(live::poll_as::<JobId>))
        .route("/api/copilot/history", get(history_api::history))
        .route("/api/copilot/alive", get(session_api::list_alive))
        .route("/api/copilot/inbox", get(inbox_api::list))
        .route("/api/copilot/inbox/answered", get(inbox_api::answered))
        .route("/api/copilot/inbox/live/{token}", get(inbox_api::follow))
        .answer("/api/copilot/inbox/{id}", inbox_api::answer)
        // POST only: there may be more ids than a URL can hold, and browsers send no body with GET.
        .post("/api/copilot/live/{token}", Deed::Read, live_batch::poll_many)
        .route("/api", any(error::unknown_api_endpoint))
        .route("/api/", any(error::unknown_api_endpoint))
        .route("/api/{*other}", any(error::unknown_api_endpoint))
        .route("/sessions", get(bridge_api::list_sessions))
        // An absolute path is also an id, and contains slashes.
        .route("/sessions/{*id}", get(bridge_api::show_session))
        .post("/message", Deed::Act, bridge_api::send_message)
        .route("/events", get(bridge_events::follow).head(error::method_not_allowed))
        .post("/approval", Deed::Answer, bridge_api::decide)
        .post("/cancel", Deed::Act, bridge_api::cancel)
        .post("/clear", Deed::Act, bridge_api::clear)
        .post("/discard", Deed::Act, bridge_api::discard)
        .route(login::PATH, get(login::by_url).post(login::by_form).layer(no_second_cap()))
        .route(login::DONE, get(login::done))
        .route(login::SECRET, post(login::secret))
        .route(login::LIST, get(login::list_page))
        .route(login::END_ALL, post(login::end_all))
        .route(login::LOGOUT, post(login::log_out));
    let router = router
        .merge(pages::routes(&state))
        .method_not_allowed_fallback(error::method_not_allowed)
        .fallback(pages::file_or_not_found)
        .with_state(state);
    (router, deeds)
}
