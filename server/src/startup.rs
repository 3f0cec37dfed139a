//! From settings to a running server, and to its shutdown.
//!
//! ```text
//!  bind ─► open the journal ─► announce ─► accept loop ─► (Ctrl-C | SIGTERM | SIGHUP | api/stop)
//!       ─► Lifecycle::shutdown ─► close the journal ─► exit 0
//! ```

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agents::openai::OpenAi;
use agents::simulated::{Simulated, SimulatedSettings};
use agents::tools::CommandSettings;
use agents::{AgentBackend, Catalog};
#[cfg(feature = "copilot")]
use copilot::Copilot;
use engine::alive::Alive;
use engine::bridge::Bridge;
use engine::entry::{EntryStore, InstallError, Installer};
use engine::job::{JobManager, JobSettings};
use engine::recovery::recover;
use engine::session::{SessionManager, SessionSettings};
use engine::task::{TaskManager, TaskSettings};
use engine::trust::PortalTrust;
use extensions::ExtensionSettings;
use platform::lifecycle::Lifecycle;
use platform::repository;
use store::attachment::AttachmentStore;
use store::journal::{OpenError, StoreError};
use store::live::{LiveSettings, LiveShared};
use store::portal::PortalLog;
#[cfg(unix)]
use tokio::signal::unix;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::{Settings, StorePlace};
use crate::http::{self, AppState, Portal};
use crate::journal::OpenJournal;
use crate::notices::Notices;
use crate::reload::{self, Governed};
use crate::security::Policy;
use crate::security::admission::Access;
use crate::security::host::OwnNames;
use crate::site::Site;

/// Deadline of the shutdown. What still runs then is cut off: the process must be gone within five
/// seconds of being told.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(4);
/// How much of that is left to the journal in any case, to write what happened last.
const CLOSING_TIME: Duration = Duration::from_millis(500);
/// The file in the data folder in which earlier versions stored which extensions are trusted.
const TRUST_FILE: &str = "extensions.json";
/// The default limit of systems.
const USUAL_FILE_LIMIT: u64 = 256;
/// The exit code that shells expect of a process killed by Ctrl-C.
const EXIT_INTERRUPTED: i32 = 130;

