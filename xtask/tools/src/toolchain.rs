//! The Rust toolchain: installs what is missing, or says what to do.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::process;
use crate::workspace::Workspace;

/// The compilation target of the browser side.
pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// Makes sure that crates can be compiled for the browser.
pub(crate) fn ensure_wasm_target(workspace: &Workspace) -> anyhow::Result<()> {
    // `rust-toolchain.toml` names the target, but rustup may be configured not to install it.
    let mut ask = process::command("rustc");
    ask.args(["--print", "target-libdir", "--target", WASM_TARGET]).current_dir(&workspace.root);
    let folder = process::capture(&mut ask)?;
    if Path::new(folder.trim()).is_dir() {
        return Ok(());
    }
    rustup(workspace, &["target", "add", WASM_TARGET])
        .with_context(|| format!("the target {WASM_TARGET} is missing"))
}

/// Makes sure that the formatter and the linter are installed.
pub(crate) fn ensure_components(workspace: &Workspace) -> anyhow::Result<()> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !process::succeeds(&mut workspace.cargo([subcommand, "--version"])) {
            rustup(workspace, &["component", "add", component])
                .with_context(|| format!("the component {component} is missing"))?;
        }
    }
    Ok(())
}

fn rustup(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<()> {
    if !process::succeeds(Command::new("rustup").arg("--version")) {
        bail!("there is no rustup to add it with; install it by other means, or rustup");
    }
    process::run(process::command("rustup").args(arguments).current_dir(&workspace.root))
}
