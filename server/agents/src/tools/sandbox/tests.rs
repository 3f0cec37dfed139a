//! Whatever paths, links and swaps are tried, the canary outside is neither read nor changed.

mod races;
mod roots;

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;

const CANARY: &str = "CANARY";

/// `outer/secret/key.txt` is the canary, `outer/root` the workspace.
struct Fixture {
    outer: TempDir,
    root: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let outer = tempfile::tempdir().expect("temporary folder");
        // With links resolved, as `Workspace` does.
        let root = outer.path().canonicalize().expect("its path").join("root");
        for folder in ["root/src", "root/docs", "root/.git", "secret"] {
            fs::create_dir_all(outer.path().join(folder)).expect("folder");
        }
        for (file, text) in [
            ("secret/key.txt", CANARY),
            ("root/.git/config", CANARY),
            ("root/src/main.rs", "fn main() {}\n"),
            ("root/docs/guide.md", "# Guide\n"),
            ("root/README.md", "read me\n"),
        ] {
            fs::write(outer.path().join(file), text).expect("file");
        }
        Self { outer, root }
    }

    fn workspace(&self) -> Workspace {
        Workspace::open(&self.root, &RootsLimit::default()).expect("a folder")
    }

    fn allowing(&self, roots: &[&str]) -> Workspace {
        let roots: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
        let roots = AllowedRoots::from_setting(&roots);
        Workspace::open(&self.root, &roots.into()).expect("a folder")
    }

    fn secret(&self) -> PathBuf {
        self.root.with_file_name("secret")
    }

    fn link(&self, target: impl AsRef<Path>, name: &str) {
        symlink(target, self.root.join(name)).expect("link");
    }

    fn assert_untouched(&self) {
        for file in ["secret/key.txt", "root/.git/config"] {
            let text = fs::read_to_string(self.outer.path().join(file)).expect("canary");
            assert_eq!(text, CANARY, "{file}");
        }
        for (folder, count) in [("secret", 1), ("root/.git", 1), ("", 2)] {
            let entries = fs::read_dir(self.outer.path().join(folder)).expect("folder");
            assert_eq!(entries.count(), count, "{folder}");
        }
    }
}

/// Tries every use of a path; none may succeed.
fn assert_refused(fixture: &Fixture, workspace: &Workspace, path: &str, expected: &str) {
    let read = workspace.read_text(path, 1000).map(|file| file.text);
    assert_eq!(read.expect_err(path).to_string(), format!("{expected}: `{path}`"));
    let hash = ContentHash::of(CANARY.as_bytes());
    assert!(workspace.replace(path, Path::new(path), hash, b"changed").is_err(), "{path}");
    if let Ok(real) = workspace.check_new(path) {
        panic!("{path} may be made at {}", real.display());
    }
    assert!(workspace.create(path, Path::new(path), b"created").is_err(), "{path}");
    fixture.assert_untouched();
}

fn text(workspace: &Workspace, path: &str) -> String {
    workspace.read_text(path, 1000).expect(path).text
}

fn listed(workspace: &Workspace) -> (Vec<String>, Visited) {
    let mut paths = Vec::new();
    let visited = workspace.visit(&CancellationToken::new(), &mut |found| {
        paths.push(found.path.clone());
        ControlFlow::Continue(())
    });
    (paths, visited.expect("a visit"))
}

#[test]
fn paths_inside_are_read_however_they_are_written() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    let absolute = fixture.root.join("src/main.rs");
    for path in [
        "src/main.rs",
        "./src/main.rs",
        "src//./main.rs",
        "docs/../src/main.rs",
        "src/../src/../src/main.rs",
        absolute.to_str().expect("UTF-8"),
    ] {
        assert_eq!(text(&workspace, path), "fn main() {}\n", "{path}");
    }
}

#[test]
fn paths_that_lead_outside_are_refused() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    let secret = fixture.secret().join("key.txt");
    let sly = fixture.root.join("../secret/key.txt");
    for path in [
        "../secret/key.txt",
        "src/../../secret/key.txt",
        "../root/../secret/key.txt",
        "../root/src/main.rs",
        "/etc/passwd",
        "//etc/passwd",
        "/",
        secret.to_str().expect("UTF-8"),
        sly.to_str().expect("UTF-8"),
    ] {
        assert_refused(&fixture, &workspace, path, "outside of the workspace");
    }
    assert_refused(&fixture, &workspace, "", "not a path");
    assert!(workspace.read_text("src/main.rs\0", 1000).is_err());
    // Through a missing folder: it is unknown where that would lead.
    assert!(workspace.check_new("new/../../secret/new.txt").is_err());
    assert!(workspace.create("new/../../x", Path::new("x"), b"").is_err());
    fixture.assert_untouched();
}

