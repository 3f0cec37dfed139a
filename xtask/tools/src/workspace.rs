//! Paths: the repository's root and cargo's target folder.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use crate::process;

/// The workspace that this program belongs to.
pub(crate) struct Workspace {
    /// The root of the repository.
    pub(crate) root: PathBuf,
    /// Cargo's target folder, wherever the user's settings put it.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// Asks cargo for the layout.
    pub(crate) fn find() -> anyhow::Result<Self> {
        // This program belongs to the folder it was compiled in, wherever it is started.
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
        let root = root.context("xtask/tools has no parent folder")?.to_owned();
        let target = metadata(&root, &["--no-deps"])?["target_directory"]
            .as_str()
            .context("no target folder")?
            .into();
        Ok(Self { root, target })
    }

    /// A cargo command that runs in the repository's root.
    pub(crate) fn cargo<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        cargo(&self.root, arguments)
    }

    /// The output of `cargo metadata` for the whole dependency tree.
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
