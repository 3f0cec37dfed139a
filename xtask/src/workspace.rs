//! Where things are: the repository's root, cargo's target folder and the member crates.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use crate::process;

/// The workspace that this program belongs to.
pub(crate) struct Workspace {
    /// The repository's root.
    pub(crate) root: PathBuf,
    /// Cargo's target folder, wherever the user's settings put it.
    pub(crate) target: PathBuf,
    /// The crates a plain `cargo test` covers.
    pub(crate) default_members: Vec<String>,
}

impl Workspace {
    /// Asks cargo for the layout.
    pub(crate) fn find() -> anyhow::Result<Self> {
        // Set by `cargo run`; the compiled-in path serves a binary that is started by hand.
        let manifest =
            env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&manifest).parent().context("xtask has no parent folder")?.to_owned();
        let metadata = metadata(&root, &["--no-deps"])?;
        let target = metadata["target_directory"].as_str().context("no target folder")?.into();
        Ok(Self { root, target, default_members: default_members(&metadata) })
    }

    /// A cargo command that runs in the repository's root.
    pub(crate) fn cargo<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        cargo(&self.root, arguments)
    }

    /// Everything `cargo metadata` knows about the whole dependency tree.
    pub(crate) fn dependencies(&self) -> anyhow::Result<Value> {
        metadata(&self.root, &["--all-features"])
    }
}

fn cargo<'a>(root: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = process::command(program);
    command.args(arguments).current_dir(root);
    command
}

fn metadata(root: &Path, options: &[&str]) -> anyhow::Result<Value> {
    let mut command = cargo(root, ["metadata", "--format-version", "1"]);
    let text = process::capture(command.args(options))?;
    serde_json::from_str(&text).context("cannot read what `cargo metadata` says")
}

fn default_members(metadata: &Value) -> Vec<String> {
    let ids: Vec<&Value> =
        metadata["workspace_default_members"].as_array().into_iter().flatten().collect();
    metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|package| ids.contains(&&package["id"]))
        .filter_map(|package| package["name"].as_str().map(str::to_owned))
        .collect()
}
