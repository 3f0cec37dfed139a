//! The stored figures of earlier runs: `xtask/figures.json`. It is committed, so that a change that
//! costs something shows in its own diff.

use std::path::PathBuf;
use std::{fs, io};

use anyhow::Context;
use serde_json::{Map, Value};

use crate::workspace::Workspace;

const FILE: &str = "xtask/figures.json";

/// Figures of earlier runs, by name.
#[derive(Default)]
pub(crate) struct Kept(pub(crate) Map<String, Value>);

impl Kept {
    /// Reads the file in the repository; empty if it does not exist.
    pub(crate) fn read(workspace: &Workspace) -> anyhow::Result<Self> {
        let path = path(workspace);
        match fs::read_to_string(&path) {
            Ok(text) => {
                let figures = serde_json::from_str(&text);
                figures.map(Self).with_context(|| format!("cannot read {}", path.display()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// The value of a figure, if it was kept.
    pub(crate) fn value(&self, figure: &str) -> Option<f64> {
        self.0.get(figure)?["value"].as_f64()
    }

    /// Writes the file.
    pub(crate) fn write(&self, workspace: &Workspace) -> anyhow::Result<()> {
        let path = path(workspace);
        fs::write(&path, format!("{:#}\n", Value::Object(self.0.clone())))
            .with_context(|| format!("cannot write {}", path.display()))?;
        println!("kept in {}", path.display());
        Ok(())
    }
}

fn path(workspace: &Workspace) -> PathBuf {
    workspace.root.join(FILE)
}
