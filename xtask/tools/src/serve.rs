//! `cargo xtask serve`: runs the quick build in the foreground.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;
use xtask::build;

use crate::process;
use crate::product::{self, Kind};
use crate::workspace::Workspace;

/// The search path of shared libraries; `cargo run` puts its own folders in front.
const LIBRARY_PATH: &str = if cfg!(windows) {
    "PATH"
} else if cfg!(target_os = "macos") {
    "DYLD_FALLBACK_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// Builds the portal and runs it in the user's current folder.
pub(crate) fn serve(workspace: &Workspace, options: &[OsString]) -> anyhow::Result<ExitCode> {
    let product = product::build(workspace, Kind::Quick)?;
    let mut command = product.command();
    command.args(options);
    forget_cargo(&mut command, workspace);
    build::become_program(&mut command)
        .with_context(|| format!("cannot start {}", product.binary.display()))
}

/// Removes what cargo and rustup set for this program. The server starts agents that run cargo in
/// other repositories, and those must use their own toolchain.
fn forget_cargo(command: &mut Command, workspace: &Workspace) {
    for name in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTUP_TOOLCHAIN_SOURCE", "RUST_RECURSION_COUNT"] {
        command.env_remove(name);
    }
    let Some(libraries) = env::var_os(LIBRARY_PATH) else { return };
    let sysroot = process::capture(process::command("rustc").args(["--print", "sysroot"]));
    let sysroot = sysroot.unwrap_or_default();
    let ours = [workspace.target.as_path(), Path::new(sysroot.trim())];
    match without_folders(&libraries, &ours) {
        Some(rest) => command.env(LIBRARY_PATH, rest),
        None => command.env_remove(LIBRARY_PATH),
    };
}

/// A search path without entries below the given folders; `None` if none is left.
fn without_folders(search_path: &OsString, folders: &[&Path]) -> Option<OsString> {
    // rustup may refer to a toolchain by a link.
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folders: Vec<PathBuf> =
        folders.iter().map(|folder| real(folder)).filter(|f| !f.as_os_str().is_empty()).collect();
    let is_ours = |path: &Path| folders.iter().any(|folder| real(path).starts_with(folder));
    let rest = env::split_paths(search_path).filter(|path| !is_ours(path));
    env::join_paths(rest).ok().filter(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_build_leave_the_search_path() {
        let join = |paths: &[&str]| env::join_paths(paths).expect("no separator inside");
        let ours = [Path::new("/repo/target"), Path::new("/rust"), Path::new("")];
        let search_path = join(&["/repo/target/debug", "/rust/lib", "/usr/lib"]);
        assert_eq!(without_folders(&search_path, &ours), Some(join(&["/usr/lib"])));
        assert_eq!(without_folders(&join(&["/rust/lib"]), &ours), None);
    }
}
