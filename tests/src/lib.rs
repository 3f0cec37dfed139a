//! The harness of the API tests: a whole server behind its router, without a socket.
//!
//! Tests drive sessions through [`TestSession`] and check their responses with [`transcript`]; jobs
//! and their entries are in [`job`].

mod alias;
pub mod events;
pub mod job;
pub mod program;
mod session;
pub mod transcript;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agents::simulated::{Simulated, SimulatedSettings};
use agents::{AgentBackend, Catalog};
use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use engine::alive::Alive;
use engine::bridge::{Bridge, BridgeSettings, WorkspaceFolder};
use engine::entry::{EntryStore, Installer};
use engine::job::{JobManager, JobSettings};
use engine::session::{SessionManager, SessionSettings};
use engine::task::{TaskManager, TaskSettings};
use extensions::ExtensionSettings;
use http_body_util::BodyExt;
use platform::lifecycle::Lifecycle;
use serde_json::Value;
use server::http::{AppState, Parts, Portal};
use server::notices::Notices;
use server::security::Policy;
use server::security::access::AccessKey;
use server::security::admission::Access;
use server::security::host::OwnNames;
use server::site::Site;
use store::live::{LiveSettings, LiveShared};
use store::portal::PortalLog;
use wire::Budget;

use alias::Alias;
pub use session::{MODEL, TestSession, is_pending, unknown_session};

/// The host name that tests use.
pub const HOST: &str = "localhost:8888";

/// A server under test. When it is dropped, nothing may still be running: a test that leaves
/// sessions open ends with [`TestApp::finish`].
pub struct TestApp {
    portal: Portal,
    sessions: Arc<SessionManager>,
    tasks: Arc<TaskManager>,
    jobs: Arc<JobManager>,
    bridge: Arc<Bridge>,
    entries: Arc<EntryStore>,
    lifecycle: Lifecycle,
    /// Number of futures in a server without sessions.
    idle: usize,
}

/// How a test's server differs from an ordinary one.
#[derive(Debug)]
pub struct Options {
    /// The address it pretends to listen on.
    pub bound_to: &'static str,
    /// Host names besides the default ones.
    pub allowed_hosts: Vec<String>,
    /// The key that callers must present.
    pub access_key: Option<&'static str>,
    /// Additional keys, with names and roles.
    pub further_keys: Vec<AccessKey>,
    /// Limit of a request body, in bytes.
    pub max_body_bytes: u64,
    /// Limit of open sessions.
    pub max_sessions: usize,
    /// Limit of queued prompts in a session.
    pub max_queries: usize,
    /// Where extensions are found, and which may run.
    pub extensions: ExtensionSettings,
    /// The limits of jobs.
    pub jobs: JobSettings,
    /// How much each session may use.
    pub session_budget: Budget,
    /// How much each task may use whose definition does not say so.
    pub task_budget: Budget,
    /// The times and limits of live calls.
    pub live: LiveSettings,
    /// Whether the model ids of test mode exist.
    pub test_models: bool,
    /// Ids under which an additional provider offers a simulated model.
    pub further_models: &'static [&'static str],
    /// The folder in which it was started.
    pub repo_root: &'static str,
    /// The settings of the bridge, if it has other projects than the repository.
    pub bridge: Option<BridgeSettings>,
    /// The folder from which entries may be installed by request.
    pub test_folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bound_to: "127.0.0.1",
            allowed_hosts: Vec::new(),
            access_key: None,
            further_keys: Vec::new(),
            max_body_bytes: 16 * 1024 * 1024,
            max_sessions: 100,
            max_queries: 100,
            extensions: ExtensionSettings::default(),
            jobs: JobSettings::default(),
            session_budget: Budget::default(),
            task_budget: Budget::default(),
            live: LiveSettings::for_tests(),
            test_models: true,
            further_models: &[],
            repo_root: "/src/project",
            bridge: None,
            test_folder: None,
        }
    }
}

impl TestApp {
    /// A server with the default options.
    pub fn new() -> Self {
        Self::with(Options::default())
    }

    /// A server with `options`.
    pub fn with(options: Options) -> Self {
        Self::with_backends(options, Vec::new())
    }

