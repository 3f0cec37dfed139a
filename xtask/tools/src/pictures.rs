//! `cargo xtask pictures`: takes the README's screenshots with the quick build.
//!
//! Their content is defined in `end2end/pictures`, which has its own configuration, so that the
//! browser tests skip it.

use std::process::ExitCode;

use crate::browser;
use crate::product::{self, Kind};
use crate::workspace::Workspace;

/// The folder of the scripts, below `end2end`.
const SCRIPTS: &str = "pictures";

/// Builds what is out of date, and writes `docs/pictures`.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<ExitCode> {
    let product = product::build(workspace, Kind::Quick)?;
    let site = product.environment();
    let site = site.as_ref().map(|(name, folder)| (*name, folder.as_os_str()));
    let server = [("PORTAL_BINARY", product.binary.as_os_str())];
    browser::install(workspace)?.run(SCRIPTS, &[], site.into_iter().chain(server))?;
    println!("{}", workspace.root.join("docs/pictures").display());
    Ok(ExitCode::SUCCESS)
}
