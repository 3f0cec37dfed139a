//! The modules of a crate as text, and which of their siblings each uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The children of one module, and which of their siblings each uses.
pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

/// The names that lead to a module from the root of its crate, which itself has none.
type ModulePath = Vec<String>;

/// The modules of a crate, with the paths that each names.
pub(crate) struct Modules {
    named: BTreeMap<ModulePath, Vec<Vec<String>>>,
    /// By module: names of its children that it imports, and the module that each comes from.
    imported: BTreeMap<ModulePath, BTreeMap<String, ModulePath>>,
}

impl Modules {
    /// Reads all files below the folder of `lib.rs`. Binaries are left out.
    pub(crate) fn read(source: &Path) -> Self {
        let mut named = BTreeMap::new();
        read_folder(source, &[], &mut named);
        let imports = |(module, paths): (&ModulePath, &Vec<Vec<String>>)| {
            let from_child = paths.iter().filter_map(|path| {
                let (name, from) = path.split_last()?;
                let child = child(module, from.first()?);
                let from = [&**module, from].concat();
                named.contains_key(&child).then(|| (name.clone(), from))
            });
            (module.clone(), from_child.collect())
        };
        let imported = named.iter().map(imports).collect();
        Self { named, imported }
    }

    /// The graphs of all modules that have children, by `a::b`; that of the root by an empty text.
    pub(crate) fn graphs(&self) -> BTreeMap<String, Graph> {
        let mut graphs: BTreeMap<String, Graph> = BTreeMap::new();
        for (module, paths) in &self.named {
            for used in paths.iter().filter_map(|path| self.resolve(module, path)) {
                let pairs = module.iter().zip(&used);
                let common = pairs.take_while(|(one, other)| one == other).count();
                if let (Some(from), Some(to)) = (module.get(common), used.get(common)) {
                    let graph = graphs.entry(module[..common].join("::")).or_default();
                    graph.entry(from.clone()).or_default().insert(to.clone());
                }
            }
        }
        graphs
    }

    /// The module of what a path beginning with `crate` or `super` names in `module`.
    fn resolve(&self, module: &[String], path: &[String]) -> Option<ModulePath> {
        let supers = path.iter().take_while(|name| *name == "super").count();
        let (mut at, mut rest) = match path.first()?.as_str() {
            "crate" => (ModulePath::new(), &path[1..]),
            "super" => (module[..module.len().saturating_sub(supers)].to_vec(), &path[supers..]),
            _ => return None,
        };
        while let Some(name) = rest.first() {
            let child = child(&at, name);
            if self.named.contains_key(&child) {
                at = child;
                rest = &rest[1..];
            } else if let Some(from) = self.imported.get(&at).and_then(|names| names.get(name)) {
                // Its children are longer paths, so this ends.
                at = self.nearest(from);
            } else {
                break;
            }
        }
        Some(at)
    }

    /// The module that a path leads to, without names of types at its end.
    fn nearest(&self, path: &[String]) -> ModulePath {
        let lengths = (0..=path.len()).rev();
        let mut modules = lengths.map(|length| path[..length].to_vec());
        modules.find(|module| self.named.contains_key(module)).unwrap_or_default()
    }
}

fn child(module: &[String], name: &str) -> ModulePath {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

fn read_folder(
    folder: &Path,
    module: &[String],
    named: &mut BTreeMap<ModulePath, Vec<Vec<String>>>,
) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        if path.is_dir() {
            read_folder(&path, &child(module, name), named);
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "main" {
            let module = if name == "lib" { Vec::new() } else { child(module, name) };
            let text = fs::read_to_string(&path).expect("a source file");
            named.insert(module, named_paths(&text));
        }
    }
}

/// All paths in `use` statements, and those elsewhere that begin with `crate` or `super`. Without
/// comments and inline tests, in which `super` means the file's own module.
fn named_paths(text: &str) -> Vec<Vec<String>> {
    let text = text.split("\nmod tests {").next().unwrap_or_default();
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut paths = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(first) = use_tree(line) {
            let mut tree = first.to_owned();
            while !tree.ends_with(';') {
                let Some(line) = lines.next() else { break };
                tree.push_str(line.trim());
            }
            paths.extend(expand(tree.trim_end_matches(';')));
        } else {
            paths.extend(inline_paths(line));
        }
    }
    paths
}

/// What follows `use` in a line that begins with it.
fn use_tree(line: &str) -> Option<&str> {
    let line = line.trim();
    let private = line.strip_prefix("pub").map_or(line, |rest| match rest.split_once(") ") {
        Some((_, rest)) if line.starts_with("pub(") => rest,
        _ => rest.trim_start(),
    });
    private.strip_prefix("use ")
}

/// `a::{b, c::d}` as `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<Vec<String>> {
    let Some((head, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        let names = path.split("::").map(|name| name.trim().to_owned());
        return vec![names.filter(|name| !name.is_empty()).collect()];
    };
    let head: Vec<String> =
        head.split("::").filter(|name| !name.trim().is_empty()).map(str::to_owned).collect();
    let body = rest.rsplit_once('}').map_or(rest, |(body, _)| body);
    let mut depth = 0_usize;
    let branches = body.split(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    branches
        .flat_map(|branch| expand(branch.trim()))
        .filter(|path| !path.is_empty())
        .map(|path| [&*head, &path].concat())
        .collect()
}

fn inline_paths(line: &str) -> Vec<Vec<String>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = line.split(|c: char| !is_part(c));
    let begins = |word: &&str| word.starts_with("crate::") || word.starts_with("super::");
    words.filter(begins).map(|word| word.split("::").map(str::to_owned).collect()).collect()
}

/// A circle, if there is one, as `a → b → a`.
pub(crate) fn find_circle(graph: &Graph) -> Option<String> {
    graph.keys().find_map(|start| {
        let mut path = vec![start.clone()];
        leads_back(graph, start, &mut path).then(|| path.join(" → "))
    })
}

/// Whether `path` can be continued to its start; if so, it is.
fn leads_back(graph: &Graph, start: &str, path: &mut Vec<String>) -> bool {
    let here = path.last().cloned().unwrap_or_default();
    for next in graph.get(&here).into_iter().flatten() {
        if next == start {
            path.push(next.clone());
            return true;
        }
        if path.contains(next) {
            continue;
        }
        path.push(next.clone());
        if leads_back(graph, start, path) {
            return true;
        }
        path.pop();
    }
    false
}