#[test]
fn links_that_lead_outside_are_refused() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    fixture.link("../secret/key.txt", "file");
    fixture.link(fixture.secret().join("key.txt"), "absolute");
    fixture.link("../secret", "folder");
    fixture.link("src/../../secret", "roundabout");
    fixture.link("folder", "chain");
    fixture.link("/proc/self/root", "proc");
    for path in ["file", "absolute", "folder/key.txt", "roundabout/key.txt", "chain/key.txt"] {
        assert_refused(&fixture, &workspace, path, "outside of the workspace");
    }
    assert_refused(&fixture, &workspace, "proc/etc/passwd", "outside of the workspace");
    for path in ["folder/new.txt", "chain/deep/new.txt"] {
        assert!(workspace.check_new(path).is_err(), "{path}");
        assert!(workspace.create(path, Path::new(path), b"").is_err(), "{path}");
    }
    assert!(workspace.open_folder("folder").is_err());
    fixture.link("loop", "loop");
    assert_refused(&fixture, &workspace, "loop", "too many symbolic links");
    let (paths, _) = listed(&workspace);
    assert_eq!(paths, ["README.md", "docs/guide.md", "src/main.rs"]);
}

#[test]
fn links_that_stay_inside_are_followed() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    fixture.link("src/main.rs", "file");
    fixture.link(fixture.root.join("src"), "folder");
    fixture.link("../README.md", "src/up");
    assert_eq!(text(&workspace, "file"), "fn main() {}\n");
    assert_eq!(text(&workspace, "folder/main.rs"), "fn main() {}\n");
    let file = workspace.read_text("folder/up", 1000).expect("inside");
    assert_eq!(file.real, Path::new("README.md"));
    workspace.replace("folder/up", &file.real, file.hash, b"changed\n").expect("inside");
    assert_eq!(text(&workspace, "README.md"), "changed\n");
    assert!(fixture.root.join("src/up").is_symlink());
    // A link to a file is listed, a link to a folder is not.
    let (paths, _) = listed(&workspace);
    assert_eq!(paths, ["README.md", "file", "docs/guide.md", "src/main.rs", "src/up"]);
}

#[test]
fn git_is_off_limits_in_every_spelling() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    fixture.link(".git", "innocent");
    fixture.link(".git/config", "settings");
    let absolute = fixture.root.join(".git/config");
    for path in [
        ".git/config",
        "./.git/config",
        "src/../.git/config",
        ".GIT/config",
        ".git./config",
        ".git /config",
        ".g\u{200c}it/config",
        "git~1/config",
        "innocent/config",
        "settings",
        absolute.to_str().expect("UTF-8"),
    ] {
        let error = workspace.read_text(path, 1000).map(|file| file.text).expect_err(path);
        assert!(matches!(error.fault, Fault::Git), "{error}");
        assert!(workspace.create(path, Path::new(path), b"").is_err(), "{path}");
    }
    for path in [".git/hooks/pre-commit", "sub/.git/hooks/x", ".git", "new/.GIT"] {
        assert!(workspace.check_new(path).is_err(), "{path}");
        assert!(workspace.create(path, Path::new(path), b"").is_err(), "{path}");
    }
    assert!(workspace.open_folder(".git").is_err());
    let (paths, _) = listed(&workspace);
    assert_eq!(paths, ["README.md", "docs/guide.md", "src/main.rs"]);
    fixture.assert_untouched();
    // A linked work tree has a file named `.git`.
    fs::create_dir(fixture.root.join("tree")).expect("folder");
    fs::write(fixture.root.join("tree/.git"), "gitdir: elsewhere").expect("marker");
    assert!(workspace.read_text("tree/.git", 1000).is_err());
}

