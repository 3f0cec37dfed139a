//! The workspace as text: manifests, and the paths that modules name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of a crate, and which of their siblings each uses.
pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

/// A crate of the workspace.
pub(crate) struct Package {
    /// As its manifest says.
    pub(crate) name: String,
    /// What it is built with, tests aside.
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

    /// The modules at the root of the crate. What the root re-exports belongs to the module that it
    /// comes from.
    pub(crate) fn modules(&self) -> Graph {
        let source = self.folder.join("src");
        let root = read(&source.join("lib.rs"));
        let names: BTreeSet<String> = declared_modules(&root).collect();
        let exports = re_exports(&root);
        let mut graph = Graph::new();
        for name in &names {
            let mut used = BTreeSet::new();
            for file in files_of(&source, name) {
                for path in paths_from_root(&read(&file)) {
                    let module = exports.get(&path).unwrap_or(&path);
                    if names.contains(module) && module != name {
                        used.insert(module.clone());
                    }
                }
            }
            graph.insert(name.clone(), used);
        }
        graph.entry("lib".to_owned()).or_default();
        graph
    }
}

/// A circle, if there is one, as `a → b → a`.
pub(crate) fn find_circle(graph: &Graph) -> Option<String> {
    graph.keys().find_map(|start| {
        let mut way = vec![start.clone()];
        leads_back(graph, start, &mut way).then(|| way.join(" → "))
    })
}

/// Whether a way leads back to its start; if so, `way` is that way.
fn leads_back(graph: &Graph, start: &str, way: &mut Vec<String>) -> bool {
    let here = way.last().cloned().unwrap_or_default();
    for next in graph.get(&here).into_iter().flatten() {
        if next == start {
            way.push(next.clone());
            return true;
        }
        if way.contains(next) {
            continue;
        }
        way.push(next.clone());
        if leads_back(graph, start, way) {
            return true;
        }
        way.pop();
    }
    false
}

fn declared_modules(root: &str) -> impl Iterator<Item = String> {
    root.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    })
}

/// Names of the root, and the module each comes from.
fn re_exports(root: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for statement in root.split(';').filter_map(|text| text.rsplit_once("pub use ")) {
        let Some((module, names)) = statement.1.split_once("::") else { continue };
        for name in names.trim_matches(['{', '}']).split(',') {
            let name = name.trim().trim_matches(['{', '}', '\n']);
            exports.insert(name.trim().to_owned(), module.to_owned());
        }
    }
    exports
}

/// A module's own file and those below it.
fn files_of(source: &Path, name: &str) -> Vec<PathBuf> {
    let mut files = vec![source.join(format!("{name}.rs"))];
    let mut folders = vec![source.join(name)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

/// What follows `crate::` wherever it stands, comments aside.
fn paths_from_root(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut paths = BTreeSet::new();
    for line in lines {
        for (start, _) in line.match_indices("crate::") {
            let rest = line[start + "crate::".len()..].trim_start_matches('{');
            let names = if line[start..].starts_with("crate::{") {
                rest.split(", ").collect()
            } else {
                vec![rest]
            };
            for name in names {
                let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
                paths.insert(name[..end.unwrap_or(name.len())].to_owned());
            }
        }
    }
    paths
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
