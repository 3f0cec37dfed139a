//! Links that are swapped in between a check and a use.

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;

type Attempt<'a> = &'a dyn Fn(&Workspace) -> bool;

#[test]
fn a_link_that_takes_a_name_after_the_check_does_not_win() {
    let fixture = Fixture::new();
    let secret = fixture.secret();
    // The swap happens between the check of a name and its use.
    let swap = |workspace: &Workspace, path: &'static str, target: PathBuf| {
        let place = fixture.root.join(path);
        let done = AtomicBool::new(false);
        workspace.before_open(move |name| {
            if Some(name) == Path::new(path).file_name() && !done.swap(true, Ordering::SeqCst) {
                fs::rename(&place, place.with_extension("moved")).expect("moved away");
                symlink(&target, &place).expect("swapped in");
            }
        });
    };
    let workspace = fixture.workspace();
    swap(&workspace, "src/main.rs", secret.join("key.txt"));
    let error =
        workspace.read_text("src/main.rs", 1000).map(|file| file.text).expect_err("swapped");
    assert_eq!(error.fault.code(), "changed", "{error}");

    // The same for a folder, when reading, writing, creating and listing.
    fs::remove_file(fixture.root.join("src/main.rs")).expect("the link");
    fs::write(fixture.root.join("src/main.rs"), CANARY).expect("file");
    fs::write(fixture.root.join("src/key.txt"), CANARY).expect("file");
    let hash = ContentHash::of(CANARY.as_bytes());
    fs::write(fixture.root.join("src/config"), CANARY).expect("file");
    let attempts: [Attempt<'_>; 5] = [
        &|workspace| workspace.read_text("src/config", 1000).is_ok(),
        &|workspace| workspace.read_text("src/key.txt", 1000).is_ok(),
        &|workspace| workspace.replace("src/key.txt", Path::new("src/key.txt"), hash, b"x").is_ok(),
        &|workspace| workspace.create("src/new.txt", Path::new("src/new.txt"), b"x").is_ok(),
        &|workspace| listed(workspace).0.iter().any(|path| path.starts_with("src/")),
    ];
    let targets = [secret, PathBuf::from(".git")];
    for (attempt, target) in attempts.iter().flat_map(|one| targets.iter().map(move |to| (one, to)))
    {
        let workspace = fixture.workspace();
        swap(&workspace, "src", target.clone());
        assert!(!attempt(&workspace), "{}", target.display());
        fixture.assert_untouched();
        fs::remove_file(fixture.root.join("src")).expect("the link");
        fs::rename(fixture.root.join("src.moved"), fixture.root.join("src")).expect("back");
    }
}

#[test]
fn a_link_that_takes_a_files_name_while_it_is_replaced_is_itself_replaced() {
    let fixture = Fixture::new();
    let workspace = fixture.workspace();
    let file = workspace.read_text("README.md", 1000).expect("a file");
    let place = fixture.root.join("README.md");
    // The worst moment: right after the last check of the file.
    let mut open = workspace.open_file("README.md").expect("a file");
    fs::remove_file(&place).expect("removed");
    symlink(fixture.secret().join("key.txt"), &place).expect("swapped in");
    assert_eq!(open.read_whole(1000).expect("still open"), file.text.as_bytes());
    let swapped = workspace.replace("README.md", &file.real, file.hash, b"new");
    assert!(swapped.is_err());
    write::tests::write_over(&workspace.0.folder, "README.md", b"new");
    assert!(!place.is_symlink());
    assert_eq!(text(&workspace, "README.md"), "new");
    fixture.assert_untouched();
}

#[test]
fn swapping_as_fast_as_possible_does_not_win_either() {
    let fixture = Fixture::new();
    fs::write(fixture.root.join("src/key.txt"), "inside").expect("file");
    fixture.link("../secret", "other");
    let workspace = fixture.workspace();
    let over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&over);
    let (one, other) = (fixture.root.join("src"), fixture.root.join("other"));
    let swapper = std::thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            let swapped = renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE);
            if swapped.is_err() {
                return false;
            }
        }
        true
    });
    let inside = ContentHash::of(b"inside");
    let real = Path::new("src/key.txt");
    for round in 0..400 {
        if let Ok(file) = workspace.read_text("src/key.txt", 1000) {
            assert_eq!(file.text, "inside", "round {round}");
        }
        // Writes the same content again: a success is fine if it was inside.
        let _ = workspace.replace("src/key.txt", real, inside, b"inside");
        let path = format!("src/new{round}.txt");
        let _ = workspace.create(&path, Path::new(&path), b"");
        if round % 20 == 0 {
            let (paths, _) = listed(&workspace);
            assert!(paths.iter().all(|path| !path.starts_with("secret")));
        }
    }
    over.store(true, Ordering::Relaxed);
    // Not every file system can exchange names; the previous test does without.
    let _ = swapper.join().expect("the swapper");
    fixture.assert_untouched();
}
