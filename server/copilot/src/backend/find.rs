//! Finds the Copilot CLI: named by the operator, on the search path, or installed by npm.
//!
//! What npm puts on the search path is a script that starts the real program and waits for it
//! without forwarding signals. So the program itself is taken from the script's package.

use std::env;
use std::env::consts::{ARCH, EXE_SUFFIX, OS};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variable by which GitHub's own tools find the CLI.
const VARIABLE: &str = "COPILOT_CLI_PATH";
const SCOPE: &str = "node_modules/@github";

/// Where to look for the CLI.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// The path in the portal's settings.
    pub(super) named: Option<PathBuf>,
    /// The path in the environment variable.
    pub(super) variable: Option<OsString>,
    /// The value of `PATH`.
    pub(super) path: Option<OsString>,
}

impl Places {
    /// The given setting, and the environment of this process.
    pub(super) fn new(named: Option<PathBuf>) -> Self {
        Self { named, variable: env::var_os(VARIABLE), path: env::var_os("PATH") }
    }

    /// The program; `None` if there is none and none was named. The error says what is wrong with
    /// the named one, and what to do.
    pub(super) fn find(&self) -> Result<Option<PathBuf>, String> {
        if let Some(named) = &self.named {
            return named_program(named, "the setting copilot.cliPath").map(Some);
        }
        if let Some(variable) = self.variable.as_ref().filter(|value| !value.is_empty()) {
            let source = format!("the environment variable {VARIABLE}");
            return named_program(Path::new(variable), &source).map(Some);
        }
        Ok(self.search())
    }

    fn search(&self) -> Option<PathBuf> {
        let folders: Vec<PathBuf> = self.path.iter().flat_map(env::split_paths).collect();
        let name = format!("copilot{EXE_SUFFIX}");
        let on_path = folders.iter().map(|folder| folder.join(&name)).find_map(|file| {
            let file = file.canonicalize().ok()?;
            if is_script(&file) { packed_program(file.parent()?) } else { program(&file) }
        });
        // Next to Node, for users whose npm programs are not on the search path.
        on_path.or_else(|| {
            let with_node =
                folders.iter().filter(|folder| folder.join(format!("node{EXE_SUFFIX}")).is_file());
            with_node
                .flat_map(|folder| [folder.join("../lib"), folder.clone()])
                .find_map(|folder| packed_program(&folder.join(SCOPE).join("copilot")))
        })
    }
}

fn named_program(file: &Path, source: &str) -> Result<PathBuf, String> {
    let problem = |what: &str| {
        format!("{what}: `{}`; correct {source}, or remove it to have it found", file.display())
    };
    let file = file.canonicalize().map_err(|_| problem("there is no Copilot CLI"))?;
    if is_script(&file) {
        let package = file.parent().unwrap_or(&file);
        let missing = "the Copilot CLI's npm package lacks the program for this machine";
        return packed_program(package).ok_or_else(|| problem(missing));
    }
    program(&file).ok_or_else(|| problem("not an executable file"))
}

/// Whether it is the script that npm puts on the search path.
fn is_script(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "js")
}

/// The program for this machine, which npm installs as a package of its own, next to the script's
/// package or inside it.
fn packed_program(package: &Path) -> Option<PathBuf> {
    let system = match OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let machine = match ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let systems = [system.to_owned(), format!("{system}musl")];
    let beside = package.parent().map(Path::to_path_buf);
    let scopes = [beside, Some(package.join(SCOPE))];
    let packages = scopes.into_iter().flatten().flat_map(|scope| {
        systems.clone().map(|system| scope.join(format!("copilot-{system}-{machine}")))
    });
    let mut files = packages.map(|package| package.join(format!("copilot{EXE_SUFFIX}")));
    files.find_map(|file| program(&file.canonicalize().ok()?))
}

fn program(file: &Path) -> Option<PathBuf> {
    let data = file.metadata().ok()?;
    (data.is_file() && is_executable(&data)).then(|| file.to_path_buf())
}

#[cfg(unix)]
fn is_executable(data: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    data.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_data: &std::fs::Metadata) -> bool {
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn write(file: &Path, mode: u32) -> PathBuf {
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, "#!/bin/sh\n").expect("a file");
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("a mode");
        file.canonicalize().expect("it is there")
    }

    fn on_path(folder: &Path) -> Places {
        Places { path: Some(folder.into()), ..Places::default() }
    }

    fn platform_package() -> String {
        let machine = if ARCH == "x86_64" { "x64" } else { "arm64" };
        format!("copilot-linux-{machine}/copilot")
    }

    #[test]
    fn what_is_named_comes_first_and_must_be_there() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let named = write(&folder.path().join("a/my-copilot"), 0o755);
        let other = write(&folder.path().join("b/copilot"), 0o755);
        let plain = write(&folder.path().join("c/copilot"), 0o644);
        let mut places = on_path(&folder.path().join("b"));
        assert_eq!(places.find(), Ok(Some(other)));
        places.variable = Some(named.clone().into());
        assert_eq!(places.find(), Ok(Some(named.clone())));
        places.variable = Some(folder.path().join("nothing").into());
        let problem = places.find().expect_err("nothing is there");
        assert!(problem.contains("no Copilot CLI") && problem.contains(VARIABLE), "{problem}");
        places.named = Some(named.clone());
        assert_eq!(places.find(), Ok(Some(named)));
        places.named = Some(plain);
        let problem = places.find().expect_err("not executable");
        assert!(problem.contains("not an executable file"), "{problem}");
        assert!(problem.contains("copilot.cliPath"), "{problem}");
    }

    #[test]
    fn nothing_on_the_path_is_no_problem() {
        let folder = tempfile::tempdir().expect("temporary folder");
        write(&folder.path().join("copilot"), 0o644);
        assert_eq!(on_path(folder.path()).find(), Ok(None));
        assert_eq!(Places::default().find(), Ok(None));
    }

    #[test]
    fn the_script_of_npm_leads_to_the_program() {
        for place in ["../", "copilot/node_modules/@github/"] {
            let folder = tempfile::tempdir().expect("temporary folder");
            let scope = folder.path().join("lib/node_modules/@github");
            let script = write(&scope.join("copilot/npm-loader.js"), 0o755);
            let bin = folder.path().join("bin");
            fs::create_dir(&bin).expect("a folder");
            symlink(&script, bin.join("copilot")).expect("a link");
            let named = Places { named: Some(script.clone()), ..Places::default() };
            assert_eq!(on_path(&bin).find(), Ok(None), "the script alone is of no use");
            assert!(named.find().expect_err("incomplete").contains("npm package"));

            let package = scope.join(place.replace("../", "")).join(platform_package());
            let program = write(&package, 0o755);
            assert_eq!(on_path(&bin).find(), Ok(Some(program.clone())), "{place}");
            assert_eq!(named.find(), Ok(Some(program.clone())), "{place}");

            fs::remove_file(bin.join("copilot")).expect("the link");
            assert_eq!(on_path(&bin).find(), Ok(None), "there is no Node");
            write(&bin.join("node"), 0o755);
            assert_eq!(on_path(&bin).find(), Ok(Some(program)), "{place}");
        }
    }
}
