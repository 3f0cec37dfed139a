//! Files that run later, started by somebody who was not asked. Every change of one needs an
//! approval.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::ModeLimit;
use crate::guarded::Guarded;
use crate::names::normal;

/// Globs of files that run later, in any folder; in lower case.
const RUN_LATER: &[&str] = &[
    // By the portal, by GitHub, by editors.
    ".github/extensions/**",
    ".copilot/extensions/**",
    ".github/workflows/**",
    ".github/actions/**",
    ".vscode/**",
    ".devcontainer/**",
    ".devcontainer.json",
    // By git; `core.hooksPath` is often one of these.
    ".git/**",
    ".githooks/**",
    ".husky/**",
    ".gitconfig",
    ".config/git/**",
    ".pre-commit-config.yaml",
    // By shells, and when somebody logs in.
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".config/fish/**",
    "profile.ps1",
    "microsoft.powershell_profile.ps1",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".config/autostart/**",
    ".config/systemd/**",
    ".ssh/**",
];

/// Files that are asked about each time.
#[derive(Clone, Debug)]
pub struct AlwaysAsk {
    further: Vec<String>,
    files: GlobSet,
}

impl AlwaysAsk {
    /// Covers the built-in files that run later, and those that match one of `further`: globs for
    /// paths below any folder, or absolute globs.
    pub fn new(further: Vec<String>) -> Result<Self, InvalidGlob> {
        let files = RUN_LATER.iter().copied().chain(further.iter().map(String::as_str));
        let files = glob_set(files.map(|glob| match glob.strip_prefix('/') {
            Some(absolute) => absolute.to_owned(),
            None => format!("**/{glob}"),
        }))?;
        Ok(Self { further, files })
    }

    /// The globs in addition to the built-in ones.
    pub fn further(&self) -> &[String] {
        &self.further
    }

    /// Whether an absolute path is one of them.
    fn matches(&self, path: &Path) -> bool {
        let path = spelt(path);
        self.files.is_match(path.join("/")) || path.iter().any(|name| is_short_name(name))
    }
}

impl Default for AlwaysAsk {
    fn default() -> Self {
        Self::new(Vec::new()).expect("the built-in globs are valid")
    }
}

impl PartialEq for AlwaysAsk {
    fn eq(&self, other: &Self) -> bool {
        self.further == other.further
    }
}

impl Eq for AlwaysAsk {}

/// A text is not a valid glob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a glob: {0}")]
pub struct InvalidGlob(String);

/// Protects the files that control agents from the agents themselves, in sessions and in runs of
/// the bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Safeguards {
    /// Files that no tool may touch.
    pub guarded: Guarded,
    /// Files that are asked about each time.
    pub always_ask: AlwaysAsk,
}

/// Rules that hold at a desk whatever its mode.
#[derive(Clone, Debug, Default)]
pub struct DeskRules {
    /// The folder that paths in questions are relative to, with links resolved.
    pub folder: PathBuf,
    /// Files that are off limits or asked about each time.
    pub safeguards: Safeguards,
    /// Files that a job may change although they run later, as globs below the folder.
    pub approve_files: Vec<String>,
    /// The most permissive mode that the desk may have.
    pub limit: ModeLimit,
}

impl DeskRules {
    /// Whether no tool may touch the file in a question. Blocks.
    pub(super) fn is_guarded(&self, path: &str) -> bool {
        self.safeguards.guarded.covers(&self.folder.join(path))
    }

    /// Whether the file in a question is asked about each time.
    pub(super) fn runs_later(&self, path: &str) -> bool {
        // A path that is shown in quotes has characters that mislead.
        path.starts_with('"') || self.safeguards.always_ask.matches(&self.folder.join(path))
    }

    /// Whether one of `approve_files` matches the file.
    pub(super) fn is_named(&self, path: &str) -> bool {
        let (folder, path) = (spelt(&self.folder), spelt(&self.folder.join(path)));
        let Some(inside) = path.strip_prefix(&*folder) else { return false };
        let globs = glob_set(self.approve_files.iter().cloned());
        globs.is_ok_and(|globs| globs.is_match(inside.join("/")))
    }
}

