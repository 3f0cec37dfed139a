//! `cargo xtask test`: every check in order, counted, whatever fails on the way.

use std::env;
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::arguments::TestOptions;
use crate::release::{self, Release};
use crate::report::{Counts, Outcome, Summary};
use crate::toolchain::{self, WASM_TARGET};
use crate::workspace::Workspace;
use crate::{browser, leptos, licences, packages, process};

/// One line of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Format,
    Clippy,
    ClippyWasm,
    Documentation,
    Test,
    Licences,
    Build,
    Browser,
    Leptos,
}

impl Step {
    /// In the order they run: the quick ones first.
    const ALL: [Self; 9] = [
        Self::Format,
        Self::Clippy,
        Self::ClippyWasm,
        Self::Documentation,
        Self::Test,
        Self::Licences,
        Self::Build,
        Self::Browser,
        Self::Leptos,
    ];

    /// The name that `--only` takes.
    fn name(self) -> &'static str {
        match self {
            Self::Format => "fmt",
            Self::Clippy => "clippy",
            Self::ClippyWasm => "clippy-wasm",
            Self::Documentation => "doc",
            Self::Test => "test",
            Self::Licences => "licences",
            Self::Build => "build",
            Self::Browser => "browser",
            Self::Leptos => "leptos",
        }
    }

    /// The step of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    fn title(self) -> &'static str {
        match self {
            Self::Format => "Formatting",
            Self::Clippy => "Lints of the server's side",
            Self::ClippyWasm => "Lints of the browser's side",
            Self::Documentation => "Documentation",
            Self::Test => "Unit, API and documentation tests",
            Self::Licences => "Licences of the dependencies",
            Self::Build => "Release build",
            Self::Browser => "Browser tests",
            Self::Leptos => "cargo-leptos",
        }
    }
}

/// Runs the steps and prints the summary. Fails if any check did.
pub(crate) fn run(workspace: &Workspace, options: &TestOptions) -> ExitCode {
    let mut run = Run { workspace, options, release: None };
    let mut summary = Summary::default();
    for step in chosen(options) {
        println!("\n== {} ({})", step.title(), step.name());
        let start = Instant::now();
        let outcome = run.step(step).unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            Outcome::Counted(Counts::FAILED)
        });
        if let Outcome::Skipped(reason) = &outcome {
            println!("{reason}");
        }
        summary.add(step.name(), outcome, start.elapsed());
    }
    println!("\n{}", summary.table());
    if summary.total().failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The steps to run, in order, together with those they need.
fn chosen(options: &TestOptions) -> Vec<Step> {
    let is_wanted = |step: Step| match step {
        _ if options.only.contains(&step) => true,
        Step::Build => options.only.is_empty() || options.only.contains(&Step::Browser),
        _ => options.only.is_empty(),
    };
    Step::ALL.into_iter().filter(|step| is_wanted(*step)).collect()
}

/// What steps leave behind for later ones.
struct Run<'a> {
    workspace: &'a Workspace,
    options: &'a TestOptions,
    release: Option<Release>,
}

