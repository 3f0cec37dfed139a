//! Crates and modules depend on each other in one direction only.
//!
//! The dependencies between crates are listed here, so that a new one is a deliberate decision.
//! Within a crate the children of a module must not form a circle; their order is up to the code.
//! A module and its own children may use each other.

mod modules;
mod sources;

use std::collections::{BTreeMap, BTreeSet};

use modules::{Graph, Modules, find_circle};
use sources::Package;

/// Which crates of the workspace each of them may use besides `wire`, which all may. Tests may use
/// any.
const DOORS: [(&str, &[&str]); 13] = [
    ("json-derive", &[]),
    ("wire", &["json-derive"]),
    ("platform", &[]),
    ("store", &["platform"]),
    ("agents", &["platform"]),
    ("copilot", &["agents", "platform"]),
    ("extensions", &["agents", "platform"]),
    ("engine", &["agents", "extensions", "platform", "store"]),
    ("markdown", &[]),
    ("markup", &[]),
    ("app", &["markdown", "markup"]),
    ("frontend", &["app"]),
    (
        "server",
        &["agents", "app", "copilot", "engine", "extensions", "markdown", "platform", "store"],
    ),
];

/// Uses that close a circle and are still to be removed: crate, parent, module, and what it uses.
const KNOWN_CIRCLES: [(&str, &str, &str, &str); 3] = [
    // Responses become JSON while they are written, and read the log through the call's source.
    ("store", "live", "delivery", "call"),
    // A stream writes to its outlet, whose port lets extensions write to the stream.
    ("engine", "session", "outlet", "stream"),
    // The manager keeps the policy that is made from its settings.
    ("engine", "session", "rights", "manager"),
];

#[test]
fn crates_use_each_other_as_drawn_and_no_further() {
    let packages = Package::all();
    let names: BTreeSet<&str> = packages.iter().map(|package| &*package.name).collect();
    for (name, allowed) in DOORS {
        let package = packages.iter().find(|package| package.name == name).expect(name);
        let allowed: BTreeSet<&str> = allowed.iter().copied().chain(["wire"]).collect();
        let used = package.dependencies.iter().map(String::as_str);
        let further: Vec<_> =
            used.filter(|used| names.contains(used) && !allowed.contains(used)).collect();
        assert_eq!(further, [""; 0], "{name} must not depend on these");
    }
}

#[test]
fn only_one_crate_compiles_the_copilot_sdk() {
    let with_sdk: Vec<_> = Package::all()
        .into_iter()
        .filter(|package| package.dependencies.contains("github-copilot-sdk"))
        .map(|package| package.name)
        .collect();
    assert_eq!(with_sdk, ["copilot"]);
}

#[test]
fn no_sibling_modules_depend_on_each_other_in_a_circle() {
    let packages = Package::all();
    let mut unused: BTreeSet<_> = KNOWN_CIRCLES.iter().collect();
    for (name, _) in DOORS {
        let package = packages.iter().find(|package| package.name == name).expect(name);
        for (parent, mut graph) in package.modules().graphs() {
            for known in KNOWN_CIRCLES.iter().filter(|known| (known.0, known.1) == (name, &*parent))
            {
                let used = graph.get_mut(known.2).is_some_and(|uses| uses.remove(known.3));
                if used {
                    unused.remove(known);
                }
            }
            assert_eq!(find_circle(&graph), None, "in {name}::{parent}");
        }
    }
    assert_eq!(unused, BTreeSet::new(), "these are gone: remove them from the list");
}

#[test]
fn circles_are_found() {
    let graph = |edges: &[(&str, &[&str])]| -> Graph {
        let module = |(from, to): &(&str, &[&str])| {
            ((*from).to_owned(), to.iter().map(|name| (*name).to_owned()).collect())
        };
        edges.iter().map(module).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(find_circle(&graph(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])), None);
    let circle = find_circle(&graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])]));
    assert_eq!(circle.as_deref(), Some("b → c → b"));
}

#[test]
fn circles_below_the_root_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    };
    write("lib.rs", "mod a;\nmod d;\npub use a::{b::B, c};\n");
    write("a.rs", "mod b;\npub mod c;\nuse b::B;\n");
    write("a/b.rs", "// use super::missing;\nuse super::{\n    c::{C, D},\n};\npub struct B;\n");
    write("a/c.rs", "mod deep;\npub struct C;\n");
    write("a/c/deep.rs", "fn make() -> crate::B { super::super::B }\n");
    write("d.rs", "use crate::c::C;\nmod tests {\n    use super::super::a;\n}\n");
    let graphs = Modules::read(folder.path()).graphs();
    assert_eq!(graphs.keys().collect::<Vec<_>>(), ["", "a"]);
    assert_eq!(find_circle(&graphs[""]), None);
    assert!(graphs[""]["d"].contains("a"));
    assert_eq!(find_circle(&graphs["a"]).as_deref(), Some("b → c → b"));
}
