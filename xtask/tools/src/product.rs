//! What is built: the browser side, the site made from it, and the server.
//!
//! There are two kinds. The quick one compiles fast and reads its site from a folder: for trying it
//! out, for tests and for development. The small one runs fast, downloads little and embeds its
//! site: one file to copy anywhere.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
#[cfg(not(feature = "small"))]
use anyhow::bail;
use serde_json::Value;
use xtask::build;
use xtask::report::Steps;

use crate::bindings::{self, Bindings};
#[cfg(feature = "small")]
use crate::bundles;
use crate::process;
use crate::site::{self, Site};
use crate::toolchain::{self, WASM_TARGET};
use crate::workspace::Workspace;

/// The variable that names the site's folder for a server without an embedded one; cargo-leptos
/// sets it, too.
pub(crate) const SITE_VARIABLE: &str = "LEPTOS_SITE_ROOT";

/// How a product is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Compiles fast; the site is a folder.
    Quick,
    /// Runs fast and is small; the site is embedded.
    Small,
}

impl Kind {
    /// The cargo command that compiles the browser side: `rustc` passes arguments to the linker.
    fn cargo_command(self) -> &'static str {
        match self {
            Self::Quick => "build",
            Self::Small => "rustc",
        }
    }

    /// The cargo profile of the browser side.
    fn browser_profile(self) -> &'static str {
        match self {
            Self::Quick => "dev",
            Self::Small => "wasm-release",
        }
    }

    /// How long the browser side and the server take to compile from scratch, on two cores.
    fn times(self) -> [Duration; 2] {
        match self {
            Self::Quick => [75, 160],
            Self::Small => [95, 330],
        }
        .map(Duration::from_secs)
    }
}

pub(crate) struct Product {
    /// The binary to run.
    pub(crate) binary: PathBuf,
    /// The site that it serves.
    pub(crate) site: Site,
    kind: Kind,
}

impl Product {
    /// A command that starts the server. A quick one is told where its site is.
    pub(crate) fn command(&self) -> Command {
        let mut command = process::command(&self.binary);
        command.envs(self.environment());
        command
    }

    /// The environment variable that the server needs.
    pub(crate) fn environment(&self) -> Option<(&'static str, PathBuf)> {
        (self.kind == Kind::Quick).then(|| (SITE_VARIABLE, self.site.folder.clone()))
    }
}

/// Builds what is out of date.
pub(crate) fn build(workspace: &Workspace, kind: Kind) -> anyhow::Result<Product> {
    let mut steps = Steps::after_front(4);
    let [browser_time, server_time] = kind.times();

    let wasm = steps.run("Compiling the browser's half", || {
        toolchain::ensure_wasm_target(workspace)?;
        let arguments =
            [kind.cargo_command(), "-p", "frontend", "--lib", "--profile", kind.browser_profile()];
        let mut command = workspace.cargo(arguments);
        command.args(["--target", WASM_TARGET]);
        if kind == Kind::Small {
            // What divides it into bundles needs names and relocations, and leaves them out.
            command.args(["--features", "split", "--config", "profile.wasm-release.strip=false"]);
        }
        command.arg(MESSAGES);
        if kind == Kind::Small {
            command.args(["--", "-Clink-args=--emit-relocs"]);
        }
        build_artifact(&mut command, browser_time, "frontend", ".wasm")
    })?;

    let site = Site::of(workspace, kind);
    let inputs = site.inputs(workspace, &wasm)?;
    let assemble = "Generating its JavaScript and style";
    if site.is_made_from(&inputs) {
        steps.skip(assemble);
    } else {
        steps.run(assemble, || {
            let bindings = bind(&wasm, kind)?;
            site.assemble(workspace, bindings, &inputs)
        })?;
    }

    let binary = steps.run("Compiling the server", || {
        let mut command = workspace.cargo(["build", "--bin", site::NAME]);
        if kind == Kind::Small {
            // Without the features that only tests need.
            command.args(["-p", "server", "--release", "--features", "embed-site"]);
            command.env("PORTAL_SITE_DIR", &site.folder);
        }
        command.arg(MESSAGES);
        build_artifact(&mut command, server_time, site::NAME, std::env::consts::EXE_SUFFIX)
    })?;

    steps.finish(&format!("Built {}", binary.display()));
    Ok(Product { binary, site, kind })
}

/// Generates the scripts of the browser's half; a release is divided into bundles before.
fn bind(wasm: &Path, kind: Kind) -> anyhow::Result<Bindings> {
    match kind {
        Kind::Quick => bindings::generate(wasm, site::NAME, kind),
        #[cfg(feature = "small")]
        Kind::Small => {
            let (main, bundles) = bundles::divide(wasm, site::NAME)?;
            let bindings = bindings::generate(&main, site::NAME, kind)?;
            Ok(Bindings { bundles: Some(bundles), ..bindings })
        }
        #[cfg(not(feature = "small"))]
        Kind::Small => bail!("these tools were built without what makes releases"),
    }
}

/// Has cargo report what it builds.
const MESSAGES: &str = "--message-format=json-render-diagnostics";

/// Runs a build with [`MESSAGES`] and returns the file that it made for a target. Cargo reports the path, because the
/// user's settings may have moved it.
fn build_artifact(
    command: &mut Command,
    whole: Duration,
    target: &str,
    suffix: &str,
) -> anyhow::Result<PathBuf> {
    let mut found = None;
    let status = build::run(command, whole, |line| {
        found = artifact(line, target, suffix).or(found.take());
    })
    .context("cannot start cargo")?;
    process::check(command, status)?;
    found.with_context(|| format!("cargo built no {target}{suffix}"))
}
/// The file that one of cargo's messages reports, if it belongs to the target.
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