    /// A server with `options` and additional providers.
    pub fn with_backends(options: Options, further: Vec<Arc<dyn AgentBackend>>) -> Self {
        let lifecycle = Lifecycle::new();
        let bound_to = options.bound_to.parse().expect("an address");
        let simulated = SimulatedSettings {
            test_models: options.test_models,
            ..SimulatedSettings::for_tests()
        };
        let backends: [Arc<dyn AgentBackend>; 2] =
            [Arc::new(Simulated::new(simulated)), Arc::new(Alias::new(options.further_models))];
        let live = LiveShared::new(options.live);
        let alive = Alive::new(live.clone());
        let sessions = SessionManager::new(
            Catalog::new(backends.into_iter().chain(further)),
            SessionSettings {
                max_sessions: options.max_sessions,
                max_queries: options.max_queries,
                extensions: options.extensions,
                budget: options.session_budget,
                ..SessionSettings::new("/")
            },
            live.clone(),
            lifecycle.clone(),
        );
        let tasks = TaskManager::new(
            sessions.clone(),
            TaskSettings { budget: options.task_budget, ..TaskSettings::default() },
            live.clone(),
            lifecycle.clone(),
        );
        let jobs = JobManager::new(tasks.clone(), options.jobs, live.clone(), lifecycle.clone());
        let portal = PortalLog::new(live.clone(), &lifecycle);
        let entries = EntryStore::new(portal);
        let usual = || BridgeSettings::new([WorkspaceFolder::new(options.repo_root)]);
        let settings = options.bridge.unwrap_or_else(usual);
        let bridge = Bridge::new(settings, sessions.clone(), lifecycle.clone());
        let state = AppState::new(Parts {
            lifecycle: lifecycle.clone(),
            policy: Policy {
                own_names: OwnNames::new(bound_to, &options.allowed_hosts),
                access: Arc::new(Access::new(
                    options.access_key.map(AccessKey::new).into_iter().chain(options.further_keys),
                )),
                max_body_bytes: options.max_body_bytes,
            },
            live,
            alive,
            sessions: sessions.clone(),
            entries: entries.clone(),
            tasks: tasks.clone(),
            jobs: jobs.clone(),
            bridge: bridge.clone(),
            test_folder: options.test_folder,
            repo_root: Path::new(options.repo_root).to_path_buf(),
            notices: Notices::default(),
            site: Site::find().expect("a site folder, be it empty"),
        });
        let idle = lifecycle.running();
        Self { portal: Portal::new(state), sessions, tasks, jobs, bridge, entries, lifecycle, idle }
    }

    /// Installs an entry, as `--entry` does.
    pub async fn install(&self, entry: &Value) {
        self.install_text(&entry.to_string()).await;
    }

    /// The same with a JSON text, for tests in which the order matters.
    pub async fn install_text(&self, entry: &str) {
        let installed = self.entries.install(entry, Installer::CommandLine, &self.sessions).await;
        installed.unwrap_or_else(|error| panic!("{error}"));
    }

    /// Stops all sessions and the server, and asserts that nothing is left running.
    pub async fn finish(&self) {
        self.stop_work().await;
        self.assert_ends().await;
    }

    /// Narrows the rights of jobs, as a change of the settings file does.
    pub fn narrow_jobs(&self, permissions: wire::PermissionMode) {
        self.jobs.narrow(permissions, Budget::default());
    }

    /// Stops all runs, jobs, tasks and sessions.
    pub async fn stop_work(&self) {
        self.bridge.begin_stop();
        self.jobs.stop_all().await;
        self.tasks.stop_all().await;
        self.sessions.stop_all().await;
        self.bridge.end();
    }

    /// Asserts that a server whose sessions have ended leaves nothing running.
    pub async fn assert_ends(&self) {
        assert!(self.open_sessions().await.is_empty(), "a session is open");
        assert_eq!(self.lifecycle.shutdown(Duration::from_secs(4)).await, 0, "work is left");
    }

    /// How many sessions are kept for their readers, open or ended.
    pub fn remembered_sessions(&self) -> usize {
        self.sessions.live().len()
    }

    /// True once the shutdown has begun.
    pub fn is_stopping(&self) -> bool {
        self.lifecycle.is_ending()
    }

    /// `GET path` as a script sends it.
    pub async fn get(&self, path: &str) -> Reply {
        self.call("GET", path, &[], Body::empty()).await
    }

    /// `GET path` with additional headers.
    pub async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.call("GET", path, headers, Body::empty()).await
    }

    /// `POST path` with JSON.
    pub async fn post_json(&self, path: &str, body: &Value) -> Reply {
        self.post(path, body.to_string()).await
    }

    /// `POST path` with a body.
    pub async fn post(&self, path: &str, body: impl Into<Body>) -> Reply {
        self.call("POST", path, &[], body.into()).await
    }

    /// Any request. A `host` among `headers` replaces the default; an empty one removes it.
    pub async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Reply {
        Reply::read(self.send(method, path, headers, body).await).await
    }

    /// Any request; returns the response before its body is read.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Response<Body> {
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header(header::HOST, HOST);
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(*name, *value);
        }
        let request = request.body(body).expect("a well-formed request");
        self.portal.answer(request).await
    }
}

impl Default for TestApp {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.lifecycle.running() <= self.idle, "background work is left");
        }
    }
}

/// A response with its whole body.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status code.
    pub status: StatusCode,
    head: Response<()>,
    /// The whole body as text.
    pub text: String,
}

impl Reply {
    async fn read(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.expect("a readable body").to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Self { status: head.status, head: Response::from_parts(head, ()), text }
    }

    /// The body as JSON, which must be declared as such.
    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), "application/json", "{}", self.text);
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// A header's value, empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.head.headers().get(name).map_or("", |value| value.to_str().expect("text"))
    }

    /// The status and the `error` field of a refusal.
    pub fn refusal(&self) -> (u16, String) {
        let error = self.json()["error"].as_str().unwrap_or_default().to_owned();
        (self.status.as_u16(), error)
    }
}
