//! Playwright: its installation, the browser tests, and how many of them passed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, bail};
use serde_json::Value;
use xtask::report::Counts;

use crate::workspace::Workspace;
use crate::{packages, process};

const PLAYWRIGHT: &str = "node_modules/@playwright/test/cli.js";

/// Playwright and a browser, ready to run.
pub(crate) struct Browser {
    folder: PathBuf,
    report: PathBuf,
    /// `None` means the browser that Playwright downloads.
    chromium: Option<PathBuf>,
}

/// Installs what is missing.
pub(crate) fn install(workspace: &Workspace) -> anyhow::Result<Browser> {
    let folder = workspace.root.join("end2end");
    if !process::succeeds(Command::new("node").arg("--version")) {
        bail!("the browser tests need Node.js; install it, or pass --no-browser");
    }
    packages::install_by_npm(&folder)?;
    let chromium = match find_chromium()? {
        Some(chromium) => Some(chromium),
        None => install_chromium(&folder)?,
    };
    Ok(Browser { folder, report: workspace.target.join("browser-tests.json"), chromium })
}

impl Browser {
    /// Runs the tests (all, or those of some files) with additional environment variables, which
    /// tell them the server.
    pub(crate) fn test<'a>(
        &self,
        files: &[&str],
        server: impl IntoIterator<Item = (&'a str, &'a OsStr)>,
    ) -> anyhow::Result<Counts> {
        // The report of an earlier run must not be counted.
        let _ = fs::remove_file(&self.report);
        let mut command = self.playwright();
        command.arg("--reporter=list,json").args(files);
        command.env("PLAYWRIGHT_JSON_OUTPUT_NAME", &self.report).envs(server);
        let status = command.status().context("cannot start node")?;
        let report = fs::read_to_string(&self.report).unwrap_or_default();
        Ok(counts(&report, status.success()))
    }

    /// Runs what is in a folder of `end2end` that has its own configuration: everything, or the
    /// files whose paths contain one of these words.
    pub(crate) fn run<'a>(
        &self,
        folder: &str,
        files: &[&str],
        server: impl IntoIterator<Item = (&'a str, &'a OsStr)>,
    ) -> anyhow::Result<()> {
        let mut command = self.playwright();
        let files = files.iter().filter(|word| !word.is_empty());
        process::run(command.args(["--config", folder]).args(files).envs(server))
    }

    /// `playwright test` with the browser that was found.
    fn playwright(&self) -> Command {
        let mut command = process::command("node");
        command.args([PLAYWRIGHT, "test"]).current_dir(&self.folder);
        if let Some(chromium) = &self.chromium {
            command.env("CHROMIUM_PATH", chromium);
        }
        command
    }
}

/// The counts in Playwright's report. A run that failed without a failed test counts as one
/// failure.
fn counts(report: &str, succeeded: bool) -> Counts {
    let report: Value = serde_json::from_str(report).unwrap_or_default();
    let stat = |name: &str| report["stats"][name].as_u64().unwrap_or(0);
    let passed = stat("expected") + stat("flaky");
    let failed = stat("unexpected");
    let is_lost = failed == 0 && (!succeeded || passed == 0);
    Counts { passed, failed: if is_lost { 1 } else { failed } }
}

fn find_chromium() -> anyhow::Result<Option<PathBuf>> {
    if let Some(path) = env::var_os("CHROMIUM_PATH").filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        if !path.is_file() {
            bail!("CHROMIUM_PATH names no file: {}", path.display());
        }
        return Ok(Some(path));
    }
    // The headless shell first: it draws no window, and takes half the time for the same tests.
    let fixed = ["chromium-headless-shell", "chromium", "chromium-browser"]
        .map(|name| PathBuf::from(format!("/usr/bin/{name}")));
    let applications = ["Google Chrome", "Chromium"]
        .map(|name| PathBuf::from(format!("/Applications/{name}.app/Contents/MacOS/{name}")));
    let folders: Vec<PathBuf> =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    let on_path = ["google-chrome", "google-chrome-stable", "chromium", "chrome.exe"]
        .into_iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    Ok(fixed.into_iter().chain(on_path).chain(applications).find(|path| path.is_file()))
}

/// Debian's browser where we may install packages, else the one that Playwright downloads.
fn install_chromium(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    if packages::may_use_apt() {
        for name in ["chromium-headless-shell", "chromium"] {
            // Without a font, pages show no text and boxes have no height.
            let installed = packages::install_by_apt(&[name, "fonts-dejavu-core"]);
            if let (Ok(()), Some(chromium)) = (installed, find_chromium()?) {
                return Ok(Some(chromium));
            }
        }
    }
    let mut command = process::command("node");
    process::run(command.args([PLAYWRIGHT, "install", "chromium"]).current_dir(folder))
        .context("no Chromium found; install one, or name it in CHROMIUM_PATH")?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_counted() {
        let report = |expected, unexpected| {
            format!(
                r#"{{"stats":{{"expected":{expected},"skipped":2,
                    "unexpected":{unexpected},"flaky":1}}}}"#
            )
        };
        let cases = [
            (report(5, 0), true, 6, 0),
            (report(5, 2), false, 6, 2),
            (report(5, 0), false, 6, 1),
            (String::new(), false, 0, 1),
            (String::new(), true, 0, 1),
        ];
        for (report, succeeded, passed, failed) in cases {
            assert_eq!(counts(&report, succeeded), Counts { passed, failed }, "{report}");
        }
    }
}
