//! The release: one binary with the site inside, made in five steps.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use crate::report::Steps;
use crate::site::{self, Site};
use crate::toolchain::{self, WASM_TARGET};
use crate::workspace::Workspace;
use crate::{bindings, packages, process};

/// A finished release.
pub(crate) struct Release {
    /// The binary to run.
    pub(crate) binary: PathBuf,
    /// The site it carries.
    pub(crate) site: Site,
}

/// Builds what is not up to date.
pub(crate) fn build(workspace: &Workspace) -> anyhow::Result<Release> {
    let mut steps = Steps::new(5);

    steps.run("Looking for the wasm32 target and OpenSSL's headers", || {
        toolchain::ensure_wasm_target(workspace)?;
        packages::ensure_openssl()
    })?;

    let wasm = steps.run("Compiling the browser's half (wasm32, release)", || {
        let arguments = ["build", "-p", "frontend", "--lib", "--profile", "wasm-release"];
        let mut command = workspace.cargo(arguments);
        build_artifact(command.args(["--target", WASM_TARGET]), "frontend", ".wasm")
    })?;

    let site = Site::of(workspace);
    let inputs = Site::inputs(workspace, &wasm)?;
    let (bind, assemble) = ("Generating its JavaScript", "Bundling and compressing the site");
    if site.is_made_from(&inputs) {
        steps.skip(bind);
        steps.skip(assemble);
    } else {
        let bindings = steps.run(bind, || bindings::generate(&wasm, site::NAME))?;
        steps.run(assemble, || site.assemble(workspace, bindings, &inputs))?;
    }

    let binary = steps.run("Compiling the server with the site inside (release)", || {
        let arguments = ["build", "--release", "-p", "server", "--features", "embed-site"];
        let mut command = workspace.cargo(arguments);
        command.env("PORTAL_SITE_DIR", &site.folder);
        build_artifact(&mut command, site::NAME, std::env::consts::EXE_SUFFIX)
    })?;

    steps.finish(&format!("Built {}", binary.display()));
    Ok(Release { binary, site })
}

/// Runs a build and returns the file it made for a target. Cargo is asked for the place, as
/// the user's settings may have moved it.
fn build_artifact(command: &mut Command, target: &str, suffix: &str) -> anyhow::Result<PathBuf> {
    command.arg("--message-format=json-render-diagnostics");
    let mut found = None;
    let status = process::run_lines(command, |line| {
        found = artifact(line, target, suffix).or(found.take());
    })?;
    process::check(command, status)?;
    found.with_context(|| format!("cargo built no {target}{suffix}"))
}

/// The file that one of cargo's messages announces, if it belongs to the target.
fn artifact(message: &str, target: &str, suffix: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["reason"] != "compiler-artifact" || message["target"]["name"] != target {
        return None;
    }
    if let Some(executable) = message["executable"].as_str() {
        return Some(executable.into());
    }
    let mut files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
    files.find(|file| !suffix.is_empty() && file.ends_with(suffix)).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_names_the_files_it_built() {
        let library = r#"{"reason":"compiler-artifact","target":{"name":"frontend"},
            "filenames":["/t/libfrontend.rlib","/t/frontend.wasm"],"executable":null}"#;
        let program = r#"{"reason":"compiler-artifact","target":{"name":"copilot-portal"},
            "filenames":["/t/copilot-portal"],"executable":"/t/copilot-portal"}"#;
        assert_eq!(artifact(library, "frontend", ".wasm"), Some("/t/frontend.wasm".into()));
        assert_eq!(artifact(program, "copilot-portal", ""), Some("/t/copilot-portal".into()));
        assert_eq!(artifact(library, "copilot-portal", ""), None);
        assert_eq!(artifact("warning: not JSON", "frontend", ".wasm"), None);
    }
}