/// Why the server did not start. Displays as one line with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process listens on the port.
    #[error(
        "port {port} is in use: choose another with --port N, or stop what runs there \
         (another portal: http://localhost:{port}/api/stop)"
    )]
    PortInUse {
        /// The port that is in use.
        port: u16,
    },
    /// The address cannot be listened on.
    #[error("can't listen on {address}: {cause}; choose another with --host and --port")]
    Bind {
        /// The address from the settings.
        address: SocketAddr,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The site is missing or broken.
    #[error(transparent)]
    Site(#[from] crate::site::SiteError),
    /// The entry is invalid or cannot be read.
    #[error("the entry was not installed: {0}")]
    Entry(#[from] InstallError),
    /// What was kept can't be used.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// What was kept can't be read or written.
    #[error("{0}; look at it with `copilot-portal store check`")]
    Recovery(#[from] StoreError),
    /// The operating system refused something that normally works.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Runs the server until it is told to stop.
pub fn run(settings: &Settings, working_directory: &Path) -> Result<(), StartError> {
    protect_process();
    if let Some(data) = &settings.data
        && let Err(error) = platform::private::tighten(data)
    {
        tracing::warn!(folder = %data.display(), %error, "the data folder may be open to others");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(serve(settings, working_directory));
    // Work that missed the deadline must not delay the exit.
    runtime.shutdown_background();
    result
}

async fn serve(settings: &Settings, working_directory: &Path) -> Result<(), StartError> {
    ignore_file_size_limit()?;
    let site = Site::find()?;
    let address = SocketAddr::new(settings.host, settings.port);
    let listener = http::listener::listen(address).map_err(|cause| match cause.kind() {
        io::ErrorKind::AddrInUse => StartError::PortInUse { port: settings.port },
        _ => StartError::Bind { address, cause },
    })?;
    let port = listener.local_addr()?.port();

    let files = raise_file_limit();
    let lifecycle = Lifecycle::new();
    let repo_root = repository::repo_root(working_directory);
    let live = if settings.test { LiveSettings::for_tests() } else { LiveSettings::default() };
    let opened = OpenJournal::open(&settings.store)?;
    let live = LiveShared::with_journal(live, opened.journal());
    let portal = open_portal_log(settings, &live, &lifecycle).await?;
    let interrupted = recover(&live).await?;
    if interrupted > 0 {
        tracing::info!(interrupted, "ended what was cut off when the server stopped");
    }
    let alive = Alive::new(live.clone());
    alive.restore().await?;
    let sessions = start_sessions(settings, &repo_root, live.clone(), portal.clone(), &lifecycle);
    // Left by a session that was deleted while its files could not be.
    sessions.delete_orphans().await?;
    sessions.restore_inbox().await?;
    let entries = install_entry(settings, portal.clone(), &sessions).await?;
    let defaults =
        TaskSettings { budget: settings.budgets.tasks, on_interrupted: settings.on_interrupted };
    let tasks = TaskManager::new(sessions.clone(), defaults, live.clone(), lifecycle.clone());
    let jobs = JobSettings {
        max_tasks: settings.max_tasks,
        max_tasks_per_job: settings.max_tasks_per_job,
        permissions: settings.job_permissions,
        budget: settings.budgets.jobs,
        ..JobSettings::default()
    };
    let bridge = Bridge::new(settings.bridge.clone(), sessions.clone(), lifecycle.clone());
    if let Some(data) = &settings.data {
        bridge.take_over(&data.join("bridge")).await?;
    }
    // After the entry, which is not installed while a session is running, and after the bridge,
    // which opens the sessions of its projects.
    lifecycle.spawn(take_up_waiting(sessions.clone(), lifecycle.token()));
    let jobs = JobManager::new(tasks.clone(), jobs, live.clone(), lifecycle.clone());
    tasks.take_up_borrowing().await?;
    jobs.take_up().await?;
    let notices = tell_notices(settings);
    let governed = Governed {
        bridge: bridge.clone(),
        sessions: sessions.clone(),
        tasks: tasks.clone(),
        jobs: jobs.clone(),
        notices: notices.clone(),
    };
    reload::watch(settings.origin.clone(), governed, &lifecycle);
    let state = AppState::new(http::Parts {
        lifecycle: lifecycle.clone(),
        policy: Policy {
            own_names: OwnNames::new(settings.host, &settings.allowed_hosts),
            access: Arc::new(Access::with_log(
                settings.access_key.iter().chain(&settings.keys).cloned(),
                portal,
            )),
            max_body_bytes: settings.max_body_bytes,
        },
        jobs,
        live,
        alive,
        tasks,
        sessions,
        entries,
        bridge,
        test_folder: settings.test.then(|| settings.test_folder.clone()),
        repo_root,
        notices,
        site,
    });
    opened.delete_old(state.sessions.clone(), &lifecycle);
    watch_signals(&lifecycle)?;
    announce(settings, port)?;
    tracing::info!(%address, port, test = settings.test, "listening");

    http::listener::serve(listener, Portal::new(state.clone()), &lifecycle, files).await;
    let deadline = Instant::now() + SHUTDOWN_DEADLINE;
    state.stop_work().await;
    let work_ends = deadline - CLOSING_TIME;
    let left = lifecycle.shutdown(work_ends.saturating_duration_since(Instant::now())).await;
    if left > 0 {
        tracing::warn!(left, "cut off what did not end in time");
    }
    state.save_readers();
    opened.close(deadline).await;
    tracing::info!("stopped");
    Ok(())
}

/// Prints notices about the settings, even if the log is switched off.
fn tell_notices(settings: &Settings) -> Notices {
    let notices = Notices::default();
    for notice in &settings.notices {
        // Standard error may be closed.
        let _ = writeln!(io::stderr(), "copilot-portal: {notice}");
        notices.add(notice);
    }
    notices
}

/// Keeps processes started by agents from outliving this process, and from reading its memory and
/// environment. On failure the server still serves: some containers refuse such calls.
fn protect_process() {
    #[cfg(unix)]
    if let Err(error) = platform::supervisor::install() {
        tracing::warn!(%error, "programs of agents may outlive the server");
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "programs of agents may read the server's environment");
        }
    }
}

/// Writing a file beyond the limit (`ulimit -f`) fails and raises a signal that would end the
/// process. Handling the signal makes it harmless.
#[cfg_attr(not(unix), expect(clippy::unnecessary_wraps, reason = "there is no such signal"))]
fn ignore_file_size_limit() -> io::Result<()> {
    #[cfg(unix)]
    drop(unix::signal(unix::SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
    Ok(())
}

/// Prompts that waited when the server stopped have their turns now, and questions expire in time.
async fn take_up_waiting(sessions: Arc<SessionManager>, ending: CancellationToken) {
    ending.run_until_cancelled(sessions.take_up_waiting()).await;
}

/// Reads what was decided about the portal. Decisions of earlier versions are taken over once, if
/// they will last.
async fn open_portal_log(
    settings: &Settings,
    live: &Arc<LiveShared>,
    lifecycle: &Lifecycle,
) -> Result<Arc<PortalLog>, StoreError> {
    let portal = PortalLog::open(live.clone(), lifecycle).await?;
    if let Some(data) = &settings.data
        && live.journal().is_lasting()
    {
        PortalTrust(portal.clone()).adopt_file(&data.join(TRUST_FILE)).await;
    }
    Ok(portal)
}

/// The available models, and the manager of sessions with them.
fn start_sessions(
    settings: &Settings,
    repo_root: &Path,
    live: Arc<LiveShared>,
    portal: Arc<PortalLog>,
    lifecycle: &Lifecycle,
) -> Arc<SessionManager> {
    let simulated = Simulated::new(SimulatedSettings {
        first: Duration::from_millis(settings.simulated_first_ms),
        delta: Duration::from_millis(settings.simulated_delta_ms),
        test_models: settings.test,
    });
    let sessions = SessionSettings {
        max_sessions: settings.max_sessions,
        permissions: settings.permissions,
        allowed_roots: settings.allowed_roots.clone(),
        commands: CommandSettings {
            allowed: settings.allow_commands,
            secrets: settings.secret_variables.clone(),
            ..CommandSettings::default()
        },
        extensions: ExtensionSettings {
            trust_store: Some(Arc::new(PortalTrust(portal))),
            ..settings.extensions.clone()
        },
        safeguards: settings.safeguards.clone(),
        fallback: settings.fallback.clone(),
        budget: settings.budgets.sessions,
        attachments: match &settings.store.place {
            StorePlace::Memory => AttachmentStore::default(),
            StorePlace::Sqlite(folder) => AttachmentStore::in_folder(folder),
        },
        ..SessionSettings::new(repo_root)
    };
    let mut backends: Vec<Arc<dyn AgentBackend>> = vec![Arc::new(simulated)];
    for provider in &settings.providers {
        backends.push(Arc::new(OpenAi::new(provider.clone())));
    }
    // Last: what the operator configured comes before what happens to be installed, and must not
    // wait for a process that has to be started first.
    #[cfg(feature = "copilot")]
    if let Some(copilot) = &settings.copilot {
        backends.push(Arc::new(Copilot::new(copilot.clone())));
    }
    let catalog = Catalog::new(backends);
    SessionManager::new(catalog, sessions, live, lifecycle.clone())
}

/// The operator's entry, or else the sample. None in test mode: tests install their own.
async fn install_entry(
    settings: &Settings,
    portal: Arc<PortalLog>,
    sessions: &SessionManager,
) -> Result<Arc<EntryStore>, StartError> {
    let entries = EntryStore::new(portal);
    match &settings.entry {
        Some(file) => entries.install_file(file, Installer::CommandLine, sessions).await?,
        None if settings.test => {}
        None => entries.install_sample(sessions).await?,
    }
    Ok(entries)
}

/// Raises the limit of file handles: every waiting reader holds one, and the default is meant for
/// programs with few. Returns the new limit.
fn raise_file_limit() -> u64 {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(limit) => {
            tracing::debug!(limit, "file handles");
            limit
        }
        Err(error) => {
            tracing::warn!(%error, "can't raise the limit of file handles");
            USUAL_FILE_LIMIT
        }
    }
}

/// Prints the two lines that scripts wait for, and the login URL if a key was generated.
fn announce(settings: &Settings, port: u16) -> io::Result<()> {
    let base = format!("http://localhost:{port}");
    let mut out = io::stdout().lock();
    writeln!(out, "{base}\n{base}/api/stop")?;
    if settings.access_key_generated
        && let Some(key) = &settings.access_key
    {
        writeln!(out, "Log in once with this URL (from elsewhere, put this machine's address):")?;
        writeln!(out, "{base}{}", key.login_path())?;
    }
    out.flush()
}

/// Ctrl-C, SIGTERM and SIGHUP begin the shutdown; a second Ctrl-C exits at once.
///
/// All are handled once this returns. A reader of the start-up lines may send one right away, and
/// an unhandled signal would kill the process.
fn watch_signals(lifecycle: &Lifecycle) -> io::Result<()> {
    let lifecycle = lifecycle.clone();
    #[cfg(unix)]
    let mut interrupt = unix::signal(unix::SignalKind::interrupt())?;
    #[cfg(unix)]
    let mut terminate = unix::signal(unix::SignalKind::terminate())?;
    #[cfg(unix)]
    let mut hang_up =
        if is_hang_up_ignored() { None } else { Some(unix::signal(unix::SignalKind::hangup())?) };
    #[cfg(windows)]
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    // Not tracked by the lifecycle: it must outlive the beginning of the shutdown.
    tokio::spawn(async move {
        #[cfg(unix)]
        let terminated = async {
            match &mut hang_up {
                Some(hang_up) => tokio::select! {
                    _ = terminate.recv() => {}
                    _ = hang_up.recv() => {}
                },
                None => drop(terminate.recv().await),
            }
        };
        #[cfg(windows)]
        let terminated = std::future::pending::<()>();
        tokio::select! {
            _ = interrupt.recv() => tracing::info!("Ctrl-C: stopping, once more to end at once"),
            () = terminated => tracing::info!("terminated: stopping"),
        }
        lifecycle.begin_shutdown();
        if interrupt.recv().await.is_some() {
            std::process::exit(EXIT_INTERRUPTED);
        }
    });
    Ok(())
}

/// Whether this process was started by `nohup`, to outlive its terminal. Known on Linux only.
#[cfg(unix)]
fn is_hang_up_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Signal 1 is the lowest bit.
    ignored.is_some_and(|mask| mask & 1 != 0)
}