impl Run<'_> {
    fn step(&mut self, step: Step) -> anyhow::Result<Outcome> {
        let counts = match step {
            Step::Format => {
                toolchain::ensure_components(self.workspace)?;
                self.cargo(["fmt", "--all", "--check"])?
            }
            Step::Clippy => {
                toolchain::ensure_components(self.workspace)?;
                packages::ensure_openssl()?;
                let packages = self.host_packages();
                let lint = ["clippy", "--all-targets", "--features", "app/ssr"];
                self.cargo(words(&lint, &packages, &["--", "-D", "warnings"]))?
            }
            Step::ClippyWasm => {
                toolchain::ensure_components(self.workspace)?;
                toolchain::ensure_wasm_target(self.workspace)?;
                let packages = ["-p", "frontend", "-p", "app", "--features", "app/hydrate"];
                let target = ["--target", WASM_TARGET, "--", "-D", "warnings"];
                self.cargo(words(&["clippy"], &packages, &target))?
            }
            Step::Documentation => {
                packages::ensure_openssl()?;
                let packages = self.host_packages();
                let document = ["doc", "--no-deps", "--features", "app/ssr"];
                let mut command = self.workspace.cargo(words(&document, &packages, &[]));
                process::run(command.env("RUSTDOCFLAGS", "-D warnings"))?;
                Counts::PASSED
            }
            Step::Test => self.test()?,
            Step::Licences => {
                licences::check(self.workspace)?;
                Counts::PASSED
            }
            Step::Build => {
                self.release = Some(release::build(self.workspace)?);
                Counts::PASSED
            }
            Step::Browser => return self.test_browser(),
            Step::Leptos => return self.check_leptos(),
        };
        Ok(Outcome::Counted(counts))
    }

    fn cargo<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> anyhow::Result<Counts> {
        process::run(&mut self.workspace.cargo(arguments))?;
        Ok(Counts::PASSED)
    }

    /// `-p` for every crate of the server's side. `app` is no default member, so that nobody
    /// builds it for both sides at once, but here it is only built with `ssr`.
    fn host_packages(&self) -> Vec<&str> {
        let members = self.workspace.default_members.iter().map(String::as_str);
        members.chain(["app"]).flat_map(|name| ["-p", name]).collect()
    }

    fn test(&self) -> anyhow::Result<Counts> {
        packages::ensure_openssl()?;
        // Some tests are about the real Copilot CLI, and fail without it.
        packages::install_by_npm(&self.workspace.root.join("tests/copilot-cli"))?;
        // Others are about extensions, which Node runs.
        packages::install_by_npm(&self.workspace.root.join("tests/extensions"))?;
        let packages = self.host_packages();
        // This crate goes apart: together with the others its dependencies get other features,
        // and the running program would be built once more, over itself.
        let others: Vec<&str> =
            packages.chunks(2).filter(|pair| pair[1] != "xtask").flatten().copied().collect();
        let test = ["test", "--no-fail-fast"];
        let mut counts = self.count_tests(words(&test, &["--features", "app/ssr"], &others))?;
        counts += self.count_tests(words(&test, &["-p", "xtask"], &[]))?;
        Ok(counts)
    }

    fn count_tests(&self, arguments: Vec<&str>) -> anyhow::Result<Counts> {
        let mut command: Command = self.workspace.cargo(arguments);
        let mut counts = Counts::default();
        let status = process::run_lines(&mut command, |line| {
            process::echo(line);
            counts += test_result(line).unwrap_or_default();
        })?;
        if !status.success() && counts.failed == 0 {
            // It did not compile, or a test took its process down.
            counts += Counts::FAILED;
        }
        Ok(counts)
    }

    fn test_browser(&self) -> anyhow::Result<Outcome> {
        if self.options.no_browser {
            return Ok(Outcome::Skipped("--no-browser".to_owned()));
        }
        let Some(release) = &self.release else {
            return Ok(Outcome::Skipped("there is no release to test".to_owned()));
        };
        let browser = browser::install(self.workspace)?;
        let server = ("PORTAL_BINARY", release.binary.as_os_str());
        Ok(Outcome::Counted(browser.test(None, server)?))
    }

    /// Only on a build server, or where asked for: it compiles everything once more.
    fn check_leptos(&self) -> anyhow::Result<Outcome> {
        let is_asked_for = self.options.only.contains(&Step::Leptos);
        if !is_asked_for && !is_set("CI") {
            return Ok(Outcome::Skipped("only checked where CI is set".to_owned()));
        }
        if !leptos::is_installed(self.workspace) {
            let reason = "cargo-leptos is not installed: its build is not checked";
            return Ok(Outcome::Skipped(reason.to_owned()));
        }
        Ok(Outcome::Counted(leptos::check(self.workspace, !self.options.no_browser)?))
    }
}

fn words<'a>(first: &[&'a str], second: &[&'a str], third: &[&'a str]) -> Vec<&'a str> {
    [first, second, third].concat()
}

fn is_set(variable: &str) -> bool {
    env::var(variable).is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// The counts in a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn test_result(line: &str) -> Option<Counts> {
    let (_, result) = line.split_once("test result: ")?;
    let (_, numbers) = result.split_once(". ")?;
    let mut counts = Counts::default();
    for part in numbers.split("; ") {
        match part.trim().split_once(' ') {
            Some((number, "passed")) => counts.passed = number.parse().ok()?,
            Some((number, "failed")) => counts.failed = number.parse().ok()?,
            _ => {}
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_of_cargo_test_are_counted() {
        let counts = |passed, failed| Some(Counts { passed, failed });
        for (line, expected) in [
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
                counts(3, 0),
            ),
            ("test result: FAILED. 12 passed; 2 failed; 0 ignored", counts(12, 2)),
            ("test result: \u{1b}[32mok\u{1b}[m. 3 passed; 0 failed; 0 ignored", counts(3, 0)),
            ("test tests::result ... ok", None),
        ] {
            assert_eq!(test_result(line), expected, "{line}");
        }
    }

    #[test]
    fn every_step_is_found_by_its_name() {
        for step in Step::ALL {
            assert_eq!(Step::named(step.name()), Some(step));
        }
        assert_eq!(Step::named("all"), None);
    }

    #[test]
    fn the_browser_tests_bring_the_build_along() {
        let only = |only: &[Step]| TestOptions { no_browser: false, only: only.to_vec() };
        assert_eq!(chosen(&only(&[])), Step::ALL);
        assert_eq!(chosen(&only(&[Step::Browser])), [Step::Build, Step::Browser]);
        assert_eq!(chosen(&only(&[Step::Test, Step::Format])), [Step::Format, Step::Test]);
    }
}
