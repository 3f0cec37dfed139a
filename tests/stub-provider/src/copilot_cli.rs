//! The real Copilot CLI for tests: which one is used, and how it is isolated from the user's own.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The environment variable that selects another one.
pub const VARIABLE: &str = "COPILOT_PORTAL_TEST_CLI";

/// The script that npm installed for the tests, which leads to the program.
///
/// # Panics
///
/// If it is not installed: a test that cannot run must not pass.
pub fn program() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../copilot-cli");
    let installed = folder.join("node_modules/@github/copilot/npm-loader.js");
    let program = std::env::var_os(VARIABLE).map_or(installed, PathBuf::from);
    assert!(
        program.is_file(),
        "the Copilot CLI for tests is not installed: run `npm ci` in tests/copilot-cli \
         (`cargo xtask test` does), or name one in {VARIABLE}"
    );
    program
}

/// Environment variables that make the CLI keep its state in `home`, and unpack itself to a folder
/// shared by all tests.
pub fn environment(home: &Path) -> Vec<(OsString, OsString)> {
    let text = |value: &str| OsString::from(value);
    vec![
        (text("COPILOT_HOME"), home.into()),
        (text("COPILOT_CACHE_HOME"), cache().into()),
        // No login must be found.
        (text("HOME"), home.into()),
        (text("XDG_CONFIG_HOME"), home.join("config").into()),
        (text("COPILOT_GITHUB_TOKEN"), text("")),
        (text("GH_TOKEN"), text("")),
        (text("GITHUB_TOKEN"), text("")),
    ]
}

/// The folder to which the CLI unpacks itself, which takes seconds and is done once.
fn cache() -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| {
        let test = std::env::current_exe().expect("a running test");
        let target = test.ancestors().nth(3).expect("target/PROFILE/deps/TEST").to_path_buf();
        let cache = target.join("copilot-cli-cache");
        fs::create_dir_all(&cache).expect("a folder below target");
        // Test programs may run concurrently.
        let lock = File::create(target.join("copilot-cli-cache.lock")).expect("a file");
        lock.lock().expect("a lock");
        let mut unpack = Command::new(if cfg!(windows) { "node.exe" } else { "node" });
        unpack.arg(program()).arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        unpack.env("COPILOT_CACHE_HOME", &cache).env("COPILOT_SEA_EXTRACT_ONLY", "1");
        // If this fails, the test itself fails and says why.
        let _ = unpack.status();
        cache
    })
}
