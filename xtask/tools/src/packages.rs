//! Installs third-party packages: from npm, and from Debian where we may.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use anyhow::Context;

use crate::process;

/// Installs what a folder's lock file lists, unless it is up to date.
pub(crate) fn install_by_npm(folder: &Path) -> anyhow::Result<()> {
    if is_installed(folder) {
        return Ok(());
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let arguments = ["ci", "--no-audit", "--no-fund"];
    process::run(process::command(npm).args(arguments).current_dir(folder))
        .context("the tests need Node.js with npm")
}

/// Whether `node_modules` is as new as the lock file; npm leaves its own lock file there.
fn is_installed(folder: &Path) -> bool {
    let date = |path: &str| fs::metadata(folder.join(path)).and_then(|data| data.modified()).ok();
    is_newer(date("node_modules/.package-lock.json"), date("package-lock.json"))
}

fn is_newer(installed: Option<SystemTime>, wanted: Option<SystemTime>) -> bool {
    installed.is_some_and(|installed| wanted.is_some_and(|wanted| installed >= wanted))
}

/// Whether this is a Debian system on which we may install packages.
pub(crate) fn may_use_apt() -> bool {
    cfg!(target_os = "linux")
        && process::succeeds(Command::new("apt-get").arg("--version"))
        && process::capture(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

pub(crate) fn install_by_apt(packages: &[&str]) -> anyhow::Result<()> {
    let apt = |arguments: &[&str]| {
        let mut command = process::command("apt-get");
        process::run(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update"])?;
    apt(&[&["install", "-y", "--no-install-recommends"], packages].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn packages_are_installed_again_for_a_newer_lock_file() {
        let old = SystemTime::UNIX_EPOCH;
        let new = old + Duration::from_secs(1);
        assert!(is_newer(Some(new), Some(old)));
        assert!(is_newer(Some(old), Some(old)));
        assert!(!is_newer(Some(old), Some(new)));
        assert!(!is_newer(None, Some(new)));
    }
}
