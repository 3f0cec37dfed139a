//! The parts of a folder that tools may use.

use super::*;

#[test]
fn only_allowed_roots_are_used() {
    let fixture = Fixture::new();
    let workspace = fixture.allowing(&["src", "made/later"]);
    fixture.link("../docs/guide.md", "src/link");
    fixture.link("src", "alias");
    assert_eq!(text(&workspace, "src/main.rs"), "fn main() {}\n");
    assert_eq!(text(&workspace, "docs/../alias/main.rs"), "fn main() {}\n");
    for path in ["README.md", "docs/guide.md", "src/../README.md", "src/link"] {
        let expected = "not in a folder that tools may use";
        assert_refused(&fixture, &workspace, path, expected);
    }
    for path in ["made/new.txt", "other/new.txt", "srcs/new.txt"] {
        assert!(workspace.check_new(path).is_err(), "{path}");
        assert!(workspace.create(path, Path::new(path), b"").is_err(), "{path}");
    }
    assert!(!fixture.root.join("other").exists());
    let path = "made/later/deep/new.txt";
    workspace.create(path, Path::new(path), b"new").expect("allowed");
    let (paths, _) = listed(&workspace);
    assert_eq!(paths, ["made/later/deep/new.txt", "src/main.rs"]);
    assert!(workspace.open_folder(".").is_err());
    assert!(workspace.open_folder("src").is_ok());

    let (paths, _) = listed(&fixture.allowing(&["docs", "*"]));
    assert!(paths.contains(&"README.md".to_owned()));
    let roots = AllowedRoots::Only(vec!["../secret".to_owned()]);
    let outside = Workspace::open(&fixture.root, &roots.into());
    assert!(matches!(outside.expect_err("outside").fault, Fault::Outside));
    // A root that is a link stands for its target when the workspace was opened.
    assert_eq!(text(&fixture.allowing(&["alias"]), "src/main.rs"), "fn main() {}\n");
}

#[test]
fn roots_that_are_taken_away_are_closed_at_once() {
    let fixture = Fixture::new();
    let only =
        |roots: &[&str]| AllowedRoots::Only(roots.iter().map(|&root| root.to_owned()).collect());
    let limit = RootsLimit::default();
    let workspace = Workspace::open(&fixture.root, &limit).expect("a folder");
    assert_eq!(text(&workspace, "docs/guide.md"), text(&fixture.workspace(), "docs/guide.md"));
    limit.narrow(&only(&["src", "docs", "../secret"]));
    assert!(workspace.read_text("README.md", 1000).is_err());
    assert_eq!(listed(&workspace).0, ["docs/guide.md", "src/main.rs"], "what is outside stays out");
    fs::rename(fixture.root.join("src"), fixture.root.join("moved")).expect("a folder");
    fixture.link("moved", "src");
    limit.narrow(&only(&["src"]));
    assert!(workspace.read_text("docs/guide.md", 1000).is_err());
    let is_refused = workspace.read_text("moved/main.rs", 1000).is_err();
    assert!(is_refused, "a root stays where it led when it was first looked at");
    limit.narrow(&only(&["docs"]));
    let expected = "not in a folder that tools may use";
    for path in ["README.md", "docs/guide.md", "moved/main.rs"] {
        assert_refused(&fixture, &workspace, path, expected);
    }
    assert!(workspace.check_new("new.txt").is_err());
    assert!(workspace.open_folder(".").is_err());
}