#[test]
fn look_alikes_of_dots_slashes_and_roots_lead_nowhere() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    for path in [
        "．．/secret/key.txt",
        "‥/secret/key.txt",
        "%2e%2e/secret/key.txt",
        "..\\secret\\key.txt",
        ".. /secret/key.txt",
        "..\u{200d}/secret/key.txt",
        "..∕secret∕key.txt",
    ] {
        assert!(workspace.read_text(path, 1000).is_err(), "{path}");
    }
    let workspace = fixture.allowing(&["src"]);
    for path in ["ſrc/new.txt", "s\u{200c}rc/new.txt", "src\u{301}/new.txt", "src /new.txt"] {
        assert!(workspace.check_new(path).is_err(), "{path}");
    }
    if cfg!(target_os = "linux") {
        assert!(workspace.check_new("SRC/new.txt").is_err());
    }
    fixture.assert_untouched();
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    let fifo = fixture.root.join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
    assert!(made.success());
    let _socket =
        std::os::unix::net::UnixListener::bind(fixture.root.join("socket")).expect("socket");
    for path in ["fifo", "socket", "src"] {
        assert_refused(&fixture, &workspace, path, "not a regular file");
    }
    assert!(workspace.open_folder("README.md").is_err());
    assert_refused(&fixture, &workspace, "README.md/x", "not a folder");
    // A FIFO that takes the name of a file at the last moment must not block.
    let place = fixture.root.join("README.md");
    let once = AtomicBool::new(false);
    workspace.before_open(move |name| {
        if name == "README.md" && !once.swap(true, Ordering::SeqCst) {
            fs::rename(&fifo, &place).expect("swapped in");
        }
    });
    let error = workspace.read_text("README.md", 1000).map(|file| file.text).expect_err("a FIFO");
    assert!(matches!(error.fault, Fault::NotAFile), "{error}");

    let devices = Workspace::open(Path::new("/dev"), &RootsLimit::default()).expect("a folder");
    for path in ["null", "zero", "tty"] {
        assert!(devices.read_text(path, 1000).is_err(), "{path}");
    }
    let (paths, _) = listed(&workspace);
    assert_eq!(paths, ["docs/guide.md", "src/main.rs"]);
}

#[test]
fn large_and_binary_files_are_not_read() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    let sparse = fs::File::create(fixture.root.join("sparse")).expect("file");
    sparse.set_len(1 << 40).expect("a sparse file");
    fs::write(fixture.root.join("zero"), b"a\0b").expect("file");
    fs::write(fixture.root.join("latin"), b"f\xfcr").expect("file");
    let error = |path| workspace.read_text(path, 1000).map(|file| file.text).expect_err("no text");
    let expected = "too large (1099511627776 bytes, the limit is 1000): `sparse`";
    assert_eq!(error("sparse").to_string(), expected);
    assert_eq!(error("zero").to_string(), "binary file: `zero`");
    assert_eq!(error("latin").to_string(), "binary file: `latin`");
    fs::write(fixture.root.join("full"), "x".repeat(1000)).expect("file");
    assert_eq!(text(&workspace, "full").len(), 1000);
}

#[test]
fn names_with_line_ends_are_read_and_those_without_a_text_are_counted() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    fs::write(fixture.root.join("two\nlines"), "text").expect("file");
    fs::write(fixture.root.join(OsStr::from_bytes(b"f\xfcr")), "text").expect("file");
    assert_eq!(text(&workspace, "two\nlines"), "text");
    let (paths, visited) = listed(&workspace);
    assert!(paths.contains(&"two\nlines".to_owned()));
    assert_eq!(visited, Visited { unnamed: 1, incomplete: false });
    let error = workspace.read_text("no\nsuch", 1000).map(|file| file.text).expect_err("missing");
    assert_eq!(error.to_string(), "no such file or folder: `\"no\\nsuch\"`");
}

#[test]
fn a_new_file_is_made_once() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    let real = workspace.check_new("a/b/new.txt").expect("nothing there");
    assert_eq!(real, Path::new("a/b/new.txt"));
    assert!(!fixture.root.join("a").exists());
    workspace.create("a/b/new.txt", &real, b"one").expect("nothing there");
    assert!(workspace.check_new("a/b/new.txt").is_err());
    let error = workspace.create("a/b/new.txt", &real, b"two").expect_err("there");
    assert!(matches!(error.fault, Fault::Exists), "{error}");
    assert_eq!(text(&workspace, "a/b/new.txt"), "one");
    assert_eq!(fs::read_dir(fixture.root.join("a/b")).expect("folder").count(), 1);
    // Dangling links exist, too.
    fixture.link("nowhere", "dangling");
    assert!(workspace.check_new("dangling").is_err());
    assert!(workspace.create("dangling", Path::new("dangling"), b"").is_err());
    // Not the place that was checked.
    let moved = workspace.create("b.txt", Path::new("a.txt"), b"").expect_err("moved");
    assert!(matches!(moved.fault, Fault::Changed));
}

