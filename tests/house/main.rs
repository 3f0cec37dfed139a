//! The house stands: crates and modules depend on each other in one direction only.
//!
//! What a crate may use is written down here, so that a new door is a decision. Within a crate the
//! modules must not form a circle; which of them stands above which is up to the code.

mod sources;

use std::collections::{BTreeMap, BTreeSet};

use sources::{Graph, Package, find_circle};

/// Which of our crates each of them may use besides `wire`, which all may. Tests may use any.
const DOORS: [(&str, &[&str]); 10] = [
    ("wire", &[]),
    ("platform", &[]),
    ("store", &["platform"]),
    ("agents", &["platform"]),
    ("copilot", &["agents", "platform"]),
    ("extensions", &["agents", "platform"]),
    ("engine", &["agents", "extensions", "platform", "store"]),
    ("app", &[]),
    ("frontend", &["app"]),
    ("server", &["agents", "app", "copilot", "engine", "extensions", "platform", "store"]),
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
fn no_modules_of_a_crate_depend_on_each_other_in_a_circle() {
    for (name, _) in DOORS {
        let packages = Package::all();
        let package = packages.iter().find(|package| package.name == name).expect(name);
        let graph = package.modules();
        assert!(!graph.is_empty(), "{name} has modules or at least a root");
        assert_eq!(find_circle(&graph), None, "in {name}");
    }
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