/// Whether a text can be one of [`DeskRules::approve_files`].
pub fn check_glob(glob: &str) -> Result<(), InvalidGlob> {
    glob_set([glob.to_owned()]).map(|_| ())
}

fn glob_set(globs: impl IntoIterator<Item = String>) -> Result<GlobSet, InvalidGlob> {
    let invalid = |error: globset::Error| InvalidGlob(error.to_string());
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        // Paths are compared in lower case.
        let glob = glob.to_uppercase().to_lowercase();
        let glob = GlobBuilder::new(&glob).literal_separator(true).build().map_err(invalid)?;
        set.add(glob);
    }
    set.build().map_err(invalid)
}

/// The names of a path in normal form, without `.` and `..`.
fn spelt(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => {
                // Elsewhere, a backslash separates names.
                let name = name.to_string_lossy();
                names.extend(name.split('\\').map(normal).filter(|name| !name.is_empty()));
            }
            Component::ParentDir => drop(names.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    names
}

/// Whether Windows may know another file by this name, as `GITHUB~1`.
fn is_short_name(name: &str) -> bool {
    let after = name.split_once('~').map(|(_, after)| after);
    after.is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(approve_files: &[&str]) -> DeskRules {
        let always_ask = AlwaysAsk::new(vec!["deploy/*.yml".to_owned()]).expect("a glob");
        DeskRules {
            folder: PathBuf::from("/home/me/project"),
            safeguards: Safeguards { always_ask, ..Safeguards::default() },
            approve_files: approve_files.iter().map(|&glob| glob.to_owned()).collect(),
            limit: ModeLimit::default(),
        }
    }

    #[test]
    fn files_that_run_later_are_known_in_every_spelling() {
        let rules = rules(&[]);
        for path in [
            ".github/extensions/a/extension.mjs",
            ".GitHub/Extensions/a/b/c.mjs",
            ".github/workflows/ci.yml",
            "sub/.vscode/tasks.json",
            ".envrc",
            "a/b/.envrc",
            ".husky/pre-commit",
            ".githooks/pre-push",
            ".git/hooks/pre-commit",
            ".BASHRC",
            ".ba\u{17f}hrc",
            ".profile",
            ".zshrc.",
            ".github./workflows /x",
            ".github/./workflows/x",
            "x/../.vscode/settings.json",
            ".vscode\\tasks.json",
            ".envrc::$DATA",
            "GITHUB~1/workflows/x",
            "\".vs\\u{200c}code/x\"",
            ".vs\u{200c}code/x",
            "deploy/prod.yml",
            "/home/me/.bashrc",
        ] {
            assert!(rules.runs_later(path), "{path}");
        }
        for path in [
            "src/main.rs",
            ".github/ISSUE_TEMPLATE/a.md",
            ".vscode",
            "bashrc",
            "deploy/deep/prod.yml",
            "envrc.md",
            "notes~",
        ] {
            assert!(!rules.runs_later(path), "{path}");
        }
    }

    #[test]
    fn the_folder_itself_may_be_one_that_runs_later() {
        let mut rules = rules(&[]);
        rules.folder = PathBuf::from("/repo/.github");
        assert!(rules.runs_later("workflows/ci.yml"));
        assert!(!rules.runs_later("dependabot.yml"));
    }

    #[test]
    fn a_job_names_files_below_its_folder() {
        let rules = rules(&[".github/workflows/*.yml"]);
        for path in [".github/workflows/ci.yml", ".GITHUB/workflows/CI.YML"] {
            assert!(rules.is_named(path), "{path}");
        }
        for path in [
            ".github/workflows/deep/ci.yml",
            "sub/.github/workflows/ci.yml",
            "../.github/workflows/ci.yml",
            "/elsewhere/.github/workflows/ci.yml",
            ".github/extensions/a/extension.mjs",
        ] {
            assert!(!rules.is_named(path), "{path}");
        }
        assert!(check_glob("[").is_err() && check_glob("a/**").is_ok());
    }
}