#[test]
fn of_many_that_make_a_file_one_succeeds() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    let made = std::thread::scope(|scope| {
        let make = |number: usize| {
            let workspace = workspace.clone();
            move || {
                let text = number.to_string().repeat(1000);
                workspace.create("new", Path::new("new"), text.as_bytes()).is_ok()
            }
        };
        let threads: Vec<_> = (0..8).map(|number| scope.spawn(make(number))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).filter(|made| *made).count()
    });
    assert_eq!(made, 1);
    assert_eq!(text(&workspace, "new").len(), 1000);
}

#[test]
fn a_replaced_file_keeps_its_mode_and_nothing_is_left_behind() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    let place = fixture.root.join("src/main.rs");
    for mode in [0o600, 0o755, 0o664] {
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).expect("mode");
        let file = workspace.read_text("src/main.rs", 1000).expect("a file");
        let text = format!("// {mode:o}\n");
        workspace.replace("src/main.rs", &file.real, file.hash, text.as_bytes()).expect("same");
        let metadata = fs::metadata(&place).expect("a file");
        assert_eq!(metadata.permissions().mode() & 0o7777, mode);
        assert_eq!(fs::read_to_string(&place).expect("a file"), text);
    }
    fs::set_permissions(&place, fs::Permissions::from_mode(0o444)).expect("mode");
    let file = workspace.read_text("src/main.rs", 1000).expect("a file");
    let error = workspace.replace("src/main.rs", &file.real, file.hash, b"").expect_err("mode");
    assert!(matches!(error.fault, Fault::ReadOnly));
    let stale = ContentHash::of(b"other");
    let error =
        workspace.replace("README.md", Path::new("README.md"), stale, b"").expect_err("old");
    assert!(matches!(error.fault, Fault::Changed));
    assert_eq!(fs::read_dir(fixture.root.join("src")).expect("folder").count(), 1);
}

#[test]
fn gitignore_holds_for_its_folder_and_below() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    fs::create_dir_all(fixture.root.join("target/debug")).expect("folder");
    fs::create_dir_all(fixture.root.join("src/deep")).expect("folder");
    for file in ["target/debug/x", "a.log", "src/b.log", "src/keep.log", "src/deep/only.txt"] {
        fs::write(fixture.root.join(file), "x").expect("file");
    }
    fs::write(fixture.root.join(".gitignore"), "/target\n*.log\n[bad\n").expect("rules");
    fs::write(fixture.root.join("src/.gitignore"), "!keep.log\n/deep/only.txt\n").expect("rules");
    let (paths, _) = listed(&workspace);
    let expected = [
        ".gitignore",
        "README.md",
        "docs/guide.md",
        "src/.gitignore",
        "src/keep.log",
        "src/main.rs",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn a_visit_ends_when_it_is_cancelled() {
    let fixture = Fixture::new();
    let cancel = CancellationToken::new();
    let mut count = 0;
    let visited = fixture.workspace().visit(&cancel, &mut |_| {
        count += 1;
        cancel.cancel();
        ControlFlow::Continue(())
    });
    assert!(visited.is_ok());
    assert_eq!(count, 1);
}

/// Parts of paths, with and without special meaning.
fn part() -> impl Strategy<Value = String> {
    let known = [
        "..", ".", "", "/", "src", "docs", "main.rs", "folder", "file", "up", "chain", ".git",
        "secret", "key.txt", "root", "new", "~", "\\", "..\\..", "%2e%2e", "\u{202e}", "\n", "\0",
    ];
    prop_oneof![8 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".{0,6}"]
}

#[test]
fn no_path_leads_outside() {
    let fixture = Fixture::new();
    fixture.link("../secret", "folder");
    fixture.link("../../secret/key.txt", "src/file");
    fixture.link("..", "docs/up");
    fixture.link("docs/up/up", "chain");
    let workspace = fixture.workspace();
    let paths = proptest::collection::vec(part(), 1..9).prop_map(|parts| parts.join("/"));
    let outcome = TestRunner::default().run(&paths, |path| {
        if let Ok(file) = workspace.read_text(&path, 1000) {
            prop_assert_ne!(file.text, CANARY);
        }
        if let Ok(real) = workspace.check_new(&path) {
            prop_assert!(real.components().all(|part| matches!(part, Component::Normal(_))));
            // Names that the system refuses are harmless.
            let _ = workspace.create(&path, &real, b"new");
        }
        if let Ok((_, real)) = workspace.open_folder(&path) {
            let place = fixture.root.join(real).canonicalize().expect("a folder");
            prop_assert!(place.starts_with(&fixture.root));
        }
        fixture.assert_untouched();
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
}
