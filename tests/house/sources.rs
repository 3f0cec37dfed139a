//! The crates of the workspace, as their manifests describe them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::modules::Modules;

/// A crate of the workspace.
pub(crate) struct Package {
    pub(crate) name: String,
    /// Names of the crates it is built with, without those that only its tests use.
    pub(crate) dependencies: BTreeSet<String>,
    folder: PathBuf,
}

impl Package {
    /// All crates that the workspace lists.
    pub(crate) fn all() -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let manifest = read(&root.join("Cargo.toml"));
        let members = manifest.lines().find_map(|line| line.strip_prefix("members = "));
        let members = members.expect("the workspace lists its members").trim_matches(['[', ']']);
        let folders = members.split(", ").map(|member| root.join(member.trim_matches('"')));
        folders.map(Self::read).collect()
    }

    fn read(folder: PathBuf) -> Self {
        let manifest = read(&folder.join("Cargo.toml"));
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = "));
        let name = name.expect("a package has a name").trim_matches('"').to_owned();
        let mut dependencies = BTreeSet::new();
        let mut counts = false;
        for line in manifest.lines() {
            if line.starts_with('[') {
                counts = line.ends_with("dependencies]") && !line.contains("dev-dependencies");
            } else if let Some(end) = line.find(['.', ' ']).filter(|_| counts) {
                dependencies.insert(line[..end].to_owned());
            }
        }
        Self { name, dependencies, folder }
    }

    /// The modules of its library.
    pub(crate) fn modules(&self) -> Modules {
        Modules::read(&self.folder.join("src"))
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
