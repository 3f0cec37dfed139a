//! Settings that change while the server runs: rights are taken away at once, and never given.
//!
//! The configuration files are checked once a second. A file with a mistake changes nothing; the
//! mistake is logged. Changes that widen rights wait for a restart, which is announced: the author
//! of the change may be an agent.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::bridge::{Bridge, BridgeSettings};
use engine::job::JobManager;
use engine::session::{SessionManager, SessionRights};
use engine::task::TaskManager;
use platform::lifecycle::Lifecycle;

use crate::config::{ConfigError, Origin, Settings};
use crate::notices::Notices;

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The parts whose rights are narrowed.
pub struct Governed {
    /// Narrows the rights of runs.
    pub bridge: Arc<Bridge>,
    /// Narrows the rights of sessions.
    pub sessions: Arc<SessionManager>,
    /// Narrows the budget of tasks.
    pub tasks: Arc<TaskManager>,
    /// Narrows the rights of jobs.
    pub jobs: Arc<JobManager>,
    /// Tells people that a restart is needed.
    pub notices: Notices,
}

impl Governed {
    /// Takes away what the settings no longer grant. Reads files.
    fn narrow(&self, settings: &Settings) {
        let bridge = narrow_bridge(&self.bridge.settings(), &settings.bridge);
        let rights = SessionRights {
            permissions: settings.permissions,
            allowed_roots: settings.allowed_roots.clone(),
            allow_commands: settings.allow_commands,
            budget: settings.budgets.sessions,
        };
        self.sessions.policy().narrow(&rights);
        self.tasks.narrow(settings.budgets.tasks);
        self.jobs.narrow(settings.job_permissions, settings.budgets.jobs);
        self.bridge.set_settings(bridge);
    }
}

/// Besides narrowed rights, models and the prefix are taken over: they come from a file that grants
/// rights.
fn narrow_bridge(now: &BridgeSettings, wanted: &BridgeSettings) -> BridgeSettings {
    let mut narrowed = now.narrowed_by(wanted);
    for folder in &mut narrowed.workspaces {
        if let Some(wanted) = wanted.workspaces.iter().find(|it| it.path == folder.path) {
            folder.model.clone_from(&wanted.model);
        }
    }
    narrowed
}

/// Follows the files until the server ends.
pub fn watch(origin: Origin, governed: Governed, lifecycle: &Lifecycle) {
    let ending = lifecycle.token();
    let mut watched = Watched::new(origin);
    let governed = Arc::new(governed);
    lifecycle.spawn(async move {
        while ending.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
            let governed = Arc::clone(&governed);
            let looked = tokio::task::spawn_blocking(move || {
                match watched.look() {
                    Some(Ok(settings)) => {
                        governed.narrow(&settings);
                        governed.notices.add(RESTART_NEEDED);
                    }
                    Some(Err(error)) => {
                        tracing::error!(%error, "invalid settings file, keeping the current settings");
                    }
                    None => {}
                }
                watched
            });
            match looked.await {
                Ok(again) => watched = again,
                Err(error) => {
                    tracing::error!(%error, "reading the settings again has crashed");
                    return;
                }
            }
        }
    });
}

const RESTART_NEEDED: &str = "The settings file has changed since the start. What takes rights away \
                              counts already; everything else needs a restart of the server.";

/// The configuration files, and their last known content.
struct Watched {
    origin: Origin,
    held: Vec<Option<Vec<u8>>>,
}

impl Watched {
    fn new(origin: Origin) -> Self {
        let held = contents(&origin);
        Self { origin, held }
    }

    /// The settings, if a file has changed. The files are small, so their contents are compared:
    /// modification times are too coarse.
    fn look(&mut self) -> Option<Result<Settings, ConfigError>> {
        let hold = contents(&self.origin);
        if hold == self.held {
            return None;
        }
        self.held = hold;
        Some(self.origin.read_again())
    }
}

fn contents(origin: &Origin) -> Vec<Option<Vec<u8>>> {
    let files: Vec<PathBuf> = origin.files();
    files.into_iter().map(|file| std::fs::read(file).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::{self, Request};

    #[test]
    fn files_that_change_are_read_again_and_mistakes_are_reported() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let found = folder.path().join("portal.toml");
        let file = folder.path().join("own.toml");
        fs::write(&file, "").expect("file");
        let arguments = ["--agent-max-steps", "7", "--config", "own.toml"];
        let arguments = arguments.into_iter().map(Into::into);
        let Ok(Request::Run(settings)) = config::read_with(arguments, folder.path(), None) else {
            panic!("defaults");
        };
        let mut watched = Watched::new(settings.origin);
        assert!(watched.look().is_none(), "as before");

        fs::write(&file, "[agent]\nprefix = 'go:'\nmaxSteps = 3\n").expect("file");
        let agent = watched.look().expect("changed").expect("valid").bridge.agent;
        assert_eq!((&*agent.prefix, agent.max_steps), ("go:", 7));
        assert!(watched.look().is_none());

        fs::write(&found, "[agent]\nprefix = 'no:'\nmaxSteps = 3\n").expect("file");
        let agent = watched.look().expect("changed").expect("valid").bridge.agent;
        assert_eq!((&*agent.prefix, agent.max_steps), ("go:", 3), "it can only narrow");

        fs::write(&file, "[agent]\nprefix = 1\n").expect("file");
        let error = watched.look().expect("changed").expect_err("a mistake").to_string();
        assert!(error.contains("own.toml:2: "), "{error}");
        assert!(watched.look().is_none(), "a mistake is reported once");

        fs::remove_file(&found).expect("file");
        fs::write(&file, "").expect("file");
        let agent = watched.look().expect("changed").expect("defaults").bridge.agent;
        assert_eq!(agent.prefix, "agent:");
    }
}
