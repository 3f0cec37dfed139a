//! Settings that change while the server runs: those of the bridge.
//!
//! The configuration file is looked at once a second. A file with a mistake changes nothing; what is
//! wrong is logged.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::bridge::{Bridge, BridgeSettings};
use engine::lifecycle::Lifecycle;

use crate::config::{ConfigError, Origin};

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Keeps the bridge's settings as the file says, until the server ends.
pub fn watch(origin: Origin, bridge: Arc<Bridge>, lifecycle: &Lifecycle) {
    let ending = lifecycle.token();
    let mut watched = Watched::new(origin);
    lifecycle.spawn(async move {
        while ending.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
            let bridge = Arc::clone(&bridge);
            let looked = tokio::task::spawn_blocking(move || {
                match watched.look() {
                    Some(Ok(settings)) => {
                        bridge.set_settings(settings);
                        tracing::info!("the settings of agents and workspaces are read again");
                    }
                    Some(Err(error)) => {
                        tracing::error!(%error, "the settings stay as they were");
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

/// A configuration file, and what it held.
struct Watched {
    origin: Origin,
    held: Option<Vec<u8>>,
}

impl Watched {
    fn new(origin: Origin) -> Self {
        let held = std::fs::read(origin.file()).ok();
        Self { origin, held }
    }

    /// The settings, if the file changed. It is small, so its content is compared: times of files
    /// are too coarse.
    fn look(&mut self) -> Option<Result<BridgeSettings, ConfigError>> {
        let file: PathBuf = self.origin.file();
        let holds = std::fs::read(file).ok();
        if holds == self.held {
            return None;
        }
        self.held = holds;
        Some(self.origin.read_again().map(|settings| settings.bridge))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::{self, Request};

    #[test]
    fn a_file_that_changes_is_read_again_and_mistakes_are_reported() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let file = folder.path().join("portal.toml");
        let Ok(Request::Run(settings)) =
            config::read(["--agent-max-steps".into(), "7".into()], folder.path())
        else {
            panic!("defaults");
        };
        let mut watched = Watched::new(settings.origin);
        assert!(watched.look().is_none(), "no file, as before");

        fs::write(&file, "[agent]\nprefix = 'go:'\nmaxSteps = 3\n").expect("file");
        let settings = watched.look().expect("changed").expect("valid");
        assert_eq!((&*settings.agent.prefix, settings.agent.max_steps), ("go:", 7));
        assert!(watched.look().is_none());

        fs::write(&file, "[agent]\nprefix = 1\n").expect("file");
        let error = watched.look().expect("changed").expect_err("a mistake").to_string();
        assert!(error.contains("portal.toml:2: "), "{error}");
        assert!(watched.look().is_none(), "a mistake is reported once");

        fs::remove_file(&file).expect("file");
        let settings = watched.look().expect("changed").expect("defaults");
        assert_eq!(settings.agent.prefix, "agent:");
    }
}
