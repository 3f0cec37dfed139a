//! `cargo xtask pictures`: takes the README's screenshots of the quick build.
//!
//! What is on them is in `end2end/pictures`. It has a configuration of its own, so that the browser
//! tests leave it out.

use std::process::ExitCode;

use crate::browser;
use crate::product::{self, Kind};
use crate::workspace::Workspace;

/// The folder of the scripts, below `end2end`.
const SCRIPTS: &str = "pictures";

/// Builds what is not up to date, and writes `docs/pictures`.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<ExitCode> {
    let product = product::build(workspace, Kind::Quick)?;
    let site = product.environment();
    let site = site.as_ref().map(|(name, folder)| (*name, folder.as_os_str()));
    let server = [("PORTAL_BINARY", product.binary.as_os_str())];
    browser::install(workspace)?.run(SCRIPTS, site.into_iter().chain(server))?;
    println!("{}", workspace.root.join("docs/pictures").display());
    Ok(ExitCode::SUCCESS)
}
